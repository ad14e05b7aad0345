import { describe, expect, test } from 'vitest';
import type { Card } from '../../../src/bot/shared/card.ts';
import { CHANNEL, startSlack } from '../../fakes/slack/slack.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { eventually } from '../../helpers/eventually.ts';
import { hasPostgres, testDatabase } from '../../helpers/postgres/test-database.ts';
import { makeSlack, RESTING } from '../../helpers/slack/running-slack.ts';

/** So that a process is thought dead within a test's time. */
const SHORT = { times: { ttlMs: 1_000, beatMs: 200 } };

/** Three processes in one workspace, where two may hold a connection. */
async function startThree(outlivesMs: number) {
  const fake = await startSlack();
  const database = await testDatabase();
  const sockets = { slots: 2, outlivesMs };
  const start = async () => {
    const store = await database.open(SHORT);
    const running = await makeSlack({ fake, store, sockets });
    const { bot, provider } = await startTestBot({ settings: RESTING });
    await running.slack.start(bot);
    return { ...running, provider };
  };
  const all = [await start(), await start(), await start()];
  return { fake, all, ...database };
}

/** How often the fake was asked for a connection. */
const opened = ({ calls }: { calls: Array<{ method: string }> }) =>
  calls.filter(({ method }) => method === 'apps.connections.open').length;

describe.skipIf(!hasPostgres)('of three processes, where two may hold a connection', () => {
  test('two hear and all post, and the third hears when one of them ends', async () => {
    const { fake, all } = await startThree(60_000);
    const [first, second, third] = all;
    expect(fake.sockets()).toBe(2);
    for (const text of ['one', 'two', 'three', 'four']) await fake.slash('/ask', text);
    await eventually(
      () => first && second && [first, second].every((one) => one.provider.calls.length === 2),
    );
    const card: Card = { tone: 'good', title: 'Shop is up', parts: [] };
    await third?.slack.post({ channel: CHANNEL, card, id: 'alert-1', attempted: false });

    await first?.slack.stop();
    await eventually(() => fake.sockets() === 2 && opened(fake) === 3);
    for (const text of ['five', 'six']) await fake.slash('/ask', text);
    await eventually(() => third?.provider.calls.length === 1);
    expect(all.flatMap(({ fatal }) => fatal)).toEqual([]);
  });

  test('one that stood still lets go of its connection when another one has its place', async () => {
    const { fake, query, all } = await startThree(200);
    const [holder] = await query(
      `select holder from #.lease where kind = 'slack-socket' and holder is not null`,
    );
    await query(
      `update #.member set until = clock_timestamp() - interval '1 second' where id = $1`,
      [holder?.holder],
    );
    await eventually(() => opened(fake) === 3);
    await eventually(() => fake.sockets() === 2);
    expect(all.flatMap(({ fatal }) => fatal)).toEqual([]);
  });

  test('a database that is away for all ends no connection', async () => {
    const { fake, endConnections } = await startThree(200);
    for (let kill = 0; kill < 5; kill += 1) await endConnections();
    await fake.slash('/ask', 'still there?');
    expect(fake.sockets()).toBe(2);
    expect(opened(fake)).toBe(2);
  });
});
