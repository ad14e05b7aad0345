import type { Logger } from 'pino';
import { z } from 'zod';
import { yieldToEventLoop } from '../../contracts/event-loop.ts';
import { BatchWriter } from '../../store/batch-writer.ts';
import type { Journal, Store } from '../../store/store.ts';
import { DAY_MS, HOUR_MS } from '../time/clock.ts';
import {
  createNamePool,
  EntryText,
  entriesFromText,
  entriesToText,
  type HistoryEntry,
  isForgottenEntry,
} from './result-record.ts';

/** Every single result is kept this long; hours and days are kept longer. */
export const RESULTS_KEPT_MS = 2 * DAY_MS;

/** Entries that are read before other work gets its turn: about a millisecond. */
const READ_COUNT = 2_000;

/** Entries of one write, and the run of the program that wrote them. As records of their own they would take four times the bytes. */
export const EntryBatch = EntryText.extend({ run: z.string() });
export type EntryBatch = z.infer<typeof EntryBatch>;

/** The journal of an hour of the UTC day. */
export const journalOfHour = (hour: number) => `monitor-results-${String(hour).padStart(2, '0')}`;

/** The results of the last days in a file for each hour, so that a start reads hours and not days. */
export type ResultsJournal = ReturnType<typeof openResultsJournal>;

/** Opens `monitor-results-00` to `monitor-results-23`, one for each hour of the UTC day. */
export function openResultsJournal(store: Store, run: string) {
  const journals = Array.from({ length: 24 }, (_, hour) =>
    store.journal({ name: journalOfHour(hour), schema: EntryBatch }),
  );

  function journalAt(atMs: number): Journal<EntryBatch> {
    const journal = journals[hourOf(atMs) % 24];
    if (journal === undefined) throw new RangeError(`${atMs} is not a time since 1970.`);
    return journal;
  }

  return {
    /** Writes one record for each hour of the entries; resolves when they are durable. */
    async append(entries: readonly HistoryEntry[]): Promise<void> {
      const batches = [...byHour(entries).values()].map((each) => ({
        ...entriesToText(each),
        run,
      }));
      await Promise.all(batches.map((batch) => journalAt(batch.atMs).append(batch)));
    },
    /** Entries of the batches with `fromMs <= time < toMs`; a batch may begin earlier. Batches of this run only `ownToo`. */
    async *read(options: {
      fromMs: number;
      toMs: number;
      ownToo: boolean;
    }): AsyncIterable<HistoryEntry[]> {
      const { fromMs, toMs, ownToo } = options;
      const names = createNamePool();
      let sinceTurn = 0;
      for (let hour = hourOf(fromMs); hour * HOUR_MS < toMs; hour += 1) {
        const range = {
          fromMs: Math.max(fromMs, hour * HOUR_MS),
          toMs: Math.min(toMs, (hour + 1) * HOUR_MS),
        };
        for await (const batch of journalAt(hour * HOUR_MS).read(range)) {
          if (batch.run === run && !ownToo) continue;
          const entries = entriesFromText(batch, names);
          yield entries;
          sinceTurn += entries.length;
          if (sinceTurn < READ_COUNT) continue;
          // There are thousands of batches, and checks continue in the meantime.
          await yieldToEventLoop();
          sinceTurn = 0;
        }
      }
    },
    /** Deletes all entries of these monitors, except the ones that say the monitor is forgotten. */
    async erase(monitors: ReadonlySet<string>): Promise<void> {
      const names = createNamePool();
      const isKept = (entry: HistoryEntry) =>
        !monitors.has(entry.monitor) || isForgottenEntry(entry);
      const withoutThem = (batch: EntryBatch) => {
        const entries = entriesFromText(batch, names);
        const kept = entries.filter(isKept);
        if (kept.length === entries.length) return batch;
        return kept.length === 0 ? undefined : { ...entriesToText(kept), run: batch.run };
      };
      for (const journal of journals) {
        await journal.erase(withoutThem, { mentioning: [...monitors] });
      }
    },
    /** Deletes older entries, in whole days. */
    async prune(beforeMs: number): Promise<void> {
      for (const journal of journals) await journal.prune(beforeMs);
    },
  };
}

function hourOf(atMs: number): number {
  return Math.floor(atMs / HOUR_MS);
}

function byHour(entries: readonly HistoryEntry[]): Map<number, HistoryEntry[]> {
  const hours = new Map<number, HistoryEntry[]>();
  for (const entry of entries) {
    const hour = hourOf(entry.atMs);
    const known = hours.get(hour);
    if (known) known.push(entry);
    else hours.set(hour, [entry]);
  }
  return hours;
}

export function createResultsWriter(journal: Pick<ResultsJournal, 'append'>, log: Logger) {
  const writer = new BatchWriter<HistoryEntry>({
    append: (entries) => journal.append(entries),
    // Far below the limit of a journal's record, even with the longest reasons.
    batchCount: 500,
    // A check waits for it.
    waitMs: 50,
    // A write costs the CPU of hundreds of entries.
    betweenMs: 250,
    fullCount: 100,
    // A minute of 10,000 monitors.
    keptCount: 10_000,
    name: 'check results',
    countedAs: 'results',
    log,
  });
  return {
    /** Resolves when the entry is durable. Rejects if the disk refuses it; the entry is kept and retried. */
    add: (entry: HistoryEntry) =>
      new Promise<void>((resolve, reject) => writer.add(entry, { resolve, reject })),
    /** Writes what is still waiting; entries that the disk refuses now are lost. */
    close: () => writer.close(),
  };
}
