import { expect } from 'vitest';
import { labelsOf } from '../../fakes/slack/buttons.ts';
import type { Fault, SlackFake } from '../../fakes/slack/slack.ts';
import type { Message } from '../../fakes/slack/workspace.ts';
import { eventually } from '../eventually.ts';
import { runSlack } from './running-slack.ts';

/** The direct conversation of a person and the bot. */
export const DIRECT = 'D00ADA';
/** The buttons under an answer that is whole. */
export const WHOLE = ['Regenerate', '👍', '👎'];

/** A workspace with a direct conversation, and the bot in it. */
export async function runDirect(options: Parameters<typeof runSlack>[0] = {}) {
  const running = await runSlack(options);
  running.fake.addChannel({ id: DIRECT });
  return running;
}

/** The messages of the bot in a thread once the last has these buttons. */
export async function shows(fake: SlackFake, channel: string, thread: string, labels: string[]) {
  return await eventually(
    () => {
      const shown = ours(fake, channel, thread);
      return labelsOf(shown.at(-1) ?? {}).join() === labels.join() && shown;
    },
    { what: `the buttons ${labels.join(', ')} in ${channel}` },
  );
}

/** The bot's messages in a thread, oldest first. */
export const ours = (fake: SlackFake, channel: string, thread: string): Message[] =>
  fake.thread(channel, thread).filter(({ bot_id }) => bot_id);

/** Called methods in order. */
export const methods = (fake: SlackFake) => fake.calls.map(({ method }) => method);
/** The calls that went wrong. */
export const failed = (fake: SlackFake) => fake.calls.filter(({ outcome }) => outcome !== 'ok');

/** A text in numbered words and paragraphs, so that missing parts are noticed. */
export function textOf(characters: number): string {
  let text = '';
  for (let n = 0; text.length < characters; n += 1) text += n % 40 === 39 ? `${n}.\n\n` : `${n} `;
  return text.slice(0, characters);
}

/** A text without its white space. */
export const bare = (text: string) => text.replace(/\s+/g, '');

/** The messages' text without the last one's footer. */
export const proseOf = (shown: Message[]) =>
  bare(
    shown
      .map(({ text, blocks }) => {
        const list = (blocks ?? []) as { type: string; text?: string }[];
        const prose = list.find(({ type }) => type === 'markdown');
        return prose ? prose.text : text;
      })
      .join('\n'),
  );

/** An answer of so many characters is shown whole and in order: in streams where that is possible, else by edits. */
export async function showsWhole(channel: string, size: number): Promise<void> {
  const { fake, bot } = await runDirect();
  const text = textOf(size);
  const chunks = text.match(/[\s\S]{1,700}/g) ?? [];
  bot.provider.answerWith(chunks, { chunkMs: 1 });
  const thread = fake.mention('tell me', { channel });
  const shown = await shows(fake, channel, thread, WHOLE);
  expect(proseOf(shown)).toBe(bare(text));
  // Many messages at once are more than a channel takes; they wait.
  const refused = failed(fake).filter(({ method }) => method !== 'chat.postMessage');
  expect(refused).toEqual([]);
  expect(fake.unhandled).toEqual([]);
  const streams = methods(fake).filter((method) => method.endsWith('Stream')).length;
  if (channel === DIRECT) expect(shown.length).toBeLessThanOrEqual(Math.ceil(size / 7_000));
  else expect(streams).toBe(0);
}

/** Asks; the answer comes in three parts, each once the one before is shown. Gives what is shown in the end. */
export async function askInThree(
  { fake, bot }: Awaited<ReturnType<typeof runDirect>>,
  text: string,
) {
  const third = Math.ceil(text.length / 3);
  const parts = [0, third, 2 * third].map((from) => text.slice(from, from + third));
  bot.provider.answerWith(parts);
  let goOn = bot.provider.holdChunks(0);
  const thread = fake.say('tell me', { channel: DIRECT });
  for (const sent of [1, 2]) {
    const next = bot.provider.holdChunks(sent);
    goOn();
    goOn = next;
    const begin = bare(parts.slice(0, sent).join(''));
    await eventually(() => proseOf(ours(fake, DIRECT, thread)).startsWith(begin));
  }
  goOn();
  return await shows(fake, DIRECT, thread, WHOLE);
}

/** An answer is shown whole, and once, though a call for its stream goes wrong. */
export async function losesNothing(method: string, _what: string, fault: Fault): Promise<void> {
  const running = await runDirect();
  running.fake.fail(method, fault);
  const text = textOf(9_000);
  const shown = await askInThree(running, text);
  expect(failed(running.fake).map((call) => call.method)).toContain(method);
  expect(proseOf(shown)).toBe(bare(text));
  expect(shown.filter(({ streaming }) => streaming)).toEqual([]);
  await eventually(() => [...running.fake.sessions.values()][0]?.status === 'active');
}

/** An answer is shown by edits where Slack takes no stream. */
export async function editsInstead(error: string): Promise<void> {
  const running = await runDirect();
  const { fake } = running;
  fake.fail('chat.startStream', { kind: 'error', error });
  const text = textOf(5_000);
  expect(proseOf(await askInThree(running, text))).toBe(bare(text));
  expect(methods(fake)).not.toContain('chat.stopStream');
}
