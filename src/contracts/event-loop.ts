import { setImmediate } from 'node:timers/promises';

/**
 * Lets everything else have its turn: timers, what came over the network, work of others. What runs because bytes came
 * is followed in the same turn of the loop by what one `setImmediate` waits for, and nobody had theirs: with two of them a
 * timer waited 20 instead of 40 ms between two pieces of work of 20 ms. They cost 3 µs.
 */
export async function yieldToEventLoop(): Promise<void> {
  await setImmediate();
  await setImmediate();
}

/** How long work in pieces may hold up everything else at once. */
const TURN_MS = 10;

/** A turn of work in pieces: when it `isOver` after a piece, wait for the `next`. */
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
