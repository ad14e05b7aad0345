import { createHash } from 'node:crypto';
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

/** Documents that are read with one statement. */
const PAGE_COUNT = 500;

/** The key of a document: hashed as JSON, which keeps half surrogates apart. */
export const keyOf = (id: string): Buffer =>
  createHash('sha256').update(JSON.stringify(id)).digest();

/** The rows of a collection, to be narrowed down. */
export const documentRows = (db: Database['db'], collection: string) =>
  db
    .selectFrom('document')
    .select(['key', sql<string | null>`id::text`.as('id'), 'version', 'revision'])
    .select(sql<string | null>`body::text`.as('body'))
    .where('collection', '=', collection);

/** All documents of a collection, in the order of their keys; `askedMs` is when a page was asked for, on the monotonic clock. */
export async function* documentPages(
  { db, again }: Pick<Database, 'db' | 'again'>,
  collection: string,
): AsyncGenerator<{ rows: DocumentRow[]; askedMs: number }> {
  for (let after: Buffer | undefined = Buffer.alloc(0); after; ) {
    const from: Buffer = after;
    const askedMs = performance.now();
    const rows = await again(
      async () =>
        await documentRows(db, collection)
          .where('key', '>', from)
          .where('body', 'is not', null)
          .orderBy('key')
          .limit(PAGE_COUNT)
          .execute(),
    );
    yield { rows, askedMs };
    after = rows.length === PAGE_COUNT ? rows.at(-1)?.key : undefined;
  }
}

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

/** What was told is found again by later looks for so long, with some time to spare. */
const TOLD_KEPT_MS = 60_000;

/** Who has not looked for so long may have missed removals, of which no row is left: it goes through all. */
const ALL_AFTER_MS = 300_000;

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
  const ids = createToldIds();
  /** What was told of single ones lately, and when. */
  const told = new Map<string, { revision: string; atMs: number }>();
  let listener: ((changed: ChangedRow[]) => void) | undefined;
  let readUntil: Date | undefined;
  let readAtMs = Number.NEGATIVE_INFINITY;

  function tell(rows: readonly DocumentRow[]) {
    const changed = rows.flatMap((row): ChangedRow[] => {
      if (row.body === null) {
        // Never told of, it need not be told gone.
        const known = ids.take(row.key);
        return known === undefined ? [] : [{ id: known, row }];
      }
      return [{ id: ids.add(row.key, JSON.parse(row.id ?? 'null') as string), row }];
    });
    if (changed.length > 0) listener?.(changed);
  }

  function remember(rows: readonly DocumentRow[]) {
    const atMs = performance.now();
    for (const { key: bytes, revision } of rows) {
      const key = bytes.toString('latin1');
      // Told anew, it is the last in the map.
      told.delete(key);
      told.set(key, { revision, atMs });
    }
  }

  /** But for what was told since it was asked for: this process itself has written it, and that is newer. */
  function tellRead(rows: readonly DocumentRow[], askedMs: number) {
    const toldMs = ({ key }: DocumentRow) => told.get(key.toString('latin1'))?.atMs ?? 0;
    const left = rows.filter((row) => toldMs(row) < askedMs);
    tell(left);
    return left;
  }

  async function poll(): Promise<void> {
    if (!listener) return;
    const sentAtMs = performance.now();
    for (const [key, { atMs }] of told) {
      if (sentAtMs - atMs <= TOLD_KEPT_MS) break;
      told.delete(key);
    }
    const { rows: clock } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(db);
    if (readUntil === undefined || sentAtMs - readAtMs > ALL_AFTER_MS) await tellAll();
    else await tellKeys(await changedSince(readUntil));
    readUntil = clock[0]?.now;
    readAtMs = sentAtMs;
  }

  async function tellAll(): Promise<void> {
    const unseen = new Set(ids.all());
    for await (const { rows, askedMs } of documentPages(database, collection)) {
      if (unseen.size > 0) for (const { id } of rows) unseen.delete(JSON.parse(id ?? 'null'));
      tellRead(rows, askedMs);
    }
    await tellKeys([...unseen].map(keyOf));
  }

  /** The keys of what was written since, but for what was told already. */
  async function changedSince(since: Date): Promise<Buffer[]> {
    const rows = await db
      .selectFrom('document')
      .select(['key', 'revision'])
      .where('collection', '=', collection)
      .where('changed_at', '>', sql<Date>`${since}::timestamptz - ${OVERLAP}`)
      .execute();
    return rows
      .filter(({ key, revision }) => told.get(key.toString('latin1'))?.revision !== revision)
      .map(({ key }) => key);
  }

  /** Tells of those with these keys as they are now; of what is not there any more, that it is gone. */
  async function tellKeys(keys: readonly Buffer[]): Promise<void> {
    // A part at a time: there may be very many.
    for (let at = 0; at < keys.length; at += PAGE_COUNT) {
      const some = keys.slice(at, at + PAGE_COUNT);
      const askedMs = performance.now();
      const rows: DocumentRow[] = await documentRows(db, collection)
        .where('key', 'in', some)
        .execute();
      const found = new Set(rows.map(({ key }) => key.toString('latin1')));
      const gone = some.filter((key) => !found.has(key.toString('latin1')));
      const removed = gone.map((key) => ({ key, id: null, version: 0, revision: '', body: null }));
      remember(tellRead([...rows, ...removed], askedMs));
    }
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
      if (listener) {
        tell([row]);
        remember([row]);
      }
      news.announce(collection);
    },
  };
}

/**
 * The ids of the documents that were told of: the row of one that is removed has its key only. Found by the first bytes of that,
 * since there may be very many, and the whole keys would take more memory than the ids.
 */
function createToldIds() {
  const byStart = new Map<number, string | readonly string[]>();
  const startOf = (key: Buffer) => key.readInt32LE(0);
  const at = (start: number) => [byStart.get(start) ?? []].flat();

  return {
    /** Gives the id as it is held: one text of it is enough. */
    add(key: Buffer, id: string): string {
      const start = startOf(key);
      const there = at(start);
      const known = there.find((other) => other === id);
      if (known !== undefined) return known;
      byStart.set(start, there.length === 0 ? id : [...there, id]);
      return id;
    },
    take(key: Buffer): string | undefined {
      const start = startOf(key);
      const there = at(start);
      const id = there.find((other) => keyOf(other).equals(key));
      const rest = there.filter((other) => other !== id);
      if (rest.length > 0) byStart.set(start, rest);
      else byStart.delete(start);
      return id;
    },
    all: () => [...byStart.values()].flat(),
  };
}
