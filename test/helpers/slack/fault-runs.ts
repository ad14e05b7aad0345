import { expect } from 'vitest';
import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL, type SlackFake } from '../../fakes/slack/slack.ts';
import type { Message } from '../../fakes/slack/workspace.ts';
import { eventually } from '../eventually.ts';
import { type RunningSlack, runSlack } from './running-slack.ts';

const LONG = Array(4_000).fill('word ');

/** The answer in a channel with one question, once it is whole. */
export const answered = (fake: SlackFake, channel = CHANNEL, at = 1) =>
  eventually(() => {
    const answer = fake.channel(channel).messages[at];
    return answer && !/Thinking…|Writing…/.test(shownText(answer)) && answer;
  });

/** An answer that is being written, with some text of it there. */
export async function inMidAnswer(): Promise<
  Awaited<ReturnType<typeof runSlack>> & { answer: Message }
> {
  const running = await runSlack();
  running.bot.provider.answerWith(LONG, { chunkMs: 25 });
  await running.fake.slash('/ask', 'tell me all');
  const answer = await eventually(() => running.fake.channel(CHANNEL).messages[1]);
  await eventually(() => answer.edits > 0);
  return { ...running, answer };
}

/** The last ephemeral message. */
export const whisper = (fake: SlackFake) => eventually(() => fake.whispers(CHANNEL).at(-1));

/** A fault of the workspace ends a running answer, and the person gets a message. */
export async function stopsTheModel(
  _what: string,
  change: (running: RunningSlack) => void,
  sentence: RegExp,
): Promise<void> {
  const { bot, ...running } = await inMidAnswer();
  change(running);
  await eventually(() => bot.provider.calls[0]?.aborted);
  expect(await whisper(running.fake)).toMatch(sentence);
}

/** A connection that Slack ends in mid-answer is opened again, and questions and edits go on. */
export async function opensAgain(
  reason: NonNullable<Parameters<SlackFake['disconnect']>[0]>,
): Promise<void> {
  const { fake, fatal, answer } = await inMidAnswer();
  fake.disconnect(reason);
  await eventually(
    () => fake.calls.filter(({ method }) => method === 'apps.connections.open').length === 2,
  );
  const ts = fake.mention('another question');
  await eventually(() => fake.thread(CHANNEL, ts).length === 1);
  const { edits } = answer;
  await eventually(() => answer.edits > edits);
  expect(fatal).toEqual([]);
}

/** A question is answered after anything at all came over the connection. */
export async function goesOn(frame: string): Promise<void> {
  const { fake } = await runSlack();
  fake.frame(frame);
  await fake.slash('/ask', 'are you there?');
  await answered(fake);
}
