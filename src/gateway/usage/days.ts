import type { Logger } from 'pino';
import { z } from 'zod';
import type { Journal, Store } from '../../store/store.ts';
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

/**
 * Opens the counts. Today's counts are added up from the journal. A past day is added up once and stored in `gateway-
 * usage-days`, so that a start reads one day of the journal and a month of documents. Without a store it counts in
 * memory.
 */
export async function openUsageDays(options: {
  store?: Store;
  journal?: Journal<UsageBatch>;
  clockMs?: () => number;
  log: Logger;
}) {
  const { store, journal, clockMs = Date.now, log } = options;
  const collection = store?.collection({
    ...closedDays,
    // Forgotten counts are added up again.
    whenCorrupt: 'forget',
  });
  /** Today, and days that are over and not stored yet. */
  const open = new Map<number, UsageSums>();
  const spent = new Map<string, Spent>();
  const adding = new Map<number, Promise<readonly UsageCounts[]>>();
  let today = dayNumber(clockMs());
  let tomorrowMs = (today + 1) * DAY_MS;
  /** Unknown until the first tidying up: documents may be left from before the program was last stopped. */
  let removedBefore: number | undefined;

  /** The present moment, Unix time; never before the day that is being counted, though the clock be set back. */
  function nowMs(): number {
    const now = clockMs();
    if (now >= tomorrowMs) advanceTo(dayNumber(now));
    return Math.max(now, tomorrowMs - DAY_MS);
  }

  function advanceTo(day: number) {
    const isNewMonth = monthOf(day) !== monthOf(today);
    today = day;
    tomorrowMs = (today + 1) * DAY_MS;
    open.set(today, createUsageSums());
    for (const each of spent.values()) {
      each.day = 0;
      if (isNewMonth) each.month = 0;
    }
  }

  /** Tokens that a key has spent: always the same object, which changes as requests end and days pass. */
  function spentBy(keyId: string): Spent {
    let known = spent.get(keyId);
    if (!known) {
      known = { day: 0, month: 0 };
      spent.set(keyId, known);
    }
    return known;
  }

  async function addUp(day: number): Promise<UsageSums> {
    const counts = createUsageSums();
    const stored = await collection?.get(nameOf(day));
    if (stored?.isMoved) for (const moved of stored.counts) counts.addCounts(moved);
    const range = { fromMs: day * DAY_MS, toMs: (day + 1) * DAY_MS };
    for await (const entry of journal?.read(range) ?? []) {
      for (const record of requestsIn(entry)) counts.add(record);
    }
    return counts;
  }

  async function addUpAndStore(day: number): Promise<readonly UsageCounts[]> {
    const counts = (await addUp(day)).list();
    try {
      if (counts.length > 0) await collection?.update(nameOf(day), () => ({ counts }));
    } catch (error) {
      log.warn({ err: error, day: nameOf(day) }, 'could not store the added-up usage of a day');
    }
    return counts;
  }

  async function countsOf(day: number): Promise<readonly UsageCounts[]> {
    const counting = open.get(day);
    if (counting) return counting.list();
    const stored = await collection?.get(nameOf(day));
    if (stored && !stored.isMoved) return stored.counts;
    // Callers that ask for the same day at once share one sum.
    const known = adding.get(day);
    if (known) return await known;
    const sum = addUpAndStore(day).finally(() => adding.delete(day));
    adding.set(day, sum);
    return await sum;
  }

  async function oldestStored(): Promise<number> {
    const stored = (await collection?.list()) ?? [];
    return Math.min(today, ...stored.map(({ id }) => dayNumber(Date.parse(id))));
  }

  open.set(today, await addUp(today));
  for (let day = dayNumber(Date.parse(`${monthOf(today)}-01`)); day <= today; day += 1) {
    for (const { keyId, promptTokens, completionTokens } of await countsOf(day)) {
      const of = spentBy(keyId);
      of.month += promptTokens + completionTokens;
      if (day === today) of.day += promptTokens + completionTokens;
    }
  }

  return {
    nowMs,
    /** Counts a request of this moment. */
    add(record: UsageRecord): void {
      open.get(today)?.add(record);
      const of = spentBy(record.keyId);
      of.day += record.promptTokens + record.completionTokens;
      of.month += record.promptTokens + record.completionTokens;
    },
    spentBy,
    /** Rows in order of day, key and model. */
    async summary({ keyId, fromDay, toDay }: UsageQuery): Promise<UsageRow[]> {
      nowMs();
      const from = fromDay === undefined ? today : dayNumber(Date.parse(fromDay));
      const to = toDay === undefined ? today : dayNumber(Date.parse(toDay));
      const rows: UsageRow[] = [];
      for (
        let day = Math.max(from, today - USAGE_KEPT_DAYS);
        day <= Math.min(to, today);
        day += 1
      ) {
        for (const counts of await countsOf(day)) {
          if (keyId === undefined || counts.keyId === keyId) {
            rows.push({ day: nameOf(day), ...counts });
          }
        }
      }
      return rows;
    },
    async replaceDays(rows: readonly UsageRow[]): Promise<void> {
      const byDay = new Map<string, UsageCounts[]>();
      for (const { day, ...counts } of rows) {
        byDay.set(day, [...(byDay.get(day) ?? []), counts]);
      }
      await journal?.clear();
      for (const { id } of (await collection?.list()) ?? []) {
        if (!byDay.has(id)) await collection?.update(id, () => undefined);
      }
      for (const [day, counts] of byDay) {
        const isMoved = day === nameOf(today) || undefined;
        await collection?.update(day, () => ({ counts, isMoved }));
      }
      const sums = createUsageSums();
      for (const counts of byDay.get(nameOf(today)) ?? []) sums.addCounts(counts);
      open.set(today, sums);
    },
    /** Stores the counts of days that are over, and removes what is older than is kept. */
    async tidy(): Promise<void> {
      nowMs();
      for (const [day, counting] of open) {
        if (day === today) continue;
        const counts = counting.list();
        await collection?.update(nameOf(day), () => ({ counts }));
        open.delete(day);
      }
      const oldest = today - USAGE_KEPT_DAYS;
      for (removedBefore ??= await oldestStored(); removedBefore < oldest; removedBefore += 1) {
        await collection?.update(nameOf(removedBefore), () => undefined);
      }
      await journal?.prune(oldest * DAY_MS);
    },
  };
}

/** Days since 1970, UTC. */
function dayNumber(atMs: number): number {
  return Math.floor(atMs / DAY_MS);
}

const nameOf = (day: number) => new Date(day * DAY_MS).toISOString().slice(0, 10);
const monthOf = (day: number) => nameOf(day).slice(0, 7);
