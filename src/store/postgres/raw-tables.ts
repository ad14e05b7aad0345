import { randomUUID } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { StatePart } from '../raw-state.ts';
import {
  fromSeriesItem,
  SERIES_PART,
  SLOT_REACH_MS,
  seriesGroup,
  seriesItem,
  startOfSeriesGroup,
} from '../series.ts';
import { STATES_PART, StateText } from '../state-items.ts';
import type { UsageCounts, UsageRecord } from '../usage.ts';
import {
  dayOfUsageGroup,
  fromUsageItem,
  USAGE_PART,
  usageGroup,
  usageItems,
} from '../usage-items.ts';
import type { Database } from './database.ts';
import { createPendingWork } from './pending-work.ts';
import { createPostgresSeries } from './series.ts';
import { addRecords, rowIn, type UsageDayRows } from './usage-books.ts';

/** A part, and the tables whose rows it moves. */
export interface TablePart extends StatePart {
  tables: readonly string[];
}

/** Rows of one statement. */
export const ROW_COUNT = 500;
const BATCH_LENGTH = 4 * 1024 * 1024;

/** Rows that one statement removes, so that none takes long. */
const REMOVE_COUNT = 5_000;

/** Monitors of which one statement reads an hour, or finds the hours. */
const MONITOR_COUNT = 100;

/** Batches of requests that are read at once: each holds up to 2,000. */
const USAGE_BATCH_COUNT = 20;

/** Requests that are put together. */
const REQUEST_COUNT = 2_000;

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;

const RegisterItem = z.tuple([z.string(), z.unknown()]);

/** The newest value of each thing of all registers; what stands beside it is worked out anew. */
export function registers(database: Database): TablePart {
  const { db, schema } = database;
  const table = sql.table(`${schema}.register`);
  return {
    name: 'registers',
    tables: ['register'],
    async groups() {
      const { rows } = await database.again(() =>
        sql<{ name: string }>`select distinct name from ${table}`.execute(db),
      );
      return rows.map(({ name }) => name);
    },
    async *read(group) {
      for (let after = ''; ; ) {
        const from = after;
        const { rows } = await database.again(() =>
          sql<{ id: string; value: string }>`
            select id, value::text as value from ${table}
            where name = ${group} and id > ${from} order by id limit ${ROW_COUNT}`.execute(db),
        );
        for (const { id, value } of rows) yield JSON.stringify([id, JSON.parse(value)]);
        const last = rows.at(-1);
        if (!last) return;
        after = last.id;
      }
    },
    async replace(group, items) {
      await remove(database, 'register', sql`name = ${group}`);
      for await (const texts of batches(items)) {
        const rows = texts.map((text) => RegisterItem.parse(JSON.parse(text)));
        await database.again(() =>
          sql`insert into ${table} (name, id, revision, value)
            select ${group}, id, revision, value::json from unnest(
              ${rows.map(([id]) => id)}::text[],
              ${rows.map(() => randomUUID())}::uuid[],
              ${rows.map(([, value]) => JSON.stringify(value))}::text[]
            ) as rows (id, revision, value)
            on conflict do nothing`.execute(db),
        );
      }
    },
  };
}

