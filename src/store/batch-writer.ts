import type { Logger } from 'pino';

interface RecordSettled {
  resolve: () => void;
  reject: (error: unknown) => void;
}

interface BatchedRecord<T> {
  record: T;
  settled: RecordSettled | undefined;
}

interface BatchWriterOptions<T> {
  append: (records: T[]) => Promise<void>;
  /** Records in one append. */
  batchCount: number;
  /** True if a record may be in one append with the first one. */
  fitsWith?: (first: T, record: T) => boolean;
  /** The first record waits so long for others, unless `fullCount` records wait. */
  waitMs: number;
  fullCount: number;
  /** Time from one write to the next, unless `fullCount` records wait. */
  betweenMs: number;
  /** Records kept while the disk refuses them. */
  keptCount: number;
  /** Receives records that couldn't be kept. */
  onDrop?: (records: T[]) => void;
  /** Name of the records in the log, such as `usage records`, and the field that counts them. */
  name: string;
  countedAs: string;
  log: Logger;
}

const RETRY_MS = 1_000;

/** Records above `keptCount` before the oldest are dropped. */
const SLACK = 1_000;

/**
 * Collects records and appends many with one write. Records that a full disk refuses are kept, up to a number, and tried
 * again. Records that are refused for another reason would be refused again and again, so they are lost.
 */
export class BatchWriter<T> {
  private readonly options: BatchWriterOptions<T>;
  private pending: BatchedRecord<T>[] = [];
  private writing: Promise<void> | undefined;
  private timer: { dueMs: number; handle: NodeJS.Timeout } | undefined;
  private lastWriteMs = Number.NEGATIVE_INFINITY;
  private refusal: { error: unknown } | undefined;
  private lostCount = 0;
  private isClosed = false;

  constructor(options: BatchWriterOptions<T>) {
    this.options = options;
  }

  /** `settled` learns that the record is durable, or that the disk refuses it; it is kept then and tried again. */
  add(record: T, settled?: RecordSettled): void {
    this.pending.push({ record, settled });
    if (this.pending.length >= this.options.keptCount + SLACK) this.dropOldest();
    if (this.isClosed) void this.startWriting();
    else this.schedule();
  }

  /** Number of records that aren't written yet. */
  waiting(): number {
    return this.pending.length;
  }

  /** Writes the waiting records now. Refused ones are kept. */
  async flush(): Promise<void> {
    // A write under way may have begun before the last records came.
    await this.writing;
    await this.startWriting();
  }

  /** Writes the waiting records, and every later one at once. Records that the disk refuses now are lost. */
  async close(): Promise<void> {
    this.isClosed = true;
    await this.flush();
    this.lostCount += this.pending.length;
    this.pending = [];
    clearTimeout(this.timer?.handle);
    this.logLost();
  }

  private schedule(): void {
    if (this.writing) return;
    const nowMs = performance.now();
    const dueMs = nowMs + this.delayMs(nowMs);
    if (this.timer && this.timer.dueMs <= dueMs) return;
    clearTimeout(this.timer?.handle);
    const handle = setTimeout(() => void this.startWriting(), dueMs - nowMs);
    this.timer = { dueMs, handle };
  }

  private delayMs(nowMs: number): number {
    const { fullCount, waitMs, betweenMs } = this.options;
    if (this.isClosed) return 0;
    if (this.refusal) return RETRY_MS;
    if (this.pending.length >= fullCount) return 0;
    return Math.max(waitMs, Math.min(betweenMs, this.lastWriteMs + betweenMs - nowMs));
  }

  private startWriting(): Promise<void> {
    clearTimeout(this.timer?.handle);
    this.timer = undefined;
    this.writing ??= this.writeAll().finally(() => {
      this.writing = undefined;
      if (this.pending.length > 0 && !(this.isClosed && this.refusal)) this.schedule();
    });
    return this.writing;
  }

  private async writeAll(): Promise<void> {
    this.lastWriteMs = performance.now();
    // Records that come during a write wait for the next one, so that they aren't written one by one.
    for (let remaining = this.pending.length; remaining > 0; ) {
      const batch = this.takeBatch(remaining);
      remaining -= batch.length;
      const isRefused = await this.writeBatch(batch);
      if (isRefused) return;
    }
  }

  /** Resolves to true if the disk refuses records now. */
  private async writeBatch(batch: BatchedRecord<T>[]): Promise<boolean> {
    const { append, name, countedAs, log } = this.options;
    try {
      await append(batch.map(({ record }) => record));
      for (const { settled } of batch) settled?.resolve();
      if (this.refusal) log.info(`${name} can be stored again`);
      this.refusal = undefined;
      this.logLost();
      return false;
    } catch (error) {
      const isDisk = typeof (error as NodeJS.ErrnoException).syscall === 'string';
      if (isDisk) {
        this.keep(batch, error);
        return true;
      }
      log.error({ err: error, [countedAs]: batch.length }, `${name} are lost`);
      for (const { settled } of batch) settled?.reject(error);
      return false;
    }
  }

  private takeBatch(remaining: number): BatchedRecord<T>[] {
    const { batchCount, fitsWith = () => true } = this.options;
    const most = this.pending.slice(0, Math.min(remaining, batchCount));
    const end = most.findIndex(({ record }) => most[0] && !fitsWith(most[0].record, record));
    return this.pending.splice(0, end === -1 ? most.length : end);
  }

  private keep(batch: BatchedRecord<T>[], error: unknown): void {
    const { name, log } = this.options;
    if (!this.refusal)
      log.error({ err: error }, `could not store ${name}; they are kept in memory`);
    this.refusal = { error };
    this.pending = [...batch, ...this.pending];
    for (const { settled } of this.pending) settled?.reject(error);
    this.dropOldest();
  }

  private dropOldest(): void {
    const { keptCount, name, onDrop } = this.options;
    const dropped = this.pending.splice(0, Math.max(0, this.pending.length - keptCount));
    const error = this.refusal?.error ?? new Error(`too many ${name} are waiting to be stored`);
    for (const { settled } of dropped) settled?.reject(error);
    this.lostCount += dropped.length;
    if (dropped.length > 0) onDrop?.(dropped.map(({ record }) => record));
  }

  private logLost(): void {
    const { name, countedAs, log } = this.options;
    if (this.lostCount > 0) {
      log.error({ [countedAs]: this.lostCount }, `${name} were lost while the disk was full`);
    }
    this.lostCount = 0;
  }
}
