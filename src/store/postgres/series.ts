import { sql } from 'kysely';
import type { Logger } from 'pino';
import type { Series, SeriesRange, SeriesRow } from '../series.ts';
import type { Database } from './database.ts';
import { createDayPartitions } from './day-partitions.ts';
import type { PendingWork } from './pending-work.ts';

const TABLE = 'check_result';

/** Monitors of one page. */
const MONITOR_COUNT = 100;

const HOUR_MS = 3_600_000;

/** The server's code for a row without a partition. */
const NO_PARTITION = '23514';

interface SeriesOptions {
  database: Database;
  pending: PendingWork;
  assertOpen: () => void;
  log: Logger;
}

/** Rows of a few days, in partitions of a day. */
export class PostgresSeries implements Series {
  private readonly options: SeriesOptions;
  private readonly database: Database;
  private readonly table;
  private readonly partitions;

  constructor(options: SeriesOptions) {
    this.options = options;
    this.database = options.database;
    this.table = sql.table(`${options.database.schema}.${TABLE}`);
    this.partitions = createDayPartitions(options.database, TABLE);
  }

  async append<T extends SeriesRow>(rows: readonly T[]): Promise<T[]> {
    this.options.assertOpen();
    if (rows.length === 0) return [];
    const { again } = this.database;
    return await this.options.pending.track(
      again(() => this.insertOrMakeDays(rows)).then((addedCount) =>
        // Rows that are sent a second time aren't counted either.
        addedCount === rows.length ? [] : again(() => this.refusedOf(rows)),
      ),
    );
  }

  async newest(
    monitor: string,
    wanted: { count: number; minKind?: number; beforeMs?: number },
  ): Promise<SeriesRow[]> {
    this.options.assertOpen();
    const { count, minKind = 0, beforeMs = Number.POSITIVE_INFINITY } = wanted;
    const { rows } = await this.database.again(() =>
      sql<StoredRow>`select ${COLUMNS} from ${this.table} r
        where r.monitor = ${monitor} and r.kind >= ${minKind}
          and r.slot < ${timeText(beforeMs)}::timestamptz
        order by r.slot desc limit ${count}`.execute(this.database.db),
    );
    return rows.map(toRow).reverse();
  }

  async between(ranges: readonly SeriesRange[]): Promise<SeriesRow[]> {
    this.options.assertOpen();
    const { rows } = await this.database.again(() =>
      sql<StoredRow>`select ${COLUMNS} from unnest(
          ${ranges.map(({ monitor }) => monitor)}::text[],
          ${ranges.map(({ fromMs }) => timeText(fromMs))}::timestamptz[],
          ${ranges.map(({ toMs }) => timeText(toMs))}::timestamptz[]
        ) as asked (monitor, from_slot, to_slot)
        cross join lateral (
          select * from ${this.table} each where each.monitor = asked.monitor
            and each.slot >= asked.from_slot and each.slot < asked.to_slot
        ) r order by r.monitor, r.slot`.execute(this.database.db),
    );
    return rows.map(toRow);
  }

  /** One look into the index for each monitor: a statement that reads all rows would take too long. */
  async *monitors(): AsyncGenerator<string[]> {
    for (let after: string | undefined = ''; after !== undefined; ) {
      const from: string = after;
      const { rows } = await this.database.again(() =>
        sql<{ monitor: string }>`
          with recursive known as (
            (select monitor from ${this.table} where monitor > ${from} order by monitor limit 1)
            union all
            select next.monitor from known cross join lateral (
              select monitor from ${this.table} where monitor > known.monitor
              order by monitor limit 1
            ) next
          ) select monitor from known limit ${MONITOR_COUNT}`.execute(this.database.db),
      );
      const found = rows.map(({ monitor }) => monitor);
      if (found.length > 0) yield found;
      after = found.at(-1);
    }
  }

  async hours(): Promise<number[]> {
    this.options.assertOpen();
    const hours = new Set<number>();
    for await (const some of this.monitors()) {
      const { rows } = await this.database.again(() =>
        sql<{ hour: number }>`
          select distinct floor(extract(epoch from at) * 1000 / ${HOUR_MS})::bigint as hour
          from ${this.table} where monitor = any(${some}::text[])`.execute(this.database.db),
      );
      for (const { hour } of rows) hours.add(hour * HOUR_MS);
    }
    return [...hours].sort((a, b) => a - b);
  }

