import type { Logger } from 'pino';
import { z } from 'zod';
import type { Collection, Journal, Store } from '../../store/store.ts';
import {
  USAGE_KEPT_DAYS,
  type UsageCounts,
  type UsageQuery,
  type UsageRecord,
  type UsageRow,
} from '../../store/usage.ts';
import { createUsageSums, type UsageSums } from '../../store/usage-sums.ts';
import { requestsIn, type UsageBatch } from './journal.ts';

const count = z.int().nonnegative();

/** Stored counts of one key and model on one day. */
const StoredCounts: z.ZodType<UsageCounts> = z.object({
  keyId: z.string(),
  model: z.string(),
  requests: count,
  complete: count,
  client_gone: count,
  upstream_error: count,
  refused: count,
  promptTokens: count,
  completionTokens: count,
  estimated: count,
});

/** Tokens that a key has used today and in this month, of the UTC calendar. */
export interface Spent {
  day: number;
  month: number;
}

const DAY_MS = 86_400_000;

/** Collection of the counts of past days, by day. */
export const closedDays = {
  name: 'gateway-usage-days',
  schema: z.object({
    counts: z.array(StoredCounts),
    /** The counts came with a move from another store, and the journal adds to them. */
    isMoved: z.boolean().optional(),
  }),
  version: 1,
} as const;

/** Opens the counts. Without a store it counts in memory. */
export async function openUsageDays(options: UsageDaysOptions): Promise<LocalUsageDays> {
  const days = new LocalUsageDays(options);
  await days.load();
  return days;
}

interface UsageDaysOptions {
  store?: Store;
  journal?: Journal<UsageBatch>;
  clockMs?: () => number;
  log: Logger;
}

/**
 * Counts by day. Today's are added up from the journal. A past day is added up once and stored in `gateway-usage-days`, so
 * that a start reads one day of the journal and a month of documents.
 */
export class LocalUsageDays {
  readonly #journal: Journal<UsageBatch> | undefined;
  readonly #collection: Collection<z.infer<typeof closedDays.schema>> | undefined;
  readonly #clockMs: () => number;
  readonly #log: Logger;
  /** Today, and days that are over and not stored yet. */
  readonly #open = new Map<number, UsageSums>();
  readonly #spent = new Map<string, Spent>();
  readonly #adding = new Map<number, Promise<readonly UsageCounts[]>>();
  #today: number;
  /** Unknown until the first tidying up: documents may be left from before the program was last stopped. */
  #removedBefore: number | undefined;

  constructor({ store, journal, clockMs = Date.now, log }: UsageDaysOptions) {
    this.#journal = journal;
    // Forgotten counts are added up again.
    this.#collection = store?.collection({ ...closedDays, whenCorrupt: 'forget' });
    this.#clockMs = clockMs;
    this.#log = log;
    this.#today = dayNumber(clockMs());
  }

  async load(): Promise<void> {
    const today = this.#today;
    this.#open.set(today, await this.#addUp(today));
    for (let day = dayNumber(Date.parse(`${monthOf(today)}-01`)); day <= today; day += 1) {
      for (const { keyId, promptTokens, completionTokens } of await this.#countsOf(day)) {
        const of = this.spentBy(keyId);
        of.month += promptTokens + completionTokens;
        if (day === today) of.day += promptTokens + completionTokens;
      }
    }
  }

