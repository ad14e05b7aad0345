import { describe, expect, test } from 'vitest';
import type { Card } from '../../../src/bot/shared/card.ts';
import { appendEveryMs } from '../../../src/slack/api/paces.ts';
import { labelsOf } from '../../fakes/slack/buttons.ts';
import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL } from '../../fakes/slack/slack.ts';
import { eventually } from '../../helpers/eventually.ts';
import { long } from '../../helpers/long.ts';
import { runSlack } from '../../helpers/slack/running-slack.ts';

/** At their pace, more than are ever waited for. */
const WORDS = 300;

/** More than the 50 edits that a workspace takes a minute. */
const CROWD = long ? 200 : 60;
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

/** With edits so far apart that none of a minute comes free again, as by Slack's clock. */
async function runWithoutTime() {
  const running = await runSlack({ editMs: 600_000, drainMs: 60_000 });
  running.fake.clock.set(0);
  return running;
}

const isWhole = (text: string) =>
  text.includes('Light is scattered.') && /test-model · /.test(text);

test(`${CROWD} answers at once in as many channels are all whole without a minute of Slack’s passing`, async () => {
  const { fake, bot } = await runWithoutTime();
  bot.provider.answerWith('Light is scattered.');
  const asked = Array.from({ length: CROWD }, (_, at) => {
    const { id: channel } = fake.addChannel({ id: `C00CROWD${at}` });
    return { channel, ts: fake.mention('why is the sky blue?', { channel }) };
  });
  const threads = () => asked.map(({ channel, ts }) => fake.thread(channel, ts));
  await eventually(() => threads().every((shown) => shown.some((one) => isWhole(shownText(one)))));
  // Each has one message, and none seems to be growing.
  await eventually(() => threads().every((shown) => shown.length === 1));
  for (const [message] of threads()) {
    expect(labelsOf(message ?? {})).toEqual(['Regenerate', '👍', '👎']);
  }
  // Neither edits nor posts met a limit.
  expect(fake.calls.filter(({ outcome }) => outcome !== 'ok')).toEqual([]);
  expect(fake.unhandled).toEqual([]);
});

test('some of many direct questions are edited, because Slack limits streams', async () => {
  const { fake, bot } = await runWithoutTime();
  bot.provider.answerWith(['Light ', 'is ', 'scattered.'], { chunkMs: 5 });
  const asked = Array.from({ length: 40 }, (_, at) => {
    const { id: channel } = fake.addChannel({ id: `D00CROWD${at}` });
    return { channel, ts: fake.say('why is the sky blue?', { channel }) };
  });
  const threads = () => asked.map(({ channel, ts }) => fake.thread(channel, ts));
  await eventually(() =>
    threads().every((shown) => shown.length === 1 && shown.every((one) => isWhole(shownText(one)))),
  );
  await eventually(() => [...fake.sessions.values()].every(({ status }) => status === 'active'));
  const begun = fake.calls.filter(({ method }) => method === 'chat.startStream');
  expect(begun.length).toBeGreaterThanOrEqual(15);
  expect(fake.calls.filter(({ outcome }) => outcome !== 'ok')).toEqual([]);
});

test.each([1, 2, 4, 18])(
  '%d streams at once are added to within the hundred times that Slack takes a minute',
  (streams) => {
    const aMinute = (streams * 60_000) / appendEveryMs({ appendMs: 1_200 }, streams);
    expect(aMinute).toBeLessThanOrEqual(95);
    expect(aMinute).toBeGreaterThanOrEqual(45);
  },
);

describe('the end of an answer, where edits have run out,', () => {
  /** An answer that is under way when alerts take all edits. */
  async function endWithoutEdits(text: string) {
    const running = await runWithoutTime();
    const { fake, slack, bot } = running;
    bot.provider.answerWith([text.slice(0, 5), text.slice(5)]);
    const goOn = bot.provider.holdChunks(1);
    await fake.slash('/ask', 'why is the sky blue?');
    const { ts: root } = await eventually(() => fake.messages(CHANNEL)[0]);
    const [growing] = await eventually(() => {
      const shown = fake.thread(CHANNEL, root);
      return shown[0]?.edits && shown;
    });
    expect(growing && shownText(growing)).toContain('Writing…');
    const other = fake.addChannel({ id: 'C00ALERTS' }).id;
    const posted = await slack.post({ channel: other, card: CARD, id: 'a1', attempted: false });
    const alert = (title: string) => slack.update(other, posted, { ...CARD, title });
    for (let edit = 0; edit < 49; edit += 1) await alert(`Shop is down (${edit})`);
    await expect(alert('Shop is up')).rejects.toThrow('rate limiting');
    return { ...running, goOn, root, growing };
  }

  test('is posted, and what was shown of it goes away', async () => {
    const { fake, goOn, root, growing } = await endWithoutEdits('Light is scattered.');
    goOn();
    await eventually(() => fake.thread(CHANNEL, root).every((one) => isWhole(shownText(one))));
    const shown = fake.thread(CHANNEL, root);
    expect(shown).toHaveLength(1);
    expect(shown[0]?.ts).not.toBe(growing?.ts);
    const order = fake.calls.map(({ method }) => method).filter((name) => name !== 'chat.update');
    expect(order.slice(-2)).toEqual(['chat.postMessage', 'chat.delete']);
    expect(fake.calls.filter(({ outcome }) => outcome !== 'ok')).toEqual([]);
  });

  test('is posted with all that comes after it, in order', async () => {
    const text = `Light is scattered. ${Array.from({ length: 2_000 }, (_, at) => at).join(' ')}`;
    const { fake, goOn, root } = await endWithoutEdits(text);
    goOn();
    const shown = await eventually(() => {
      const all = fake.thread(CHANNEL, root).map(shownText);
      return all.at(-1)?.includes('test-model · ') && !all[0]?.includes('Writing…') && all;
    });
    expect(shown.length).toBeGreaterThan(2);
    expect(shown.join(' ').replace(/\s+/g, ' ')).toContain(text);
  });

  test('leaves a line where Slack lets nothing be deleted, once there is room for an edit', async () => {
    const { fake, bot, slack, goOn, root } = await endWithoutEdits('Light is scattered.');
    fake.fail('chat.delete', { kind: 'error', error: 'cant_delete_message' });
    goOn();
    await eventually(() => fake.thread(CHANNEL, root).length === 2);
    fake.clock.advance(60_000);
    // The end of the program waits for no room.
    await Promise.all([bot.bot.stop(), slack.stop()]);
    const [left, whole] = fake.thread(CHANNEL, root);
    expect(left && shownText(left)).toBe('The full answer is below.');
    expect(left && labelsOf(left)).toEqual([]);
    expect(isWhole(whole ? shownText(whole) : '')).toBe(true);
  });
});
