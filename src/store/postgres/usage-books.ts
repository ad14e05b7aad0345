import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { BatchWriter } from '../batch-writer.ts';
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
import { createUsageSums } from '../usage-sums.ts';
import { type Database, isUnavailable } from './database.ts';
import type { PostgresLeases } from './leases.ts';
import type { Membership } from './members.ts';
import type { PendingWork } from './pending-work.ts';
import { type Slots, windowOfSlots } from './slots.ts';

/** A kill -9 loses the last 250 ms, and the time of two writes. */
const FLUSH_MS = 200;
const BATCH_COUNT = 2_000;

/** Requests that wait while the database is away, about 15 MB. */
const KEPT_COUNT = 50_000;

/** More than any limit, and a number that every engine takes. */
const MAX_TOKENS = 1e15;

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const MOVE_HOLDS_AGAIN_MS = 250;

/** Keys with a remembered last answer. */
const MAX_KNOWN = 10_000;

/** Stored a moment later with others: a request that has ended, or only the end of its reservation. */
interface BookEntry {
  atMs: number;
  keyId: string;
  record?: UsageRecord;
  hold?: string;
}

/** Entries of one day in one statement. The id stays the same however often they are sent, so that they count once. */
interface BookEntryBatch {
  id: string;
  entries: readonly BookEntry[];
  /** Reservations that end. */
  settled: string[];
}

/** Result of the function `spending`. */
interface SpendingAnswer extends Slots {
  day: number;
  month: number;
  reserved: number;
}

/** Result of the function `reserve_tokens`. */
interface ReservationAnswer {
  fits: boolean;
  spent: SpendingAnswer;
}

interface BooksOptions {
  database: Database;
  members: Membership;
  leases: PostgresLeases;
  pending: PendingWork;
  assertOpen: () => void;
  log: Logger;
}

interface BooksClocks {
  unixMs: () => number;
  steadyMs: () => number;
}

/**
 * Usage in tables of sums by day, key and model. A request counts towards its key's budgets once it is in the sums. Its
 * reservation counts until then, so there is no moment at which neither does.
 */
export function openPostgresUsageBooks(clocks: BooksClocks, options: BooksOptions): UsageBooks {
  const { pending, assertOpen } = options;
  const entries = new UsageEntries(clocks.unixMs, options);
  const budgets = new KeyBudgets(clocks, options, entries);
  const days = new UsageDays(clocks.unixMs, options);
  return {
    nowMs: clocks.unixMs,
    addRequest: (record, hold) => entries.settle({ keyId: record.keyId, record, hold: hold?.id }),
    reserve(keyId, tokens, limits, before) {
      assertOpen();
      const id = before?.id ?? randomUUID();
      return pending.track(budgets.reserveOrSettle(keyId, tokens, limits, id));
    },
    giveBack: (keyId, { id }: Hold) => entries.settle({ keyId, hold: id }),
    async spending(keyId) {
      assertOpen();
      return await pending.track(budgets.spending(keyId));
    },
    known: (keyId) => budgets.known.get(keyId),
    async summary(query) {
      assertOpen();
      return await pending.track(days.summary(query));
    },
    async replaceDays(rows) {
      assertOpen();
      await pending.track(days.replace(rows));
    },
    async tidy() {
      assertOpen();
      await days.tidy();
    },
    waiting: () => entries.waitingCount,
    close: () => entries.close(),
  };
}

/** Requests and ended reservations on their way to the tables. */
class UsageEntries {
  /** Reservations of this process that aren't settled in the database. */
  readonly holds = new Set<string>();
  private readonly unixMs: () => number;
  private readonly options: BooksOptions;
  private readonly writer: BatchWriter<BookEntry>;
  /** Number of each key's reservations that have ended and aren't settled yet. */
  private readonly settling = new Map<string, number>();
  /** Reservations of requests that couldn't be kept until they were stored. */
  private readonly orphans = new Set<string>();
  /** Stored entries, which may be sent again along with others that couldn't be stored with them. */
  private readonly stored = new WeakSet<BookEntry>();
  /** A sent batch whose answer was lost. */
  private unsure: BookEntryBatch | undefined;
  private isClosed = false;

  constructor(unixMs: () => number, options: BooksOptions) {
    this.unixMs = unixMs;
    this.options = options;
    this.writer = new BatchWriter<BookEntry>({
      append: (entries) => options.pending.track(this.append(entries)),
      batchCount: BATCH_COUNT,
      fitsWith: (first, entry) => dayOf(first.atMs) === dayOf(entry.atMs),
      waitMs: FLUSH_MS,
      betweenMs: FLUSH_MS,
      fullCount: BATCH_COUNT,
      keptCount: KEPT_COUNT,
      onDrop: (entries) => this.drop(entries),
      name: 'usage records',
      countedAs: 'requests',
      log: options.log,
    });
    this.followMembership();
  }

  get waitingCount(): number {
    return this.writer.waiting();
  }