  /** The present moment, Unix time; never before the day that is being counted, though the clock be set back. */
  nowMs(): number {
    const now = this.#clockMs();
    if (now >= (this.#today + 1) * DAY_MS) this.#advanceTo(dayNumber(now));
    return Math.max(now, this.#today * DAY_MS);
  }

  /** Counts a request of this moment. */
  add(record: UsageRecord): void {
    this.#open.get(this.#today)?.add(record);
    const of = this.spentBy(record.keyId);
    of.day += record.promptTokens + record.completionTokens;
    of.month += record.promptTokens + record.completionTokens;
  }

  /** Tokens that a key has spent: always the same object, which changes as requests end and days pass. */
  spentBy(keyId: string): Spent {
    const known = this.#spent.get(keyId) ?? { day: 0, month: 0 };
    this.#spent.set(keyId, known);
    return known;
  }

  /** Rows in order of day, key and model. */
  async summary({ keyId, fromDay, toDay }: UsageQuery): Promise<UsageRow[]> {
    this.nowMs();
    const today = this.#today;
    const from = fromDay === undefined ? today : dayNumber(Date.parse(fromDay));
    const to = toDay === undefined ? today : dayNumber(Date.parse(toDay));
    const rows: UsageRow[] = [];
    for (let day = Math.max(from, today - USAGE_KEPT_DAYS); day <= Math.min(to, today); day += 1) {
      for (const counts of await this.#countsOf(day)) {
        if (keyId === undefined || counts.keyId === keyId) {
          rows.push({ day: nameOf(day), ...counts });
        }
      }
    }
    return rows;
  }

  async replaceDays(rows: readonly UsageRow[]): Promise<void> {
    const byDay = new Map<string, UsageCounts[]>();
    for (const { day, ...counts } of rows) byDay.set(day, [...(byDay.get(day) ?? []), counts]);
    await this.#journal?.clear();
    for (const { id } of (await this.#collection?.list()) ?? []) {
      if (!byDay.has(id)) await this.#collection?.update(id, () => undefined);
    }
    const todayName = nameOf(this.#today);
    for (const [day, counts] of byDay) {
      const isMoved = day === todayName || undefined;
      await this.#collection?.update(day, () => ({ counts, isMoved }));
    }
    const sums = createUsageSums();
    for (const counts of byDay.get(todayName) ?? []) sums.addCounts(counts);
    this.#open.set(this.#today, sums);
  }

  /** Stores the counts of days that are over, and removes what is older than is kept. */
  async tidy(): Promise<void> {
    this.nowMs();
    for (const [day, counting] of this.#open) {
      if (day === this.#today) continue;
      const counts = counting.list();
      await this.#collection?.update(nameOf(day), () => ({ counts }));
      this.#open.delete(day);
    }
    const oldest = this.#today - USAGE_KEPT_DAYS;
    let day = this.#removedBefore ?? (await this.#oldestStored());
    for (; day < oldest; day += 1) {
      await this.#collection?.update(nameOf(day), () => undefined);
      this.#removedBefore = day + 1;
    }
    this.#removedBefore = day;
    await this.#journal?.prune(oldest * DAY_MS);
  }

  #advanceTo(day: number): void {
    const isNewMonth = monthOf(day) !== monthOf(this.#today);
    this.#today = day;
    this.#open.set(day, createUsageSums());
    for (const each of this.#spent.values()) {
      each.day = 0;
      if (isNewMonth) each.month = 0;
    }
  }

  async #addUp(day: number): Promise<UsageSums> {
    const counts = createUsageSums();
    const stored = await this.#collection?.get(nameOf(day));
    if (stored?.isMoved) for (const moved of stored.counts) counts.addCounts(moved);
    const range = { fromMs: day * DAY_MS, toMs: (day + 1) * DAY_MS };
    for await (const entry of this.#journal?.read(range) ?? []) {
      for (const record of requestsIn(entry)) counts.add(record);
    }
    return counts;
  }

  async #addUpAndStore(day: number): Promise<readonly UsageCounts[]> {
    const counts = (await this.#addUp(day)).list();
    try {
      if (counts.length > 0) await this.#collection?.update(nameOf(day), () => ({ counts }));
    } catch (error) {
      this.#log.warn(
        { err: error, day: nameOf(day) },
        'could not store the added-up usage of a day',
      );
    }
    return counts;
  }

  async #countsOf(day: number): Promise<readonly UsageCounts[]> {
    const counting = this.#open.get(day);
    if (counting) return counting.list();
    const stored = await this.#collection?.get(nameOf(day));
    if (stored && !stored.isMoved) return stored.counts;
    // Callers that ask for the same day at once share one sum.
    const known = this.#adding.get(day);
    if (known) return await known;
    const sum = this.#addUpAndStore(day).finally(() => this.#adding.delete(day));
    this.#adding.set(day, sum);
    return await sum;
  }

  async #oldestStored(): Promise<number> {
    const stored = (await this.#collection?.list()) ?? [];
    return Math.min(this.#today, ...stored.map(({ id }) => dayNumber(Date.parse(id))));
  }
}

/** Days since 1970, UTC. */
function dayNumber(atMs: number): number {
  return Math.floor(atMs / DAY_MS);
}

const nameOf = (day: number) => new Date(day * DAY_MS).toISOString().slice(0, 10);
const monthOf = (day: number) => nameOf(day).slice(0, 7);
