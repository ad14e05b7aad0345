import { expect, onTestFinished, test } from 'vitest';
import { startBotsWorld } from '../../helpers/end-to-end/bots-world.ts';
import { rage, startProcesses } from '../../helpers/end-to-end/chaos.ts';
import { long } from '../../helpers/long.ts';
import { startPostgres } from '../../helpers/postgres/server.ts';
import { createRandom } from '../../helpers/random.ts';
import { seed } from '../../helpers/seed.ts';

/** Processes die, stand still and lose their database; one that has the bot loses it after five seconds. */
const STORM = long
  ? { kills: 120, freezes: 15, terminations: 10, crashes: 3 }
  : { kills: 2, freezes: 1, terminations: 1, crashes: 1 };

/** Askwatch posts groups of outages at a slower pace, for which only long runs have time. */
const TEAMS = long ? { teams: 8, members: 6 } : { teams: 5, members: 1 };

test(
  'three processes tell each outage once and end each question once, over kills, freezes and faults of Slack and Discord',
  async () => {
    const random = createRandom(seed());
    const server = await startPostgres({ durable: true });
    onTestFinished(() => server.remove());
    const world = await startBotsWorld({ database: server.url, random, ...TEAMS });
    const database = { database: server.url, schema: world.schema };
    const processes = await startProcesses(3, { ...database, env: world.env });
    const settle = await world.live(processes.urls, { faults: true });
    await rage(
      {
        ...STORM,
        freezeMs: () => 6_500 + random() * 2_000,
        betweenMs: () => 1_500 + random() * 3_500,
      },
      { processes, server, random, onFault: world.faulted, onKilled: world.killed },
    );
    await settle();
    expect(await processes.revive()).toBe(0);
    await processes.allReady();
    await world.recoverAll();
    await world.expectTruth();
    await world.expectNothingMissed();
    const report = { seed: seed(), ...STORM, ...(await world.report()) };
    expect(await processes.stop()).toEqual([0, 0, 0]);
    process.stdout.write(`bots: ${JSON.stringify(report)}\n`);
  },
  long ? 3_600_000 : 400_000,
);
