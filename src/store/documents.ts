import { z } from 'zod';
import { NewerDocumentError } from './errors.ts';
import type { CollectionDeclaration } from './store.ts';

export const STORED_NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/;

const MAX_ID_LENGTH = 500;

export function assertId(id: string): void {
  if (id.length > MAX_ID_LENGTH) {
    throw new RangeError(`The id of a document has at most ${MAX_ID_LENGTH} characters.`);
  }
}

/** Documents of this version are `VersionedDocument`s, to move them without their declaration. */
export const ANY_VERSION = Number.POSITIVE_INFINITY;

export type VersionedDocument = z.infer<typeof VersionedDocument>;
export const VersionedDocument = z.object({ version: z.int(), document: z.unknown() });

export function storedForm<T>(
  { version }: CollectionDeclaration<T>,
  document: T,
): VersionedDocument {
  return version === ANY_VERSION ? VersionedDocument.parse(document) : { version, document };
}

/** Reads a stored document as its declaration wants it. Throws if it is newer or doesn't fit the schema. */
export function readDocument<T>(
  declaration: CollectionDeclaration<T>,
  { version, document }: { version: number; document: unknown },
): T {
  if (declaration.version === ANY_VERSION) {
    return freeze(declaration.schema.parse({ version, document }));
  }
  if (version > declaration.version) {
    throw new NewerDocumentError(
      `A document of '${declaration.name}' has version ${version}, but this program knows only versions up to ${declaration.version}. Start the newer program that wrote it, or restore an older backup.`,
    );
  }
  const result = declaration.schema.safeParse(document);
  if (!result.success) {
    throw new Error(`it does not fit its schema: ${z.prettifyError(result.error)}`);
  }
  return freeze(result.data);
}

export function notStorable(name: string, error: unknown): Error {
  return new Error(`A document of '${name}' cannot be stored: ${(error as Error).message}`, {
    cause: error,
  });
}

/** Stored values are replaced, never altered. An attempt throws a TypeError instead of losing a change. */
export function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) freeze(inner);
  return value;
}
