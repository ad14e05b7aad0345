import { HOUR_MS } from '../time/clock.ts';
import type { EntrySource, Range } from './history-queries.ts';
import type { HourlyAggregator, StatusBefore } from './hourly-aggregator.ts';
import type { RecentResults } from './recent-results.ts';
import { type HistoryEntry, isResult } from './result-record.ts';
import type { ResultsJournal } from './results-journal.ts';
import { floorTo } from './uptime-accounting.ts';

export function createRememberedEntries(parts: {
  hourlyAggregator: HourlyAggregator;
  recent: RecentResults;
  journal: ResultsJournal;
  /** Memory holds every later result of a monitor, unless it is full. */
  restoredFromMs: number;
  wallMs: () => number;
}): EntrySource {
  const { hourlyAggregator, recent, journal, restoredFromMs, wallMs } = parts;
  let reading: Promise<unknown> = Promise.resolve();

  /** The entries in memory, which are complete from `sinceMs` on. */
  function inMemory(monitor: string, statusBefore: StatusBefore) {
    const entries = recent.of(monitor);
    if (statusBefore === 'unknown' || recent.isFull(monitor)) {
      return {
        entries,
        statusBefore: undefined,
        sinceMs: entries[0]?.atMs ?? Number.POSITIVE_INFINITY,
      };
    }
    return { entries, statusBefore, sinceMs: restoredFromMs };
  }

  /** Entries from the journal, from the last one at `fromMs` up to the first one in memory. */
  function before(
    monitor: string,
    inMemory: readonly HistoryEntry[],
    fromMs: number,
  ): Promise<HistoryEntry[]> {
    const firstMs = inMemory[0]?.atMs ?? wallMs();
    const everyMs = inMemory.find(isResult)?.everyMs ?? 0;
    // An entry's batch may end later, but within the same hour.
    const toMs = floorTo(firstMs, HOUR_MS) + HOUR_MS;
    const range = { fromMs: fromMs - 2 * everyMs, toMs, ownToo: true };
    // One at a time, since each reads the results of all monitors.
    const entries = reading.then(async () => {
      const found: HistoryEntry[] = [];
      for await (const batch of journal.read(range)) {
        for (const entry of batch) {
          if (entry.monitor === monitor && entry.atMs < firstMs) found.push(entry);
        }
      }
      return found;
    });
    reading = entries.catch(() => {});
    return entries;
  }

  async function memoryOf(monitor: string) {
    const { statusBefore } = await hourlyAggregator.open(monitor, wallMs());
    return inMemory(monitor, statusBefore);
  }

  return {
    newest: async (monitor) => recent.of(monitor).filter(isResult),
    async during(monitor, { fromMs }: Range) {
      const memory = await memoryOf(monitor);
      if (memory.sinceMs <= fromMs) return memory;
      const earlier = await before(monitor, memory.entries, fromMs);
      return { entries: [...earlier, ...memory.entries], statusBefore: undefined };
    },
  };
}
