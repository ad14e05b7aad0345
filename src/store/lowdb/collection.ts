import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { Logger } from 'pino';
import { assertId } from '../documents.ts';
import type { Closable, StoreAccess } from '../local-store.ts';
import { createQueues } from '../queues.ts';
import type { ChangedDocument, Collection, CollectionDeclaration, Following } from '../store.ts';
import { createBoundedCache } from './bounded-cache.ts';
import {
  fileNameOf,
  openDocumentFile,
  PREVIOUS,
  prepare,
  type StoredDocumentText,
} from './document-file.ts';
import { makeFolder, namesIn } from './files.ts';
import type { Quarantine } from './quarantine.ts';

/** Characters of JSON that a collection keeps in memory; the memory used is a small multiple. */
const CACHE_SIZE = 8 * 1024 * 1024;

const MAX_OPEN_FILES = 32;

/** Documents passed to a follower in one turn of the event loop. */
const FOLLOWED_COUNT = 200;

const DOCUMENT_FILE = /^[0-9a-f]{40}\.json$/;

/** Includes a document with only its previous version left. */
export const isDocumentName = (name: string) => DOCUMENT_FILE.test(withoutPrevious(name));

/** A document in memory; `NO_FILE` stands for a file that is known to be missing. */
type CachedDocument<T> = Pick<StoredDocumentText<T>, 'id' | 'document'> | typeof NO_FILE;
const NO_FILE = { document: undefined };

interface FileChange<T> {
  /** No file may hold the content that it deletes. */
  erases: boolean;
  make: (current: T | undefined) => T | undefined;
  resolve: (document: T | undefined) => void;
  reject: (error: unknown) => void;
}

type DocumentFilesOptions = StoreAccess & { folder: string; quarantine: Quarantine; log: Logger };

/** A collection with one file per document. */
export function createLowdbCollection<T>(
  declaration: CollectionDeclaration<T>,
  options: DocumentFilesOptions,
): Closable<Collection<T>> {
  const files = new DocumentFiles(declaration, options);
  return {
    get: (id) => files.get(id),
    list: () => files.list(),
    update: (id, make) => files.change(id, make, { erases: false }),
    erase: (id, make) => files.change(id, make, { erases: true }),
    eraseAll: (fits) => files.eraseAll(fits),
    follow: (onChange) => files.follow(onChange),
    close: () => files.queues.idle(),
  };
}

/** Work on a file waits for its turn in the file's queue. Memory changes only after the disk. */
class DocumentFiles<T> {
  readonly queues = createQueues(MAX_OPEN_FILES);
  private readonly declaration: CollectionDeclaration<T>;
  private readonly options: DocumentFilesOptions;
  private readonly cache = createBoundedCache<CachedDocument<T>>(CACHE_SIZE);
  private readonly pendingChanges = new Map<string, FileChange<T>[]>();
  private isFolderMade = false;
  /** Names that may have a file, once the folder was read: no other process adds any. */
  private names: Set<string> | undefined;
  private readonly writes = { begun: 0, ended: 0 };
  private follower: ((changed: Array<ChangedDocument<T>>) => void) | undefined;

  constructor(declaration: CollectionDeclaration<T>, options: DocumentFilesOptions) {
    this.declaration = declaration;
    this.options = options;
  }

  async get(id: string): Promise<T | undefined> {
    this.options.assertOpen();
    const name = nameOf(id);
    const cached = this.cache.get(name) ?? (await this.queues.run(name, () => this.load(name)));
    return cached.document;
  }

  async list() {
    this.options.assertOpen();
    const { begun, ended } = this.writes;
    const names = new Set(
      (await namesIn(this.options.folder))
        .map(withoutPrevious)
        .filter((name) => DOCUMENT_FILE.test(name)),
    );
    // A file that is written at the same time may be missing from the list.
    if (begun === ended && begun === this.writes.begun) this.names ??= new Set(names);
    const all = await Promise.all(
      [...names].map(
        (name) => this.cache.get(name) ?? this.queues.run(name, () => this.loadForList(name)),
      ),
    );
    return all.flatMap((cached) =>
      'id' in cached ? [{ id: cached.id, document: cached.document }] : [],
    );
  }

  async change(
    id: string,
    make: FileChange<T>['make'],
    { erases }: { erases: boolean },
  ): Promise<T | undefined> {
    this.options.assertWritable();
    const name = nameOf(id);
    return await new Promise((resolve, reject) => {
      const change = { erases, make, resolve, reject };
      const pending = this.pendingChanges.get(name);
      if (pending) {
        pending.push(change);
        return;
      }
      this.pendingChanges.set(name, [change]);
      void this.queues.run(name, () => this.applyPending(name, id));
    });
  }

  async eraseAll(fits: (id: string, document: T) => boolean): Promise<void> {
    this.options.assertWritable();
    for (const { id, document } of await this.list()) {
      if (!fits(id, document)) continue;
      const make = (now: T | undefined) => (now && fits(id, now) ? undefined : now);
      await this.change(id, make, { erases: false });
    }
    await this.options.quarantine.eraseAll(this.options.folder);
  }