/** Large states, as what they came to. */
export function states(database: Database): TablePart {
  const { db, schema } = database;
  const [head, item] = ['head', 'item'].map((table) => sql.table(`${schema}.state_${table}`));
  return {
    name: STATES_PART,
    tables: ['state_head', 'state_item'],
    async groups() {
      const { rows } = await database.again(() =>
        sql<{ name: string }>`select name from ${head}`.execute(db),
      );
      return rows.map(({ name }) => name);
    },
    async *read(group) {
      const { rows: heads } = await database.again(() =>
        sql<{ rest: string }>`select rest::text as rest from ${head} where name = ${group}`.execute(
          db,
        ),
      );
      if (!heads[0]) return;
      yield JSON.stringify({ rest: JSON.parse(heads[0].rest) });
      let at = 0;
      for (let after = { since: -1, no: -1 }; ; ) {
        const { since, no } = after;
        const { rows } = await database.again(() =>
          sql<{ since: number; no: number; key: string; inside: string | null; step: string }>`
            select since, no, key, inside, step::text as step from ${item}
            where name = ${group} and (since, no) > (${since}::int8, ${no}::int)
            order by since, no limit ${ROW_COUNT}`.execute(db),
        );
        for (const { key, inside, step } of rows) {
          yield JSON.stringify([at, key, inside, JSON.parse(step)]);
          at += 1;
        }
        const last = rows.at(-1);
        if (!last) return;
        after = last;
      }
    },
    async replace(group, items) {
      await remove(database, 'state_item', sql`name = ${group}`);
      await remove(database, 'state_head', sql`name = ${group}`);
      for await (const texts of batches(items)) {
        const found = texts.map((text) => StateText.parse(JSON.parse(text)));
        const rows = found.flatMap((one) => ('rest' in one ? [] : [one]));
        const heads = found.flatMap((one) => ('rest' in one ? [JSON.stringify(one.rest)] : []));
        await database.again(() =>
          sql`insert into ${head} (name, version, revision, rest)
            select ${group}, 1, ${randomUUID()}::uuid, rest::json from unnest(${heads}::text[]) rest
            on conflict do nothing`.execute(db),
        );
        await database.again(() =>
          sql`insert into ${item} (name, key, inside, since, no, step)
            select ${group}, key, inside, 1, no, step::json from unnest(
              ${rows.map(([no]) => no)}::int[], ${rows.map(([, key]) => key)}::text[],
              ${rows.map(([, , inside]) => inside)}::text[],
              ${rows.map(([, , , step]) => JSON.stringify(step))}::text[]
            ) as rows (no, key, inside, step)
            on conflict do nothing`.execute(db),
        );
      }
    },
  };
}

/** Results of checks, hour by hour of when they were found. */
export function results(database: Database, log: Logger): TablePart {
  const { db, schema } = database;
  const table = sql.table(`${schema}.check_result`);
  const pending = createPendingWork();
  const series = createPostgresSeries({ database, pending, assertOpen() {}, log });

  /** The monitors that have rows, one look into the index for each: a statement that reads all rows would take too long. */
  async function* monitors(): AsyncGenerator<string[]> {
    for (let after = ''; ; ) {
      const from = after;
      const { rows } = await database.again(() =>
        sql<{ monitor: string }>`
          with recursive known as (
            (select monitor from ${table} where monitor > ${from} order by monitor limit 1)
            union all
            select next.monitor from known cross join lateral (
              select monitor from ${table} where monitor > known.monitor order by monitor limit 1
            ) next
          ) select monitor from known limit ${MONITOR_COUNT}`.execute(db),
      );
      const found = rows.map(({ monitor }) => monitor);
      if (found.length > 0) yield found;
      const last = found.at(-1);
      if (last === undefined) return;
      after = last;
    }
  }

  return {
    name: SERIES_PART,
    tables: ['check_result'],
    async groups() {
      const groups = new Set<string>();
      for await (const some of monitors()) {
        const { rows } = await database.again(() =>
          sql<{ hour: number }>`
            select distinct floor(extract(epoch from at) * 1000 / ${HOUR_MS})::bigint as hour
            from ${table} where monitor = any(${some}::text[])`.execute(db),
        );
        for (const { hour } of rows) groups.add(seriesGroup(hour * HOUR_MS));
      }
      return [...groups];
    },
    async *read(group) {
      const startMs = startOfSeriesGroup(group);
      const endMs = startMs + HOUR_MS;
      for await (const some of monitors()) {
        const ranges = some.map((monitor) => ({
          monitor,
          fromMs: startMs - SLOT_REACH_MS,
          toMs: endMs + SLOT_REACH_MS,
        }));
        for (const row of await series.between(ranges)) {
          if (row.atMs >= startMs && row.atMs < endMs) yield seriesItem(row);
        }
      }
    },
    async replace(group, items) {
      const start = new Date(startOfSeriesGroup(group));
      const end = new Date(start.getTime() + HOUR_MS);
      const reach = sql`${SLOT_REACH_MS} * interval '1 millisecond'`;
      for await (const some of monitors()) {
        await database.again(() =>
          sql`delete from ${table} where monitor = any(${some}::text[])
            and slot >= ${start}::timestamptz - ${reach} and slot < ${end}::timestamptz + ${reach}
            and at >= ${start}::timestamptz and at < ${end}::timestamptz`.execute(db),
        );
      }
      const counts = new Map<string, number>();
      for await (const texts of batches(items)) {
        const rows = texts.map((text) => {
          const row = fromSeriesItem(text);
          const moment = `${row.monitor} ${row.atMs}`;
          const count = (counts.get(moment) ?? 0) + 1;
          counts.set(moment, count);
          // A slot of its own, as one has that was found at no moment of a schedule.
          return { ...row, slotMs: row.atMs + count / 1_000 };
        });
        await series.append(rows);
      }
      await pending.idle();
    },
  };
}

