/** Lets one at a time through per key, in the order they came, with at most `maxWaiting` who wait for one key. */
export function createTurnTaking({ maxWaiting }: { maxWaiting: number }) {
  /** Those who wait for a key; a key is here while someone has its turn. */
  const waiting = new Map<string, Array<() => void>>();

  /** What ends a turn, once: it is then for the next who waits. */
  function turnOf(key: string) {
    let isOver = false;
    return () => {
      const next = isOver ? undefined : waiting.get(key)?.shift();
      if (next) next();
      else if (!isOver) waiting.delete(key);
      isOver = true;
    };
  }

  return {
    /** Whether somebody has the turn of a key. */
    isTaken: (key: string) => waiting.has(key),
    /**
     * Waits for its turn; the function it resolves to ends the turn. `undefined` when too many wait already.
     * Rejects with the signal's reason when that aborts first.
     */
    async take(key: string, signal: AbortSignal) {
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
