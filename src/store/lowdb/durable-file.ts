import { link, readFile, rename } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import type { Adapter } from 'lowdb';
import type { Logger } from 'pino';
import { CorruptDocumentError, NewerDocumentError } from '../errors.ts';
import {
  isMissing,
  removeIfThere,
  replaceFile,
  syncFolder,
  temporaryOf,
  writeTemporary,
} from './files.ts';
import type { Quarantine } from './quarantine.ts';

/** Ending of the file that holds the version before. */
export const PREVIOUS = '.bak';

export interface DurableFileOptions<T> {
  path: string;
  /** What a text means; throws when it is damaged, `NewerDocumentError` when it is whole but not for us. */
  decode: (text: string) => T;
  whenCorrupt: 'refuse' | 'forget';
  /** Where damaged files are moved to. */
  quarantine: Quarantine;
  log: Logger;
}

type Found<T> =
  | { state: 'good'; content: T }
  | { state: 'missing' }
  | { state: 'bad'; reason: string };

/** The file of one document, for lowdb. */
export interface DurableFile<T> extends Adapter<T | null> {
  /** Writes so that no file holds what was there before. */
  erase(content: T): Promise<void>;
}

/**
 * A lowdb adapter that keeps what it has acknowledged: written to a temporary file, synced, renamed over the old one and the
 * folder synced; the version before stays as `.bak`. A damaged file is replaced by its `.bak` and moved away. The adapters
 * of lowdb sync nothing: they survive a kill, and lose acknowledged writes with the power.
 * Writing null removes the file, with all that is left of it elsewhere. One call at a time.
 */
export function createDurableFile<T extends { text: string }>(
  options: DurableFileOptions<T>,
): DurableFile<T> {
  const { path, decode, whenCorrupt, quarantine, log } = options;
  const folder = dirname(path);
  const previousPath = path + PREVIOUS;

  async function inspect(at: string): Promise<Found<T>> {
    let text: string;
    try {
      text = await readFile(at, 'utf8');
    } catch (error) {
      // Any other failure is about the disk, not about what the file holds: it goes to the caller, nothing is moved.
      if (isMissing(error)) return { state: 'missing' };
      throw error;
    }
    try {
      return { state: 'good', content: decode(text) };
    } catch (error) {
      if (error instanceof NewerDocumentError) throw error;
      return { state: 'bad', reason: (error as Error).message };
    }
  }

  async function replace(text: string, makeWay: () => Promise<void>): Promise<void> {
    const temporary = await writeTemporary(path, text);
    try {
      await makeWay();
      await rename(temporary, path);
    } catch (error) {
      await removeIfThere(temporary).catch(() => {});
      throw error;
    }
    await syncFolder(folder);
  }

  async function keepPrevious(): Promise<void> {
    await removeIfThere(previousPath);
    await linkIfThere(path, previousPath);
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

  async function erase(text: string): Promise<void> {
    await replace(text, eraseCompanions);
    try {
      // A copy rather than a second name: one bad sector must not take both.
      await replaceFile(previousPath, text);
    } catch (error) {
      log.warn(
        { err: error, file: previousPath },
        'a document has no second copy until it changes',
      );
    }
  }

  return {
    async read() {
      const current = await inspect(path);
      if (current.state === 'good') return current.content;
      const previous = await inspect(previousPath);
      if (current.state === 'missing' && previous.state === 'missing') return null;
      const reason = current.state === 'bad' ? current.reason : 'it is missing';
      if (previous.state === 'good') {
        const moved = current.state === 'bad' ? await quarantine.take(path) : undefined;
        // A copy rather than a second name for the `.bak`: one bad sector must not take both.
        await replaceFile(path, previous.content.text);
        log.error(
          { file: path, reason, quarantined: moved },
          'a stored document was damaged; the version before it is used',
        );
        return previous.content;
      }
      if (whenCorrupt === 'refuse') {
        // Both stay where they are: moved away, they would look like a document that was never written.
        log.error({ file: path, reason }, 'a stored document is damaged and has no good version');
        throw new CorruptDocumentError(
          `The stored document ${path} is damaged (${reason}), and so is the version before it. Restore the file from a backup, or remove it and ${basename(previousPath)} to go on without what it held.`,
        );
      }
      const moved: string[] = [];
      if (current.state === 'bad') moved.push(await quarantine.take(path));
      if (previous.state === 'bad') moved.push(await quarantine.take(previousPath));
      log.error(
        { file: path, reason, quarantined: moved },
        'a stored document was damaged and had no good version; it counts as never written',
      );
      return null;
    },

    write: (content) => (content === null ? remove() : replace(content.text, keepPrevious)),
    erase: ({ text }) => erase(text),
  };
}

async function linkIfThere(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}
