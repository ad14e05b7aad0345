import { defineConfig } from 'vitest/config';

/** Each of these files has a process of its own: Bolt and discord.js change what is global, in the order they come. */
const APART = ['test/{slack,discord,end-to-end}/**/*.test.ts', 'test/*.test.ts'];

const long = process.env.ASKWATCH_TEST_LONG === '1';

export default defineConfig({
  test: {
    pool: 'forks',
    // Most tests wait for clocks and processes; with a worker a core they would wait one after another. Full counts keep the
    // cores busy instead.
    maxWorkers: long ? 3 : 4,
    // Generous, since machines are shared; full counts take their time.
    testTimeout: long ? 600_000 : 60_000,
    hookTimeout: 60_000,
    projects: [
      { extends: true, test: { name: 'apart', include: APART } },
      {
        extends: true,
        // Importing zod and Fastify anew takes longer than most files of tests.
        test: { name: 'rooms', include: ['test/**/*.test.ts'], exclude: APART, isolate: false },
      },
    ],
  },
});
