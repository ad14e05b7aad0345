import { expect, onTestFinished, test, vi } from 'vitest';
import type { Card } from '../../../src/bot/shared/card.ts';
import type { Invocation } from '../../../src/bot/shared/invocation.ts';
import { createScriptedPlatform } from '../../helpers/bot/scripted-platform.ts';
import {
  CHANNEL,
  cardOf,
  readAnswer,
  startTestBot,
  type TestBot,
  textOf,
} from '../../helpers/bot.ts';
import { eventually } from '../../helpers/eventually.ts';
import { startService } from '../../helpers/monitoring/service.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const ADA = { id: 'U1', name: 'Ada', mayManage: async () => true };
const BOB = { id: 'U2', name: 'Bob', mayManage: async () => true };

/** A model that calls one tool and then says that it waits. */
function proposing(name: string, input: object) {
  // biome-ignore lint/suspicious/noExplicitAny: the body of a request
  return (body: any) =>
    body.messages.at(-1).role === 'tool'
      ? 'It waits for you.'
      : { calls: [{ name, arguments: JSON.stringify(input) }] };
}

/** Asks a model that calls a tool; returns the cards below the answer and the tool's result. */
async function propose(
  bot: TestBot,
  [name, input]: [string, object],
  { thread = 't1', person = ADA }: { thread?: string; person?: Invocation['person'] } = {},
) {
  bot.provider.answerWith(proposing(name, input));
  const { end, text } = await readAnswer(await bot.say('/ask do it', { person }), thread);
  const told: string = bot.provider.calls.at(-1)?.body.messages.at(-1).content;
  return { cards: end.cards ?? [], end, text, told };
}

let presses = 0;

/** Presses a button of a card. */
function press(
  { bot }: Pick<TestBot, 'bot'>,
  card: Card | undefined,
  label: string | RegExp,
  more: Partial<Invocation> = {},
) {
  const action = card?.actions?.find((one) => one.label.match(label));
  if (!action) throw new Error(`There is no button ${label}.`);
  presses += 1;
  const { command, values } = action;
  return bot.dispatch({
    id: `press:${presses}`,
    request: { command, values },
    place: CHANNEL,
    thread: 't1',
    person: ADA,
    pressed: 'm1',
    ...more,
  });
}

const created = (bot: TestBot) =>
  bot.service.requests.filter(({ method }) => method === 'POST').map(({ body }) => body);

test('a proposed change is carried out as its card says once its person confirms', async () => {
  const bot = await startTestBot();
  const { cards, told, text } = await propose(bot, [
    'create_monitor',
    { target: 'example.com', interval_seconds: 30 },
  ]);
  expect(text).toBe('It waits for you.');
  expect(JSON.parse(told)).toEqual({ proposed: 'Watch example.com?', done: false });
  const [card] = cards;
  expect(card && textOf(card)).toMatch(
    /Watch example.com\?\nTarget: https:\/\/example.com\nKind: HTTP\nChecked every: 30 seconds\nAlerts: posted in this channel\nNothing has changed yet/,
  );
  expect(created(bot)).toEqual([]);
  const reply = await press(bot, card, 'Watch');
  expect(reply).toMatchObject({ kind: 'card', inPlace: true, private: false });
  expect(textOf(cardOf(reply))).toMatch(/Now watching example.com[\s\S]*Confirmed by Ada$/);
  expect(created(bot)).toEqual([
    {
      name: 'example.com',
      target: 'https://example.com',
      check_type: 'HTTP',
      config: { interval_seconds: 30 },
    },
  ]);
  expect(textOf(cardOf(await bot.say('/monitor alerts on example')))).toContain('gets alerts for');
});

test('a proposal is carried out once, however often its buttons are pressed', async () => {
  const bot = await startTestBot();
  const { cards } = await propose(bot, ['create_monitor', { target: 'https://example.com' }]);
  const replies = await Promise.all([
    press(bot, cards[0], 'Watch'),
    press(bot, cards[0], 'Watch'),
    press(bot, cards[0], 'Watch', { pressed: 'm2' }),
  ]);
  await press(bot, cards[0], 'Watch');
  expect(created(bot)).toHaveLength(1);
  expect(replies.filter((reply) => reply.kind === 'card' && reply.inPlace)).toHaveLength(1);
});

