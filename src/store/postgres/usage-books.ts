import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { createBatchWriter } from '../batch-writer.ts';
import { StoreUnavailableError } from '../errors.ts';
import {
  type Hold,
  type Reservation,
  type Spending,
  type TokenLimits,
  USAGE_KEPT_DAYS,
  type UsageBooks,
  type UsageQuery,
  type UsageRecord,
  type UsageRow,
} from '../usage.ts';
import { type Database, isUnavailable } from './database.ts';
import type { Leases } from './leases.ts';
import type { Membership } from './members.ts';
import type { PendingWork } from './pending-work.ts';
import { type Slots, windowOfSlots } from './slots.ts';

/** What kill -9 takes away is of the last 250 ms, and of the time that two writes take. */
const FLUSH_MS = 200;
const BATCH_COUNT = 2_000;

/** Requests that wait while the database is away, about 15 MB. */
const KEPT_COUNT = 50_000;

/** More than any limit, and a number that every engine takes. */
const MAX_TOKENS = 1e15;

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const REHOME_AGAIN_MS = 250;

/** Keys of which it is remembered what they were last told to have used. */
const MAX_KNOWN = 10_000;

/** What is stored with others a moment later: a request that has ended, or what was set aside alone. */
interface Entry {
  atMs: number;
  keyId: string;
  record?: UsageRecord;
  hold?: string | undefined;
}

/** What is stored at once. It keeps its id however often it has to be sent, so that it counts once. */
interface Batch {
  id: string;
  atMs: number;
  entries: readonly Entry[];
  /** What is not set aside any more. */
  settled: string[];
}

/** As the function `spending` tells it. */
interface SpendingAnswer extends Slots {
  day: number;
  month: number;
  reserved: number;
}

/**
 * Usage in tables: batches of requests, and sums of them by day, key, model and provider, stored together. What a request
 * has used counts towards its key's budgets from the moment that it stands in the sums; until then what was set aside for it
 * does, so that there is no moment at which neither does.
 */
