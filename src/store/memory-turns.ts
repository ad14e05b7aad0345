import type { Turn, Turns, TurnsDeclaration } from './turns.ts';

/** The turns of one process. */
export function createMemoryTurns({ maxWaiting }: Pick<TurnsDeclaration, 'maxWaiting'>): Turns {
  /** Those who wait for a key; a key is here while someone has its turn. */
  const waiting = new Map<string, Array<() => void>>();

  function turnOf(key: string): Turn {
    let isOver = false;
    function end() {
      if (isOver) return;
      isOver = true;
      const next = waiting.get(key)?.shift();
      if (next) next();
      else waiting.delete(key);
    }
    return { end, leave: end };
  }

  return {
    isTaken: async (key) => waiting.has(key),
    async take(key, _id, signal) {
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
