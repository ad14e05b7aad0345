import { z } from 'zod';
import { NewerDocumentError } from './errors.ts';
import type { CollectionDeclaration } from './store.ts';

/** Names of collections and journals. */
export const STORED_NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/;

const MAX_ID_LENGTH = 500;

/** Throws when an id is longer than collections take. */
export function assertId(id: string): void {
  if (id.length > MAX_ID_LENGTH) {
    throw new RangeError(`The id of a document has at most ${MAX_ID_LENGTH} characters.`);
  }
}

/** A document as its declaration wants it, from what is stored. Throws when it is newer or does not fit the schema. */
export function readDocument<T>(
  declaration: CollectionDeclaration<T>,
  { version, document }: { version: number; document: unknown },
): T {
  if (version > declaration.version) {
    throw new NewerDocumentError(
      `A document of '${declaration.name}' has version ${version}, but this program knows only versions up to ${declaration.version}. Start the newer program that wrote it, or restore an older backup.`,
    );
  }
  const current =
    version < declaration.version && declaration.upgrade
      ? declaration.upgrade(document, version)
      : document;
  const result = declaration.schema.safeParse(current);
  if (!result.success) {
    throw new Error(`it does not fit its schema: ${z.prettifyError(result.error)}`);
  }
  return freeze(result.data);
}

/** The error of a document that does not fit the schema before it is written. */
export function notStorable(name: string, error: unknown): Error {
  return new Error(`A document of '${name}' cannot be stored: ${(error as Error).message}`, {
    cause: error,
  });
}

/** Documents are replaced, never altered; who tries gets a TypeError instead of a change that is lost or half stored. */
function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) freeze(inner);
  return value;
}
