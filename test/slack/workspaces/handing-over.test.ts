import { expect, test } from 'vitest';
import type { Bot } from '../../../src/bot/platform.ts';
import type { Invocation } from '../../../src/bot/shared/invocation.ts';
import { CHANNEL, startSlack } from '../../fakes/slack/slack.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { eventually } from '../../helpers/eventually.ts';
import { makeSlack, RESTING } from '../../helpers/slack/running-slack.ts';

/** A bot whose methods wait until it is `let` go on. */
async function waitingBot() {
  const { bot: real } = await startTestBot({ settings: RESTING });
  let letGoOn = () => {};
  const held = new Promise<void>((resolve) => {
    letGoOn = resolve;
  });
  let arrived = 0;
  const heard: Invocation[] = [];
  const bot: Bot = {
    ...real,
    async dispatch(invocation, onStored) {
      arrived += 1;
      await held;
      heard.push(invocation);
      return await real.dispatch(invocation, onStored);
    },
  };
  return { bot, heard, letGoOn, arrived: () => arrived };
}

const askedOf = ({ request }: Invocation) => ('values' in request ? request.values.question : '');

test('a successor connects before it may speak: events wait in order, and are acknowledged once they are stored', async () => {
  const fake = await startSlack();
  let held = false;
  const { slack } = await makeSlack({ fake, isHeld: () => held });
  const { bot, heard, letGoOn, arrived } = await waitingBot();
  await slack.start(bot);
  for (const question of ['one', 'two', 'three']) fake.mention(question);
  await eventually(() => arrived() === 3);
  expect(fake.acks).toEqual([]);
  held = true;
  letGoOn();
  // Slack sends two events for each mention.
  await eventually(() => fake.acks.length === 6);
  expect(fake.acks.every(({ ms }) => ms !== undefined)).toBe(true);
  const asked = heard.map(askedOf);
  expect([...new Set(asked)]).toEqual(['one', 'two', 'three']);
  await eventually(() => fake.channel(CHANNEL).messages.filter(({ bot_id }) => bot_id).length >= 3);
});

test('a pause closes the socket once a command under way is acknowledged, and lets its reply be shown', async () => {
  const fake = await startSlack();
  const { slack } = await makeSlack({ fake });
  const { bot, letGoOn, arrived } = await waitingBot();
  await slack.start(bot);
  const acknowledged = fake.slash('/monitor', 'list');
  await eventually(() => arrived() === 1);
  const pausing = slack.pause?.();
  letGoOn();
  await pausing;
  expect((await acknowledged).ms).toBeDefined();
  await eventually(() => fake.sockets() === 0);
  await eventually(() => fake.messages(CHANNEL).length === 1);
  await slack.stop();
});

test('what is said during a hand-over reaches the successor, over its own socket', async () => {
  const fake = await startSlack();
  const before = await makeSlack({ fake });
  const [first, second] = [await waitingBot(), await waitingBot()];
  first.letGoOn();
  await before.slack.start(first.bot);
  const after = await makeSlack({ fake });
  await after.slack.start(second.bot);
  expect(fake.sockets()).toBe(2);
  await before.slack.pause?.();
  await eventually(() => fake.sockets() === 1);
  const acknowledged = fake.slash('/monitor', 'list');
  second.letGoOn();
  expect((await acknowledged).ms).toBeDefined();
  expect([first.heard.length, second.heard.length]).toEqual([0, 1]);
  // Answers under way there are shown to their end.
  await before.slack.post({
    ...{ channel: CHANNEL, id: 'alert-1', attempted: false },
    card: { tone: 'good', title: 'Shop is up', parts: [] },
  });
});
