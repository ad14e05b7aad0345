import { long } from './long.ts';

/** Any number does; this one is the day on which it was chosen. */
const FIXED = 20261122;

/** Seeds of 32 bits are what fast-check and our own generators take. */
const SEEDS = 2 ** 32;

/**
 * The seed of all random input. It is the same in every short run, so that a test that fails does so for what was changed; a
 * long run draws one. `ASKWATCH_TEST_SEED` is another number, or `random` to draw one.
 */
export function chooseSeed(asked = process.env.ASKWATCH_TEST_SEED): number {
  const wanted = asked ?? (long ? 'random' : String(FIXED));
  return wanted === 'random' ? Math.floor(Math.random() * SEEDS) : Number(wanted);
}

/** The seed of this run, in a test. */
export const seed = (): number => Number(process.env.ASKWATCH_TEST_SEED);
