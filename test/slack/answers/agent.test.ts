import { expect, test } from 'vitest';
import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL, type SlackFake, USER } from '../../fakes/slack/slack.ts';
import { eventually } from '../../helpers/eventually.ts';
import { DIRECT, ours, runDirect, shows, WHOLE } from '../../helpers/slack/streaming-runs.ts';

const statusOf = (fake: SlackFake, thread: string) =>
  fake.sessions.get(`${DIRECT} ${thread}`)?.status;

const openMessages = (fake: SlackFake, tab = 'messages') =>
  fake.event({ type: 'app_home_opened', user: USER, channel: DIRECT, tab, event_ts: '1.000001' });

test('Slack shows a status only while an answer is generated', async () => {
  const { fake, bot } = await runDirect();
  const goOn = bot.provider.holdAnswers();
  const thread = fake.say('  why is\nthe sky blue? ', { channel: DIRECT });
  await eventually(() => statusOf(fake, thread) === 'processing');
  expect(fake.sessions.get(`${DIRECT} ${thread}`)?.title).toBe('why is the sky blue?');
  expect(ours(fake, DIRECT, thread)).toEqual([]);
  goOn();
  await shows(fake, DIRECT, thread, WHOLE);
  await eventually(() => statusOf(fake, thread) === 'active');
  expect(fake.calls.filter(({ outcome }) => outcome !== 'ok')).toEqual([]);
  expect(fake.unhandled).toEqual([]);
});

test('the status goes when an answer fails, and when a limit holds it up', async () => {
  const { fake, bot } = await runDirect();
  bot.provider.failWith({ kind: 'status', status: 400 });
  const goOn = bot.provider.holdAnswers();
  const thread = fake.say('why?', { channel: DIRECT });
  await eventually(() => statusOf(fake, thread) === 'processing');
  fake.fail('agents.sessions.setStatus', { kind: 'limited', retryAfterSeconds: 1 });
  fake.fail('agents.sessions.setStatus', { kind: 'status', status: 500 });
  goOn();
  await shows(fake, DIRECT, thread, ['Try again']);
  const refused = () => fake.calls.filter(({ outcome }) => ['429', 'status'].includes(outcome));
  await eventually(() => refused().length === 2 && statusOf(fake, thread) === 'active');
});

test('a status that Slack does not answer delays no answer', async () => {
  const { fake, bot } = await runDirect();
  const first = fake.say('one', { channel: DIRECT });
  await shows(fake, DIRECT, first, WHOLE);
  const statuses = () => fake.calls.filter(({ method }) => method === 'agents.sessions.setStatus');
  // The end of a stream ends the status, too; what is to hang is not the call that says so once more.
  await eventually(() => statuses().filter(({ outcome }) => outcome === 'ok').length === 2);
  fake.fail('agents.sessions.setStatus', { kind: 'hang' });
  bot.provider.answerWith('Second.');
  const second = fake.say('two', { channel: DIRECT });
  await shows(fake, DIRECT, second, WHOLE);
  // It was shown while the status still hangs.
  expect(statuses().map(({ outcome }) => outcome)).toEqual(['ok', 'ok', 'hang']);
});

test('Slack’s own Stop ends the answer with a note, as ours does', async () => {
  const { fake, bot } = await runDirect();
  bot.provider.answerWith(['one ', 'two ']);
  bot.provider.failWith({ kind: 'stall', afterChunks: 2 });
  const thread = fake.say('count', { channel: DIRECT });
  await eventually(() => ours(fake, DIRECT, thread)[0]?.text.startsWith('one'));
  const ack = await fake.pressSlackStop(DIRECT, thread);
  expect(ack.ms).toBeDefined();
  const [stopped] = await shows(fake, DIRECT, thread, ['Try again']);
  expect(shownText(stopped ?? { text: '' })).toMatch(/^one two ?\n⚠️ Stopped by you\./);
  expect(ours(fake, DIRECT, thread)).toHaveLength(1);
  await eventually(() => bot.provider.calls[0]?.aborted);
  await eventually(() => statusOf(fake, thread) === 'active');
});
test('Stop for an answer that nobody generates any more takes the status away', async () => {
  const { fake } = await runDirect();
  const thread = fake.say('why?', { channel: DIRECT });
  await shows(fake, DIRECT, thread, WHOLE);
  await eventually(() => statusOf(fake, thread) === 'active');
  // An earlier run left this status.
  fake.sessions.set(`${DIRECT} ${thread}`, { status: 'processing' });
  await fake.pressSlackStop(DIRECT, thread);
  await eventually(() => statusOf(fake, thread) === 'active');
});

test('who opens the direct conversation is offered what to ask, and each of it works', async () => {
  const { fake, bot } = await runDirect();
  bot.service.add({ name: 'Shop', status: 'DOWN' });
  await openMessages(fake, 'home');
  await openMessages(fake);
  const prompts = await eventually(() => fake.prompts.get(DIRECT));
  expect(prompts.length).toBeGreaterThan(2);
  const told: string[] = [];
  for (const { message } of prompts) {
    const before = fake.channel(DIRECT).messages.length + fake.channel(DIRECT).ephemerals.length;
    fake.say(message, { channel: DIRECT });
    const shown = () => [...fake.channel(DIRECT).messages, ...fake.channel(DIRECT).ephemerals];
    await eventually(() => shown().length === before + 2, { what: `a reply to ${message}` });
    told.push(shownText(shown().find(({ ts }) => ts === newest(shown())) ?? { text: '' }));
  }
  expect(told.join('\n')).not.toMatch(/did not work|no such|does not know|⚠️/i);
  expect(told[0]).toContain('Shop');
  expect(bot.provider.calls).toEqual([]);
});

const newest = (messages: { ts: string }[]) =>
  messages
    .map(({ ts }) => ts)
    .sort()
    .at(-1);

test.each(['by a conversation that is opened', 'by a question'])(
  'an app that was installed before it was an agent goes on, and says so once, found out %s',
  async (by) => {
    const { fake, lines } = await runDirect();
    fake.scopes.delete('assistant:write');
    if (by.includes('opened')) await openMessages(fake);
    const threads = [1, 2].map((n) => fake.say(`question ${n}`, { channel: DIRECT }));
    for (const thread of threads) {
      const [answer] = await shows(fake, DIRECT, thread, WHOLE);
      expect(shownText(answer ?? { text: '' })).toContain('Hello from the fake provider.');
    }
    expect(fake.prompts.size).toBe(0);
    expect(fake.calls.filter(({ method }) => method === 'chat.startStream')).toEqual([]);
    const told = lines.filter(({ msg }) => String(msg).includes('not an agent'));
    expect(told).toMatchObject([{ level: 40, msg: expect.stringContaining('App Manifest') }]);
  },
);

test('answers have our own Stop where Slack’s would have no effect', async () => {
  const { fake, bot } = await runDirect();
  fake.dropStopEvents();
  bot.provider.answerWith(['one ', 'two ']);
  bot.provider.failWith({ kind: 'stall', afterChunks: 2 });
  const thread = fake.say('count', { channel: DIRECT });
  const [growing] = await shows(fake, DIRECT, thread, ['Stop']);
  expect(statusOf(fake, thread)).toBe('active');
  await fake.press('Stop', { channel: DIRECT, ts: growing?.ts });
  await shows(fake, DIRECT, thread, ['Try again']);
});

test('a channel shows no status and no suggestions', async () => {
  const { fake } = await runDirect();
  const thread = fake.mention('why?');
  await shows(fake, CHANNEL, thread, WHOLE);
  expect(fake.sessions.size).toBe(0);
});
