import { long } from './long.ts';

/** Any number does; this one is the day on which it was chosen. */
const FIXED = 20261122;

/** Seeds of 32 bits are what fast-check and our own generators take. */
const SEEDS = 2 ** 32;

/**
 * Sets the seed of all random input for this process and its children. Short runs use a fixed seed, so that a failure comes from a
 * change; long runs draw one and print it. `ASKWATCH_TEST_SEED` overrides it with a number or `random`.
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
