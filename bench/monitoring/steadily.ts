import { setTimeout as pause } from 'node:timers/promises';

/** At work at a time, at most. */
const LANES = 32;

/**
 * Does something so often a second for so long, and tells how often. At a steady rate: flat out, each wake of the event loop
 * would be shared by many, which no service has.
 */
export async function runSteadily(
  once: (number: number) => Promise<void>,
  perSecond: number,
  ms: number,
): Promise<{ done: number }> {
  const startMs = performance.now();
  let asked = 0;
  let done = 0;
  async function ask() {
    for (;;) {
      const number = asked;
      const dueMs = (number * 1000) / perSecond;
      if (Math.max(dueMs, performance.now() - startMs) >= ms) return;
      asked += 1;
      await pause(startMs + dueMs - performance.now());
      await once(number);
      done += 1;
    }
  }
  await Promise.all(Array.from({ length: LANES }, ask));
  // The cost includes closing the last connections.
  await pause(20);
  return { done };
}
