import { describe, expect, test } from 'vitest';
import type { Card } from '../../../src/bot/shared/card.ts';
import { renderCard } from '../../../src/slack/render/render-card.ts';
import { labelsOf } from '../../fakes/slack/buttons.ts';
import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL, type SlackFake } from '../../fakes/slack/slack.ts';
import type { TestBotOptions } from '../../helpers/bot.ts';
import { eventually } from '../../helpers/eventually.ts';
import { type Mode, runSlack, WATCHING } from '../../helpers/slack/running-slack.ts';

const settings = { ...WATCHING, alertPlaces: [{ platform: 'slack' as const, channel: CHANNEL }] };
const GRACE = { user: 'U00GRACE' };

/** A channel that was just told that the shop is down. */
async function runWithAlert(
  options: { mode?: Mode; fake?: SlackFake; bot?: Pick<TestBotOptions, 'folder' | 'service'> } = {},
) {
  const running = await runSlack({ ...options, bot: { ...options.bot, settings } });
  const { service } = running.bot;
  const shop = service.add({ name: 'Shop' });
  const before = service.requests.length;
  await eventually(() => service.requests.length > before + 2);
  service.setStatus(shop.id, 'DOWN');
  const alert = await eventually(() => running.fake.messages(CHANNEL)[0]);
  return { ...running, shop, alert };
}

const failures = (fake: SlackFake) => fake.calls.filter(({ outcome }) => outcome !== 'ok');

test('over HTTP the person who presses “Acknowledge” is shown in the alert, and the button goes', async () => {
  const { fake, alert } = await runWithAlert({ mode: 'http' });
  const others = ['Snooze 1 h', 'Check now', 'Ask why', 'Open shop.example'];
  expect(labelsOf(alert)).toEqual(['Acknowledge', ...others]);
  const ack = await fake.press('Acknowledge', GRACE);
  expect(ack.ms).toBeDefined();
  await eventually(() => shownText(alert).includes('Acknowledged by: grace'));
  expect(labelsOf(alert)).toEqual(others);
  expect(fake.messages(CHANNEL)).toEqual([alert]);
  expect(fake.thread(CHANNEL, alert.ts)).toEqual([]);
  expect(fake.channel(CHANNEL).ephemerals).toEqual([]);
  expect(failures(fake)).toEqual([]);
});
test('a press on a card under an alert is answered in the alert’s thread, which knows the incident', async () => {
  const { fake, slack, bot, alert } = await runWithAlert();
  const place = { platform: 'slack' as const, channel: CHANNEL };
  await eventually(() => bot.bot.isConversation(place, alert.ts));
  const actions = [{ label: 'Ask', command: 'ask', values: { question: 'Which disk?' } }];
  const card: Card = { tone: 'info', title: 'Looked into it', parts: [], actions };
  const under = { message: alert.ts, thread: alert.ts };
  await slack.post({ channel: CHANNEL, under, card, id: 'a1/findings', attempted: false });
  await fake.press('Ask');
  await eventually(() => bot.provider.calls.length === 1);
  expect(bot.provider.calls[0]?.body.messages[0].content).toContain('Monitor: Shop');
  await eventually(() => fake.thread(CHANNEL, alert.ts).length === 3);
  expect(fake.messages(CHANNEL)).toEqual([alert]);
});
test('two people who press the same button at the same moment are two', async () => {
  const { fake } = await runWithAlert();
  await Promise.all([fake.press('Check now'), fake.press('Check now', GRACE)]);
  await eventually(
    () => fake.whispers(CHANNEL).length === 1 && fake.whispers(CHANNEL, GRACE.user).length === 1,
  );
});
describe('under a message in a thread', () => {
  const card: Card = {
    tone: 'info',
    title: 'Tell me <!channel>',
    parts: [],
    actions: [
      { label: 'Ask <!here>', command: 'ask', values: { question: 'who? <!channel>' } },
      { label: 'Help', command: 'askwatch help', values: {} },
      { label: 'Nonsense', command: '__proto__', values: { constructor: '<@U1>' } },
    ],
  };

  async function runWithCard() {
    const running = await runSlack();
    const { fake } = running;
    const root = fake.say('a thread of people');
    const { text, blocks } = renderCard(card);
    fake
      .channel(CHANNEL)
      .messages.push({ ts: '99.000001', text, blocks, thread_ts: root, edits: 0 });
    return { ...running, root };
  }

  test('an answer goes to that thread, and hostile words call nobody', async () => {
    const { fake, root } = await runWithCard();
    await fake.press('Ask <!here>');
    const question = await eventually(() => fake.thread(CHANNEL, root)[1]);
    expect(shownText(question)).toBe('ada asks\nwho? <!channel>');
    expect(question.text).not.toContain('<!');
    await eventually(() => fake.thread(CHANNEL, root).length === 3);
    expect(fake.messages(CHANNEL)).toHaveLength(1);
  });

  test('what is private stands in that thread', async () => {
    const { fake, root } = await runWithCard();
    await fake.press('Help');
    await eventually(() => fake.whispers(CHANNEL).length === 1);
    expect(fake.channel(CHANNEL).ephemerals[0]?.thread_ts).toBe(root);
  });

  test('a command that is none says so to who pressed', async () => {
    const { fake } = await runWithCard();
    await fake.press('Nonsense');
    const [seen] = await eventually(() => {
      const whispers = fake.whispers(CHANNEL);
      return whispers.length > 0 && whispers;
    });
    expect(seen).toContain("I don't know /");
  });
});

