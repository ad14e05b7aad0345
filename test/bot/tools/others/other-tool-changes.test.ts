import { expect, test } from 'vitest';
import type { Card } from '../../../../src/bot/shared/card.ts';
import type { Invocation } from '../../../../src/bot/shared/invocation.ts';
import {
  type FakeTool,
  type FakeToolServer,
  type Misbehave,
  startRawToolServer,
  startToolServer,
} from '../../../fakes/tool-server.ts';
import {
  callOf,
  otherServer,
  startBotWithTools,
  untilOffered,
} from '../../../helpers/bot/other-tools.ts';
import { cardOf, readAnswer, type TestBot, textOf } from '../../../helpers/bot.ts';
import { eventually } from '../../../helpers/eventually.ts';
import { temporaryFolder } from '../../../helpers/temporary-folder.ts';

const ADA = { id: 'U1', name: 'Ada', mayManage: async () => true };
const BOB = { id: 'U2', name: 'Bob', mayManage: async () => true };

const CREATE: FakeTool = {
  name: 'create',
  description: 'Creates an issue.',
  inputSchema: { type: 'object', properties: { title: { type: 'string' } } },
};

const serverAt = (
  { url }: { url: string },
  more: Partial<Parameters<typeof otherServer>[1]> = {},
) =>
  otherServer('issues', {
    url,
    tools: ['create'],
    ...more,
  });

/** A bot that may call `create` of a server; with `callMs` one that waits no longer for it. */
async function start(
  server: FakeToolServer,
  { folder, callMs }: { folder?: string; callMs?: number } = {},
) {
  const limits = callMs === undefined ? {} : { callMs };
  const bot = await startBotWithTools([serverAt(server, { limits })], {
    folder,
  });
  await untilOffered(bot, 'issues__create');
  return bot;
}

/** Asks a model that calls the tool once; returns the card and the tool's result. */
async function propose(bot: TestBot, input: object, person: Invocation['person'] = ADA) {
  bot.provider.answerWith((body) =>
    body.messages.at(-1).role === 'tool'
      ? 'It waits for you.'
      : { calls: [callOf('issues__create', input)] },
  );
  const { end, steps } = await readAnswer(await bot.say('/ask create it', { person }), 't1');
  const told: string = bot.provider.calls.at(-1)?.body.messages.at(-1).content;
  return { card: end.cards?.[0], told, steps };
}

const press = (
  { press: pressAt }: TestBot,
  card: Card | undefined,
  label: string,
  more: Partial<Invocation> = {},
) => pressAt(card, label, { thread: 't1', person: ADA, pressed: 'm1', ...more });

const done = async (...of: Parameters<typeof press>) => textOf(cardOf(await press(...of)));

test('a change is called once, for the person who asked, exactly as its card shows', async () => {
  const server = await startToolServer({
    tools: [CREATE],
    call: () => ({ content: [{ type: 'text', text: 'Issue #7 is open. <!channel>' }] }),
  });
  const bot = await start(server);
  const input = { title: 'It is down', labels: ['a', 1], body: 'One\n*two*\u200b\u202e\u00a0end' };
  const { card, told, steps } = await propose(bot, input);
  expect(JSON.parse(told)).toEqual({ proposed: 'Call create from issues?', done: false });
  expect(steps).toEqual([]);
  expect(card?.tone).toBe('warning');
  expect(card?.parts).toEqual([
    {
      kind: 'facts',
      facts: [
        { label: 'Server', value: 'issues' },
        { label: 'Tool', value: 'create' },
      ],
    },
    {
      kind: 'code',
      text: '{\n  "title": "It is down",\n  "labels": [\n    "a",\n    1\n  ],\n  "body": "One\\n*two*\\u200b\\u202e\\u00a0end"\n}',
    },
  ]);
  const code = card?.parts.flatMap((part) => (part.kind === 'code' ? [part.text] : []))[0] ?? '';
  expect(JSON.parse(code)).toEqual(input);
  expect(server.calls).toEqual([]);
  expect(await done(bot, card, 'Call', { person: BOB })).toContain(
    'Only the person who asked for this can decide',
  );
  expect(server.calls).toEqual([]);
  const replies = await Promise.all([
    press(bot, card, 'Call'),
    press(bot, card, 'Call', { pressed: 'm2' }),
  ]);
  await press(bot, card, 'Call');
  expect(server.calls).toEqual([{ name: 'create', input }]);
  const [shown] = replies.filter((reply) => reply.kind === 'card' && reply.inPlace);
  expect(shown && cardOf(shown).parts.at(-1)).toEqual({
    kind: 'code',
    text: 'Issue #7 is open. <!channel>',
  });
  expect(shown && textOf(cardOf(shown))).toMatch(
    /^create from issues was called\nAnswer from issues, not checked by Askwatch:[\s\S]*Confirmed by Ada$/,
  );
});

test('an input that no card can show whole is not proposed', async () => {
  const server = await startToolServer({ tools: [CREATE] });
  const bot = await start(server);
  const { card, told } = await propose(bot, { body: 'x'.repeat(2_600) });
  expect(card).toBeUndefined();
  expect(told).toMatch(/Not proposed: the input is too long for a card/);
  expect((await propose(bot, { body: '`'.repeat(1_300) })).card).toBeUndefined();
  expect((await propose(bot, { body: 'x'.repeat(2_400) })).card).toBeDefined();
});

