import { expect, test } from 'vitest';
import type { Bot } from '../../../src/bot/platform.ts';
import type { Interrupted } from '../../../src/bot/shared/invocation.ts';
import { renderNote } from '../../../src/slack/render/render-answer.ts';
import { labelsOf } from '../../fakes/slack/buttons.ts';
import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL, type SlackFake, startSlack } from '../../fakes/slack/slack.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { eventually } from '../../helpers/eventually.ts';
import { holdTimers } from '../../helpers/hold-timers.ts';
import { interruptible, NOTE } from '../../helpers/slack/interruptible.ts';
import { makeSlack, RESTING } from '../../helpers/slack/running-slack.ts';
import { ours } from '../../helpers/slack/streaming-runs.ts';

/** A bot that is interrupted with whatever it was asked before it shows anything, and the platform after that. */
async function begin() {
  const fake = await startSlack();
  const { slack: before } = await makeSlack({ fake });
  const { bot: real } = await startTestBot({ settings: RESTING });
  const { asked, interrupted, bot } = interruptible(real);
  let heard = 0;
  const silent: Bot = {
    ...bot,
    async dispatch(...of) {
      await bot.dispatch(...of);
      of[1]?.();
      heard += 1;
      return { kind: 'nothing' };
    },
  };
  await before.start(silent);
  const { slack } = await makeSlack({ fake });
  let started: Promise<void> | undefined;
  return {
    fake,
    asked,
    /** Waits until the bot has received a gesture. */
    async hear(gesture: () => unknown) {
      const already = heard;
      await gesture();
      await eventually(() => heard > already);
    },
    async end(more?: Partial<Interrupted>) {
      started ??= slack.start(silent);
      await started;
      await slack.endAnswer?.(interrupted(more));
    },
  };
}

const repliesIn = (fake: SlackFake, thread: string) =>
  ours(fake, CHANNEL, thread).map((message) => [shownText(message), labelsOf(message)]);

const REPLY = [expect.stringContaining(NOTE), ['Try again']];

test('a mention whose answer was not begun gets the note in its thread, with a button', async () => {
  const { fake, hear, end } = await begin();
  let thread = '';
  await hear(() => {
    thread = fake.mention('count');
  });
  await end();
  expect(repliesIn(fake, thread)).toEqual([REPLY]);
  expect(fake.whispers(CHANNEL)).toEqual([]);
  expect(fake.unhandled).toEqual([]);
});

test('a second try finds the note that the first one posted, though its answer was lost', async () => {
  const { fake, hear, end } = await begin();
  const thread = fake.say('The shop is slow');
  await hear(() => fake.mention('count', { threadTs: thread }));
  fake.fail('chat.postMessage', { kind: 'hang', stored: true });
  const calls = holdTimers(10_000);
  const first = end();
  await eventually(() => repliesIn(fake, thread).length === 1);
  calls.expire();
  await end();
  await first;
  expect(repliesIn(fake, thread)).toEqual([REPLY]);
});

test('a slash command gets the note at its own address, for its person alone, also where the bot is no member', async () => {
  const { fake, hear, asked, end } = await begin();
  const { id: channel } = fake.addChannel({ id: 'C00ELSEWHERE', member: false });
  await hear(() => fake.slash('/ask', 'count', { channel }));
  const { origin = {} } = asked();
  expect(origin.responseUrl).toMatch(/^[\w-]{60,}$/);
  expect(JSON.stringify(asked())).not.toContain('/response/');
  await end();
  expect(fake.whispers(channel)).toEqual([expect.stringContaining(NOTE)]);
  expect(fake.messages(channel)).toEqual([]);
});
test('a press gets the note for its person alone, in the thread where the button is', async () => {
  const { fake, hear, end } = await begin();
  const thread = fake.say('The shop is slow');
  const again = { label: 'Regenerate', command: 'answer again', values: { answer: 'one' } };
  fake.channel(CHANNEL).messages.push({
    ...{ ts: '4000000000.157000', thread_ts: thread, edits: 0 },
    ...{ user: fake.botUserId, bot_id: 'B00ASKWATCH' },
    ...renderNote('An answer', [again]),
  });
  await hear(() => fake.press('Regenerate'));
  await end();
  expect(repliesIn(fake, thread)).toEqual([['An answer\nRegenerate', ['Regenerate']]]);
  expect(fake.channel(CHANNEL).ephemerals.map(({ thread_ts }) => thread_ts)).toEqual([thread]);
  expect(fake.whispers(CHANNEL)).toEqual([expect.stringContaining(NOTE)]);
});
test('a question that was about to be posted, and was not, gets the note for its person alone', async () => {
  const { fake, hear, end } = await begin();
  await hear(() => fake.slash('/ask', 'count'));
  await end({ shown: {} });
  expect(fake.messages(CHANNEL)).toEqual([]);
  expect(fake.whispers(CHANNEL)).toEqual([expect.stringContaining(NOTE)]);
});
