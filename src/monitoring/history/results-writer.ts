import type { Logger } from 'pino';
import type { Entry } from './result-record.ts';
import type { ResultsJournal } from './results-journal.ts';

/** Writes entries together with others, a moment later. */
export interface ResultsWriter {
  /** Resolves when the entry is durable. Rejects when the disk refuses it; it is kept then and tried again. */
  add(entry: Entry): Promise<void>;
  /** Writes what is still waiting; what the disk refuses now is lost. */
  close(): Promise<void>;
}

/** How long the first entry of a batch waits for others: the one that checks waits for it. */
const WAIT_MS = 50;

/** From one write to the next, unless many wait: a write costs the CPU of hundreds of entries. */
const BETWEEN_MS = 250;
const MANY = 100;

/** Entries in one append: far below what a record of a journal takes, even with the longest reasons. */
const BATCH_COUNT = 500;

/** Entries kept while the disk refuses them: a minute of 10,000 monitors. */
const KEPT_COUNT = 10_000;
const RETRY_MS = 1_000;

interface Waiting {
  entry: Entry;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** Collects entries and appends them to the journal, many with one write. */
export function createResultsWriter(
  journal: Pick<ResultsJournal, 'append'>,
  log: Logger,
): ResultsWriter {
  let waiting: Waiting[] = [];
  let writing: Promise<void> | undefined;
  let timer: { dueMs: number; handle: NodeJS.Timeout } | undefined;
  let lastWriteMs = Number.NEGATIVE_INFINITY;
  let failing = false;
  let lost = 0;
  let closed = false;

  function schedule() {
    if (writing) return;
    const nowMs = performance.now();
    const isFull = waiting.length >= MANY && !failing;
    const waitMs = failing
      ? RETRY_MS
      : Math.max(WAIT_MS, Math.min(BETWEEN_MS, lastWriteMs + BETWEEN_MS - nowMs));
    const dueMs = nowMs + (isFull || closed ? 0 : waitMs);
    if (timer && timer.dueMs <= dueMs) return;
    clearTimeout(timer?.handle);
    timer = { dueMs, handle: setTimeout(() => void flush(), dueMs - nowMs) };
  }

  function flush(): Promise<void> {
    clearTimeout(timer?.handle);
    timer = undefined;
    writing ??= writeAll().finally(() => {
      writing = undefined;
      if (waiting.length > 0 && !(closed && failing)) schedule();
    });
    return writing;
  }

  async function writeAll(): Promise<void> {
    lastWriteMs = performance.now();
    // What comes meanwhile waits for the next time, so that it is not written one by one.
    for (let left = waiting.length; left > 0; ) {
      const batch = waiting.splice(0, Math.min(left, BATCH_COUNT));
      left -= batch.length;
      try {
        await journal.append(batch.map(({ entry }) => entry));
        for (const { resolve } of batch) resolve();
        recovered();
      } catch (error) {
        // Anything but the disk would refuse the same entries again and again.
        const isDisk = typeof (error as NodeJS.ErrnoException).syscall === 'string';
        if (isDisk) waiting.unshift(...batch);
        else log.error({ err: error, results: batch.length }, 'results of checks are lost');
        for (const { reject } of isDisk ? waiting : batch) reject(error);
        if (isDisk) return refused(error);
      }
    }
  }

  function refused(error: unknown) {
    if (!failing) log.error({ err: error }, 'results of checks cannot be stored; they are kept');
    failing = true;
    dropOldest();
  }

  function dropOldest() {
    const over = Math.max(0, waiting.length - KEPT_COUNT);
    waiting.splice(0, over);
    lost += over;
  }

  function recovered() {
    if (failing) log.info('results of checks can be stored again');
    failing = false;
    tellLost();
  }

  function tellLost() {
    if (lost > 0) log.error({ results: lost }, 'results of checks were lost: the disk was full');
    lost = 0;
  }

  return {
    add(entry) {
      return new Promise((resolve, reject) => {
        waiting.push({ entry, resolve, reject });
        schedule();
      });
    },
    async close() {
      closed = true;
      await writing;
      await flush();
      lost += waiting.length;
      waiting = [];
      clearTimeout(timer?.handle);
      tellLost();
    },
  };
}