test.each<[string, Partial<Invocation>, string, number]>([
  ['another person', { person: BOB }, 'Only the person who asked for this can decide', 0],
  [
    'somebody who has lost the right',
    { person: { ...ADA, mayManage: async () => false } },
    'Only people who can manage',
    0,
  ],
  ['its person after ten minutes', {}, 'has expired', 601_000],
])('a proposal is not carried out by %s', async (_, more, sentence, afterMs) => {
  const bot = await startTestBot({ settings: { mayAdd: 'managers' } });
  const { cards } = await propose(bot, ['create_monitor', { target: 'https://example.com' }]);
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + afterMs });
  onTestFinished(() => void vi.useRealTimers());
  const reply = await press(bot, cards[0], 'Watch', more);
  expect(reply).toMatchObject({ private: true });
  expect(textOf(cardOf(reply))).toContain(sentence);
  expect(created(bot)).toEqual([]);
});

test('a proposal is not cancelled by another person', async () => {
  const bot = await startTestBot();
  const { cards } = await propose(bot, ['create_monitor', { target: 'https://example.com' }]);
  expect(await press(bot, cards[0], 'Cancel', { person: BOB })).toMatchObject({ private: true });
  await press(bot, cards[0], 'Watch');
  expect(created(bot)).toHaveLength(1);
});

test('a cancelled proposal cannot be confirmed', async () => {
  const bot = await startTestBot();
  const { cards } = await propose(bot, ['create_monitor', { target: 'https://example.com' }]);
  const reply = await press(bot, cards[0], 'Cancel');
  expect(reply).toMatchObject({ inPlace: true });
  expect(textOf(cardOf(reply))).toMatch(/Nothing was done[\s\S]*Cancelled by Ada/);
  // A second press is ignored; another person learns who came first.
  expect(await press(bot, cards[0], 'Watch')).toEqual({ kind: 'nothing' });
  const late = await press(bot, cards[0], 'Watch', { person: BOB });
  expect(textOf(cardOf(late))).toContain('Ada pressed this first. It has been decided.');
  expect(created(bot)).toEqual([]);
});

test('a proposal survives a restart', async () => {
  const folder = await temporaryFolder();
  const first = await startTestBot({ folder });
  const { cards } = await propose(first, ['create_monitor', { target: 'https://example.com' }]);
  await first.stop();
  const second = await startTestBot({ folder });
  await press(second, cards[0], 'Watch');
  expect(created(second)).toHaveLength(1);
});

test('a made-up id confirms nothing', async () => {
  const bot = await startTestBot();
  for (const proposal of ['0AAAAAAAAAAAA', '../../x', '', 'x'.repeat(41)]) {
    const actions = [{ label: 'Go', command: 'proposal confirm', values: { proposal } }];
    const card: Card = { tone: 'info', title: '', parts: [], actions };
    const reply = await press(bot, card, 'Go');
    expect(reply).toMatchObject({ kind: 'card', private: true });
  }
  expect(created(bot)).toEqual([]);
});

test.each<[string, object, Partial<typeof ADA>, string]>([
  [
    'of a person without the right',
    { target: 'example.com' },
    { mayManage: async () => false },
    'Only people who can manage',
  ],
  ['with a password', { target: 'https://ada:hunter22@example.com' }, {}, '/monitor add'],
  [
    'with a value that no card can show',
    { target: `https://example.com/${'a'.repeat(1_000)}` },
    {},
    'Target has 1020 characters, but a confirmation card shows only 900.',
  ],
  [
    'with a runbook that no card can show',
    { target: 'https://example.com', runbook: 'x'.repeat(1_000) },
    {},
    'Runbook has 1000 characters, but a confirmation card shows only 900.',
  ],
])('a change %s is not proposed, and the model learns why', async (_, input, more, why) => {
  const bot = await startTestBot({ settings: { mayAdd: 'managers' } });
  const person = { ...ADA, ...more };
  const { cards, told } = await propose(bot, ['create_monitor', input], { person });
  expect(cards).toEqual([]);
  expect(told).toContain(why);
});

test('a failed change can be confirmed again', async () => {
  const bot = await startTestBot();
  const { cards } = await propose(bot, ['create_monitor', { target: 'https://example.com' }]);
  bot.service.failWith({ kind: 'status', status: 503 });
  const reply = await press(bot, cards[0], 'Watch');
  expect(reply).toMatchObject({ private: true });
  expect(textOf(cardOf(reply))).toContain('monitoring service');
  bot.service.recover();
  expect(await press(bot, cards[0], 'Watch')).toMatchObject({ inPlace: true });
});

test('an answer has at most three proposals, and the model learns that the others were refused', async () => {
  const bot = await startTestBot();
  const calls = [1, 2, 3, 4, 5].map((n) => ({
    name: 'create_monitor',
    arguments: JSON.stringify({ target: `https://${n}.example` }),
  }));
  bot.provider.answerWith((body) =>
    body.messages.at(-1).role === 'tool' ? 'They wait.' : { calls },
  );
  const { end } = await readAnswer(await bot.say('/ask watch these', { person: ADA }), 't1');
  expect(end.cards?.map(({ title }) => title)).toEqual([
    'Watch 1.example?',
    'Watch 2.example?',
    'Watch 3.example?',
  ]);
  expect(bot.provider.calls.at(-1)?.body.messages.at(-1).content).toContain(
    '3 changes already wait',
  );
});

