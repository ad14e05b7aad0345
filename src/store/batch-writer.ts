import type { Logger } from 'pino';

/** Writes records together with others, a moment later. */
export type BatchWriter<T> = ReturnType<typeof createBatchWriter<T>>;

interface Settled {
  resolve: () => void;
  reject: (error: unknown) => void;
}

interface Waiting<T> {
  record: T;
  settled: Settled | undefined;
}

const RETRY_MS = 1_000;

/** How far above what is kept it may go before it is cut. */
const SLACK = 1_000;

/**
 * Collects records and appends many with one write. What a full disk refuses is kept, as much as is reasonable, and tried
 * again; what is refused for another reason would be so again and again, and is lost.
 */
export function createBatchWriter<T>(options: {
  append: (records: T[]) => Promise<void>;
  /** Records in one append. */
  batchCount: number;
  /** Whether a record may stand in one append with the first of it. */
  fitsWith?: (first: T, record: T) => boolean;
  /** How long the first record waits for others, and so many for none. */
  waitMs: number;
  fullCount: number;
  /** From one write to the next, unless so many wait. */
  betweenMs: number;
  /** Records kept while the disk refuses them. */
  keptCount: number;
  /** Is told of those that could not be kept. */
  onDrop?: (records: T[]) => void;
  /** What they are in the log, such as `usage records`, and the field that counts them there. */
  name: string;
  countedAs: string;
  log: Logger;
}) {
  const { append, batchCount, fitsWith = () => true, waitMs, fullCount, betweenMs } = options;
  const { keptCount, name, countedAs, log } = options;
  let waiting: Waiting<T>[] = [];
  let writing: Promise<void> | undefined;
  let timer: { dueMs: number; handle: NodeJS.Timeout } | undefined;
  let lastWriteMs = Number.NEGATIVE_INFINITY;
  let refusal: { error: unknown } | undefined;
  let lost = 0;
  let closed = false;

  function schedule() {
    if (writing) return;
    const nowMs = performance.now();
    const dueMs = nowMs + delayMs(nowMs);
    if (timer && timer.dueMs <= dueMs) return;
    clearTimeout(timer?.handle);
    timer = { dueMs, handle: setTimeout(() => void flush(), dueMs - nowMs) };
  }

  function delayMs(nowMs: number): number {
    if (closed) return 0;
    if (refusal) return RETRY_MS;
    if (waiting.length >= fullCount) return 0;
    return Math.max(waitMs, Math.min(betweenMs, lastWriteMs + betweenMs - nowMs));
  }

  function flush(): Promise<void> {
    clearTimeout(timer?.handle);
    timer = undefined;
    writing ??= writeAll().finally(() => {
      writing = undefined;
      if (waiting.length > 0 && !(closed && refusal)) schedule();
    });
    return writing;
  }

  async function writeAll(): Promise<void> {
    lastWriteMs = performance.now();
    // What comes meanwhile waits for the next time, so that it is not written one by one.
    for (let left = waiting.length; left > 0; ) {
      const batch = takeBatch(left);
      left -= batch.length;
      try {
        await append(batch.map(({ record }) => record));
        for (const { settled } of batch) settled?.resolve();
        if (refusal) log.info(`${name} can be stored again`);
        refusal = undefined;
        logLost();
      } catch (error) {
        const isDisk = typeof (error as NodeJS.ErrnoException).syscall === 'string';
        if (isDisk) return refused(batch, error);
        log.error({ err: error, [countedAs]: batch.length }, `${name} are lost`);
        for (const { settled } of batch) settled?.reject(error);
      }
    }
  }

  function takeBatch(left: number): Waiting<T>[] {
    const most = waiting.slice(0, Math.min(left, batchCount));
    const end = most.findIndex(({ record }) => most[0] && !fitsWith(most[0].record, record));
    return waiting.splice(0, end === -1 ? most.length : end);
  }

  function refused(batch: Waiting<T>[], error: unknown) {
    if (!refusal) log.error({ err: error }, `could not store ${name}; they are kept in memory`);
    refusal = { error };
    waiting = [...batch, ...waiting];
    for (const { settled } of waiting) settled?.reject(error);
    dropOldest();
  }

  function dropOldest() {
    const dropped = waiting.splice(0, Math.max(0, waiting.length - keptCount));
    for (const { settled } of dropped) settled?.reject(refusal?.error ?? tooMany());
    lost += dropped.length;
    if (dropped.length > 0) options.onDrop?.(dropped.map(({ record }) => record));
  }

  const tooMany = () => new Error(`too many ${name} are waiting to be stored`);

  function logLost() {
    if (lost > 0) log.error({ [countedAs]: lost }, `${name} were lost while the disk was full`);
    lost = 0;
  }

  return {
    /** `settled` is called when the record is durable, or that the disk refuses it; it is kept then and tried again. */
    add(record: T, settled?: Settled): void {
      waiting.push({ record, settled });
      if (waiting.length >= keptCount + SLACK) dropOldest();
      if (closed) void flush();
      else schedule();
    },
    /** How many are still to be written. */
    waiting: () => waiting.length,
    /** Writes what waits now; what is refused is kept. */
    async flush(): Promise<void> {
      // What is being written may have been begun before the last of them came.
      await writing;
      await flush();
    },
    /** Writes what is still waiting, and every later record at once; what the disk refuses now is lost. */
    async close(): Promise<void> {
      closed = true;
      await writing;
      await flush();
      lost += waiting.length;
      waiting = [];
      clearTimeout(timer?.handle);
      logLost();
    },
  };
}
