import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { Logger } from 'pino';
import { attempt, type ChangeOutcome, ChangeQueue, type WaitingChange } from '../change-queue.ts';
import { assertId } from '../documents.ts';
import type { Closable, StoreAccess } from '../local-store.ts';
import { createQueues } from '../queues.ts';
import type { ChangedDocument, Collection, CollectionDeclaration, Following } from '../store.ts';
import { createBoundedCache } from './bounded-cache.ts';
import {
  DocumentFile,
  fileNameOf,
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
  private readonly changes = new ChangeQueue<T>(
    (id, changes) => this.apply(id, changes),
    this.queues,
  );
  private isFolderMade = false;
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
    const names = new Set(
      (await namesIn(this.options.folder))
        .map(withoutPrevious)
        .filter((name) => DOCUMENT_FILE.test(name)),
    );
    const all = await Promise.all(
      [...names].map(
        (name) => this.cache.get(name) ?? this.queues.run(name, () => this.load(name)),
      ),
    );
    return all.flatMap((cached) =>
      'id' in cached ? [{ id: cached.id, document: cached.document }] : [],
    );
  }

  async change(
    id: string,
    make: WaitingChange<T>['make'],
    { erases }: { erases: boolean },
  ): Promise<T | undefined> {
    this.options.assertWritable();
    return await this.changes.add(id, make, { erases, queue: nameOf(id) });
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
    return this.cache.get(name) ?? this.remember(name, await this.fileOf(name).read());
  }

  private async apply(id: string, changes: WaitingChange<T>[]): Promise<ChangeOutcome<T>[]> {
    const name = nameOf(id);
    const before = (await this.load(name)).document;
    const prepared = (wanted: T) => prepare(this.declaration, id, wanted);
    const { document, next, erases, outcomes, isChanged } = attempt(before, changes, prepared);
    try {
      if (isChanged) await this.store({ id, name }, next, { erases });
      // A damaged document counts as never written, but its copies may hold what is to be erased.
      else if (document === undefined) {
        await this.options.quarantine.erase(join(this.options.folder, name));
      }
      return outcomes;
    } catch (error) {
      // A change that left the document as it is on the disk is true even if the write failed.
      return outcomes.map((outcome) =>
        isChanged && 'result' in outcome && outcome.result === before
          ? outcome
          : { change: outcome.change, error: 'error' in outcome ? outcome.error : error },
      );
    }
  }

  private async store(
    { id, name }: { id: string; name: string },
    next: StoredDocumentText<T> | undefined,
    { erases }: { erases: boolean },
  ): Promise<void> {
    const file = this.fileOf(name);
    if (next) {
      if (!this.isFolderMade) await makeFolder(this.options.folder);
      this.isFolderMade = true;
      await (erases ? file.erase(next) : file.write(next));
    } else {
      await file.remove();
    }
    this.remember(name, next);
    this.follower?.([{ id, document: next?.document }]);
  }

  private remember(name: string, stored: StoredDocumentText<T> | undefined): CachedDocument<T> {
    const cached = stored ? { id: stored.id, document: stored.document } : NO_FILE;
    this.cache.set(name, cached, stored?.text.length ?? 0);
    return cached;
  }

  private fileOf(name: string) {
    return new DocumentFile(this.declaration, { ...this.options, name });
  }
}

function nameOf(id: string): string {
  assertId(id);
  return fileNameOf(id);
}

function withoutPrevious(name: string): string {
  return name.endsWith(PREVIOUS) ? name.slice(0, -PREVIOUS.length) : name;
}