test('the operator says which tools wait for a person', async () => {
  const server = await startToolServer({
    tools: [
      CREATE,
      { ...CREATE, name: 'find' },
      { ...CREATE, name: 'look', annotations: { readOnlyHint: true } },
    ],
  });
  const tools = ['create', 'find', 'look'];
  const bot = await startBotWithTools([serverAt(server, { tools, writes: ['create', 'look'] })]);
  await untilOffered(bot, 'issues__look');
  bot.provider.answerWith((body) =>
    body.messages.at(-1).role === 'tool'
      ? 'There.'
      : { calls: tools.map((name) => callOf(`issues__${name}`, { name })) },
  );
  const { end } = await readAnswer(await bot.say('/ask all', { person: ADA }), 't1');
  expect(server.calls.map(({ name }) => name)).toEqual(['find']);
  expect(end.cards?.map(({ title }) => title)).toEqual([
    'Call create from issues?',
    'Call look from issues?',
  ]);
});

test('a tool that has changed since the proposal is not called', async () => {
  const server = await startToolServer({ tools: [CREATE] });
  const bot = await start(server);
  const { card } = await propose(bot, { title: 'a' });
  server.offer.tools = [{ ...CREATE, description: 'Removes all.' }];
  expect(await done(bot, card, 'Call')).toMatch(
    /create from issues cannot be called\. It has changed,/,
  );
  expect(server.calls).toEqual([]);
  // The call was not sent, so the button works once the definition is back.
  server.offer.tools = [CREATE];
  expect(await done(bot, card, 'Call', { pressed: 'm9' })).toContain(
    'create from issues was called',
  );
  expect(server.calls).toHaveLength(1);
});

test('a proposal by an older definition is not called after a newer one was accepted', async () => {
  const server = await startToolServer({ tools: [CREATE] });
  const bot = await start(server);
  const { card } = await propose(bot, { title: 'a' });
  server.offer.tools = [{ ...CREATE, description: 'Removes all.' }];
  const changes = await eventually(async () => {
    const shown = cardOf(await bot.say('/askwatch tools', { person: ADA }));
    return shown.actions && shown;
  });
  await press(bot, changes, 'Accept create');
  expect(await done(bot, card, 'Call')).toContain(
    'create from issues has changed since. Ask again.',
  );
  expect(server.calls).toEqual([]);
});

const onCall =
  (misbehave: Misbehave): Misbehave =>
  (message, response, request) =>
    message.method === 'tools/call' ? misbehave(message, response, request) : undefined;

test.each<[string, Misbehave, RegExp]>([
  [
    'hangs',
    () => true,
    /^Unclear whether create from issues was done\nissues did not answer within 0\.5 s\. Check there/,
  ],
  [
    'refuses',
    (_, response) => {
      response.writeHead(403).end();
      return true;
    },
    /^create from issues was not done\nissues answered with status 403/,
  ],
])('a change by a server that %s is tried once and told as it is', async (_, misbehave, said) => {
  const server = await startRawToolServer(onCall(misbehave), { tools: [CREATE] });
  const bot = await start(server, said.source.includes('did not answer') ? { callMs: 500 } : {});
  const { card } = await propose(bot, { title: 'a' });
  expect(await done(bot, card, 'Call')).toMatch(said);
  await press(bot, card, 'Call', { pressed: 'm5' });
  expect(server.messages.filter(({ method }) => method === 'tools/call')).toHaveLength(1);
});

test('a call that a dead process began is not made again', async () => {
  const server = await startRawToolServer(
    onCall(() => true),
    { tools: [CREATE] },
  );
  const folder = await temporaryFolder();
  const bot = await startBotWithTools(
    [otherServer('issues', { url: server.url, tools: ['create'] })],
    { folder },
  );
  await untilOffered(bot, 'issues__create');
  const { card } = await propose(bot, { title: 'a' });
  void press(bot, card, 'Call');
  await eventually(() => server.messages.some(({ method }) => method === 'tools/call'));
  // After the process died, its claim of the press is free.
  expect(await done(bot, card, 'Call', { pressed: undefined })).toContain(
    'This was started before and interrupted',
  );
  expect(server.messages.filter(({ method }) => method === 'tools/call')).toHaveLength(1);
});

test('a server that is no longer set up in the channel is not called', async () => {
  const server = await startToolServer({ tools: [CREATE] });
  const folder = await temporaryFolder();
  const first = await start(server, { folder });
  const { card } = await propose(first, { title: 'a' });
  await first.stop();
  const without = await startBotWithTools([], { folder });
  expect(await done(without, card, 'Call')).toContain('issues is no longer set up here');
  await without.stop();
  const channels = [{ platform: 'console', channel: 'ops' }];
  const elsewhere = await startBotWithTools([serverAt(server, { channels })], { folder });
  expect(await done(elsewhere, card, 'Call', { pressed: 'm6' })).toContain(
    'issues is no longer set up here',
  );
  await elsewhere.stop();
  const other = await startBotWithTools([serverAt(server, { tools: ['find'] })], { folder });
  expect(await done(other, card, 'Call', { pressed: 'm7' })).toContain('It is not set up.');
  expect(server.calls).toEqual([]);
});
