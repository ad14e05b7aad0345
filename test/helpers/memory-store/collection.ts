import type { Logger } from 'pino';
import { assertId, notStorable, readDocument, storedForm } from '../../../src/store/documents.ts';
import { CorruptDocumentError, NewerDocumentError } from '../../../src/store/errors.ts';
import type { Closable, StoreAccess } from '../../../src/store/local-store.ts';
import type {
  ChangedDocument,
  Collection,
  CollectionDeclaration,
} from '../../../src/store/store.ts';

/** Text, so that no caller can alter what is stored. */
export interface StoredDocument {
  version: number;
  text: string;
}

export function openMemoryCollection<T>(
  declaration: CollectionDeclaration<T>,
  stored: Map<string, StoredDocument>,
  { assertOpen, assertWritable, log }: StoreAccess & { log: Logger },
): Closable<Collection<T>> {
  let follower: ((changed: Array<ChangedDocument<T>>) => void) | undefined;

  function read(id: string): T | undefined {
    const found = stored.get(id);
    if (!found) return undefined;
    try {
      const { version, text } = found;
      return readDocument(declaration, { version, document: JSON.parse(text) });
    } catch (error) {
      if (error instanceof NewerDocumentError) throw error;
      const message = `A stored document of '${declaration.name}' is damaged: ${(error as Error).message}`;
      if (declaration.whenCorrupt === 'refuse') throw new CorruptDocumentError(message);
      log.error(message);
      return undefined;
    }
  }

  /** Throws if the document, read back from its text, wouldn't fit the schema. */
  function write(id: string, document: T): T {
    try {
      const { version, document: content } = storedForm(declaration, document);
      const text = JSON.stringify(content);
      const readBack = readDocument(declaration, { version, document: JSON.parse(text) });
      stored.set(id, { version, text });
      return readBack;
    } catch (error) {
      throw notStorable(declaration.name, error);
    }
  }

  async function update(id: string, change: (current: T | undefined) => T | undefined) {
    assertWritable();
    assertId(id);
    const before = read(id);
    const wanted = change(before);
    if (wanted === before) {
      // A damaged document counts as never written.
      if (wanted === undefined) stored.delete(id);
      return before;
    }
    let document: T | undefined;
    if (wanted === undefined) stored.delete(id);
    else document = write(id, wanted);
    follower?.([{ id, document }]);
    return document;
  }

  function readAll() {
    assertOpen();
    const documents: Array<{ id: string; document: T }> = [];
    for (const id of stored.keys()) {
      const document = read(id);
      if (document !== undefined) documents.push({ id, document });
    }
    return documents;
  }

  return {
    async get(id) {
      assertOpen();
      assertId(id);
      return read(id);
    },
    list: async () => readAll(),
    update,
    erase: update,
    async eraseAll(fits) {
      assertWritable();
      for (const id of [...stored.keys()]) {
        await update(id, (now) => (now !== undefined && fits(id, now) ? undefined : now));
      }
    },
    async follow(onChange) {
      if (follower) throw new Error(`The collection '${declaration.name}' is followed already.`);
      for (const one of readAll()) onChange([one]);
      follower = onChange;
      return {
        catchUp: () => undefined,
        staleMs: () => 0,
        stop() {
          follower = undefined;
        },
      };
    },
    async close() {
      follower = undefined;
    },
  };
}
