import { configDefaults, defineConfig } from 'vitest/config';
import { long } from './test/helpers/long.ts';

/**
 * A group of files whose processes take one file after another, since importing zod, Fastify, Bolt or discord.js anew takes
 * longer than most files of tests. No process is shared between groups: Bolt and discord.js change what is global, in the
 * order they come.
 */
const group = (
  name: string,
  test: { include: string[]; exclude?: string[]; globalSetup?: string; testTimeout?: number },
) => ({
  extends: true as const,
  test: {
    ...{ name, isolate: false, ...test },
    exclude: [...configDefaults.exclude, ...(long ? [] : LONG_ONLY), ...(test.exclude ?? [])],
  },
});

/** What others already show in part: every variant of it, at its full length. */
const LONG_ONLY = ['test/**/*.long.test.ts'];

/** Start whole programs, and import discord.js for its fake. */
const END_TO_END = ['test/end-to-end/**/*.test.ts', 'test/monitoring/kill.test.ts'];
const DISCORD = ['test/discord/**/*.test.ts', 'test/generated-files.test.ts'];
const SLACK = ['test/slack/**/*.test.ts'];

export default defineConfig({
  test: {
    pool: 'forks',
    setupFiles: ['test/helpers/property-seed.ts'],
    // Most tests wait for clocks and processes; with a worker a core they would wait one after another. Full counts keep the
    // cores busier.
    maxWorkers: long ? 4 : 5,
    // Generous, since machines are shared; full counts take their time.
    testTimeout: long ? 600_000 : 60_000,
    hookTimeout: 60_000,
    expect: { poll: { interval: 20, timeout: 45_000 } },
    projects: [
      group('end-to-end', {
        include: END_TO_END,
        globalSetup: 'test/helpers/end-to-end/bundle-program.ts',
        // Some start three programs, one after another.
        testTimeout: long ? 600_000 : 300_000,
      }),
      group('discord', { include: DISCORD }),
      group('slack', { include: SLACK }),
      group('rooms', {
        include: ['test/**/*.test.ts'],
        exclude: [...END_TO_END, ...DISCORD, ...SLACK],
      }),
    ],
  },
});
