import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    // Most tests wait for clocks and processes; with a worker a core they would wait one after another.
    maxWorkers: 4,
    // Generous, since machines are shared; full counts take their time.
    testTimeout: process.env.ASKWATCH_TEST_LONG === '1' ? 180_000 : 30_000,
    hookTimeout: 30_000,
  },
});
