import { setImmediate } from 'node:timers/promises';

/**
 * Lets timers, arrived bytes and other work run. One `setImmediate` isn't enough, because after work that arrived bytes started
 * it fires before any timer.
 */
export async function yieldToEventLoop(): Promise<void> {
  await setImmediate();
  await setImmediate();
}

/** Time that work in pieces may block the process at once. */
const TURN_MS = 10;

/** Begins a turn of work in pieces. If it `isOver` after a piece, wait for the `next`. */
export function beginTurn() {
  let startMs = performance.now();
  return {
    isOver: () => performance.now() - startMs >= TURN_MS,
    async next(): Promise<void> {
      await yieldToEventLoop();
      startMs = performance.now();
    },
  };
}
