/** Runs tasks of one name one after another, and tasks of different names side by side up to a limit. */

/** `limit` bounds the tasks that run at once. */
export function createQueues(limit = Number.POSITIVE_INFINITY) {
  const lastOf = new Map<string, Promise<void>>();
  const waiting: Array<() => void> = [];
  let free = limit;

  async function enter() {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
  }

  function leave() {
    const next = waiting.shift();
    if (next) next();
    else free += 1;
  }

  async function runAfter<R>(before: Promise<void> | undefined, task: () => Promise<R>) {
    await before;
    await enter();
    try {
      return await task();
    } finally {
      leave();
    }
  }

  return {
    run<R>(name: string, task: () => Promise<R>): Promise<R> {
      const result = runAfter(lastOf.get(name), task);
      const forget = () => {
        if (lastOf.get(name) === ended) lastOf.delete(name);
      };
      const ended: Promise<void> = result.then(forget, forget);
      lastOf.set(name, ended);
      return result;
    },
    /** Resolves when no task is left. */
    async idle(): Promise<void> {
      while (lastOf.size > 0) await Promise.all(lastOf.values());
    },
  };
}
