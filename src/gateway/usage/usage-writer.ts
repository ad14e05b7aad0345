import type { Logger } from 'pino';
import { type BatchWriter, createBatchWriter } from '../../store/batch-writer.ts';
import type { Journal } from '../../store/store.ts';
import { pack, type UsageEntry, type UsageRecord } from './journal.ts';

/** What kill -9 takes away is of the last 250 ms, and of the time that two writes take. */
const FLUSH_MS = 200;

/**
 * Requests in one record of the journal, which is written when there are so many. A write costs the CPU of some hundred
 * requests, however many it holds; even with the longest names they stay well below what a journal takes.
 */
const BATCH_COUNT = 2_000;

const DAY_MS = 86_400_000;

/**
 * Collects records and appends them to the journal, many with one write: a write for each would cost more than the call
 * it tells of.
 */
export function createUsageWriter(
  journal: Journal<UsageEntry>,
  log: Logger,
): BatchWriter<UsageRecord> {
  return createBatchWriter({
    append: (records) => journal.append(pack(records)),
    batchCount: BATCH_COUNT,
    // The journal keeps a file for each day, in UTC.
    fitsWith: (first, record) => dayOf(first) === dayOf(record),
    waitMs: FLUSH_MS,
    betweenMs: FLUSH_MS,
    fullCount: BATCH_COUNT,
    keptCount: 10_000,
    name: 'usage records',
    countedAs: 'requests',
    log,
  });
}

const dayOf = ({ atMs }: UsageRecord) => Math.floor(atMs / DAY_MS);
