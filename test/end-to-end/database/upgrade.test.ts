import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startBotsWorld } from '../../helpers/end-to-end/bots-world.ts';
import { startProcesses } from '../../helpers/end-to-end/chaos.ts';
import { buildNextVersion } from '../../helpers/end-to-end/next-version.ts';
import { long } from '../../helpers/long.ts';
import { query } from '../../helpers/postgres/server.ts';
import { hasPostgres, testDatabase } from '../../helpers/postgres/test-database.ts';
import { createRandom } from '../../helpers/random.ts';
import { seed } from '../../helpers/seed.ts';

/** Time for which two versions run side by side. */
const BESIDE_MS = long ? 600_000 : 5_000;

const TEAMS = long ? { teams: 8, members: 6 } : { teams: 5, members: 1 };

test.skipIf(!hasPostgres)(
  'processes are replaced one by one by those of the next version, which changes the schema: nothing is lost or doubled meanwhile',
  async () => {
    const random = createRandom(seed());
    const next = await buildNextVersion();
    const { url } = await testDatabase();
    const world = await startBotsWorld({ database: url, random, ...TEAMS });
    const database = { database: url, schema: world.schema };
    const processes = await startProcesses(3, { ...database, env: world.env });
    const settle = await world.live(processes.urls);
    const migrations = async () =>
      (await query(url, `select name from ${world.schema}.migration order by name`)).map(
        ({ name }) => name,
      );

    expect(await processes.replace(0, next)).toBe(0);
    expect(await migrations()).toContain('9000-planted');
    expect(await processes.replace(1, next)).toBe(0);
    await pause(BESIDE_MS);
    // One of the version before lives, which could not live with it.
    expect(await migrations()).not.toContain('9001-contract-planted');
    expect(await processes.replace(2, next)).toBe(0);
    // With the next start after that.
    expect(await processes.replace(0, next)).toBe(0);
    expect(await migrations()).toContain('9001-contract-planted');

    await settle();
    await processes.allReady();
    await world.recoverAll();
    await world.expectTruth();
    await world.expectNothingMissed();
    const report = await world.report();
    expect(await processes.stop()).toEqual([0, 0, 0]);
    process.stdout.write(`upgrade: ${JSON.stringify(report)}\n`);
  },
  long ? 3_600_000 : 400_000,
);