  async follow(onChange: (changed: Array<ChangedDocument<T>>) => void): Promise<Following> {
    if (this.follower) {
      throw new Error(`The collection '${this.declaration.name}' is followed already.`);
    }
    // A write during the listing is newer than what the listing has read.
    const newer = new Set<string>();
    this.follower = (changed) => {
      for (const { id } of changed) newer.add(id);
      onChange(changed);
    };
    for (const [at, one] of (await this.list()).entries()) {
      // The follower may have work with each document.
      if (at % FOLLOWED_COUNT === FOLLOWED_COUNT - 1) await setImmediate();
      if (!newer.has(one.id)) onChange([one]);
    }
    this.follower = onChange;
    return {
      catchUp: () => undefined,
      staleMs: () => 0,
      stop: () => {
        this.follower = undefined;
      },
    };
  }

  private async load(name: string): Promise<CachedDocument<T>> {
    if (this.isKnownMissing(name)) return NO_FILE;
    return this.cache.get(name) ?? this.remember(name, await this.fileOf(name).read());
  }

  /** A long list doesn't push out the documents in use. */
  private async loadForList(name: string): Promise<CachedDocument<T>> {
    const cached = this.cache.get(name);
    if (cached) return cached;
    const stored = await this.fileOf(name).read();
    const hasRoom = this.cache.hasRoomFor(stored?.text.length ?? 0);
    return hasRoom ? this.remember(name, stored) : (stored ?? NO_FILE);
  }

  private async applyPending(name: string, id: string): Promise<void> {
    let changes = this.pendingChanges.get(name) ?? [];
    this.pendingChanges.delete(name);
    try {
      while (changes.length > 0) changes = await this.applySome(name, id, changes);
    } catch (error) {
      // The document couldn't be read.
      for (const { reject } of changes) reject(error);
    }
  }

  /** Makes changes that came together with one write, up to the first deletion. Resolves to the remaining ones. */
  private async applySome(
    name: string,
    id: string,
    changes: FileChange<T>[],
  ): Promise<FileChange<T>[]> {
    const before = (await this.load(name)).document;
    const { document, next, outcomes, erases, count } = this.attempt(id, before, changes);
    let failure: { error: unknown } | undefined;
    try {
      if (document !== before) await this.store({ id, name }, next, { erases });
      // A damaged document counts as never written, but its copies may hold what is to be erased.
      else if (document === undefined) await this.eraseDamaged(name);
    } catch (error) {
      failure = { error };
    }
    for (const { change, result } of outcomes) {
      // A change that left the document as it is on the disk is true even if the write failed.
      if (failure && (document === before || result !== before)) change.reject(failure.error);
      else change.resolve(result);
    }
    return changes.slice(count);
  }

  private attempt(id: string, before: T | undefined, changes: FileChange<T>[]) {
    let document = before;
    let next: StoredDocumentText<T> | undefined;
    let count = 0;
    let erases = false;
    const outcomes: Array<{ change: FileChange<T>; result: T | undefined }> = [];
    for (const change of changes) {
      count += 1;
      try {
        const wanted = change.make(document);
        if (wanted !== document) {
          erases ||= change.erases;
          next = wanted === undefined ? undefined : prepare(this.declaration, id, wanted);
          document = next?.document;
        }
        outcomes.push({ change, result: document });
      } catch (error) {
        change.reject(error);
      }
      // A deletion gets a write of its own: overwritten, the deleted document would stay on as the previous version.
      if (document === undefined && before !== undefined) break;
    }
    return { document, next, outcomes, erases, count };
  }

  private async store(
    { id, name }: { id: string; name: string },
    next: StoredDocumentText<T> | undefined,
    { erases }: { erases: boolean },
  ): Promise<void> {
    const hasFile = !this.isKnownMissing(name);
    this.names?.add(name);
    this.writes.begun += 1;
    try {
      if (next) {
        if (!this.isFolderMade) await makeFolder(this.options.folder);
        this.isFolderMade = true;
        const file = this.fileOf(name);
        await (erases ? file.erase(next) : file.write(next, { hasFile }));
      } else {
        await this.fileOf(name).remove();
        this.names?.delete(name);
      }
    } finally {
      this.writes.ended += 1;
    }
    this.remember(name, next);
    this.follower?.([{ id, document: next?.document }]);
  }

  private eraseDamaged(name: string): Promise<void> {
    return this.options.quarantine.erase(join(this.options.folder, name));
  }

  private remember(name: string, stored: StoredDocumentText<T> | undefined): CachedDocument<T> {
    const cached = stored ? { id: stored.id, document: stored.document } : NO_FILE;
    this.cache.set(name, cached, stored?.text.length ?? 0);
    return cached;
  }

  private isKnownMissing(name: string): boolean {
    return this.names?.has(name) === false;
  }

  private fileOf(name: string) {
    return openDocumentFile(this.declaration, { ...this.options, name });
  }
}

function nameOf(id: string): string {
  assertId(id);
  return fileNameOf(id);
}

function withoutPrevious(name: string): string {
  return name.endsWith(PREVIOUS) ? name.slice(0, -PREVIOUS.length) : name;
}
