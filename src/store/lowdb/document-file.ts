import { createHash } from 'node:crypto';
import { link, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type Adapter, Low } from 'lowdb';
import type { Logger } from 'pino';
import { z } from 'zod';
import { notStorable, readDocument, storedForm } from '../documents.ts';
import { CorruptDocumentError, NewerDocumentError } from '../errors.ts';
import type { CollectionDeclaration } from '../store.ts';
import { checkedContent, withChecksum } from './checksum.ts';
import { ifThere, removeIfThere, replaceFile, syncFolder, temporaryOf } from './files.ts';
import type { Quarantine } from './quarantine.ts';

/** Ending of the file with the previous version. */
export const PREVIOUS = '.bak';

/** A document and the text of its file. */
export interface StoredDocumentText<T> {
  id: string;
  document: T;
  text: string;
}

const Envelope = z.strictObject({ id: z.string(), version: z.int(), document: z.unknown() });

/**
 * The file name of a document: a hash, so that no user's text appears in a path. The id is hashed as JSON, which keeps half
 * surrogates apart.
 */
export function fileNameOf(id: string): string {
  return `${createHash('sha256').update(JSON.stringify(id)).digest('hex').slice(0, 40)}.json`;
}

/**
 * Prepares a document for writing. The result is read back from the text, so that it is exactly what a later start finds,
 * shares nothing with `document` and can't be changed. Throws if it doesn't fit the schema.
 */
export function prepare<T>(
  declaration: CollectionDeclaration<T>,
  id: string,
  document: T,
): StoredDocumentText<T> {
  try {
    return decode(declaration, withChecksum({ id, ...storedForm(declaration, document) }));
  } catch (error) {
    throw notStorable(declaration.name, error);
  }
}

type DocumentFileContent<T> =
  | { state: 'good'; stored: StoredDocumentText<T> }
  | { state: 'missing' }
  | { state: 'bad'; reason: string };

interface DocumentFileOptions {
  folder: string;
  name: string;
  quarantine: Quarantine;
  log: Logger;
}

/**
 * The file of one document. A write goes to a temporary file, is synced and renamed over the old file, and the folder
 * is synced; the previous version stays as `.bak`. A damaged file is replaced by its `.bak` and moved to the quarantine.
 * lowdb's own adapters sync nothing, so they lose acknowledged writes with the power. One call at a time.
 */
export class DocumentFile<T> {
  private readonly declaration: CollectionDeclaration<T>;
  private readonly options: DocumentFileOptions;
  private readonly path: string;
  private readonly previousPath: string;

  constructor(declaration: CollectionDeclaration<T>, options: DocumentFileOptions) {
    this.declaration = declaration;
    this.options = options;
    this.path = join(options.folder, options.name);
    this.previousPath = this.path + PREVIOUS;
  }

  async read(): Promise<StoredDocumentText<T> | undefined> {
    const database = new Low<StoredDocumentText<T> | null>(this.adapter(), null);
    await database.read();
    return database.data ?? undefined;
  }

  async write(stored: StoredDocumentText<T>): Promise<void> {
    await new Low<StoredDocumentText<T> | null>(this.adapter(), stored).write();
  }

  /** Writes, and deletes everything that was there before. */
  async erase({ text }: StoredDocumentText<T>): Promise<void> {
    await replaceFile(this.path, text, () => this.eraseCompanions());
    try {
      // A copy rather than a second name: one bad sector must not take both.
      await replaceFile(this.previousPath, text);
    } catch (error) {
      this.options.log.warn(
        { err: error, file: this.previousPath },
        'could not write the second copy of a document; it has none until it changes',
      );
    }
  }

  async remove(): Promise<void> {
    await removeIfThere(temporaryOf(this.path));
    await this.eraseCompanions();
    await removeIfThere(this.path);
    await syncFolder(this.options.folder);
  }

  private adapter(): Adapter<StoredDocumentText<T> | null> {
    return {
      read: () => this.readOrRestore(),
      // `Low` writes nothing for null.
      write: async (stored) => {
        if (stored) await replaceFile(this.path, stored.text, () => this.keepPrevious());
      },
    };
  }

  private async readOrRestore(): Promise<StoredDocumentText<T> | null> {
    const current = await this.inspect(this.path);
    if (current.state === 'good') return current.stored;
    const previous = await this.inspect(this.previousPath);
    if (current.state === 'missing' && previous.state === 'missing') return null;
    const reason = current.state === 'bad' ? current.reason : 'it is missing';
    if (previous.state === 'good') {
      const moved =
        current.state === 'bad' ? await this.options.quarantine.take(this.path) : undefined;
      // A copy rather than a second name for the `.bak`: one bad sector must not take both.
      await replaceFile(this.path, previous.stored.text);
      this.options.log.error(
        { file: this.path, reason, quarantined: moved },
        'a stored document was damaged; using the previous version',
      );
      return previous.stored;
    }
    if (this.declaration.whenCorrupt === 'refuse') throw this.refusal(reason);
    const moved: string[] = [];
    if (current.state === 'bad') moved.push(await this.options.quarantine.take(this.path));
    if (previous.state === 'bad') moved.push(await this.options.quarantine.take(this.previousPath));
    this.options.log.error(
      { file: this.path, reason, quarantined: moved },
      'a stored document was damaged and had no intact version; it counts as never written',
    );
    return null;
  }

  /** Both files stay where they are: moved away, they would look like a document that was never written. */
  private refusal(reason: string): CorruptDocumentError {
    this.options.log.error(
      { file: this.path, reason },
      'a stored document is damaged and has no intact version',
    );
    return new CorruptDocumentError(
      `The stored document ${this.path} is damaged (${reason}), and so is the previous version. Restore the file from a backup, or remove it and ${basename(this.previousPath)} to continue without its data.`,
    );
  }

  /** Throws if the disk can't be read, which says nothing about the content. */
  private async inspect(at: string): Promise<DocumentFileContent<T>> {
    const text = await ifThere(readFile(at, 'utf8'));
    if (text === undefined) return { state: 'missing' };
    try {
      const stored = decode(this.declaration, text);
      if (fileNameOf(stored.id) !== this.options.name)
        throw new Error('it belongs to another document');
      return { state: 'good', stored };
    } catch (error) {
      if (error instanceof NewerDocumentError) throw error;
      return { state: 'bad', reason: (error as Error).message };
    }
  }

  private async keepPrevious(): Promise<void> {
    await removeIfThere(this.previousPath);
    await ifThere(link(this.path, this.previousPath));
  }

  /**
   * Deletes everything else that holds something of the document, before the file: alone, the previous version would be
   * taken for the rest of a damaged document; and a kill in between leaves a document that is still there, not leftovers that
   * nobody would look for.
   */
  private async eraseCompanions(): Promise<void> {
    await this.options.quarantine.erase(this.path);
    await removeIfThere(temporaryOf(this.previousPath));
    await removeIfThere(this.previousPath);
    await syncFolder(this.options.folder);
  }
}

/**
 * Reads a document of a data folder, whether or not a program uses it; `undefined` if there is none. Throws if it can't be
 * read or is damaged.
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

function decode<T>(declaration: CollectionDeclaration<T>, text: string): StoredDocumentText<T> {
  const { id, version, document } = Envelope.parse(checkedContent(text));
  return { id, document: readDocument(declaration, { version, document }), text };
}