test('an answer with a proposal and no text says that it waits', async () => {
  const bot = await startTestBot();
  bot.provider.answerWith((body) =>
    body.messages.at(-1).role === 'tool'
      ? ''
      : { calls: [{ name: 'create_monitor', arguments: '{"target":"https://example.com"}' }] },
  );
  const { text, end } = await readAnswer(await bot.say('/ask watch it', { person: ADA }), 't1');
  expect(text).toBe('Waiting for your confirmation below.');
  expect(end.cards).toHaveLength(1);
});

test('a private proposal is confirmed in private', async () => {
  const bot = await startTestBot();
  bot.provider.answerWith(proposing('create_monitor', { target: 'https://example.com' }));
  const { end } = await readAnswer(await bot.say('/ask private=true watch it', { person: ADA }));
  const reply = await press(bot, end.cards?.[0], 'Watch');
  expect(reply).toMatchObject({ private: true, inPlace: true });
});

test('the cards pause, silence, resume, change and remove a monitor', async () => {
  const service = await startService();
  const bot = await startTestBot({ watched: service });
  const shop = await service.create({
    name: 'Shop',
    check_type: 'KEYWORD',
    target: 'http://127.0.0.1:9/',
    config: { target_keyword: 'Cart', interval_seconds: 3_600 },
  });
  const status = async () => (await service.get(`/api/v1/public/monitors/${shop.id}`)).body;

  const until = new Date(Date.now() + 2 * 3_600_000).toISOString();
  const silence = await propose(bot, ['pause_monitor', { monitor: 'shop', until }]);
  expect(silence.cards[0]?.title).toBe('Silence alerts for Shop?');
  const other = { starts_at: '2100-01-01T00:00:00.000Z', ends_at: '2100-01-02T00:00:00.000Z' };
  const plan = { monitors: [shop.id], window: other };
  await service.call('POST', '/api/v1/public/maintenance', { json: plan });
  // A minute less once some time has gone by.
  expect(textOf(cardOf(await press(bot, silence.cards[0], 'Silence')))).toMatch(
    /Alerts for Shop are silenced for (2 hours|1 hour 59 minutes)/,
  );
  expect((await status()).maintenance).toEqual([
    other,
    expect.objectContaining({ ends_at: until, reason: 'Requested by Ada' }),
  ]);

  const pause = await propose(bot, ['pause_monitor', { monitor: 'shop' }]);
  expect(textOf(cardOf(await press(bot, pause.cards[0], 'Pause')))).toContain('Shop is paused');
  expect((await status()).status).toBe('PAUSED');
  expect((await propose(bot, ['pause_monitor', { monitor: 'shop' }])).told).toContain(
    'already paused',
  );

  const resume = await propose(bot, ['resume_monitor', { monitor: 'shop' }]);
  expect(textOf(cardOf(await press(bot, resume.cards[0], 'Resume')))).toContain('Shop resumed');
  expect((await status()).status).not.toBe('PAUSED');

  const change = await propose(bot, [
    'change_monitor',
    {
      monitor: 'shop',
      name: 'Shop EU',
      interval_seconds: 60,
      keyword: 'Basket',
      tags: 'eu,web',
      runbook: '1. Look\n2. Call',
    },
  ]);
  expect(change.cards[0] && textOf(change.cards[0])).toMatch(
    /Name: Shop → Shop EU\nEvery: 1 hour → 1 minute\nKeyword: Cart → Basket\nTags: none → eu, web\nRunbook: none → 1\. Look\n2\. Call/,
  );
  await press(bot, change.cards[0], 'Change');
  expect(await status()).toMatchObject({
    name: 'Shop EU',
    tags: ['eu', 'web'],
    runbook: '1. Look\n2. Call',
    config: { interval_seconds: 60, target_keyword: 'Basket' },
  });

  const remove = await propose(bot, ['remove_monitor', { monitor: 'Shop EU' }]);
  expect(remove.cards[0]).toMatchObject({ tone: 'warning', title: 'Remove Shop EU for good?' });
  await press(bot, remove.cards[0], 'Remove');
  expect(await service.list()).toEqual([]);
});

