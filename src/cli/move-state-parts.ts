import type { Logger } from 'pino';
import { z } from 'zod';
import { closedDays } from '../gateway/usage/days.ts';
import { usageJournal } from '../gateway/usage/journal.ts';
import { openJournalBooks } from '../gateway/usage/journal-books.ts';
import { HISTORY_STATE } from '../monitoring/history/history.ts';
import {
  createNamePool,
  entriesFromText,
  entriesToText,
} from '../monitoring/history/result-record.ts';
import { EntryBatch, journalOfHour } from '../monitoring/history/results-journal.ts';
import { STATES } from '../monitoring/monitors/state-store.ts';
import { HOUR_MS } from '../monitoring/time/clock.ts';
import type { SpecialParts, StatePart } from '../store/move-state.ts';
import { type Series, type SeriesRow, SLOT_REACH_MS } from '../store/series.ts';
import type { Store } from '../store/store.ts';
import type { UsageBooks } from '../store/usage.ts';

const HOURS = Array.from({ length: 24 }, (_, hour) => hour);

const MONITOR_COUNT = 100;

const WRITE_COUNT = 500;

/** Run id of moved results: a later start reads them like results of an earlier run. */
const MOVED_RUN = 'moved';

const CLOCKS = { unixMs: Date.now, steadyMs: () => performance.now() };

type MovedResult = Omit<SeriesRow, 'slotMs'>;

/** Results and usage, which have tables on PostgreSQL, and journals and documents in a data folder. */
export const specialParts = (log: Logger): SpecialParts => ({
  sharedValues: [STATES],
  names: [...HOURS.map(journalOfHour), HISTORY_STATE.name, usageJournal.name, closedDays.name],
  open: async (from, to) => [resultsPart(from, to), await usagePart(from, to, log)],
});

async function usagePart(from: Store, to: Store, log: Logger): Promise<StatePart> {
  const open = async (store: Store): Promise<UsageBooks> =>
    store.usage?.(CLOCKS) ?? (await openJournalBooks({ store, clocks: CLOCKS, log }));
  const sides = { from: await open(from), to: await open(to) };
  const rowsOf = (books: UsageBooks) =>
    books.summary({ fromDay: '1970-01-01', toDay: '9999-12-31' });
  return {
    kind: 'usage',
    name: 'usage',
    async *read(side) {
      for (const row of await rowsOf(sides[side])) {
        // Fields in one order, whichever engine names them.
        yield JSON.stringify(row, Object.keys(row).sort());
      }
    },
    copy: async () => await sides.to.replaceDays(await rowsOf(sides.from)),
  };
}

function resultsPart(from: Store, to: Store): StatePart {
  const sides = { from: openResults(from), to: openResults(to) };
  return {
    kind: 'results',
    name: 'results',
    async *read(side) {
      for await (const results of sides[side].read()) {
        for (const result of results) yield resultText(result);
      }
    },
    async copy() {
      await sides.to.clear();
      for await (const results of sides.from.read()) await sides.to.append(results);
      await sides.to.finish();
    },
  };
}

interface StoredResults {
  read(): AsyncIterable<MovedResult[]>;
  clear(): Promise<void>;
  /** Appends the results of an hour. */
  append(results: MovedResult[]): Promise<void>;
  finish(): Promise<void>;
}

const openResults = (store: Store & { series?: Series }): StoredResults =>
  store.series ? resultsInTable(store.series) : resultsInFiles(store);

function resultsInTable(series: Series): StoredResults {
  /** Results of one moment in the current hour. */
  const counts = new Map<string, number>();
  let currentHour = Number.NaN;
  return {
    async *read() {
      for (const startMs of await series.hours()) yield await resultsOfHour(series, startMs);
    },
    async clear() {
      for await (const monitors of series.monitors()) {
        for (const monitor of monitors) await series.forget(monitor);
      }
    },
    async append(results) {
      const hour = Math.floor((results[0]?.atMs ?? 0) / HOUR_MS);
      if (hour !== currentHour) counts.clear();
      currentHour = hour;
      const rows = results.map((result) => {
        const moment = `${result.monitor} ${result.atMs}`;
        const count = (counts.get(moment) ?? 0) + 1;
        counts.set(moment, count);
        // Every row needs a slot of its own.
        return { ...result, slotMs: result.atMs + count / 1_000 };
      });
      for (let at = 0; at < rows.length; at += WRITE_COUNT) {
        await series.append(rows.slice(at, at + WRITE_COUNT));
      }
    },
    async finish() {},
  };
}

async function resultsOfHour(series: Series, startMs: number): Promise<MovedResult[]> {
  const endMs = startMs + HOUR_MS;
  const found: MovedResult[] = [];
  for await (const monitors of series.monitors()) {
    for (let at = 0; at < monitors.length; at += MONITOR_COUNT) {
      const ranges = monitors.slice(at, at + MONITOR_COUNT).map((monitor) => ({
        monitor,
        fromMs: startMs - SLOT_REACH_MS,
        toMs: endMs + SLOT_REACH_MS,
      }));
      for (const { slotMs: _, ...result } of await series.between(ranges)) {
        if (result.atMs >= startMs && result.atMs < endMs) found.push(result);
      }
    }
  }
  return found;
}

function resultsInFiles(store: Store): StoredResults {
  const journals = HOURS.map((hour) =>
    store.journal({ name: journalOfHour(hour), schema: EntryBatch }),
  );
  const history = store.collection({
    name: HISTORY_STATE.name,
    schema: z.object({ openSinceMs: z.int() }),
    version: HISTORY_STATE.version,
    whenCorrupt: 'forget',
  });
  let oldestMs = Number.POSITIVE_INFINITY;
  return {
    async *read() {
      const names = createNamePool();
      for (const journal of journals) {
        for await (const batch of journal.read()) yield entriesFromText(batch, names);
      }
    },
    async clear() {
      await Promise.all(journals.map((journal) => journal.clear()));
    },
    async append(results) {
      const inOrder = [...results].sort((a, b) => a.atMs - b.atMs);
      const firstMs = inOrder[0]?.atMs ?? 0;
      oldestMs = Math.min(oldestMs, firstMs);
      const journal = journals[Math.floor(firstMs / HOUR_MS) % 24];
      for (let at = 0; at < inOrder.length; at += WRITE_COUNT) {
        const batch = entriesToText(inOrder.slice(at, at + WRITE_COUNT));
        await journal?.append({ ...batch, run: MOVED_RUN });
      }
    },
    /** The next start counts from the oldest result, because every engine sums up hours at times of its own. */
    async finish() {
      if (!Number.isFinite(oldestMs)) return;
      const openSinceMs = Math.floor(oldestMs / HOUR_MS) * HOUR_MS;
      await history.update(HISTORY_STATE.id, () => ({ openSinceMs }));
    },
  };
}

/** A text column of PostgreSQL can't hold half surrogates and zero characters. */
function resultText({ monitor, atMs, kind, took, everyMs, reason }: MovedResult): string {
  const storable = reason && Buffer.from(reason.replaceAll('\0', '\ufffd')).toString();
  return JSON.stringify([monitor, atMs, kind, took, everyMs, storable ?? null]);
}
