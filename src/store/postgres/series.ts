import { sql } from 'kysely';
import type { Logger } from 'pino';
import type { Series, SeriesRow } from '../series.ts';
import type { Database } from './database.ts';
import { createDayPartitions } from './day-partitions.ts';
import type { PendingWork } from './pending-work.ts';

const TABLE = 'check_result';

/** What the server says when a row has no partition. */
const NO_PARTITION = '23514';

/** The rows of checks, of a few days, in partitions of a day. */
export function createPostgresSeries(options: {
  database: Database;
  pending: PendingWork;
  assertOpen: () => void;
  log: Logger;
}): Series {
  const { database, pending, assertOpen, log } = options;
  const { db, schema } = database;
  const table = sql.table(`${schema}.${TABLE}`);
  const partitions = createDayPartitions(database, TABLE);
  const columns = sql`r.monitor, (extract(epoch from r.slot) * 1000)::float8 as "slotMs",
    (extract(epoch from r.at) * 1000)::float8 as "atMs", r.kind, r.took,
    r.every_ms as "everyMs", r.reason`;

  /** Partitions for all of the rows; that of the next day is there long before midnight. */
  async function needDays(rows: readonly SeriesRow[]) {
    const days = new Set(rows.map(({ slotMs }) => partitions.dayOf(slotMs)));
    for (const day of days) {
      await partitions.need(day);
      if (partitions.isKnown(day + 1)) continue;
      pending.track(partitions.need(day + 1)).catch((error: unknown) => {
        log.debug({ err: error }, "could not create the next day's partition; retrying later");
      });
    }
  }

  async function insert(rows: readonly SeriesRow[]): Promise<number> {
    // In order of the key: two processes with the same rows would else wait for each other.
    const { numAffectedRows = 0n } = await sql`
      insert into ${table} (monitor, slot, at, kind, took, every_ms, reason)
      select * from unnest(
        ${rows.map(({ monitor }) => monitor)}::text[],
        ${rows.map(({ slotMs }) => timeText(slotMs))}::timestamptz[],
        ${rows.map(({ atMs }) => timeText(atMs))}::timestamptz[],
        ${rows.map(({ kind }) => kind)}::int4[],
        ${rows.map(({ took }) => took)}::int8[],
        ${rows.map(({ everyMs }) => everyMs)}::int8[],
        ${rows.map(({ reason }) => storable(reason))}::text[]
      ) as sent (monitor, slot) order by monitor, slot
      on conflict do nothing`.execute(db);
    return Number(numAffectedRows);
  }

  async function insertOrMake(rows: readonly SeriesRow[]): Promise<number> {
    await needDays(rows);
    try {
      return await insert(rows);
    } catch (error) {
      if ((error as { code?: string }).code !== NO_PARTITION) throw error;
      // Another process has dropped it since.
      partitions.forgetKnown();
      await needDays(rows);
      return await insert(rows);
    }
  }

  /** Those of these rows in whose place another one stands. */
  async function replacedOf<T extends SeriesRow>(rows: readonly T[]): Promise<T[]> {
    const { rows: found } = await sql<{ no: number }>`
      select sent.no from unnest(
        ${rows.map(({ monitor }) => monitor)}::text[],
        ${rows.map(({ slotMs }) => timeText(slotMs))}::timestamptz[],
        ${rows.map(({ atMs }) => timeText(atMs))}::timestamptz[],
        ${rows.map(({ kind }) => kind)}::int4[],
        ${rows.map(({ took }) => took)}::int8[]
      ) with ordinality as sent (monitor, slot, at, kind, took, no)
      join ${table} r on r.monitor = sent.monitor and r.slot = sent.slot
      where (r.at, r.kind, r.took) is distinct from (sent.at, sent.kind, sent.took)`.execute(db);
    return found.flatMap(({ no }) => rows[no - 1] ?? []);
  }

  async function append<T extends SeriesRow>(rows: readonly T[]): Promise<T[]> {
    if (rows.length === 0) return [];
    const added = await database.again(() => insertOrMake(rows));
    // Fewer also when they were sent a second time.
    return added === rows.length ? [] : await database.again(() => replacedOf(rows));
  }

  return {
    async append(rows) {
      assertOpen();
      return await pending.track(append(rows));
    },

    async newest(monitor, asked) {
      assertOpen();
      const { count, minKind = 0, beforeMs = Number.POSITIVE_INFINITY } = asked;
      const { rows } = await database.again(() =>
        sql<Stored>`select ${columns} from ${table} r
          where r.monitor = ${monitor} and r.kind >= ${minKind}
            and r.slot < ${timeText(beforeMs)}::timestamptz
          order by r.slot desc limit ${count}`.execute(db),
      );
      return rows.map(toRow).reverse();
    },

    async between(ranges) {
      assertOpen();
      const { rows } = await database.again(() =>
        sql<Stored>`select ${columns} from unnest(
            ${ranges.map(({ monitor }) => monitor)}::text[],
            ${ranges.map(({ fromMs }) => timeText(fromMs))}::timestamptz[],
            ${ranges.map(({ toMs }) => timeText(toMs))}::timestamptz[]
          ) as asked (monitor, from_slot, to_slot)
          cross join lateral (
            select * from ${table} each where each.monitor = asked.monitor
              and each.slot >= asked.from_slot and each.slot < asked.to_slot
          ) r order by r.monitor, r.slot`.execute(db),
      );
      return rows.map(toRow);
    },

    async forget(monitor) {
      assertOpen();
      await pending.track(
        database.again(() => sql`delete from ${table} where monitor = ${monitor}`.execute(db)),
      );
    },

    async prune(beforeMs) {
      assertOpen();
      await pending.track(database.once(() => partitions.removeBefore(partitions.dayOf(beforeMs))));
    },
  };
}

type Stored = Omit<SeriesRow, 'reason'> & { reason: string | null };

const toRow = ({ reason, ...row }: Stored): SeriesRow => ({ ...row, reason: reason ?? undefined });

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