  async forget(monitor: string): Promise<void> {
    const { pending, assertOpen } = this.options;
    assertOpen();
    const { again, db } = this.database;
    await pending.track(
      again(() => sql`delete from ${this.table} where monitor = ${monitor}`.execute(db)),
    );
  }

  async prune(beforeMs: number): Promise<void> {
    const { partitions } = this;
    const { pending, assertOpen } = this.options;
    assertOpen();
    await pending.track(
      this.database.once(() => partitions.removeBefore(partitions.dayOf(beforeMs))),
    );
  }

  private async insertOrMakeDays(rows: readonly SeriesRow[]): Promise<number> {
    await this.needDays(rows);
    try {
      return await this.insert(rows);
    } catch (error) {
      if ((error as { code?: string }).code !== NO_PARTITION) throw error;
      // Another process has dropped it since.
      this.partitions.forgetKnown();
      await this.needDays(rows);
      return await this.insert(rows);
    }
  }

  /** Creates partitions for the rows, and the next day's long before midnight. */
  private async needDays(rows: readonly SeriesRow[]): Promise<void> {
    const { partitions } = this;
    const { pending, log } = this.options;
    const days = new Set(rows.map(({ slotMs }) => partitions.dayOf(slotMs)));
    for (const day of days) {
      await partitions.need(day);
      if (partitions.isKnown(day + 1)) continue;
      pending.track(partitions.need(day + 1)).catch((error: unknown) => {
        log.debug({ err: error }, "could not create the next day's partition; retrying later");
      });
    }
  }

  private async insert(rows: readonly SeriesRow[]): Promise<number> {
    // In the order of the key: two processes with the same rows would else wait for each other.
    const { numAffectedRows = 0n } = await sql`
      insert into ${this.table} (monitor, slot, at, kind, took, every_ms, reason)
      select * from unnest(
        ${rows.map(({ monitor }) => monitor)}::text[],
        ${rows.map(({ slotMs }) => timeText(slotMs))}::timestamptz[],
        ${rows.map(({ atMs }) => timeText(atMs))}::timestamptz[],
        ${rows.map(({ kind }) => kind)}::int4[],
        ${rows.map(({ took }) => took)}::int8[],
        ${rows.map(({ everyMs }) => everyMs)}::int8[],
        ${rows.map(({ reason }) => storable(reason))}::text[]
      ) as sent (monitor, slot) order by monitor, slot
      on conflict do nothing`.execute(this.database.db);
    return Number(numAffectedRows);
  }

  /** Rows that were refused because another row has their place. */
  private async refusedOf<T extends SeriesRow>(rows: readonly T[]): Promise<T[]> {
    const { rows: found } = await sql<{ no: number }>`
      select sent.no from unnest(
        ${rows.map(({ monitor }) => monitor)}::text[],
        ${rows.map(({ slotMs }) => timeText(slotMs))}::timestamptz[],
        ${rows.map(({ atMs }) => timeText(atMs))}::timestamptz[],
        ${rows.map(({ kind }) => kind)}::int4[],
        ${rows.map(({ took }) => took)}::int8[]
      ) with ordinality as sent (monitor, slot, at, kind, took, no)
      join ${this.table} r on r.monitor = sent.monitor and r.slot = sent.slot
      where (r.at, r.kind, r.took) is distinct from (sent.at, sent.kind, sent.took)`.execute(
      this.database.db,
    );
    return found.flatMap(({ no }) => rows[no - 1] ?? []);
  }
}

const COLUMNS = sql`r.monitor, (extract(epoch from r.slot) * 1000)::float8 as "slotMs",
  (extract(epoch from r.at) * 1000)::float8 as "atMs", r.kind, r.took,
  r.every_ms as "everyMs", r.reason`;

type StoredRow = Omit<SeriesRow, 'reason'> & { reason: string | null };

const toRow = ({ reason, ...row }: StoredRow): SeriesRow => ({
  ...row,
  reason: reason ?? undefined,
});

/** A time with its microseconds, which a Date has not. */
function timeText(atMs: number): string {
  if (!Number.isFinite(atMs)) return atMs > 0 ? 'infinity' : '-infinity';
  const wholeMs = Math.floor(atMs);
  const micros = Math.min(999, Math.round((atMs - wholeMs) * 1000));
  return `${new Date(wholeMs).toISOString().slice(0, -1)}${String(micros).padStart(3, '0')}Z`;
}

/** A text of PostgreSQL holds every character but this one. */
const storable = (text: string | undefined): string | null =>
  text?.replaceAll('\0', '\ufffd') ?? null;
