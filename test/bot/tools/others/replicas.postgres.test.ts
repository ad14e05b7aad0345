import { describe, expect, test } from 'vitest';
import type { Invocation } from '../../../../src/bot/shared/invocation.ts';
import { type FakeTool, startToolServer } from '../../../fakes/tool-server.ts';
import {
  callOf,
  offeredTo,
  otherServer,
  startBotWithTools,
  untilOffered,
} from '../../../helpers/bot/other-tools.ts';
import { CHANNEL, cardOf, readAnswer, type TestBot, textOf } from '../../../helpers/bot.ts';
import { eventually } from '../../../helpers/eventually.ts';
import { hasPostgres, testDatabase } from '../../../helpers/postgres/test-database.ts';

const ADA: Invocation['person'] = { id: 'U1', name: 'Ada', mayManage: async () => true };

const CREATE: FakeTool = { name: 'create', description: 'Creates an issue.' };

const tools = async (bot: TestBot) => cardOf(await bot.say('/askwatch tools', { person: ADA }));

let presses = 0;

function press(
  { bot }: TestBot,
  action: { command: string; values: Record<string, string> } | undefined,
) {
  presses += 1;
  const { command = '', values = {} } = action ?? {};
  const request = { command, values };
  const id = `press:${process.pid}:${presses}`;
  return bot.dispatch({ id, request, place: CHANNEL, thread: 't1', person: ADA, pressed: 'm1' });
}

describe.skipIf(!hasPostgres)('bots of several processes', () => {
  async function startTwo() {
    const server = await startToolServer({ tools: [CREATE] });
    const database = await testDatabase();
    const startOne = async () => {
      const servers = [otherServer('issues', { url: server.url, tools: ['create'] })];
      return await startBotWithTools(servers, { store: await database.open() });
    };
    const [one, other] = [await startOne(), await startOne()];
    await untilOffered(one, 'issues__create');
    await untilOffered(other, 'issues__create');
    return { server, one, other };
  }

  test('what one finds changed is off at the other, and what is accepted at one is on at both', async () => {
    const { server, one, other } = await startTwo();
    server.offer.tools = [{ ...CREATE, description: 'Removes all.' }];
    const card = await eventually(async () => {
      const shown = await tools(one);
      return /1 change waits/.test(textOf(shown)) && shown;
    });
    other.provider.answerWith('Hello.');
    await readAnswer(await other.say('/ask how is it?', { person: ADA }));
    expect(offeredTo(other)).not.toContain('issues__create');
    expect(textOf(cardOf(await press(other, card.actions?.[0])))).toContain(
      'create from issues is accepted',
    );
    for (const bot of [one, other]) {
      await untilOffered(bot, 'issues__create');
      expect(bot.provider.calls.at(-1)?.body.tools.at(-1).function.description).toBe(
        'Removes all.',
      );
    }
  });

  test('a change is called once, whichever of them hears how many presses', async () => {
    const { server, one, other } = await startTwo();
    one.provider.answerWith((body) =>
      body.messages.at(-1).role === 'tool'
        ? 'It waits for you.'
        : { calls: [callOf('issues__create', { title: 'a' })] },
    );
    const { end } = await readAnswer(await one.say('/ask create it', { person: ADA }), 't1');
    const confirm = end.cards?.[0]?.actions?.[0];
    await Promise.all([one, other, one, other].map((bot) => press(bot, confirm)));
    await eventually(() => server.calls.length > 0);
    await press(other, confirm);
    expect(server.calls).toEqual([{ name: 'create', input: { title: 'a' } }]);
  });

  test('a tool that both see at first is kept once', async () => {
    const server = await startToolServer({ tools: [CREATE, { ...CREATE, name: 'find' }] });
    const database = await testDatabase();
    const names = ['create', 'find'];
    const bots = await Promise.all(
      [0, 1, 2].map(async () => {
        const servers = [otherServer('issues', { url: server.url, tools: names })];
        return await startBotWithTools(servers, { store: await database.open() });
      }),
    );
    for (const bot of bots) await untilOffered(bot, 'issues__find');
    for (const bot of bots)
      expect(textOf(await tools(bot))).toMatch(/^2 tools from 1 server are on\n/);
  });
});
