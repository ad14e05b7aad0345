import { expect, onTestFinished, test } from 'vitest';
import { startBotsWorld } from '../../helpers/end-to-end/bots-world.ts';
import { rage, startProcesses } from '../../helpers/end-to-end/chaos.ts';
import { long } from '../../helpers/long.ts';
import { startPostgres } from '../../helpers/postgres/server.ts';
import { createRandom } from '../../helpers/random.ts';
import { seed } from '../../helpers/seed.ts';

/** Processes die, stand still and lose their database; a process counts as dead after five seconds. */
const STORM = long
  ? { kills: 120, freezes: 15, terminations: 10, crashes: 3 }
  : { kills: 3, freezes: 1, terminations: 1, crashes: 1 };

test(
  'bots of three processes tell each outage once and answer each question once, over kills, freezes and faults of Slack and Discord',
  async () => {
    const random = createRandom(seed());
    const server = await startPostgres({ durable: true });
    onTestFinished(() => server.remove());
    const world = await startBotsWorld({ server, random, teams: long ? 8 : 2 });
    const processes = await startProcesses(3, {
      ...{ database: server.url, schema: world.schema, env: world.env },
    });
    const settle = await world.live(processes, { faults: true });
    await rage(
      {
        ...STORM,
        freezeMs: () => 6_500 + random() * 2_000,
        betweenMs: () => 2_500 + random() * 3_500,
      },
      { processes, server, random, onKilled: world.killed },
    );
    await settle();
    world.slack.recover();
    world.discord.recover();
    expect(await processes.revive()).toBe(0);
    await processes.allReady();
    await world.allSeen();
    await world.expectTruth();
    world.recoverAll();
    await world.allSeen();
    await world.expectTruth();
    const heard = await world.expectNothingMissed(processes);
    const { whole, noted, unheard } = await world.answerVerdict();
    expect(await processes.stop()).toEqual([0, 0, 0]);
    const [slack, discord] = world.alertVerdict();
    const report = {
      ...{ seed: seed(), ...STORM, questions: world.questions.length },
      ...{ whole, noted: noted.length, unheard, heard },
      ...{ due: [slack?.due, discord?.due], messages: [slack?.messages, discord?.messages] },
    };
    process.stdout.write(`bots: ${JSON.stringify(report)}\n`);
    expect(unheard).toBe(0);
  },
  long ? 3_600_000 : 400_000,
);
