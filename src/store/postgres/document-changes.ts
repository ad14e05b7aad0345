import { sql } from 'kysely';
import type { Following } from '../store.ts';
import type { Database } from './database.ts';
import { inTurn } from './in-turn.ts';
import type { News } from './news.ts';

/** A row of the table of documents, as texts. */
export interface DocumentRow {
  key: Buffer;
  id: string | null;
  version: number;
  revision: string;
  body: string | null;
}

/** The rows of a collection, to be narrowed down. */
export const documentRows = (db: Database['db'], collection: string) =>
  db
    .selectFrom('document')
    .select(['key', sql<string | null>`id::text`.as('id'), 'version', 'revision'])
    .select(sql<string | null>`body::text`.as('body'))
    .where('collection', '=', collection);

/** What changed of a collection: the document's id, and its row. */
export interface ChangedRow {
  id: string;
  row: DocumentRow;
}

/**
 * A change that was made earlier than another may be seen later: by so much, at most. Statements end after 5 s, and
 * transactions that nobody goes on with after 10.
 */
const OVERLAP = sql`interval '30 seconds'`;

/** Who has not looked for so long may have missed removals, of which no row is left: it compares all. */
const COMPARE_ALL_AFTER_MS = 300_000;

/** Documents that are read with one statement. */
const READ_COUNT = 500;

/** How long the row of a removed document stays, for those who have not looked since. */
export const REMOVED_KEPT = sql`interval '15 minutes'`;

/** Follows what all processes change in one collection. */
export type DocumentChanges = ReturnType<typeof createDocumentChanges>;

export function createDocumentChanges(options: {
  database: Database;
  news: News;
  collection: string;
}) {
  const { database, news, collection } = options;
  const { db } = database;
  /** What each key was last told as. */
  const told = new Map<string, { id: string; revision: string }>();
  let listener: ((changed: ChangedRow[]) => void) | undefined;
  let readUntil: Date | undefined;
  let readAtMs = Number.NEGATIVE_INFINITY;

  function tell(rows: readonly DocumentRow[]) {
    const changed = rows.flatMap((row): ChangedRow[] => {
      const key = row.key.toString('latin1');
      const before = told.get(key);
      if (row.body === null) {
        told.delete(key);
        // Never told of, it need not be told gone.
        return before ? [{ id: before.id, row }] : [];
      }
      const id = JSON.parse(row.id ?? 'null') as string;
      told.set(key, { id, revision: row.revision });
      return [{ id, row }];
    });
    if (changed.length > 0) listener?.(changed);
  }

  /** Rows with these keys as they are now; those that are gone, as removed. */
  async function rowsOf(keys: readonly Buffer[]): Promise<DocumentRow[]> {
    const rows: DocumentRow[] = await documentRows(db, collection)
      .where('key', 'in', keys)
      .execute();
    const found = new Set(rows.map(({ key }) => key.toString('latin1')));
    const gone = keys.filter((key) => !found.has(key.toString('latin1')));
    return [
      ...rows,
      ...gone.map((key) => ({ key, id: null, version: 0, revision: '', body: null })),
    ];
  }

  async function poll(): Promise<void> {
    if (!listener) return;
    const sentAtMs = performance.now();
    const since = sentAtMs - readAtMs > COMPARE_ALL_AFTER_MS ? undefined : readUntil;
    const { rows: clock } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(db);
    const revisions = await db
      .selectFrom('document')
      .select(['key', 'revision'])
      .where('collection', '=', collection)
      .$if(since === undefined, (query) => query.where('body', 'is not', null))
      .$if(since !== undefined, (query) =>
        query.where('changed_at', '>', sql<Date>`${since}::timestamptz - ${OVERLAP}`),
      )
      .execute();
    const found = new Map(revisions.map(({ key, revision }) => [key.toString('latin1'), revision]));
    const gone = since === undefined ? [...told.keys()].filter((key) => !found.has(key)) : [];
    const changed = [...found.keys(), ...gone].flatMap((key) => {
      const before = told.get(key)?.revision;
      return before === found.get(key) ? [] : { key, before };
    });
    // A part at a time: of all documents there may be very many.
    for (let at = 0; at < changed.length; at += READ_COUNT) {
      const some = changed.slice(at, at + READ_COUNT);
      const before = new Map(some.map((each) => [each.key, each.before]));
      const rows = await rowsOf(some.map(({ key }) => Buffer.from(key, 'latin1')));
      tell(
        rows.filter((row) => {
          // What this process itself has written meanwhile is newer than what was read.
          const key = row.key.toString('latin1');
          return told.get(key)?.revision === before.get(key);
        }),
      );
    }
    readUntil = clock[0]?.now;
    readAtMs = sentAtMs;
  }

  return {
    /** Tells of all documents there are, and then of every change, also those of this process. One at a time. */
    async follow(told: (changed: ChangedRow[]) => void): Promise<Following> {
      if (listener) throw new Error(`The collection '${collection}' is followed already.`);
      listener = told;
      const pollInTurn = inTurn(() => database.again(poll));
      await pollInTurn();
      const following = news.follow(collection, pollInTurn);
      return {
        catchUp: pollInTurn,
        staleMs: () => performance.now() - readAtMs,
        stop() {
          following.stop();
          listener = undefined;
        },
      };
    },
    /** This process has written a row: its own listener knows before anybody is answered, and others soon. */
    written(row: DocumentRow): void {
      if (listener) tell([row]);
      news.announce(collection);
    },
  };
}