  isSettling(keyId: string): boolean {
    return this.settling.has(keyId);
  }

  settle(entry: Omit<BookEntry, 'atMs'>): void {
    if (entry.hold !== undefined) this.countSettling(entry.keyId, 1);
    this.writer.add({ ...entry, atMs: entry.record?.atMs ?? this.unixMs() });
  }

  flush(): Promise<void> {
    return this.writer.flush();
  }

  async close(): Promise<void> {
    await this.writer.close();
    this.isClosed = true;
  }

  private countSettling(keyId: string, by: number): void {
    const count = (this.settling.get(keyId) ?? 0) + by;
    if (count > 0) this.settling.set(keyId, count);
    else this.settling.delete(keyId);
  }

  private drop(entries: readonly BookEntry[]): void {
    for (const { keyId, hold } of entries) {
      if (hold === undefined) continue;
      this.orphans.add(hold);
      this.countSettling(keyId, -1);
    }
  }

  private async append(entries: readonly BookEntry[]): Promise<void> {
    if (this.unsure) await this.send(this.unsure);
    const rest = entries.filter((entry) => !this.stored.has(entry));
    if (rest.length === 0) return;
    await this.send({
      id: randomUUID(),
      entries: rest,
      settled: [...this.orphans, ...rest.flatMap(({ hold }) => hold ?? [])],
    });
  }

  private async send(batch: BookEntryBatch): Promise<void> {
    this.unsure = batch;
    try {
      await this.options.database.again(() => this.insert(batch));
    } catch (error) {
      // Other errors would come again and again, so only the reservations are settled.
      if (!(error instanceof StoreUnavailableError)) {
        this.unsure = undefined;
        this.drop(batch.entries);
      }
      throw error;
    }
    this.unsure = undefined;
    for (const entry of batch.entries) {
      this.stored.add(entry);
      if (entry.hold !== undefined) this.countSettling(entry.keyId, -1);
    }
    for (const hold of batch.settled) {
      this.holds.delete(hold);
      this.orphans.delete(hold);
    }
  }

  private async insert({ id, entries, settled }: BookEntryBatch): Promise<void> {
    const { db, schema } = this.options.database;
    const sums = createUsageSums();
    for (const { record } of entries) if (record) sums.add(record);
    const day = dayOf(entries[0]?.atMs ?? this.unixMs());
    const rows: UsageRow[] = sums.list().map((counts) => ({ day, ...counts }));
    await sql`select ${sql.id(schema, 'store_usage')}(${id}::uuid, ${JSON.stringify(rows)}::json,
      ${settled}::uuid[])`.execute(db);
  }

  private followMembership(): void {
    const alive = this.options.members.signal();
    const onLost = () => {
      if (this.isClosed) return;
      this.followMembership();
      void this.moveHolds(alive);
    };
    alive.addEventListener('abort', onLost, { once: true });
  }

  /** Reservations of a lost id count again under the new one. */
  private async moveHolds(lost: AbortSignal): Promise<void> {
    const { database, members, log } = this.options;
    while (!this.isClosed && this.holds.size > 0 && lost.aborted) {
      try {
        await sql`update ${sql.id(database.schema, 'budget_hold')} set member = ${members.id()}::uuid
          where id = any(${[...this.holds]}::uuid[])`.execute(database.db);
        return;
      } catch (error) {
        if (!isUnavailable(error)) {
          log.error({ err: error }, 'reserved tokens no longer count');
          return;
        }
        await new Promise((resolve) => setTimeout(resolve, MOVE_HOLDS_AGAIN_MS).unref());
      }
    }
  }
}

/** Spending of keys, and reservations. */
class KeyBudgets {
  readonly known = new Map<string, Spending>();
  private readonly steadyMs: () => number;
  private readonly options: BooksOptions;
  private readonly entries: UsageEntries;

  constructor({ steadyMs }: BooksClocks, options: BooksOptions, entries: UsageEntries) {
    this.steadyMs = steadyMs;
    this.options = options;
    this.entries = entries;
  }

  async spending(keyId: string): Promise<Spending> {
    const { again, db, schema } = this.options.database;
    const { rows } = await again(() =>
      sql<{ answer: SpendingAnswer }>`
        select ${sql.id(schema, 'spending')}(${sql.id(schema, 'locked_budget')}(${keyId}), null) as answer`.execute(
        db,
      ),
    );
    return this.remember(keyId, this.spendingOf(rows[0]?.answer as SpendingAnswer));
  }

  /** Before a refusal, unused tokens of ended requests of this process are given back. */
  async reserveOrSettle(
    keyId: string,
    tokens: number,
    limits: TokenLimits,
    id: string,
  ): Promise<Reservation> {
    const first = await this.reserve(keyId, tokens, limits, id);
    if (first.hold || !this.entries.isSettling(keyId)) return first;
    await this.entries.flush();
    return await this.reserve(keyId, tokens, limits, id);
  }

