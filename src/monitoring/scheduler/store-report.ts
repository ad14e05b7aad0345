import type { Logger } from 'pino';

/** Writes that may wait for the disk before those who write must wait too: some seconds of a busy service. */
const MAX_WAITING = 2_000;

/** What is being written; `undefined` when nothing must be. */
type Write = Promise<unknown> | undefined;

/** What becomes of writes that only the log reports. */
export type StoreReport = ReturnType<typeof createStoreReport>;

/** Tells the log when storing begins to fail and when it works again, not at each of thousands of checks. */
export function createStoreReport(log: Logger) {
  const waiting = new Set<Promise<void>>();
  let failing = false;

  async function report(...writes: Write[]) {
    const failed = await failureOf(writes.filter((write) => write !== undefined));
    if (failed && !failing) {
      log.error({ err: failed.reason }, 'could not store check results; checks continue');
    }
    if (!failed && failing) log.info('check results are stored again');
    failing = failed !== undefined;
  }

  return {
    /** Waits for writes; it does not reject. */
    report,
    /**
     * Goes on at once, for a check is over when it is over: its place is for the next one, not for the disk. Only when the
     * store hangs it waits, so that checks do not fill the memory with what they find.
     */
    async handOver(...writes: Write[]): Promise<void> {
      if (writes.every((write) => write === undefined)) return;
      const written = report(...writes).then(() => void waiting.delete(written));
      waiting.add(written);
      if (waiting.size > MAX_WAITING) await written;
    },
    /** When all that was handed over has been written or refused. */
    async allWritten(): Promise<void> {
      await Promise.all(waiting);
    },
  };
}

/** Why the first of them that failed did. */
async function failureOf(writes: ReadonlyArray<Promise<unknown>>) {
  const [only] = writes;
  // The result of nearly every check; all that can be told of many takes twice the time.
  if (writes.length === 1) {
    return await only?.then(
      () => undefined,
      (reason: unknown) => ({ reason }),
    );
  }
  return (await Promise.allSettled(writes)).find((write) => write.status === 'rejected');
}
