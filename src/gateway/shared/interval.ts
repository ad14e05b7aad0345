import { createListenerSet } from './listener-set.ts';

/** Tells everything that waits that time has passed. */
export interface SharedInterval {
  /** A clock that never goes back, milliseconds, as of the last tick: free to read. */
  readonly nowMs: number;
  /** Calls `onTick` at every tick until the returned function is called. */
  add(onTick: (nowMs: number) => void): () => void;
}

/**
 * One timer for all calls under way. A timer for each, started again with every event, would cost more than passing the
 * event on; so time limits are kept to within a tick.
 */
export function createSharedInterval(everyMs: number): SharedInterval {
  const waiting = createListenerSet<(nowMs: number) => void>();
  let nowMs = performance.now();
  let timer: NodeJS.Timeout | undefined;
  return {
    get nowMs() {
      return nowMs;
    },
    add(onTick) {
      if (!timer) {
        nowMs = performance.now();
        timer = setInterval(() => {
          nowMs = performance.now();
          for (const tell of waiting) tell(nowMs);
          if (waiting.size > 0) return;
          clearInterval(timer);
          timer = undefined;
        }, everyMs);
        // What waits has a connection open, which keeps the process alive by itself.
        timer.unref();
      }
      return waiting.add(onTick);
    },
  };
}
