/** One caller at a time has the turn of a key, in the order in which they came. */
export function createTurnTaking({ maxWaiting }: { maxWaiting: number }) {
  /** Waiting callers by key. A key is present while a caller has its turn. */
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
    isTaken: (key: string) => waiting.has(key),
    /**
     * Waits for the turn of a key. Resolves to the function that ends it, or to `undefined` if too many are waiting. Rejects with
     * the signal's reason.
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
