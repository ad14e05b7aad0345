import { expect, test } from 'vitest';
import { startBalancer } from '../../helpers/end-to-end/balancer.ts';
import { startBotsWorld } from '../../helpers/end-to-end/bots-world.ts';
import { startProcesses } from '../../helpers/end-to-end/chaos.ts';
import { hasPostgres, testDatabase } from '../../helpers/postgres/test-database.ts';
import { createRandom } from '../../helpers/random.ts';
import { seed } from '../../helpers/seed.ts';

const COUNT = 3;

/** Restarts of all processes. */
const ROUNDS = 3;

/** One monitor a channel: Askwatch posts groups of outages at a slower pace. */
const TEAMS = { teams: 5, members: 1 };

test.skipIf(!hasPostgres).each([
  ['sockets', false],
  ['HTTP', true],
] as const)(
  'a rolling restart under load loses nothing: with Slack over %s each command, mention, press, alert and delivery is taken at once and ends',
  { timeout: 400_000 },
  async (_how, overHttp) => {
    const random = createRandom(seed());
    const { url } = await testDatabase();
    const world = await startBotsWorld({ database: url, random, ...TEAMS, overHttp });
    const database = { database: url, schema: world.schema };
    const processes = await startProcesses(COUNT, { ...database, env: world.env });
    const balancer = overHttp ? await startBalancer(processes.urls) : undefined;
    if (balancer) world.slack.useHttp(`${balancer.url}/slack/events`);
    const urls = () => (balancer ? [balancer.url] : processes.urls());
    const settle = await world.live(urls, { everyMs: 200 });

    for (let round = 0; round < ROUNDS; round += 1) {
      const left = new Set(Array.from({ length: COUNT }, (_, at) => at));
      while (left.size > 0) {
        // Rather the one that has the bot: the others are not missed.
        const holder = processes.pids().indexOf((await processes.holder())?.pid ?? 0);
        const [next = 0] = left.has(holder) ? [holder] : left;
        left.delete(next);
        expect(await processes.replace(next)).toBe(0);
      }
    }

    await settle();
    await world.recoverAll();
    await world.expectTruth();
    await world.expectNothingMissed();
    const report = await world.report();
    const { unheard, noted } = await world.answerVerdict();
    process.stdout.write(`hand-over: ${JSON.stringify({ ...report, noted })}\n`);
    // Clients without a balancer try the next process if the connection is refused.
    const refusals = world.refusals().filter((one) => !one.includes('ECONNREFUSED'));
    expect({ unheard, dropped: world.dropped(), refusals }).toEqual({
      ...{ unheard: [], dropped: [], refusals: [] },
    });
    // Events come again; commands and presses don't.
    const missed = world.slack.acks.filter(({ ms }) => ms === undefined);
    expect(missed.filter(({ type }) => type !== 'events_api')).toEqual([]);
    expect(await processes.stop()).toEqual([0, 0, 0]);
  },
);
