import { long } from './long.ts';

/** Any number does; this one is the day on which it was chosen. */
const FIXED = 20261122;

/** Seeds of 32 bits are what fast-check and our own generators take. */
const SEEDS = 2 ** 32;

/**
 * Settles the seed of all random input, for this process and those that it starts. It is the same in every short run, so that
 * a test that fails does so for what was changed; a long run draws one, and says which. `ASKWATCH_TEST_SEED` is another
 * number, or `random` to draw one.
 */
export function settleSeed(): void {
  const asked = process.env.ASKWATCH_TEST_SEED ?? (long ? 'random' : String(FIXED));
  const drawn = asked === 'random' ? String(Math.floor(Math.random() * SEEDS)) : undefined;
  process.env.ASKWATCH_TEST_SEED = drawn ?? asked;
  if (drawn === undefined) return;
  process.stdout.write(`Random input of seed ${drawn}; ASKWATCH_TEST_SEED=${drawn} repeats it.\n`);
}

/** The seed of this run. */
export const seed = (): number => Number(process.env.ASKWATCH_TEST_SEED);
