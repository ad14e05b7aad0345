/** Time that passes only when nothing else is left to happen. */
export interface VirtualTime {
  nowMs(): number;
  /** Resolves so much later; rejects with the signal's reason when that comes first. */
  pause(ms: number, signal?: AbortSignal): Promise<void>;
  /** Lets time pass until nobody waits any more. */
  run(): Promise<void>;
}

/** Starts at an odd number, so that mixing it up with a duration shows. */
export function createVirtualTime(): VirtualTime {
  let nowMs = 7_777;
  let sequence = 0;
  const timers = new Map<number, { atMs: number; call: () => void }>();
  return {
    nowMs: () => nowMs,
    pause: (ms, signal) =>
      new Promise((resolve, reject) => {
        const id = sequence++;
        const leave = () => {
          timers.delete(id);
          reject(signal?.reason);
        };
        if (signal?.aborted) return leave();
        signal?.addEventListener('abort', leave, { once: true });
        timers.set(id, {
          atMs: nowMs + ms,
          call: () => {
            signal?.removeEventListener('abort', leave);
            resolve();
          },
        });
      }),
    async run() {
      for (;;) {
        // Promises under way go on first, and all that hangs on them.
        await new Promise<void>((resolve) => setImmediate(resolve));
        const next = [...timers].reduce<[number, { atMs: number; call: () => void }] | undefined>(
          (soonest, timer) => (soonest && soonest[1].atMs <= timer[1].atMs ? soonest : timer),
          undefined,
        );
        if (!next) return;
        timers.delete(next[0]);
        nowMs = Math.max(nowMs, next[1].atMs);
        next[1].call();
      }
    },
  };
}