export function openPostgresUsageBooks(
  clocks: { unixMs: () => number; steadyMs: () => number },
  options: {
    database: Database;
    members: Membership;
    leases: Leases;
    pending: PendingWork;
    assertOpen: () => void;
    log: Logger;
  },
): UsageBooks {
  const { database, members, leases, pending, assertOpen, log } = options;
  const { unixMs, steadyMs } = clocks;
  const { db, schema } = database;
  const named = (name: string) => sql.id(schema, name);
  /** Set aside by this process and not settled in the database. */
  const holds = new Set<string>();
  /** How many of each key's are not needed any more and wait to be settled. */
  const settling = new Map<string, number>();
  /** Of requests that could not be kept until they were stored. */
  const orphans = new Set<string>();
  const known = new Map<string, Spending>();
  const months = new Set<string>();
  /** Stored, though they may come again together with others that could not be stored with them. */
  const stored = new WeakSet<Entry>();
  /** Sent, and its answer was lost. */
  let unsure: Batch | undefined;
  let closed = false;

  const writer = createBatchWriter<Entry>({
    append: (entries) => pending.track(append(entries)),
    batchCount: BATCH_COUNT,
    // So that the time of a batch tells the day of its requests.
    fitsWith: (first, entry) => dayOf(first.atMs) === dayOf(entry.atMs),
    waitMs: FLUSH_MS,
    betweenMs: FLUSH_MS,
    fullCount: BATCH_COUNT,
    keptCount: KEPT_COUNT,
    onDrop: drop,
    name: 'usage records',
    countedAs: 'requests',
    log,
  });

  function countSettling(keyId: string, by: number) {
    const count = (settling.get(keyId) ?? 0) + by;
    if (count > 0) settling.set(keyId, count);
    else settling.delete(keyId);
  }

  function settle(entry: Omit<Entry, 'atMs'>) {
    if (entry.hold !== undefined) countSettling(entry.keyId, 1);
    writer.add({ ...entry, atMs: entry.record?.atMs ?? unixMs() });
  }

  function drop(entries: readonly Entry[]) {
    for (const { keyId, hold } of entries) {
      if (hold === undefined) continue;
      orphans.add(hold);
      countSettling(keyId, -1);
    }
  }

  async function append(entries: readonly Entry[]) {
    if (unsure) await send(unsure);
    const rest = entries.filter((entry) => !stored.has(entry));
    if (rest.length === 0) return;
    await send({
      id: randomUUID(),
      atMs: rest.at(-1)?.atMs ?? unixMs(),
      entries: rest,
      settled: [...orphans, ...rest.flatMap(({ hold }) => hold ?? [])],
    });
  }

  async function send(batch: Batch) {
    unsure = batch;
    try {
      await database.again(() => insert(batch));
    } catch (error) {
      // What is refused for another reason would be so again and again: of that only what was set aside is settled.
      if (!(error instanceof StoreUnavailableError)) {
        unsure = undefined;
        drop(batch.entries);
      }
      throw error;
    }
    unsure = undefined;
    for (const entry of batch.entries) {
      stored.add(entry);
      if (entry.hold !== undefined) countSettling(entry.keyId, -1);
    }
    for (const hold of batch.settled) {
      holds.delete(hold);
      orphans.delete(hold);
    }
  }

  async function insert({ id, atMs, entries, settled }: Batch) {
    const records = entries.flatMap(({ record }) => record ?? []);
    await makeMonth(atMs);
    await sql`select ${named('store_usage')}(${new Date(atMs)}::timestamptz, ${id}::uuid,
      ${JSON.stringify(records)}::json, ${JSON.stringify(sumsOf(records))}::json,
      ${JSON.stringify(tokensOf(records))}::json, ${settled}::uuid[])`.execute(db);
  }

  async function makeMonth(atMs: number) {
    const month = `${dayOf(atMs).slice(0, 7)}-01`;
    if (months.has(month)) return;
    await sql`select ${named('make_usage_month')}(${month}::date)`.execute(db);
    months.add(month);
  }

  function spendingOf(answer: SpendingAnswer, own = 0): Spending {
    const { day, month, reserved } = answer;
    const minute = windowOfSlots(answer, { windowMs: MINUTE_MS, nowMs: steadyMs() });
    return { minute, day, month, reserved: reserved + own };
  }

  function remember(keyId: string, spending: Spending): Spending {
    known.delete(keyId);
    known.set(keyId, spending);
    const [oldest] = known.keys();
    if (known.size > MAX_KNOWN && oldest !== undefined) known.delete(oldest);
    return spending;
  }

  async function reserve(
    keyId: string,
    wanted: number,
    limits: TokenLimits,
    id: string,
  ): Promise<Reservation> {
    const { tokensPerMinute = null, tokensPerDay = null, tokensPerMonth = null } = limits;
    // Not the smaller of the two, which is no number when what is wanted is none.
    const tokens = wanted <= MAX_TOKENS ? wanted : MAX_TOKENS;
    holds.add(id);
    const answer = await database
      .again(async () => {
        const { rows } = await sql<{ answer: { fits: boolean; spent: SpendingAnswer } | null }>`
          select ${named('reserve_tokens')}(${keyId}, ${members.id()}::uuid, ${id}::uuid,
            ${tokens}::bigint, ${tokensPerMinute}::bigint, ${tokensPerDay}::bigint,
            ${tokensPerMonth}::bigint) as answer`.execute(db);
        return rows[0]?.answer;
      })
      .catch((error: unknown) => {
        // It may have been set aside all the same.
        settle({ keyId, hold: id });
        throw error;
      });
    if (!answer) {
      settle({ keyId, hold: id });
      throw new StoreUnavailableError(
        'The database does not count this process as alive yet, so it cannot reserve tokens.',
      );
    }
    const { fits, spent } = answer;
    if (!fits) holds.delete(id);
    const spending = remember(keyId, spendingOf(spent, fits ? tokens : 0));
    return { hold: fits ? { id, tokens } : undefined, spending };
  }

  /** Before it refuses: what requests of this process that have ended did not use is given back first. */
  async function reserveOrSettle(
    keyId: string,
    tokens: number,
    limits: TokenLimits,
    id: string,
  ): Promise<Reservation> {
    const first = await reserve(keyId, tokens, limits, id);
    if (first.hold || !settling.has(keyId)) return first;
    await writer.flush();
    return await reserve(keyId, tokens, limits, id);
  }

  /** What was set aside in a life that is over counts again in the one that goes on. */
  async function rehome(lost: AbortSignal) {
    while (!closed && holds.size > 0 && lost.aborted) {
      try {
        await sql`update ${named('budget_hold')} set member = ${members.id()}::uuid
          where id = any(${[...holds]}::uuid[])`.execute(db);
        return;
      } catch (error) {
        if (!isUnavailable(error)) {
          log.error({ err: error }, 'reserved tokens no longer count');
          return;
        }
        await new Promise((resolve) => setTimeout(resolve, REHOME_AGAIN_MS).unref());
      }
    }
  }

  function followLife() {
    const alive = members.signal();
    const onLost = () => {
      if (closed) return;
      followLife();
      void rehome(alive);
    };
    alive.addEventListener('abort', onLost, { once: true });
  }
  followLife();

  async function dropOld() {
    const oldest = dayOf(unixMs() - USAGE_KEPT_DAYS * DAY_MS);
    const { rows } = await sql<{ name: string }>`
      select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = ${`"${schema}".usage_batch`}::regclass`.execute(db);
    // `usage_batch_2026_11` is over when the month of the oldest day that is kept comes after it.
    const first = `usage_batch_${oldest.slice(0, 7).replace('-', '_')}`;
    for (const { name } of rows) {
      if (name < first) await sql`drop table if exists ${named(name)}`.execute(db);
    }
    await sql`delete from ${named('usage_day')} where day < ${oldest}::date`.execute(db);
    // A budget whose month is over begins anew from the sums.
    await sql`delete from ${named('budget')}
      where day < (clock_timestamp() at time zone 'utc')::date - 62`.execute(db);
    await sql`delete from ${named('budget_hold')} h
      where not exists (select from ${named('member')} m where m.id = h.member)`.execute(db);
  }

  return {
    nowMs: unixMs,
    enter: (record, hold) => settle({ keyId: record.keyId, record, hold: hold?.id }),
    reserve(keyId, tokens, limits, before) {
      assertOpen();
      return pending.track(reserveOrSettle(keyId, tokens, limits, before?.id ?? randomUUID()));
    },
    giveBack: (keyId, { id }: Hold) => settle({ keyId, hold: id }),
    async spending(keyId) {
      assertOpen();
      const answer = await pending.track(
        database.again(async () => {
          const { rows } = await sql<{ answer: SpendingAnswer }>`
            select ${named('spending')}(${named('locked_budget')}(${keyId}), null) as answer`.execute(
            db,
          );
          return rows[0]?.answer as SpendingAnswer;
        }),
      );
      return remember(keyId, spendingOf(answer));
    },
    known: (keyId) => known.get(keyId),
    async summary({ keyId, fromDay, toDay }: UsageQuery) {
      assertOpen();
      const today = dayOf(unixMs());
      const oldest = dayOf(unixMs() - USAGE_KEPT_DAYS * DAY_MS);
      const { rows } = await pending.track(
        database.again(() =>
          sql<UsageRow>`
            select day::text, key_id as "keyId", model, sum(requests)::bigint as requests,
              sum(complete)::bigint as complete, sum(client_gone)::bigint as client_gone,
              sum(upstream_error)::bigint as upstream_error, sum(refused)::bigint as refused,
              sum(prompt_tokens)::bigint as "promptTokens",
              sum(completion_tokens)::bigint as "completionTokens",
              sum(estimated)::bigint as estimated
            from ${named('usage_day')}
            where day between greatest(${fromDay ?? today}::date, ${oldest}::date)
              and ${toDay ?? today}::date and (${keyId ?? null}::text is null or key_id = ${keyId ?? null})
            group by day, key_id, model
            order by day, key_id collate "C", model collate "C"`.execute(db),
        ),
      );
      return rows;
    },
    async tidy() {
      assertOpen();
      const lease = await leases.take('usage-tidy');
      if (!lease) return;
      try {
        await pending.track(database.again(dropOld));
      } finally {
        await lease.release();
      }
    },
    waiting: writer.waiting,
    async close() {
      await writer.close();
      closed = true;
    },
  };
}

