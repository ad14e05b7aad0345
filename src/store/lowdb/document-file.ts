import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { Low } from 'lowdb';
import type { Logger } from 'pino';
import { z } from 'zod';
import { NewerDocumentError } from '../errors.ts';
import type { CollectionDeclaration } from '../store.ts';
import { checkedContent, withChecksum } from './checksum.ts';
import { createDurableFile } from './durable-file.ts';
import type { Quarantine } from './quarantine.ts';

/** A document as it is kept: what callers see, and the text of its file. */
export interface Stored<T> {
  id: string;
  document: T;
  text: string;
}

/** Reads, writes and removes the file of one document through lowdb. One call at a time. */
export interface DocumentFile<T> {
  read(): Promise<Stored<T> | undefined>;
  write(stored: Stored<T>): Promise<void>;
  /** Writes, and leaves nothing of what was there before. */
  erase(stored: Stored<T>): Promise<void>;
  /** Removes it, and leaves nothing of it. */
  remove(): Promise<void>;
}

const Envelope = z.strictObject({ id: z.string(), version: z.int(), document: z.unknown() });

/**
 * The file name of a document: no text of a user stands in a path, and any id makes a good one.
 * Hashed as JSON, which keeps half surrogates apart; as UTF-8 they would all be the same.
 */
export function fileNameOf(id: string): string {
  return `${createHash('sha256').update(JSON.stringify(id)).digest('hex').slice(0, 40)}.json`;
}

/**
 * A document made ready to be written. What it holds is read back from the text, so that it is exactly what a later
 * start will find, shares nothing with `document`, and cannot be changed. Throws when it does not fit the schema.
 */
export function prepare<T>(
  declaration: CollectionDeclaration<T>,
  id: string,
  document: T,
): Stored<T> {
  const content = { id, version: declaration.version, document };
  try {
    return decode(declaration, withChecksum(content));
  } catch (error) {
    const reason = (error as Error).message;
    throw new Error(`A document of '${declaration.name}' cannot be stored: ${reason}`, {
      cause: error,
    });
  }
}

/** The file of one document. */
export function openDocumentFile<T>(
  declaration: CollectionDeclaration<T>,
  options: { folder: string; name: string; quarantine: Quarantine; log: Logger },
): DocumentFile<T> {
  const { folder, name, quarantine, log } = options;
  const file = createDurableFile<Stored<T>>({
    path: join(folder, name),
    decode(text) {
      const stored = decode(declaration, text);
      if (fileNameOf(stored.id) !== name) throw new Error('it belongs to another document');
      return stored;
    },
    whenCorrupt: declaration.whenCorrupt,
    quarantine,
    log,
  });
  return {
    async read() {
      const database = new Low<Stored<T> | null>(file, null);
      await database.read();
      return database.data ?? undefined;
    },
    async write(stored) {
      // A database of its own: until this resolves, nobody may see what it holds.
      await new Low<Stored<T> | null>(file, stored).write();
    },
    erase: (stored) => file.erase(stored),
    // Not through `Low`, which writes nothing when its data is null.
    remove: () => file.write(null),
  };
}

function decode<T>(declaration: CollectionDeclaration<T>, text: string): Stored<T> {
  const { id, version, document } = Envelope.parse(checkedContent(text));
  if (version > declaration.version) {
    throw new NewerDocumentError(
      `A document of '${declaration.name}' has version ${version}, and this program knows versions up to ${declaration.version}. Start the newer program that wrote it, or go back to a backup from before.`,
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
  return { id, document: freeze(result.data), text };
}

/** Documents are replaced, never altered; who tries gets a TypeError instead of a change that is lost or half stored. */
function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) freeze(inner);
  return value;
}
