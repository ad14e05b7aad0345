/** Lets one at a time through for each key, in the order in which they came. */
export function createTurnTaking({ maxWaiting }: { maxWaiting: number }) {
  /** Callers that wait for a key; the key is present while a caller has its turn. */
  const waiting = new Map<string, Array<() => void>>();

  function turnOf(key: string): () => void {
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      const next = waiting.get(key)?.shift();
      if (next) next();
      else waiting.delete(key);
    };
  }

  return {
    /** True while a caller has the turn of a key. */
    isTaken: (key: string) => waiting.has(key),
    /**
     * Waits for the turn of a key; resolves to what ends it, or to `undefined` if too many wait already. Rejects with the
     * signal's reason if that aborts first.
     */
    async take(key: string, signal: AbortSignal): Promise<(() => void) | undefined> {
      signal.throwIfAborted();
      const queue = waiting.get(key);
      if (!queue) {
        waiting.set(key, []);
        return turnOf(key);
      }
      if (queue.length >= maxWaiting) return undefined;
      await new Promise<void>((resolve, reject) => {
        const leave = () => {
          queue.splice(queue.indexOf(enter), 1);
          reject(signal.reason);
        };
        const enter = () => {
          signal.removeEventListener('abort', leave);
          resolve();
        };
        queue.push(enter);
        signal.addEventListener('abort', leave, { once: true });
      });
      return turnOf(key);
    },
  };
}
