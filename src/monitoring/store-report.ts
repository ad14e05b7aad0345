import type { Logger } from 'pino';

/** Tells the log when storing begins to fail and when it works again, not at each of thousands of checks. */
export function createStoreReport(log: Logger) {
  let failing = false;
  return {
    /** Waits for writes; it does not reject. */
    async report(...writes: Array<Promise<unknown>>): Promise<void> {
      const failed = (await Promise.allSettled(writes)).find(({ status }) => status === 'rejected');
      if (failed?.status === 'rejected' && !failing) {
        log.error({ err: failed.reason }, 'results of checks cannot be stored; checks go on');
      }
      if (!failed && failing) log.info('results of checks are stored again');
      failing = failed !== undefined;
    },
  };
}

export type StoreReport = ReturnType<typeof createStoreReport>;