const dayOf = (atMs: number) => new Date(atMs).toISOString().slice(0, 10);

/** Rows of the table of sums, each by what it is a sum of. */
export type UsageDayRows = Map<string, ReturnType<typeof newRow>>;

interface SummedBy {
  day: string;
  key_id: string;
  model: string;
  provider: string;
}

/** The row that these are summed in; a new one is empty. */
export function rowIn(rows: UsageDayRows, by: SummedBy) {
  const name = JSON.stringify([by.day, by.key_id, by.model, by.provider]);
  const row = rows.get(name) ?? newRow(by);
  rows.set(name, row);
  return row;
}

/** Adds requests to the sums. */
export function addRecords(rows: UsageDayRows, records: readonly UsageRecord[]): void {
  for (const record of records) {
    const { atMs, keyId, model = 'unknown', provider = '', end } = record;
    const row = rowIn(rows, { day: dayOf(atMs), key_id: keyId, model, provider });
    row.requests += 1;
    row[end] += 1;
    row.prompt_tokens += record.promptTokens;
    row.completion_tokens += record.completionTokens;
    if (record.estimated) row.estimated += 1;
  }
}

const newRow = ({ day, key_id, model, provider }: SummedBy) => ({
  ...{ day, key_id, model, provider },
  ...{ requests: 0, complete: 0, client_gone: 0, upstream_error: 0, refused: 0 },
  ...{ prompt_tokens: 0, completion_tokens: 0, estimated: 0 },
});

function sumsOf(records: readonly UsageRecord[]) {
  const rows: UsageDayRows = new Map();
  addRecords(rows, records);
  return [...rows.values()];
}

/** What each key has used. */
function tokensOf(records: readonly UsageRecord[]) {
  const tokens = new Map<string, number>();
  for (const { keyId, promptTokens, completionTokens } of records) {
    const used = promptTokens + completionTokens;
    if (used > 0) tokens.set(keyId, (tokens.get(keyId) ?? 0) + used);
  }
  return [...tokens].map(([key_id, used]) => ({ key_id, tokens: used }));
}
