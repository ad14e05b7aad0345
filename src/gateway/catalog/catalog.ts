import { readFile } from 'node:fs/promises';
import { Catalog, type TextModel } from './catalog-schema.ts';
import { defaultCatalog } from './default-catalog.ts';

/**
 * Reads the operator's catalog from a JSON file; without a file, the shipped one.
 * Throws an error that names the file, the field and the fault.
 */
export async function readCatalog(file: string | undefined): Promise<Catalog> {
  if (file === undefined) return Catalog.parse(defaultCatalog);
  const fail = (why: string, cause?: unknown) =>
    new Error(`The catalog ${file} cannot be used: ${why}`, { cause });
  let content: unknown;
  try {
    content = JSON.parse(await readFile(file, 'utf8'));
  } catch (cause) {
    throw fail(cause instanceof Error ? cause.message : String(cause), cause);
  }
  const result = Catalog.safeParse(content);
  if (result.success) return result.data;
  const problems = result.error.issues.map(
    ({ path, message }) => `${path.join('.') || 'the file'}: ${message}`,
  );
  throw fail(problems.slice(0, 5).join('; '));
}

/** Returns the models that can chat; the first one is the default. */
export function textModels(catalog: Catalog): TextModel[] {
  return catalog.models.filter((model) => model.kind === 'text');
}
