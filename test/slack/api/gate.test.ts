import { expect, test } from 'vitest';
import type { Card } from '../../../src/bot/shared/card.ts';
import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL, startSlack, USER } from '../../fakes/slack/slack.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { eventually } from '../../helpers/eventually.ts';
import { NOTE } from '../../helpers/slack/interruptible.ts';
import { makeSlack, RESTING } from '../../helpers/slack/running-slack.ts';
import { DIRECT, methods, ours } from '../../helpers/slack/streaming-runs.ts';

const CARD: Card = { tone: 'bad', title: 'Shop is down', parts: [] };
const POST = { channel: CHANNEL, card: CARD, id: 'alert-1', attempted: false };
const TEMPORARY = { name: 'DeliveryError', permanent: false };

/** The platform with a real bot, which may speak while `held`. */
async function begin({ held = true, isHeld = () => held } = {}) {
  const fake = await startSlack();
  fake.addChannel({ id: DIRECT });
  const running = await makeSlack({ fake, isHeld });
  const { bot, provider } = await startTestBot({ settings: RESTING });
  await running.slack.start(bot);
  return {
    ...running,
    provider,
    hold(isHeldNow: boolean) {
      held = isHeldNow;
    },
  };
}

const writes = (fake: Parameters<typeof methods>[0]) =>
  methods(fake).filter((method) => /^(chat|files|views|agents|assistant)\./.test(method));

test('a process that may not speak yet connects, reads, and shows nothing', async () => {
  const { fake, slack, hold } = await begin({ held: false });
  expect(fake.sockets()).toBe(1);
  const thread = fake.say('The shop is slow');
  const posted = { message: thread, thread };
  const left = { id: 'answer', invocation: 'slack:C:1', channel: CHANNEL, person: USER };
  const interrupted = { ...left, beganAtMs: Date.now(), note: NOTE, actionsIn: async () => [] };
  for (const refuse of [
    () => slack.post(POST),
    () => slack.post({ ...POST, attempted: true }),
    () => slack.update(CHANNEL, posted, CARD),
    () => slack.announce({ ...POST, posted }),
    () => slack.endAnswer?.({ ...interrupted, private: true }),
    () => slack.endAnswer?.({ ...interrupted, private: false, thread, origin: { ts: thread } }),
  ]) {
    await expect(refuse()).rejects.toMatchObject(TEMPORARY);
  }
  expect(writes(fake)).toEqual([]);
  expect(methods(fake)).toContain('conversations.history');
  expect(methods(fake)).toContain('conversations.replies');

  hold(true);
  const { message } = await slack.post(POST);
  hold(false);
  expect(await slack.linkTo?.(CHANNEL, { message, thread: message })).toContain(CHANNEL);
});

test('a response address takes nothing from a process that may not speak', async () => {
  const { fake, hold, lines } = await begin();
  hold(false);
  await fake.slash('/monitor', 'pause nothing');
  await eventually(() => lines.some(({ msg }) => msg === 'could not show a reply'));
  expect(fake.whispers(CHANNEL)).toEqual([]);
  expect(writes(fake)).toEqual([]);
});

test('the gate is asked right before each request: what was looked up meanwhile is not posted', async () => {
  let reads = 0;
  const { fake, slack } = await begin({ isHeld: () => reads === 0 });
  const read = () => methods(fake).includes('conversations.history');
  const posting = slack.post({ ...POST, attempted: true, landsInMs: 200 });
  await eventually(read);
  reads += 1;
  await expect(posting).rejects.toMatchObject(TEMPORARY);
  expect(writes(fake)).toEqual([]);
});

test('a stop after the lease is lost ends at once, and leaves answers as they are', async () => {
  const { fake, slack, provider, hold } = await begin();
  provider.answerWith(['one two', ' never shown']);
  provider.holdChunks(1);
  const threads = [CHANNEL, DIRECT].map((channel) => ({
    channel,
    thread: fake[channel === DIRECT ? 'say' : 'mention']('count', { channel }),
  }));
  const texts = () =>
    threads.map(({ channel, thread }) => ours(fake, channel, thread).map((one) => shownText(one)));
  await eventually(() => texts().every(([text]) => text?.includes('one two')));
  const before = texts();
  hold(false);
  const calls = fake.calls.length;
  const beganMs = performance.now();
  await slack.stop();
  expect(performance.now() - beganMs).toBeLessThan(1_500);
  await eventually(() => fake.sockets() === 0);
  expect(fake.calls).toHaveLength(calls);
  expect(texts()).toEqual(before);
});
