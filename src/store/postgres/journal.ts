import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { DAY_MS, encodeErased, encodeRecord, textsInJson } from '../records.ts';
import type { Journal, JournalDeclaration, JournalRecord } from '../store.ts';
import type { Database } from './database.ts';
import type { PendingWork } from './pending-work.ts';

/** Records and characters in one statement. */
const BATCH_COUNT = 500;
const BATCH_LENGTH = 4 * 1024 * 1024;

const PAGE_COUNT = 1_000;

/** Rows that one statement deletes, so that none takes long. */
const DELETE_COUNT = 5_000;

const ALL_TIMES = { fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY };

interface RecordRow {
  at_ms: number;
  no: number;
  writer: string;
  body: string;
}

interface PendingRow {
  row: RecordRow;
  resolve: () => void;
  reject: (error: unknown) => void;
}

interface RecordRowsOptions {
  database: Database;
  pending: PendingWork;
  assertOpen: () => void;
  log: Logger;
}

/** A journal with one row per record. Records that come together are sent together. */
export function createPostgresJournal<T extends JournalRecord>(
  declaration: JournalDeclaration<T>,
  options: RecordRowsOptions,
): Journal<T> {
  const { pending, assertOpen } = options;
  const rows = new RecordRows(declaration, options);
  return {
    async append(record) {
      assertOpen();
      await pending.track(rows.append(record));
    },
    read: (range) => rows.read({ ...ALL_TIMES, ...range }),
    async prune(beforeMs) {
      assertOpen();
      await pending.track(rows.deleteBefore(Math.floor(beforeMs / DAY_MS) * DAY_MS));
    },
    async clear() {
      assertOpen();
      await pending.track(rows.deleteBefore(Number.POSITIVE_INFINITY));
    },
    async erase(change, { mentioning = [] } = {}) {
      assertOpen();
      await pending.track(rows.erase(change, textsInJson(mentioning)));
    },
  };
}

class RecordRows<T extends JournalRecord> {
  private readonly declaration: JournalDeclaration<T>;
  private readonly options: RecordRowsOptions;
  private readonly database: Database;
  private readonly table;
  private readonly writer = randomUUID();
  private lastNo = 0;
  private readonly waiting: PendingRow[] = [];
  private writing: Promise<void> | undefined;

  constructor(declaration: JournalDeclaration<T>, options: RecordRowsOptions) {
    this.declaration = declaration;
    this.options = options;
    this.database = options.database;
    this.table = sql.table(`${options.database.schema}.record`);
  }

  async append(record: T): Promise<void> {
    const body = encodeRecord(this.declaration, record);
    this.lastNo += 1;
    const row = { at_ms: record.atMs, no: this.lastNo, writer: this.writer, body };
    await new Promise<void>((resolve, reject) => {
      this.waiting.push({ row, resolve, reject });
      // Records of the same round of the event loop are sent together.
      this.writing ??= Promise.resolve().then(() => this.writeWaiting());
    });
  }

  async *read(range: { fromMs: number; toMs: number }): AsyncGenerator<T> {
    let skipped = 0;
    for await (const row of this.rows(range)) {
      const record = this.decode(row);
      if (record !== undefined) yield record;
      else skipped += 1;
    }
    if (skipped === 0) return;
    const { name } = this.declaration;
    this.options.log.warn({ journal: name, records: skipped }, 'skipped unreadable records');
  }

  async deleteBefore(beforeMs: number): Promise<void> {
    const { name } = this.declaration;
    let deleted: number;
    do {
      deleted = await this.database.again(async () => {
        const { numAffectedRows = 0n } = await sql`delete from ${this.table} where ctid = any(array(
            select ctid from ${this.table}
            where journal = ${name} and at_ms < ${beforeMs} limit ${DELETE_COUNT}))`.execute(
          this.database.writes,
        );
        return Number(numAffectedRows);
      });
    } while (deleted === DELETE_COUNT);
  }

  async erase(change: (record: T) => T | undefined, texts: readonly string[]): Promise<void> {
    await this.writing;
    for await (const row of this.rows(ALL_TIMES, texts)) await this.eraseIn(row, change);
  }

  private async eraseIn(row: RecordRow, change: (record: T) => T | undefined): Promise<void> {
    const record = this.decode(row);
    const wanted = record && change(record);
    if (wanted !== undefined && wanted === record) return;
    const { again, writes } = this.database;
    const isRow = sql`journal = ${this.declaration.name} and at_ms = ${row.at_ms}
      and no = ${row.no} and writer = ${row.writer}::uuid`;
    if (wanted === undefined) {
      await again(() => sql`delete from ${this.table} where ${isRow}`.execute(writes));
      return;
    }
    const body = encodeErased(this.declaration, wanted, row.at_ms);
    await again(() =>
      sql`update ${this.table} set at_ms = ${wanted.atMs}, body = ${body}::json
        where ${isRow}`.execute(writes),
    );
  }

  private async writeWaiting(): Promise<void> {
    while (this.waiting.length > 0) {
      const batch = this.takeBatch();
      try {
        await this.database.again(() => this.insert(batch.map(({ row }) => row)));
        for (const { resolve } of batch) resolve();
      } catch (error) {
        for (const { reject } of batch) reject(error);
      }
    }
    this.writing = undefined;
  }

  private takeBatch(): PendingRow[] {
    let length = 0;
    const end = this.waiting.findIndex(({ row }, index) => {
      length += row.body.length;
      return index > 0 && (index >= BATCH_COUNT || length > BATCH_LENGTH);
    });
    return this.waiting.splice(0, end === -1 ? this.waiting.length : end);
  }

  /** May be called twice, because an answer may be lost: nobody else uses this writer's numbers. */
  private async insert(rows: readonly RecordRow[]): Promise<void> {
    await sql`insert into ${this.table} (journal, at_ms, no, writer, body)
      select ${this.declaration.name}, at_ms, no, ${this.writer}::uuid, body::json from unnest(
        ${rows.map(({ at_ms }) => at_ms)}::float8[],
        ${rows.map(({ no }) => no)}::int8[],
        ${rows.map(({ body }) => body)}::text[]) as rows (at_ms, no, body)
      on conflict do nothing`.execute(this.database.writes);
  }

  /** Rows in order of time, page by page; with `texts` only the ones that contain one of them. */
  private async *rows(
    { fromMs, toMs }: { fromMs: number; toMs: number },
    texts: readonly string[] = [],
  ): AsyncGenerator<RecordRow> {
    const hasText =
      texts.length === 0
        ? sql`true`
        : sql`exists (select from unnest(${texts}::text[]) word where position(word in body::text) > 0)`;
    let after: RecordRow | undefined;
    while (true) {
      this.options.assertOpen();
      const isAfter = after
        ? sql`(at_ms, no, writer) > (${after.at_ms}::float8, ${after.no}::int8, ${after.writer}::uuid)`
        : sql`true`;
      const { rows } = await this.database.again(() =>
        sql<RecordRow>`select at_ms, no, writer, body::text as body from ${this.table}
          where journal = ${this.declaration.name} and at_ms >= ${fromMs} and at_ms < ${toMs}
            and ${isAfter} and ${hasText}
          order by at_ms, no, writer limit ${PAGE_COUNT}`.execute(this.database.db),
      );
      yield* rows;
      after = rows.at(-1);
      if (!after || rows.length < PAGE_COUNT) return;
    }
  }

  private decode({ body }: RecordRow): T | undefined {
    const result = this.declaration.schema.safeParse(JSON.parse(body));
    return result.success ? result.data : undefined;
  }
}
