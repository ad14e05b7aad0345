import { configDefaults, defineConfig } from 'vitest/config';
import { long } from './test/helpers/long.ts';
import { settleSeed } from './test/helpers/seed.ts';

/**
 * The kinds of test files, by name and place. What no row takes is short: it needs nothing but npm, and `npm test` runs it.
 */
const KINDS = {
  /** Every variant, at full length, of what others show in part. */
  long: ['test/**/*.long.test.ts'],
  /** In Chromium. */
  browser: ['test/**/*.browser.test.ts'],
  /** Whole programs, started as an operator starts them. */
  programs: ['test/end-to-end/**/*.test.ts'],
  /** Outages, storms and kills that are played out in full, and whole tables (of buttons, rights, routes) row by row. */
  slow: ['test/**/*.slow.test.ts'],
  slowDiscord: ['test/discord/**/*.slow.test.ts'],
  slowSlack: ['test/slack/**/*.slow.test.ts'],
  /** With processes that are killed, traced or short of room: what kill -9, a power cut and a full disk leave. */
  kill: ['test/**/*.kill.test.ts'],
  /** Several processes on a real PostgreSQL, and what only that has. */
  postgres: ['test/**/*.postgres.test.ts'],
  /** The recorded week and the evaluation cases. */
  evals: ['evals/**/*.test.ts'],
  /** That a store on PostgreSQL does what one in files does: short, but with a server. */
  contract: ['test/store/postgres.test.ts'],
};

/** Starts a server for those that need one. */
const POSTGRES = 'test/helpers/postgres/shared-server.ts';

/** Short tests that import Bolt, and those that import discord.js. */
const SLACK = ['test/slack/**/*.test.ts'];
const DISCORD = ['test/discord/**/*.test.ts', 'test/generated-files.test.ts'];

/**
 * A group of files whose processes take one file after another, since importing zod, Fastify, Bolt or discord.js anew takes
 * longer than most files of tests. No process is shared between groups: Bolt and discord.js change what is global, in the
 * order they come.
 */
const group = (
  name: string,
  test: {
    include: string[];
    exclude?: string[];
    globalSetup?: string | string[];
    isolate?: boolean;
    testTimeout?: number;
    env?: Record<string, string>;
  },
) => ({
  extends: true as const,
  test: {
    ...{ name, isolate: false, ...test },
    exclude: [...configDefaults.exclude, ...(long ? [] : KINDS.long), ...(test.exclude ?? [])],
  },
});

// This file is read once for each project; the processes of tests have this one's variables.
settleSeed();

export default defineConfig({
  test: {
    pool: 'forks',
    setupFiles: ['test/helpers/setup/property-seed.ts', 'test/helpers/setup/leak-check.ts'],
    // Most tests wait for clocks and processes; with a worker a core they would wait one after another. Full counts keep the
    // cores busier.
    maxWorkers: long ? 4 : 8,
    // Generous, since machines are shared; full counts take their time.
    testTimeout: long ? 600_000 : 60_000,
    hookTimeout: 60_000,
    projects: [
      group('end-to-end', {
        include: [...KINDS.programs, ...KINDS.kill],
        globalSetup: [
          'test/helpers/end-to-end/built-program.ts',
          'test/helpers/postgres/shared-server.ts',
        ],
        // Some start three programs, one after another.
        testTimeout: long ? 600_000 : 300_000,
        env: { ASKWATCH_TEST_PATIENCE_MS: '90000' },
      }),
      group('slow', {
        include: [...KINDS.slow, ...KINDS.postgres, ...KINDS.evals],
        exclude: [...KINDS.slowDiscord, ...KINDS.slowSlack],
        globalSetup: POSTGRES,
      }),
      group('slow-discord', { include: KINDS.slowDiscord }),
      group('slow-slack', { include: KINDS.slowSlack }),
      group('browser', {
        include: KINDS.browser,
        globalSetup: 'test/helpers/browser/built-page.ts',
      }),
      group('contract', { include: KINDS.contract, globalSetup: POSTGRES }),
      group('discord', { include: DISCORD, exclude: [...KINDS.slow, ...KINDS.postgres] }),
      group('slack', { include: SLACK, exclude: [...KINDS.slow, ...KINDS.postgres] }),
      group('rooms', {
        include: ['test/**/*.test.ts'],
        exclude: [
          ...KINDS.programs,
          ...KINDS.kill,
          ...KINDS.slow,
          ...KINDS.browser,
          ...KINDS.postgres,
          ...KINDS.contract,
          ...DISCORD,
          ...SLACK,
        ],
        globalSetup: 'test/helpers/browser/built-page.ts',
      }),
    ],
  },
});
