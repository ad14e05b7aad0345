import { createHash } from 'node:crypto';
import { link, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type Adapter, Low } from 'lowdb';
import type { Logger } from 'pino';
import { z } from 'zod';
import { notStorable, readDocument } from '../documents.ts';
import { CorruptDocumentError, NewerDocumentError } from '../errors.ts';
import type { CollectionDeclaration } from '../store.ts';
import { checkedContent, withChecksum } from './checksum.ts';
import { ifThere, removeIfThere, replaceFile, syncFolder, temporaryOf } from './files.ts';
import type { Quarantine } from './quarantine.ts';

/** Ending of the file that holds the version before. */
export const PREVIOUS = '.bak';

/** A document as it is kept: what callers see, and the text of its file. */
export interface Stored<T> {
  id: string;
  document: T;
  text: string;
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
    throw notStorable(declaration.name, error);
  }
}

type Found<T> =
  | { state: 'good'; stored: Stored<T> }
  | { state: 'missing' }
  | { state: 'bad'; reason: string };

/**
 * The file of one document, read, written and removed through lowdb. It keeps what it has acknowledged: written to a
 * temporary file, synced, renamed over the old one and the folder synced; the version before stays as `.bak`. A damaged
 * file is replaced by its `.bak` and moved away. The adapters of lowdb sync nothing: they survive a kill, and lose
 * acknowledged writes with the power. One call at a time.
 */
export function openDocumentFile<T>(
  declaration: CollectionDeclaration<T>,
  options: { folder: string; name: string; quarantine: Quarantine; log: Logger },
) {
  const { folder, name, quarantine, log } = options;
  const path = join(folder, name);
  const previousPath = path + PREVIOUS;

  function decodeOwn(text: string): Stored<T> {
    const stored = decode(declaration, text);
    if (fileNameOf(stored.id) !== name) throw new Error('it belongs to another document');
    return stored;
  }

  async function inspect(at: string): Promise<Found<T>> {
    // A failure to read is about the disk, not about what the file holds: it goes to the caller, nothing is moved.
    const text = await ifThere(readFile(at, 'utf8'));
    if (text === undefined) return { state: 'missing' };
    try {
      return { state: 'good', stored: decodeOwn(text) };
    } catch (error) {
      if (error instanceof NewerDocumentError) throw error;
      return { state: 'bad', reason: (error as Error).message };
    }
  }

  async function keepPrevious(): Promise<void> {
    await removeIfThere(previousPath);
    await ifThere(link(path, previousPath));
  }

  /**
   * Removes all that holds something of the document beside its file, for good. That goes before the file does: alone, the
   * version before would be taken for the rest of a damaged document; and a kill in between leaves a document that is still
   * there, not one that is gone with something of it left over that nobody would look for.
   */
  async function eraseCompanions(): Promise<void> {
    await quarantine.erase(path);
    await removeIfThere(temporaryOf(previousPath));
    await removeIfThere(previousPath);
    await syncFolder(folder);
  }

  async function remove(): Promise<void> {
    await removeIfThere(temporaryOf(path));
    await eraseCompanions();
    await removeIfThere(path);
    await syncFolder(folder);
  }

  async function erase({ text }: Stored<T>): Promise<void> {
    await replaceFile(path, text, eraseCompanions);
    try {
      // A copy rather than a second name: one bad sector must not take both.
      await replaceFile(previousPath, text);
    } catch (error) {
      log.warn(
        { err: error, file: previousPath },
        'could not write the second copy of a document; it has none until it changes',
      );
    }
  }

  const adapter = (makeWay = keepPrevious): Adapter<Stored<T> | null> => ({
    async read() {
      const current = await inspect(path);
      if (current.state === 'good') return current.stored;
      const previous = await inspect(previousPath);
      if (current.state === 'missing' && previous.state === 'missing') return null;
      const reason = current.state === 'bad' ? current.reason : 'it is missing';
      if (previous.state === 'good') {
        const moved = current.state === 'bad' ? await quarantine.take(path) : undefined;
        // A copy rather than a second name for the `.bak`: one bad sector must not take both.
        await replaceFile(path, previous.stored.text);
        log.error(
          { file: path, reason, quarantined: moved },
          'a stored document was damaged; using the previous version',
        );
        return previous.stored;
      }
      if (declaration.whenCorrupt === 'refuse') {
        // Both stay where they are: moved away, they would look like a document that was never written.
        log.error({ file: path, reason }, 'a stored document is damaged and has no intact version');
        throw new CorruptDocumentError(
          `The stored document ${path} is damaged (${reason}), and so is the previous version. Restore the file from a backup, or remove it and ${basename(previousPath)} to continue without its data.`,
        );
      }
      const moved: string[] = [];
      if (current.state === 'bad') moved.push(await quarantine.take(path));
      if (previous.state === 'bad') moved.push(await quarantine.take(previousPath));
      log.error(
        { file: path, reason, quarantined: moved },
        'a stored document was damaged and had no intact version; it counts as never written',
      );
      return null;
    },

    // Never with null, for which `Low` writes nothing.
    async write(stored) {
      if (stored) await replaceFile(path, stored.text, makeWay);
    },
  });

  return {
    async read(): Promise<Stored<T> | undefined> {
      const database = new Low<Stored<T> | null>(adapter(), null);
      await database.read();
      return database.data ?? undefined;
    },
    /** `hasFile` is false only where it is known that there is neither a file nor a version before. */
    async write(stored: Stored<T>, { hasFile }: { hasFile: boolean }): Promise<void> {
      const makeWay = hasFile ? keepPrevious : async () => {};
      // A database of its own: until this resolves, nobody may see what it holds.
      await new Low<Stored<T> | null>(adapter(makeWay), stored).write();
    },
    /** Writes, and leaves nothing of what was there before. */
    erase,
    /** Removes it, and leaves nothing of it. */
    remove,
  };
}

/** What the text of a file holds, whatever its declaration wants. Throws when a single bit has changed. */
export const envelopeIn = (text: string) => Envelope.parse(checkedContent(text));

/**
 * A document as it lies in a data folder now, for who only looks, whether or not a program uses it; `undefined` where there is
 * none. Throws when it cannot be read, or is damaged.
 */
export async function lookAtDocument<T>(
  folder: string,
  declaration: CollectionDeclaration<T>,
  id: string,
): Promise<T | undefined> {
  const file = join(folder, declaration.name, fileNameOf(id));
  const text = await ifThere(readFile(file, 'utf8'));
  return text === undefined ? undefined : decode(declaration, text).document;
}

function decode<T>(declaration: CollectionDeclaration<T>, text: string): Stored<T> {
  const { id, version, document } = envelopeIn(text);
  return { id, document: readDocument(declaration, { version, document }), text };
}
