import type { Logger } from 'pino';
import type { Journal } from '../../store/store.ts';
import { pack, type UsageEntry, type UsageRecord } from './usage-journal.ts';

/** Writes records of requests together with others, a moment later. */
export interface UsageWriter {
  add(record: UsageRecord): void;
  /** How many are still to be written. */
  waiting(): number;
  /** Writes what is still waiting, and every later record at once. */
  close(): Promise<void>;
}

/** What kill -9 takes away is of the last 250 ms, and of the time that two writes take. */
const FLUSH_MS = 200;

/**
 * Requests in one record of the journal, which is written when there are so many. A write costs the CPU of some hundred
 * requests, however many it holds; even with the longest names they stay well below what a journal takes.
 */
const BATCH_COUNT = 2_000;

/** Requests kept while the disk refuses them, and how far above that it may go before they are cut. */
const WAITING_COUNT = 10_000;
const WAITING_SLACK = 1_000;
const RETRY_MS = 1_000;

const DAY_MS = 86_400_000;

/**
 * Collects records and appends them to the journal, many with one write: a write for each would cost more than the call
 * it tells of. What a full disk refuses is kept, as much as is reasonable, and tried again.
 */
export function createUsageWriter(journal: Journal<UsageEntry>, log: Logger): UsageWriter {
  let waiting: UsageRecord[] = [];
  let writing: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let failing = false;
  let lost = 0;
  let closed = false;

  function schedule(ms: number) {
    timer ??= setTimeout(() => void flush(), ms);
  }

  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    writing ??= writeAll().finally(() => {
      writing = undefined;
      if (waiting.length > 0 && !(closed && failing)) schedule(failing ? RETRY_MS : FLUSH_MS);
    });
    return writing;
  }

  async function writeAll(): Promise<void> {
    while (waiting.length > 0) {
      const batch = firstDayOf(waiting).slice(0, BATCH_COUNT);
      waiting = waiting.slice(batch.length);
      try {
        await journal.append(pack(batch));
        if (failing) log.info('usage records can be stored again');
        failing = false;
      } catch (error) {
        // Anything but the disk would refuse the same records again and again.
        const isDisk = typeof (error as NodeJS.ErrnoException).syscall === 'string';
        if (!isDisk) {
          log.error({ err: error, requests: batch.length }, 'usage records are lost');
          continue;
        }
        if (!failing) log.error({ err: error }, 'usage records cannot be stored; they are kept');
        failing = true;
        waiting = [...batch, ...waiting];
        dropOldest(WAITING_COUNT);
        return;
      }
      tellLost();
    }
  }

  function dropOldest(keep: number) {
    lost += Math.max(0, waiting.length - keep);
    waiting = waiting.slice(-keep);
  }

  function tellLost() {
    if (lost > 0) log.error({ requests: lost }, 'usage records were lost while the disk was full');
    lost = 0;
  }

  return {
    add(record) {
      waiting.push(record);
      if (waiting.length >= WAITING_COUNT + WAITING_SLACK) dropOldest(WAITING_COUNT);
      if (closed || (waiting.length >= BATCH_COUNT && !writing && !failing)) void flush();
      else schedule(failing ? RETRY_MS : FLUSH_MS);
    },
    waiting: () => waiting.length,
    async close() {
      closed = true;
      await writing;
      await flush();
      lost += waiting.length;
      waiting = [];
      tellLost();
    },
  };
}

/** Those at the front that are of one UTC day: the journal keeps a file for each. */
function firstDayOf(records: UsageRecord[]): UsageRecord[] {
  const dayOf = ({ atMs }: UsageRecord) => Math.floor(atMs / DAY_MS);
  const [first] = records;
  const next = records.findIndex((record) => first && dayOf(record) !== dayOf(first));
  return next === -1 ? records : records.slice(0, next);
}
