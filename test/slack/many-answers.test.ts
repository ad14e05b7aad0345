import { expect, test } from 'vitest';
import type { Card } from '../../src/bot/card.ts';
import { CHANNEL } from '../fakes/slack.ts';
import { shownText } from '../fakes/slack-limits.ts';
import { eventually } from '../support/eventually.ts';
import { runSlack } from './running-slack.ts';

/** At their pace, more than are ever waited for. */
const WORDS = 300;
const CARD: Card = { tone: 'bad', title: 'Shop is down', parts: [] };

test('ten answers at once share the edits of a workspace, alerts come between, and Slack refuses nothing', async () => {
  const { fake, slack, bot } = await runSlack();
  const write = (chunkMs: number) =>
    bot.provider.answerWith(Array(WORDS).fill('word '), { chunkMs });
  write(80);
  const channels = Array.from({ length: 10 }, (_, at) => fake.addChannel({ id: `C00MANY${at}` }));
  for (const { id } of channels) await fake.slash('/ask', 'tell me all', { channel: id });
  const answers = () => channels.flatMap(({ messages }) => messages.slice(1));
  const posted = await slack.post({ channel: CHANNEL, card: CARD, id: 'a1', attempted: false });
  // A minute of Slack's holds 50 edits: this is more than one, of each answer as many.
  await eventually(() => answers().length === 10 && answers().every(({ edits }) => edits >= 6));
  const edits = answers().map((message) => message.edits);
  expect(Math.max(...edits) - Math.min(...edits)).toBeLessThanOrEqual(2);
  await slack.update(CHANNEL, posted, { ...CARD, title: 'Shop is up' });
  write(0);
  await eventually(() =>
    answers().every((message) => !/Thinking…|Writing…/.test(shownText(message))),
  );
  for (const message of answers()) expect(shownText(message).match(/word/g)).toHaveLength(WORDS);
  expect(fake.calls.filter(({ outcome }) => outcome !== 'ok')).toEqual([]);
  expect(fake.unhandled).toEqual([]);
});

test('an answer goes on after a limit that was met all the same, with the newest text', async () => {
  const { fake, bot } = await runSlack();
  bot.provider.answerWith(Array(4_000).fill('word '), { chunkMs: 20 });
  await fake.slash('/ask', 'tell me all');
  const answer = await eventually(() => fake.channel(CHANNEL).messages[1]);
  await eventually(() => answer.edits > 0);
  fake.fail('chat.update', { kind: 'limited', retryAfterSeconds: 1 });
  const limited = await eventually(() => fake.calls.find(({ outcome }) => outcome === '429'));
  const sizeOf = (blocks: unknown) => JSON.stringify(blocks).length;
  const next = await eventually(() => {
    const updates = fake.calls.filter(({ method }) => method === 'chat.update');
    return updates[updates.indexOf(limited) + 1];
  });
  expect(next.atMs - limited.atMs).toBeGreaterThanOrEqual(999);
  // Not the view that was refused, but what was written since.
  expect(sizeOf(next.args.blocks)).toBeGreaterThan(sizeOf(limited.args.blocks));
  expect(next.outcome).toBe('ok');
});
