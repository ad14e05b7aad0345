import type { Logger } from 'pino';
import { createBatchWriter } from '../../store/batch-writer.ts';
import type { Entry } from './result-record.ts';
import type { ResultsJournal } from './results-journal.ts';

/** Writes entries together with others, a moment later. */
export interface ResultsWriter {
  /** Resolves when the entry is durable. Rejects when the disk refuses it; it is kept then and tried again. */
  add(entry: Entry): Promise<void>;
  /** Writes what is still waiting; what the disk refuses now is lost. */
  close(): Promise<void>;
}

/** Collects entries and appends them to the journal, many with one write. */
export function createResultsWriter(
  journal: Pick<ResultsJournal, 'append'>,
  log: Logger,
): ResultsWriter {
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
    name: 'results of checks',
    countedAs: 'results',
    log,
  });
  return {
    add: (entry) => new Promise((resolve, reject) => writer.add(entry, { resolve, reject })),
    close: writer.close,
  };
}
