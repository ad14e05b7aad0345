import fc from 'fast-check';

/**
 * Random inputs are the same in every run, so that a test that fails does so for what was changed. `ASKWATCH_TEST_SEED` is
 * another seed; `random` draws one, which the failure names.
 */
const asked = process.env.ASKWATCH_TEST_SEED ?? '20261122';
fc.configureGlobal(asked === 'random' ? {} : { seed: Number(asked) });