test('a button that only one person sees is answered in the channel', async () => {
  const { fake } = await runSlack();
  const { text, blocks } = renderCard({
    tone: 'info',
    title: 'For you',
    parts: [],
    actions: [{ label: 'Ask', command: 'ask', values: { question: 'who?' } }],
  });
  fake.channel(CHANNEL).ephemerals.push({ ts: '99.000001', user: 'U00ADA', text, blocks });
  await fake.press('Ask');
  const root = await eventually(() => fake.messages(CHANNEL)[0]);
  expect(shownText(root)).toBe('ada asks\nwho?');
  await eventually(() => fake.thread(CHANNEL, root.ts).length === 1);
});

test('a press of a foreign button is acknowledged, and nothing is done', async () => {
  const { fake, bot, lines } = await runSlack();
  const action = { type: 'button', action_id: 'x', action_ts: '1.1', value: 'ask?question=why' };
  const press = {
    type: 'block_actions',
    user: { id: 'U00ADA', name: 'ada' },
    channel: { id: CHANNEL },
    container: { message_ts: '1.000001' },
    actions: [action],
  };
  const others = [
    { ...press, actions: [{ ...action, type: 'static_select' }] },
    { ...press, actions: [{ ...action, value: 'x'.repeat(2_000) }] },
    { ...press, actions: [{ ...action, value: { toString: 'ask?' } }] },
    { ...press, actions: [{ ...action, value: undefined, url: 'https://a.example' }] },
    { ...press, user: { id: 7 } },
  ];
  for (const other of others) expect((await fake.interact(other)).ms).toBeDefined();
  const ignored = () => lines.filter(({ msg }) => String(msg).includes('unknown button'));
  await eventually(() => ignored().length === others.length);
  expect(fake.messages(CHANNEL)).toEqual([]);
  expect(bot.provider.calls).toEqual([]);
  expect(fake.calls.filter(({ method }) => method.startsWith('chat.'))).toEqual([]);
});

test('a link is one more button, whose press is acknowledged and does nothing', async () => {
  const { fake, slack, bot, lines } = await runSlack();
  const link = { label: 'Runbook', url: 'https://wiki.example/shop?a=1&b=2' };
  const card: Card = { tone: 'bad', title: 'Shop is down', parts: [], link };
  await slack.post({ channel: CHANNEL, card, id: 'a', attempted: false });
  const [message] = fake.messages(CHANNEL);
  expect(message?.blocks).toContainEqual({
    type: 'actions',
    elements: [expect.objectContaining({ type: 'button', url: link.url })],
  });
  expect((await fake.press('Runbook')).ms).toBeDefined();
  await eventually(() => lines.some(({ msg }) => String(msg).includes('unknown button')));
  expect(fake.inChannel(CHANNEL)).toEqual([message]);
  expect(fake.channel(CHANNEL).ephemerals).toEqual([]);
  expect(bot.provider.calls).toEqual([]);
});

test('a press whose answer cannot be shown is answered with a note', async () => {
  const { fake } = await runWithAlert();
  fake.fail('chat.postMessage', { kind: 'error', error: 'restricted_action' });
  await fake.press('Ask why');
  const [seen] = await eventually(() => {
    const whispers = fake.whispers(CHANNEL);
    return whispers.length > 0 && whispers;
  });
  expect(seen).toContain('Askwatch couldn’t post its reply');
});