test.each([
  [
    { target: '127.0.0.1:1', type: 'TCP', expect: 'PONG' },
    /Kind: TCP\nChecked every: 1 minute\nExpects: PONG/,
    { expect: '+PONG' },
    /Expects: PONG → \+PONG/,
  ],
  [
    { target: '127.0.0.1:1', starttls: 'smtp', days: 30 },
    /Kind: CERTIFICATE\nChecked every: 1 hour\nWarns: 30 days before expiry\nSTARTTLS: smtp/,
    { days: 7 },
    /Warns: 30 days before expiry → 7 days before expiry/,
  ],
  [
    { target: 'http://127.0.0.1:1', json: 'queue < 100' },
    /Kind: HTTP\nChecked every: 1 minute\nJSON: queue < 100/,
    { json: 'queue < 50' },
    /JSON: queue < 100 → queue < 50/,
  ],
])('a monitor is created and changed with the settings of its type: %j', async (...row) => {
  const [input, proposed, change, changed] = row;
  const service = await startService();
  const bot = await startTestBot({ watched: service });
  const made = await propose(bot, ['create_monitor', { ...input, name: 'It' }]);
  expect(made.cards[0] && textOf(made.cards[0])).toMatch(proposed);
  await press(bot, made.cards[0], 'Watch');
  expect(await service.list()).toMatchObject([{ name: 'It' }]);
  const other = await propose(bot, ['change_monitor', { monitor: 'It', ...change }]);
  expect(other.cards[0] && textOf(other.cards[0])).toMatch(changed);
  expect(textOf(cardOf(await press(bot, other.cards[0], 'Change')))).toMatch(changed);
  const wrong = await propose(bot, ['change_monitor', { monitor: 'It', keyword: 'x' }]);
  expect(wrong.told).toContain('“keyword” works with type=KEYWORD, not with type=');
  // `send` may contain a login, and a proposal is shown.
  const sent = await propose(bot, ['create_monitor', { target: 'a.example:1', send: 's3cret' }]);
  expect(sent.cards).toEqual([]);
});

test('a monitor that has changed since the proposal is left alone', async () => {
  const bot = await startTestBot();
  const shop = bot.service.add({ name: 'Shop' });
  const { cards } = await propose(bot, ['remove_monitor', { monitor: 'shop' }]);
  shop.target = 'https://other.example';
  const reply = await press(bot, cards[0], 'Remove');
  expect(textOf(cardOf(reply))).toMatch(/has changed since this was proposed/);
  bot.service.monitors.length = 0;
  expect(textOf(cardOf(await press(bot, cards[0], 'Remove', { pressed: 'm2' })))).toMatch(
    /already removed/,
  );
  expect(bot.service.requests.every(({ method }) => method === 'GET')).toBe(true);
});

test('the cards acknowledge, snooze and annotate an incident for the person who confirms', async () => {
  const models = [{ id: 'large', context_length: 32_000 }];
  const bot = await startTestBot({ models, settings: { alertPlaces: [CHANNEL] } });
  const platform = createScriptedPlatform(CHANNEL.platform);
  const shop = bot.service.add({ name: 'Shop' });
  await bot.bot.start([platform]);
  await eventually(() => bot.service.requests.length > 1);
  const early = await propose(bot, ['acknowledge_incident', { monitor: 'shop' }]);
  expect(early.told).toContain('Shop has no ongoing incident');
  bot.service.setStatus(shop.id, 'DOWN');
  await eventually(() => platform.messages.length === 1);
  const shown = () => textOf(platform.messages[0]?.card as Card);

  const acknowledge = await propose(bot, ['acknowledge_incident', { monitor: 'shop' }]);
  const reply = await press(bot, acknowledge.cards[0], 'Acknowledge');
  expect(cardOf(reply).title).toBe('Ada acknowledged the incident of Shop');
  await eventually(() => shown().includes('Acknowledged by: Ada'));

  const snooze = await propose(bot, ['snooze_incident', { monitor: 'shop' }]);
  await press(bot, snooze.cards[0], 'Snooze');
  await eventually(() => shown().includes('Snoozed by'));

  const note: [string, object] = ['note_incident', { text: 'restarted\nthe database' }];
  const elsewhere = await propose(bot, note);
  const refused = await press(bot, elsewhere.cards[0], 'Add note');
  expect(textOf(cardOf(refused))).toMatch(/does not belong to an alert/);
  const kept = await propose(bot, note, { thread: platform.messages[0]?.id ?? '' });
  await press(bot, kept.cards[0], 'Add note');
  await eventually(() => shown().includes('restarted the database'));
});

test('a card shows a long name whole', async () => {
  const bot = await startTestBot();
  const name = `Shop ${'x'.repeat(195)}`;
  const { cards } = await propose(bot, ['create_monitor', { target: 'example.com', name }]);
  expect(textOf(cards[0] as Card)).toContain(`Name: ${name}\n`);
});