/** Usage day by day: requests, and the sums of them. */
export function usage(database: Database): TablePart {
  const { db, schema } = database;
  const batchTable = sql.table(`${schema}.usage_batch`);
  const dayTable = sql.table(`${schema}.usage_day`);
  const timesOf = (day: string) => {
    const startMs = Date.parse(day);
    return { start: new Date(startMs), end: new Date(startMs + DAY_MS) };
  };

  async function* requestsOf(day: string): AsyncGenerator<UsageRecord> {
    const { start, end } = timesOf(day);
    let after: { at: Date; id: string } | undefined;
    while (true) {
      const last = after;
      const isAfter = last
        ? sql`(at, id) > (${last.at}::timestamptz, ${last.id}::uuid)`
        : sql`at >= ${start}::timestamptz`;
      const { rows } = await database.again(() =>
        sql<{ at: Date; id: string; requests: UsageRecord[] }>`
          select at, id, requests from ${batchTable}
          where ${isAfter} and at < ${end}::timestamptz
          order by at, id limit ${USAGE_BATCH_COUNT}`.execute(db),
      );
      for (const { requests } of rows) yield* requests;
      after = rows.at(-1);
      if (!after) return;
    }
  }

  async function sumsOf(day: string): Promise<UsageCounts[]> {
    const { rows } = await database.again(() =>
      sql<UsageCounts>`
        select key_id as "keyId", model, sum(requests)::bigint as requests,
          sum(complete)::bigint as complete, sum(client_gone)::bigint as client_gone,
          sum(upstream_error)::bigint as upstream_error, sum(refused)::bigint as refused,
          sum(prompt_tokens)::bigint as "promptTokens",
          sum(completion_tokens)::bigint as "completionTokens",
          sum(estimated)::bigint as estimated
        from ${dayTable} where day = ${day}::date group by key_id, model`.execute(db),
    );
    return rows;
  }

  /** Days of which there are requests, one look into the index for each. */
  async function daysOfBatches(): Promise<string[]> {
    const days: string[] = [];
    for (let from = new Date(0); ; ) {
      const after = from;
      const { rows } = await database.again(() =>
        sql<{ at: Date }>`
          select at from ${batchTable}
          where at >= ${after}::timestamptz and json_array_length(requests) > 0
          order by at limit 1`.execute(db),
      );
      const [first] = rows;
      if (!first) return days;
      const day = first.at.toISOString().slice(0, 10);
      days.push(day);
      from = timesOf(day).end;
    }
  }

  async function storeRequests(requests: readonly UsageRecord[]): Promise<void> {
    const at = new Date(requests.at(-1)?.atMs ?? 0);
    const id = randomUUID();
    await database.again(() =>
      sql`insert into ${batchTable} (at, id, requests)
        values (${at}::timestamptz, ${id}::uuid, ${JSON.stringify(requests)}::json)
        on conflict do nothing`.execute(db),
    );
  }

  return {
    name: USAGE_PART,
    tables: ['usage_batch', 'usage_day'],
    async groups() {
      const { rows } = await database.again(() =>
        sql<{ day: string }>`select distinct day::text from ${dayTable}`.execute(db),
      );
      const days = [...rows.map(({ day }) => day), ...(await daysOfBatches())];
      return [...new Set(days)].map(usageGroup);
    },
    read(group) {
      const day = dayOfUsageGroup(group);
      return usageItems(requestsOf(day), () => sumsOf(day));
    },
    async replace(group, items) {
      const day = dayOfUsageGroup(group);
      const { start, end } = timesOf(day);
      const isOfDay = sql`at >= ${start}::timestamptz and at < ${end}::timestamptz`;
      await remove(database, 'usage_batch', isOfDay);
      await remove(database, 'usage_day', sql`day = ${day}::date`);
      await database.again(() =>
        sql`select ${sql.id(schema, 'make_usage_month')}(${`${day.slice(0, 7)}-01`}::date)`.execute(
          db,
        ),
      );
      const sums: UsageDayRows = new Map();
      for await (const texts of batches(items, REQUEST_COUNT)) {
        const found = texts.map(fromUsageItem);
        const requests = found.flatMap((item) => ('request' in item ? item.request : []));
        if (requests.length > 0) await storeRequests(requests);
        addRecords(sums, requests);
        for (const item of found) if ('rest' in item) addRest(sums, day, item.rest);
      }
      for await (const rows of batches([...sums.values()].map((row) => JSON.stringify(row)))) {
        await database.again(() =>
          sql`insert into ${dayTable}
            select s.* from json_populate_recordset(null::${dayTable}, ${`[${rows.join()}]`}::json) s
            on conflict do nothing`.execute(db),
        );
      }
    },
  };
}

