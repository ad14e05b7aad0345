import type { Clock } from './clock.ts';

/** The lag told is the largest of this time and of the same time before it. */
const LAG_WINDOW_MS = 60_000;

/** Keeps the worst lag of the last one to two minutes, milliseconds. */
export function createLagWindow(clock: Clock) {
  let windowEndMs = clock.monotonicMs() + LAG_WINDOW_MS;
  let current = 0;
  let previous = 0;
  function turn() {
    const nowMs = clock.monotonicMs();
    if (nowMs < windowEndMs) return;
    previous = nowMs < windowEndMs + LAG_WINDOW_MS ? current : 0;
    current = 0;
    windowEndMs = nowMs + LAG_WINDOW_MS;
  }
  return {
    add(lagMs: number) {
      turn();
      current = Math.max(current, lagMs);
    },
    worst() {
      turn();
      return Math.max(current, previous);
    },
  };
}
