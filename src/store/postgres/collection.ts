import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { assertId, notStorable, readDocument } from '../documents.ts';
import { CorruptDocumentError, NewerDocumentError, StoreUnavailableError } from '../errors.ts';
import { createQueues } from '../queues.ts';
import type { Collection, CollectionDeclaration } from '../store.ts';
import type { Database } from './database.ts';
import {
  type DocumentChanges,
  type DocumentRow,
  documentPages,
  documentRows,
  keyOf,
} from './document-changes.ts';
import type { PendingWork } from './pending-work.ts';

/** Others who change the same document at the same moment win so often before this gives up. */
const MAX_TRIES = 200;

interface Change<T> {
  make: (current: T | undefined) => T | undefined;
  resolve: (document: T | undefined) => void;
  reject: (error: unknown) => void;
}

/** What an attempt at some changes comes to, for each of them. */
type Outcome<T> =
  | { change: Change<T>; result: T | undefined }
  | { change: Change<T>; error: unknown };

/**
 * A collection of one row per document. Whoever changes one says which revision was read; a change that comes too late
 * for that is made again, of what is there by then.
 */
export function createPostgresCollection<T>(
  declaration: CollectionDeclaration<T>,
  options: {
    database: Database;
    changes: DocumentChanges;
    pending: PendingWork;
    assertOpen: () => void;
    log: Logger;
  },
): Collection<T> {
  const { database, changes, pending, assertOpen, log } = options;
  const { db, writes } = database;
  const { name } = declaration;
  const changesOf = new Map<string, Change<T>[]>();
  const queues = createQueues();
  const reported = new Set<string>();

  /** The document of a row; undefined for one that counts as never written. */
  function documentOf(row: DocumentRow | undefined): T | undefined {
    if (!row || row.body === null) return undefined;
    try {
      return readDocument(declaration, { version: row.version, document: JSON.parse(row.body) });
    } catch (error) {
      if (error instanceof NewerDocumentError) throw error;
      return corrupt(row, (error as Error).message);
    }
  }

  function corrupt({ key, revision }: DocumentRow, reason: string): undefined {
    const place = `collection '${name}', key ${key.toString('hex')}`;
    if (declaration.whenCorrupt === 'refuse') {
      throw new CorruptDocumentError(
        `A stored document is damaged (${place}): ${reason}. Restore the database from a backup, or remove its row from the table 'document' to continue without it.`,
      );
    }
    // Once for each state of it, not with every look at it.
    if (!reported.has(revision)) {
      reported.add(revision);
      log.error({ reason }, `a stored document was damaged (${place}); it counts as never written`);
    }
    return undefined;
  }

  async function load(key: Buffer): Promise<DocumentRow | undefined> {
    return await database.again(
      async () => await documentRows(db, name).where('key', '=', key).executeTakeFirst(),
    );
  }

  /** Replaces what was read by what is given; false when somebody else was faster. */
  async function replace(
    key: Buffer,
    before: DocumentRow | undefined,
    after: Omit<DocumentRow, 'key'>,
  ): Promise<boolean> {
    const row = {
      ...after,
      id: after.id === null ? null : sql<string>`${after.id}::json`,
      body: after.body === null ? null : sql<string>`${after.body}::json`,
    };
    const write = async () => {
      const result = before
        ? await writes
            .updateTable('document')
            .set({ ...row, changed_at: sql<Date>`clock_timestamp()` })
            .where('collection', '=', name)
            .where('key', '=', key)
            .where('revision', '=', before.revision)
            .executeTakeFirst()
        : await writes
            .insertInto('document')
            .values({ collection: name, key, ...row })
            .onConflict((conflict) => conflict.doNothing())
            .executeTakeFirst();
      return (
        ('numUpdatedRows' in result ? result.numUpdatedRows : result.numInsertedOrUpdatedRows) ===
        1n
      );
    };
    try {
      return await database.once(write);
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      // It may have been done all the same: the answer is what was lost.
      const now = await load(key);
      if (now?.revision === after.revision) return true;
      if (now?.revision === before?.revision) return await database.once(write);
      throw error;
    }
  }

  /** Makes all changes that wait, with one write. */
  async function applyAll(id: string): Promise<void> {
    const wanted = changesOf.get(id) ?? [];
    changesOf.delete(id);
    try {
      settle(await apply(id, keyOf(id), wanted));
    } catch (error) {
      for (const { reject } of wanted) reject(error);
    }
  }

  function settle(outcomes: Outcome<T>[]) {
    for (const outcome of outcomes) {
      if ('error' in outcome) outcome.change.reject(outcome.error);
      else outcome.change.resolve(outcome.result);
    }
  }

  async function apply(id: string, key: Buffer, wanted: Change<T>[]): Promise<Outcome<T>[]> {
    for (let left = MAX_TRIES; left > 0; left -= 1) {
      const before = await load(key);
      const known = documentOf(before);
      const { outcomes, text, isChanged } = attempt(known, wanted);
      // Damaged, it counts as never written, and yet something of it may be meant to go.
      const isDamaged = known === undefined && typeof before?.body === 'string';
      if (!isChanged && !isDamaged) return outcomes;
      const after = {
        id: text === undefined ? null : JSON.stringify(id),
        version: declaration.version,
        revision: randomUUID(),
        body: text ?? null,
      };
      if (await replace(key, before, after)) {
        changes.written({ key, ...after });
        return outcomes;
      }
    }
    throw new StoreUnavailableError(
      `Too many changes to a document of '${name}' at once; this one did not get its turn.`,
    );
  }

  /** What the changes make of a document, one after another. */
  function attempt(before: T | undefined, changes: Change<T>[]) {
    let document = before;
    let text: string | undefined;
    const outcomes = changes.map((change): Outcome<T> => {
      try {
        const wanted = change.make(document);
        if (wanted !== document)
          [document, text] = wanted === undefined ? [undefined, undefined] : prepare(wanted);
        return { change, result: document };
      } catch (error) {
        return { change, error };
      }
    });
    return { outcomes, text, isChanged: document !== before };
  }

  /** A document as it will be read, and its text. */
  function prepare(document: T): [T, string] {
    try {
      const text = JSON.stringify(document);
      const { version } = declaration;
      return [readDocument(declaration, { version, document: JSON.parse(text) }), text];
    } catch (error) {
      throw notStorable(name, error);
    }
  }

  async function enqueue(id: string, make: Change<T>['make']): Promise<T | undefined> {
    assertOpen();
    database.assertWritable();
    assertId(id);
    return await pending.track(
      new Promise((resolve, reject) => {
        const own = { make, resolve, reject };
        const others = changesOf.get(id);
        if (others) {
          others.push(own);
          return;
        }
        changesOf.set(id, [own]);
        void queues.run(id, () => applyAll(id));
      }),
    );
  }

  async function* rows(): AsyncGenerator<DocumentRow> {
    assertOpen();
    for await (const page of documentPages(database, name)) {
      yield* page.rows;
      assertOpen();
    }
  }

  async function list() {
    assertOpen();
    const all: Array<{ id: string; document: T }> = [];
    for await (const row of rows()) {
      const document = documentOf(row);
      if (document !== undefined)
        all.push({ id: JSON.parse(row.id ?? 'null') as string, document });
    }
    return all;
  }

  return {
    async get(id) {
      assertOpen();
      assertId(id);
      return documentOf(await pending.track(load(keyOf(id))));
    },
    list,
    update: enqueue,
    // A row has no earlier version that could be read; what the server's own files still hold goes with its vacuum.
    erase: enqueue,
    async eraseAll(fits) {
      database.assertWritable();
      for (const { id, document } of await list()) {
        if (fits(id, document))
          await enqueue(id, (now) => (now && fits(id, now) ? undefined : now));
      }
      for await (const row of rows()) {
        if (documentOf(row) !== undefined) continue;
        await writes
          .deleteFrom('document')
          .where('collection', '=', name)
          .where('key', '=', row.key)
          .where('revision', '=', row.revision)
          .execute();
      }
    },
    async follow(listener) {
      let isFirst = true;
      const following = await changes.follow((changed) =>
        listener(
          changed.flatMap(({ id, row }) => {
            try {
              return [{ id, document: documentOf(row) }];
            } catch (error) {
              // At the start nothing goes on without it; later the others must be told all the same.
              if (isFirst) throw error;
              log.error({ err: error }, `could not read a change in '${name}'`);
              return [];
            }
          }),
        ),
      );
      isFirst = false;
      return following;
    },
  };
}
