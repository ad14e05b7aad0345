import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { Logger } from 'pino';
import { assertId } from '../documents.ts';
import type { Queues } from '../queues.ts';
import type { Changed, Collection, CollectionDeclaration } from '../store.ts';
import { createBoundedCache } from './bounded-cache.ts';
import { fileNameOf, openDocumentFile, PREVIOUS, prepare, type Stored } from './document-file.ts';
import { makeFolder, namesIn } from './files.ts';
import type { Quarantine } from './quarantine.ts';

/** Characters of JSON that a collection keeps in memory; what it takes there is a small multiple. */
const CACHE_SIZE = 8 * 1024 * 1024;

/** Documents that a follower is told of in one turn of the loop. */
const TOLD_COUNT = 200;

const DOCUMENT_FILE = /^[0-9a-f]{40}\.json$/;

/** A document in memory; `NONE` stands for a file known not to be there. */
type Known<T> = Pick<Stored<T>, 'id' | 'document'> | typeof NONE;
const NONE = { document: undefined };

interface Change<T> {
  /** No file is to hold what it takes away. */
  erases: boolean;
  make: (current: T | undefined) => T | undefined;
  resolve: (document: T | undefined) => void;
  reject: (error: unknown) => void;
}

/**
 * A collection of one file per document. Everything that touches a file waits its turn in the file's queue; memory
 * changes only after the disk has. `assertOpen` throws once the store is closed, `assertWritable` also once its lease is lost.
 */
