/** Work under way, which `close` waits for. */
export type PendingWork = ReturnType<typeof createPendingWork>;

export function createPendingWork() {
  const pending = new Set<Promise<unknown>>();
  return {
    track<R>(work: Promise<R>): Promise<R> {
      const ended: Promise<unknown> = work.then(
        () => pending.delete(ended),
        () => pending.delete(ended),
      );
      pending.add(ended);
      return work;
    },
    /** Resolves when nothing is under way. */
    async idle(): Promise<void> {
      while (pending.size > 0) await Promise.all(pending);
    },
  };
}
