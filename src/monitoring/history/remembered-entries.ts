import { HOUR_MS } from '../time/clock.ts';
import type { EntrySource, Range } from './history-queries.ts';
import type { Began, HourlyAggregator } from './hourly-aggregator.ts';
import type { RecentResults } from './recent-results.ts';
import { type Entry, isResult } from './result-record.ts';
import type { ResultsJournal } from './results-journal.ts';
import { floorTo } from './uptime-accounting.ts';

/** The newest entries from memory; what it does not hold of a time is read from the journal. */
export function createRememberedEntries(parts: {
  hourlyAggregator: HourlyAggregator;
  recent: RecentResults;
  journal: ResultsJournal;
  /** From here on memory holds every result, as far as there is room. */
  restoredFromMs: number;
  wallMs: () => number;
}): EntrySource {
  const { hourlyAggregator, recent, journal, restoredFromMs, wallMs } = parts;
  let reading: Promise<unknown> = Promise.resolve();

  /** The newest entries, what they began with, and since when they are all there are. */
  function inMemory(monitor: string, began: Began) {
    const entries = recent.of(monitor);
    if (began === 'unknown' || recent.isFull(monitor)) {
      return { entries, began: undefined, sinceMs: entries[0]?.atMs ?? Number.POSITIVE_INFINITY };
    }
    return { entries, began, sinceMs: restoredFromMs };
  }

  /** Entries from the journal that came before those in memory, from the one that a moment begins with. */
  function before(monitor: string, inMemory: readonly Entry[], fromMs: number): Promise<Entry[]> {
    const firstMs = inMemory[0]?.atMs ?? wallMs();
    const everyMs = inMemory.find(isResult)?.everyMs ?? 0;
    // An entry may stand in a batch that ends later, but not in another hour.
    const toMs = floorTo(firstMs, HOUR_MS) + HOUR_MS;
    const range = { fromMs: fromMs - 2 * everyMs, toMs, ownToo: true };
    // One reading at a time: each reads the results of all monitors.
    const entries = reading.then(async () => {
      const found: Entry[] = [];
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
    const { began } = await hourlyAggregator.open(monitor, wallMs());
    return inMemory(monitor, began);
  }

  return {
    newest: async (monitor) => recent.of(monitor).filter(isResult),
    async during(monitor, { fromMs }: Range) {
      const memory = await memoryOf(monitor);
      if (memory.sinceMs <= fromMs) return memory;
      const earlier = await before(monitor, memory.entries, fromMs);
      return { entries: [...earlier, ...memory.entries], began: undefined };
    },
  };
}