export function createLowdbCollection<T>(
  declaration: CollectionDeclaration<T>,
  options: {
    folder: string;
    quarantine: Quarantine;
    queues: Queues;
    assertOpen: () => void;
    assertWritable: () => void;
    log: Logger;
  },
): Collection<T> {
  const { folder, quarantine, queues, assertOpen, assertWritable } = options;
  const cache = createBoundedCache<Known<T>>(CACHE_SIZE);
  const changesOf = new Map<string, Change<T>[]>();
  let folderMade = false;
  /** Documents that may have a file, once the folder was read: while the store is locked, nobody else adds any. */
  let names: Set<string> | undefined;
  const writes = { begun: 0, ended: 0 };
  let follower: ((changed: Array<Changed<T>>) => void) | undefined;

  const fileOf = (name: string) => openDocumentFile(declaration, { ...options, name });
  const inQueue = <R>(name: string, task: () => Promise<R>) =>
    queues.run(`${declaration.name}/${name}`, task);

  const isNew = (name: string) => names?.has(name) === false;

  function remember(name: string, stored: Stored<T> | undefined): Known<T> {
    const known = stored ? { id: stored.id, document: stored.document } : NONE;
    cache.set(name, known, stored?.text.length ?? 0);
    return known;
  }

  async function load(name: string): Promise<Known<T>> {
    if (isNew(name)) return NONE;
    return cache.get(name) ?? remember(name, await fileOf(name).read());
  }

  /** Like `load`, but a long list does not push out what is in use. */
  async function loadForList(name: string): Promise<Known<T>> {
    const known = cache.get(name);
    if (known) return known;
    const stored = await fileOf(name).read();
    return cache.hasRoomFor(stored?.text.length ?? 0) ? remember(name, stored) : (stored ?? NONE);
  }

  async function store(
    { id, name }: { id: string; name: string },
    next: Stored<T> | undefined,
    { erases }: { erases: boolean },
  ): Promise<void> {
    const hasFile = !isNew(name);
    names?.add(name);
    writes.begun += 1;
    try {
      if (next) {
        if (!folderMade) await makeFolder(folder);
        folderMade = true;
        await (erases ? fileOf(name).erase(next) : fileOf(name).write(next, { hasFile }));
      } else {
        await fileOf(name).remove();
        names?.delete(name);
      }
    } finally {
      writes.ended += 1;
    }
    remember(name, next);
    follower?.([{ id, document: next?.document }]);
  }

  /** Makes the changes that have come together with one write, as far as the first removal; gives back the rest. */
  async function applySome(name: string, id: string, changes: Change<T>[]): Promise<Change<T>[]> {
    const before = (await load(name)).document;
    let document = before;
    let next: Stored<T> | undefined;
    let taken = 0;
    let erases = false;
    const outcomes: Array<{ change: Change<T>; result: T | undefined }> = [];
    for (const change of changes) {
      taken += 1;
      try {
        const wanted = change.make(document);
        if (wanted !== document) {
          erases ||= change.erases;
          next = wanted === undefined ? undefined : prepare(declaration, id, wanted);
          document = next?.document;
        }
        outcomes.push({ change, result: document });
      } catch (error) {
        change.reject(error);
      }
      // A removal is made by itself: written over instead, the removed document would stay on as the version before.
      if (document === undefined && before !== undefined) break;
    }
    let failure: { error: unknown } | undefined;
    try {
      if (document !== before) await store({ id, name }, next, { erases });
      // What was damaged counts as never written, and yet something of it may be meant to go.
      else if (document === undefined) await quarantine.erase(join(folder, name));
    } catch (error) {
      failure = { error };
    }
    for (const { change, result } of outcomes) {
      // What left the document as it was on the disk needed no write, and is true whatever became of the others.
      if (failure && (document === before || result !== before)) change.reject(failure.error);
      else change.resolve(result);
    }
    return changes.slice(taken);
  }

  async function applyAll(name: string, id: string): Promise<void> {
    let changes = changesOf.get(name) ?? [];
    changesOf.delete(name);
    try {
      while (changes.length > 0) changes = await applySome(name, id, changes);
    } catch (error) {
      // The document could not be read.
      for (const { reject } of changes) reject(error);
    }
  }

  async function list() {
    assertOpen();
    const { begun, ended } = writes;
    const found = new Set(
      (await namesIn(folder)).map(withoutPrevious).filter((name) => DOCUMENT_FILE.test(name)),
    );
    // What is written meanwhile may be in it or not.
    if (begun === ended && begun === writes.begun) names ??= new Set(found);
    const all = await Promise.all(
      [...found].map((name) => cache.get(name) ?? inQueue(name, () => loadForList(name))),
    );
    return all.flatMap((known) =>
      'id' in known ? [{ id: known.id, document: known.document }] : [],
    );
  }

  async function enqueue(
    id: string,
    make: Change<T>['make'],
    { erases = false }: { erases?: boolean } = {},
  ): Promise<T | undefined> {
    assertWritable();
    const name = nameOf(id);
    return await new Promise((resolve, reject) => {
      const own = { erases, make, resolve, reject };
      const changes = changesOf.get(name);
      if (changes) {
        changes.push(own);
        return;
      }
      changesOf.set(name, [own]);
      void inQueue(name, () => applyAll(name, id));
    });
  }

  return {
    async get(id) {
      assertOpen();
      const name = nameOf(id);
      const known = cache.get(name) ?? (await inQueue(name, () => load(name)));
      return known.document;
    },

    list,
    update: (id, make) => enqueue(id, make),
    erase: (id, make) => enqueue(id, make, { erases: true }),

    async eraseAll(fits) {
      assertWritable();
      for (const { id, document } of await list()) {
        if (fits(id, document))
          await enqueue(id, (now) => (now && fits(id, now) ? undefined : now));
      }
      await quarantine.eraseAll(folder);
    },

    async follow(told) {
      if (follower) throw new Error(`The collection '${declaration.name}' is followed already.`);
      // What is written while the folder is read is told as it comes, and what was read before that is not told any more.
      const newer = new Set<string>();
      follower = (changed) => {
        for (const { id } of changed) newer.add(id);
        told(changed);
      };
      for (const [at, each] of (await list()).entries()) {
        // Who is told of very many may have work with each of them.
        if (at % TOLD_COUNT === TOLD_COUNT - 1) await setImmediate();
        if (!newer.has(each.id)) told([each]);
      }
      follower = told;
      // Nobody else can change anything.
      return {
        catchUp: () => undefined,
        staleMs: () => 0,
        stop() {
          follower = undefined;
        },
      };
    },
  };
}

function nameOf(id: string): string {
  assertId(id);
  return fileNameOf(id);
}

/** A document of which only the version before is left is listed too. */
function withoutPrevious(name: string): string {
  return name.endsWith(PREVIOUS) ? name.slice(0, -PREVIOUS.length) : name;
}
