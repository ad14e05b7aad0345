import { createHash } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import type { Following } from '../store.ts';
import type { Database } from './database.ts';
import { inTurn } from './in-turn.ts';
import type { ChangeNews } from './news.ts';

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

/** Rows of a collection that fulfil a condition. */
export async function documentRows(
  { db, schema }: Pick<Database, 'db' | 'schema'>,
  collection: string,
  condition: RawBuilder<unknown>,
): Promise<DocumentRow[]> {
  const { rows } = await sql<DocumentRow>`
    select key, id::text as id, version, revision, body::text as body
    from ${sql.table(`${schema}.document`)}
    where collection = ${collection} and ${condition}`.execute(db);
  return rows;
}

/** Pages in the order of keys; `askedMs` is when a page was requested, on the monotonic clock. */
export async function* documentPages(
  database: Pick<Database, 'db' | 'schema' | 'again'>,
  collection: string,
): AsyncGenerator<{ rows: DocumentRow[]; askedMs: number }> {
  for (let after: Buffer | undefined = Buffer.alloc(0); after; ) {
    const from: Buffer = after;
    const askedMs = performance.now();
    const isNext = sql`key > ${from} and body is not null order by key limit ${PAGE_COUNT}`;
    const rows = await database.again(() => documentRows(database, collection, isNext));
    yield { rows, askedMs };
    after = rows.length === PAGE_COUNT ? rows.at(-1)?.key : undefined;
  }
}

/** A change: the document's id and its row. */
export interface ChangedRow {
  id: string;
  row: DocumentRow;
}

/** An earlier change may become visible this much later: statements end after 5 s, idle transactions after 10 s. */
const OVERLAP = sql`interval '30 seconds'`;

const RECENT_KEPT_MS = 60_000;

/** After so long without a read, deletions may be missed, because no row is left of them. Everything is read again then. */
const ALL_AFTER_MS = 300_000;

/** The row of a deleted document stays so long for other processes. */
export const REMOVED_KEPT = sql`interval '15 minutes'`;

/** Follows the changes of all processes to one collection. */
export type DocumentChanges = ReturnType<typeof createDocumentChanges>;

interface ChangesOptions {
  database: Database;
  news: ChangeNews;
  collection: string;
}

export function createDocumentChanges(options: ChangesOptions) {
  const { database, news, collection } = options;
  const reader = new ChangeReader(options);
  return {
    /** Passes on all documents, and then every change, also of this process. One follower at a time. */
    async follow(onChange: (changed: ChangedRow[]) => void): Promise<Following> {
      if (reader.listener) throw new Error(`The collection '${collection}' is followed already.`);
      reader.listener = onChange;
      const pollInTurn = inTurn(() => database.again(() => reader.poll()));
      await pollInTurn();
      const following = news.follow(collection, pollInTurn);
      return {
        catchUp: pollInTurn,
        staleMs: () => performance.now() - reader.readAtMs,
        stop() {
          following.stop();
          reader.listener = undefined;
        },
      };
    },
    /** The own follower learns of a row that this process has written before its caller does, and others soon. */
    written(row: DocumentRow): void {
      if (reader.listener) reader.passOnWritten(row);
      news.announce(collection);
    },
  };
}

class ChangeReader {
  listener: ((changed: ChangedRow[]) => void) | undefined;
  readAtMs = Number.NEGATIVE_INFINITY;
  private readonly database: Database;
  private readonly collection: string;
  /** Ids of the documents that were passed on, by key: the row of a deleted document has only its key. */
  private readonly ids = new Map<string, string>();
  /** Changes that were passed on lately, and when, by key. */
  private readonly recent = new Map<string, { revision: string; atMs: number }>();
  private readUntil: Date | undefined;

  constructor({ database, collection }: ChangesOptions) {
    this.database = database;
    this.collection = collection;
  }

  async poll(): Promise<void> {
    if (!this.listener) return;
    const sentAtMs = performance.now();
    for (const [key, { atMs }] of this.recent) {
      if (sentAtMs - atMs <= RECENT_KEPT_MS) break;
      this.recent.delete(key);
    }
    const { rows: clock } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(
      this.database.db,
    );
    if (this.readUntil === undefined || sentAtMs - this.readAtMs > ALL_AFTER_MS) {
      await this.readAll();
    } else {
      await this.readKeys(await this.changedSince(this.readUntil));
    }
    this.readUntil = clock[0]?.now;
    this.readAtMs = sentAtMs;
  }

  passOnWritten(row: DocumentRow): void {
    this.passOn([row]);
    this.remember([row]);
  }

  private passOn(rows: readonly DocumentRow[]): void {
    const changed = rows.flatMap((row): ChangedRow[] => {
      const key = textOf(row.key);
      if (row.body !== null) {
        const id = this.ids.get(key) ?? (JSON.parse(row.id ?? 'null') as string);
        this.ids.set(key, id);
        return [{ id, row }];
      }
      const id = this.ids.get(key);
      this.ids.delete(key);
      // The follower doesn't know the document.
      return id === undefined ? [] : [{ id, row }];
    });
    if (changed.length > 0) this.listener?.(changed);
  }

  private remember(rows: readonly DocumentRow[]): void {
    const atMs = performance.now();
    for (const { key: bytes, revision } of rows) {
      const key = textOf(bytes);
      // The latest change is the last one in the map.
      this.recent.delete(key);
      this.recent.set(key, { revision, atMs });
    }
  }

  /** A document that this process has written since the query is newer than the result. */
  private passOnRead(rows: readonly DocumentRow[], askedMs: number): DocumentRow[] {
    const newest = rows.filter(({ key }) => (this.recent.get(textOf(key))?.atMs ?? 0) < askedMs);
    this.passOn(newest);
    return newest;
  }

  private async readAll(): Promise<void> {
    const unseen = new Set(this.ids.values());
    for await (const { rows, askedMs } of documentPages(this.database, this.collection)) {
      if (unseen.size > 0) for (const { id } of rows) unseen.delete(JSON.parse(id ?? 'null'));
      this.passOnRead(rows, askedMs);
    }
    await this.readKeys([...unseen].map(keyOf));
  }

  /** Keys of documents that were written since, without the ones passed on already. */
  private async changedSince(since: Date): Promise<Buffer[]> {
    const { db, schema } = this.database;
    const { rows } = await sql<Pick<DocumentRow, 'key' | 'revision'>>`
      select key, revision from ${sql.table(`${schema}.document`)}
      where collection = ${this.collection} and changed_at > ${since}::timestamptz - ${OVERLAP}`.execute(
      db,
    );
    return rows
      .filter(({ key, revision }) => this.recent.get(textOf(key))?.revision !== revision)
      .map(({ key }) => key);
  }

  /** Passes on documents as they are now, or that they are gone. */
  private async readKeys(keys: readonly Buffer[]): Promise<void> {
    for (let at = 0; at < keys.length; at += PAGE_COUNT) {
      const some = keys.slice(at, at + PAGE_COUNT);
      const askedMs = performance.now();
      const isOne = sql`key = any(${some}::bytea[])`;
      const rows = await documentRows(this.database, this.collection, isOne);
      const found = new Set(rows.map(({ key }) => textOf(key)));
      const gone = some
        .filter((key) => !found.has(textOf(key)))
        .map((key) => ({ key, id: null, version: 0, revision: '', body: null }));
      this.remember(this.passOnRead([...rows, ...gone], askedMs));
    }
  }
}

const textOf = (key: Buffer) => key.toString('latin1');
