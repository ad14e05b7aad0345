import type { Logger } from 'pino';

/** Writes that may be pending before checks wait for them: some seconds of a busy service. */
const MAX_PENDING = 2_000;

/** A write; `undefined` if nothing changed. */
type StateWrite = Promise<unknown> | undefined;

/** Reports failed writes to the log only. */
export type StoreReport = ReturnType<typeof createStoreReport>;

/** Logs when storing begins to fail and when it works again, not at each of thousands of checks. */
export function createStoreReport(log: Logger) {
  const pending = new Set<Promise<void>>();
  let isFailing = false;

  /** Waits for writes; never rejects. */
  async function report(...writes: StateWrite[]): Promise<void> {
    const results = await Promise.allSettled(writes.filter((write) => write !== undefined));
    const failed = results.find((result) => result.status === 'rejected');
    if (failed && !isFailing) {
      log.error({ err: failed.reason }, 'could not store check results; checks continue');
    }
    if (!failed && isFailing) log.info('check results are stored again');
    isFailing = failed !== undefined;
  }

  return {
    report,
    /**
     * Returns at once, because a finished check must not keep its place while the disk works. Waits only if the store hangs, so that
     * results don't fill the memory.
     */
    async handOver(...writes: StateWrite[]): Promise<void> {
      if (writes.every((write) => write === undefined)) return;
      const written = report(...writes).then(() => void pending.delete(written));
      pending.add(written);
      if (pending.size > MAX_PENDING) await written;
    },
    /** Resolves when all pending writes have been written or refused. */
    async allWritten(): Promise<void> {
      await Promise.all(pending);
    },
  };
}