/** What stands in the sums alone, of which nobody knows who answered. */
function addRest(sums: UsageDayRows, day: string, rest: UsageCounts): void {
  const { keyId, model, promptTokens, completionTokens, estimated, ...counts } = rest;
  const row = rowIn(sums, { day, key_id: keyId, model, provider: '' });
  for (const each of [
    'requests',
    'complete',
    'client_gone',
    'upstream_error',
    'refused',
  ] as const) {
    row[each] += counts[each];
  }
  row.prompt_tokens += promptTokens;
  row.completion_tokens += completionTokens;
  row.estimated += estimated;
}

/** Removes rows, so many at a time. */
export async function remove(
  database: Database,
  table: string,
  which: RawBuilder<unknown>,
): Promise<void> {
  const { db, schema } = database;
  const name = sql.table(`${schema}.${table}`);
  let removed: bigint;
  do {
    // Of another partition, a row may have the same place.
    const result = await database.again(() =>
      sql`delete from ${name} where ${which} and ctid = any(array(
        select ctid from ${name} where ${which} limit ${REMOVE_COUNT}))`.execute(db),
    );
    removed = result.numAffectedRows ?? 0n;
  } while (removed > 0n);
}

/** Texts put together, as many as one statement takes. */
export async function* batches(
  items: AsyncIterable<string> | Iterable<string>,
  count = ROW_COUNT,
): AsyncGenerator<string[]> {
  let batch: string[] = [];
  let length = 0;
  for await (const text of items) {
    batch.push(text);
    length += text.length;
    if (batch.length < count && length < BATCH_LENGTH) continue;
    yield batch;
    batch = [];
    length = 0;
  }
  if (batch.length > 0) yield batch;
}