  private async reserve(
    keyId: string,
    wanted: number,
    limits: TokenLimits,
    id: string,
  ): Promise<Reservation> {
    // `Math.min` would return NaN for NaN.
    const tokens = wanted <= MAX_TOKENS ? wanted : MAX_TOKENS;
    this.entries.holds.add(id);
    let answer: ReservationAnswer | undefined;
    try {
      answer = await this.askToReserve(keyId, tokens, limits, id);
    } catch (error) {
      // The tokens may be reserved all the same.
      this.entries.settle({ keyId, hold: id });
      throw error;
    }
    if (!answer) {
      this.entries.settle({ keyId, hold: id });
      throw new StoreUnavailableError(
        'The database does not count this process as alive yet, so it cannot reserve tokens.',
      );
    }
    const { fits, spent } = answer;
    if (!fits) this.entries.holds.delete(id);
    const spending = this.remember(keyId, this.spendingOf(spent, fits ? tokens : 0));
    return { hold: fits ? { id, tokens } : undefined, spending };
  }

  private async askToReserve(keyId: string, tokens: number, limits: TokenLimits, id: string) {
    const { tokensPerMinute = null, tokensPerDay = null, tokensPerMonth = null } = limits;
    const { database, members } = this.options;
    return await database.again(async () => {
      const { rows } = await sql<{ answer: ReservationAnswer | null }>`
        select ${sql.id(database.schema, 'reserve_tokens')}(${keyId}, ${members.id()}::uuid, ${id}::uuid,
          ${tokens}::bigint, ${tokensPerMinute}::bigint, ${tokensPerDay}::bigint,
          ${tokensPerMonth}::bigint) as answer`.execute(database.db);
      return rows[0]?.answer ?? undefined;
    });
  }

  private spendingOf(answer: SpendingAnswer, ownTokens = 0): Spending {
    const { day, month, reserved } = answer;
    const minute = windowOfSlots(answer, { windowMs: MINUTE_MS, nowMs: this.steadyMs() });
    return { minute, day, month, reserved: reserved + ownTokens };
  }

  private remember(keyId: string, spending: Spending): Spending {
    this.known.delete(keyId);
    this.known.set(keyId, spending);
    const [oldest] = this.known.keys();
    if (this.known.size > MAX_KNOWN && oldest !== undefined) this.known.delete(oldest);
    return spending;
  }
}

/** Sums of days. */
class UsageDays {
  private readonly unixMs: () => number;
  private readonly options: BooksOptions;

  constructor(unixMs: () => number, options: BooksOptions) {
    this.unixMs = unixMs;
    this.options = options;
  }

  async summary({ keyId, fromDay, toDay }: UsageQuery): Promise<UsageRow[]> {
    const { again, db } = this.options.database;
    const today = dayOf(this.unixMs());
    const { rows } = await again(() =>
      sql<UsageRow>`
        select u.*, u.day::text as day from ${this.named('usage_day')} u
        where u.day between greatest(${fromDay ?? today}::date, ${this.oldestDay()}::date)
          and ${toDay ?? today}::date and (${keyId ?? null}::text is null or u."keyId" = ${keyId ?? null})
        order by u.day, u."keyId" collate "C", u.model collate "C"`.execute(db),
    );
    return rows;
  }

  async replace(rows: readonly UsageRow[]): Promise<void> {
    const table = this.named('usage_day');
    await this.options.database.db.transaction().execute(async (transaction) => {
      await sql`delete from ${this.named('budget')}`.execute(transaction);
      await sql`delete from ${table}`.execute(transaction);
      await sql`insert into ${table}
        select s.* from json_populate_recordset(null::${table}, ${JSON.stringify(rows)}::json) s`.execute(
        transaction,
      );
    });
  }

  async tidy(): Promise<void> {
    const { database, leases, pending } = this.options;
    const lease = await leases.take('usage-tidy');
    if (!lease) return;
    try {
      await pending.track(database.again(() => this.deleteOld()));
    } finally {
      await lease.release();
    }
  }

  private async deleteOld(): Promise<void> {
    const { db } = this.options.database;
    await sql`delete from ${this.named('usage_day')} where day < ${this.oldestDay()}::date`.execute(
      db,
    );
    // No process keeps a batch for so long.
    await sql`delete from ${this.named('usage_batch')}
      where stored_at < clock_timestamp() - interval '2 days'`.execute(db);
    // A budget of a past month starts again from the sums.
    await sql`delete from ${this.named('budget')}
      where day < (clock_timestamp() at time zone 'utc')::date - 62`.execute(db);
    await sql`delete from ${this.named('budget_hold')} h
      where not exists (select from ${this.named('member')} m where m.id = h.member)`.execute(db);
  }

  private oldestDay(): string {
    return dayOf(this.unixMs() - USAGE_KEPT_DAYS * DAY_MS);
  }

  private named(name: string) {
    return sql.id(this.options.database.schema, name);
  }
}

const dayOf = (atMs: number) => new Date(atMs).toISOString().slice(0, 10);
