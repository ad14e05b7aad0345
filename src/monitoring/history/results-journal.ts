import type { Logger } from 'pino';
import { z } from 'zod';
import { yieldToEventLoop } from '../../contracts/event-loop.ts';
import { createBatchWriter } from '../../store/batch-writer.ts';
import type { Journal, Store } from '../../store/store.ts';
import { DAY_MS, HOUR_MS } from '../time/clock.ts';
import {
  createNames,
  type Entry,
  EntryText,
  entriesFromText,
  entriesToText,
  isForgottenEntry,
} from './result-record.ts';

/** How long every single result is kept; hours and days of them are kept longer. */
export const RESULTS_KEPT_MS = 2 * DAY_MS;

/** Entries read before others have their turn: about a millisecond. */
const READ_COUNT = 2_000;

/** What is written together, with which run of the program wrote it: as records of their own they would take four times the bytes. */
export const Batch = EntryText.extend({ run: z.string() });
export type Batch = z.infer<typeof Batch>;

/** The journal of an hour of the UTC day. */
export const journalOfHour = (hour: number) => `monitor-results-${String(hour).padStart(2, '0')}`;

/** Version 0.1 kept a record for each result here, and nobody reads them any more. */
export const OLD_JOURNAL = 'monitor-results';

/** The results of the last days, in files of an hour, so that a start reads hours and not days. */
export type ResultsJournal = ReturnType<typeof openResultsJournal>;

/** Opens `monitor-results-00` to `monitor-results-23`, one for each hour of the UTC day. */
export function openResultsJournal(store: Store, run: string) {
  const journals = Array.from({ length: 24 }, (_, hour) =>
    store.journal({
      name: journalOfHour(hour),
      schema: Batch,
    }),
  );
  const old = store.journal({ name: OLD_JOURNAL, schema: z.object({ atMs: z.int() }) });

  function journalOf(atMs: number): Journal<Batch> {
    const journal = journals[hourOf(atMs) % 24];
    if (journal === undefined) throw new RangeError(`${atMs} is not a time since 1970.`);
    return journal;
  }

  return {
    /** Writes entries with one record for each of their hours; resolves when they are durable. */
    async append(entries: readonly Entry[]): Promise<void> {
      const batches = [...byHour(entries).values()].map((each) => ({
        ...entriesToText(each),
        run,
      }));
      await Promise.all(batches.map((batch) => journalOf(batch.atMs).append(batch)));
    },
    /** Entries of batches with `fromMs <= time < toMs` that another run wrote, or any; a batch may begin earlier. */
    async *read(asked: { fromMs: number; toMs: number; ownToo: boolean }): AsyncIterable<Entry[]> {
      const { fromMs, toMs, ownToo } = asked;
      const names = createNames();
      let sinceTurn = 0;
      for (let hour = hourOf(fromMs); hour * HOUR_MS < toMs; hour += 1) {
        const range = {
          fromMs: Math.max(fromMs, hour * HOUR_MS),
          toMs: Math.min(toMs, (hour + 1) * HOUR_MS),
        };
        for await (const batch of journalOf(hour * HOUR_MS).read(range)) {
          if (batch.run === run && !ownToo) continue;
          const entries = entriesFromText(batch, names);
          yield entries;
          sinceTurn += entries.length;
          if (sinceTurn < READ_COUNT) continue;
          // There are thousands of batches, and checks go on beside.
          await yieldToEventLoop();
          sinceTurn = 0;
        }
      }
    },
    /** Removes entries of these monitors, but for those that say that they are forgotten. */
    async erase(monitors: ReadonlySet<string>): Promise<void> {
      const names = createNames();
      for (const journal of journals) {
        await journal.erase(
          (batch) => {
            const entries = entriesFromText(batch, names);
            const left = entries.filter(
              (one) => !monitors.has(one.monitor) || isForgottenEntry(one),
            );
            if (left.length === entries.length) return batch;
            return left.length === 0 ? undefined : { ...entriesToText(left), run: batch.run };
          },
          { mentioning: [...monitors] },
        );
      }
    },
    /** Removes what is older, in whole days. */
    async prune(beforeMs: number): Promise<void> {
      for (const journal of [old, ...journals]) await journal.prune(beforeMs);
    },
  };
}

function hourOf(atMs: number): number {
  return Math.floor(atMs / HOUR_MS);
}

function byHour(entries: readonly Entry[]): Map<number, Entry[]> {
  const hours = new Map<number, Entry[]>();
  for (const entry of entries) {
    const hour = hourOf(entry.atMs);
    const known = hours.get(hour);
    if (known) known.push(entry);
    else hours.set(hour, [entry]);
  }
  return hours;
}

/** Collects entries and appends them to the journal, many with one write. */
export function createResultsWriter(journal: Pick<ResultsJournal, 'append'>, log: Logger) {
  const writer = createBatchWriter<Entry>({
    append: (entries) => journal.append(entries),
    // Far below what a record of a journal takes, even with the longest reasons.
    batchCount: 500,
    // The one that checks waits for it.
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
    /** Resolves when the entry is durable. Rejects when the disk refuses it; it is kept then and tried again. */
    add: (entry: Entry) =>
      new Promise<void>((resolve, reject) => writer.add(entry, { resolve, reject })),
    /** Writes what is still waiting; what the disk refuses now is lost. */
    close: writer.close,
  };
}
