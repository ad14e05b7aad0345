import { describe, expect, test } from 'vitest';
import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL, type SlackFake, startSlack } from '../../fakes/slack/slack.ts';
import { eventually } from '../../helpers/eventually.ts';
import { holdTimers } from '../../helpers/hold-timers.ts';
import { type Mode, runSlack } from '../../helpers/slack/running-slack.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const OTHER = 'C00OTHER';
const LONG = Array(4_000).fill('word ');

/** The answer in a channel with one question, once it is whole. */
const answered = (fake: SlackFake, channel = CHANNEL, at = 1) =>
  eventually(() => {
    const answer = fake.channel(channel).messages[at];
    return answer && !/Thinking…|Writing…/.test(shownText(answer)) && answer;
  });

/** An answer that is being written, with some text of it there. */
async function inMidAnswer() {
  const running = await runSlack();
  running.bot.provider.answerWith(LONG, { chunkMs: 25 });
  await running.fake.slash('/ask', 'tell me all');
  const answer = await eventually(() => running.fake.channel(CHANNEL).messages[1]);
  await eventually(() => answer.edits > 0);
  return { ...running, answer };
}

test('an answer whose channel is archived stops the model, and tells the person what to do', async () => {
  const { bot, fake } = await inMidAnswer();
  fake.channel(CHANNEL).archived = true;
  await eventually(() => bot.provider.calls[0]?.aborted);
  expect(await eventually(() => fake.whispers(CHANNEL).at(-1))).toMatch(/archived\. Unarchive it/);
});

test('a storm of limits over every method loses nothing and doubles nothing', async () => {
  const { fake, bot, fatal } = await runSlack();
  const limited = { kind: 'limited', retryAfterSeconds: 1 } as const;
  const methods = ['chat.postMessage', 'chat.update', 'chat.postEphemeral', 'views.open'];
  for (const method of [...methods, 'users.info', 'apps.connections.open']) {
    fake.fail(method, limited, { times: 2 });
  }
  fake.cut();
  await fake.slash('/ask', 'are you there?');
  expect(shownText(await answered(fake))).toContain('Hello from the fake provider.');
  // A form that Slack does not show is answered in words.
  await fake.slash('/monitor', 'add');
  expect(await eventually(() => fake.whispers(CHANNEL).at(-1))).toContain('target');
  fake.mention('/askwatch help');
  await eventually(() => fake.whispers(CHANNEL).length + fake.messages(CHANNEL).length >= 4);
  expect(fake.channel(CHANNEL).messages.filter(({ bot_id }) => bot_id)).toHaveLength(2);
  expect(bot.provider.calls).toHaveLength(1);
  expect(fatal).toEqual([]);
});

test('a post that hangs and was stored is found, and an edit that hangs is done again', async () => {
  const { fake } = await runSlack();
  fake.addChannel({ id: OTHER });
  fake.fail('chat.postMessage', { kind: 'hang', stored: true }, { channel: CHANNEL });
  fake.fail('chat.update', { kind: 'hang' }, { channel: OTHER });
  const limits = holdTimers(10_000);
  await fake.slash('/ask', 'here?');
  await fake.slash('/ask', 'and there?', { channel: OTHER });
  await eventually(() => fake.calls.filter(({ outcome }) => outcome === 'hang').length === 2);
  limits.expire();
  for (const channel of [CHANNEL, OTHER]) {
    expect(shownText(await answered(fake, channel))).toContain('Hello from the fake provider.');
    expect(fake.channel(channel).messages).toHaveLength(2);
  }
});

test('a connection cut in mid-answer delays nothing', async () => {
  const { fake, bot, answer } = await inMidAnswer();
  fake.cut();
  const { edits } = answer;
  await eventually(() => answer.edits > edits);
  await fake.press('Stop');
  expect(shownText(await answered(fake))).toMatch(/word[\s\S]*Stopped by ada/);
  expect(bot.provider.calls).toHaveLength(1);
  expect(fake.channel(CHANNEL).messages).toHaveLength(2);
});

describe.each<Mode>(['socket', 'http'])('over %s', (mode) => {
  test('what is delivered again is answered once, also after a restart', async () => {
    const fake = await startSlack();
    const folder = await temporaryFolder();
    const first = await runSlack({ fake, mode, bot: { folder } });
    await fake.slash('/ask', 'only once');
    await answered(fake);
    expect((await fake.redeliver()).ms).toBeDefined();
    await first.slack.stop();
    await first.bot.stop();
    const second = await runSlack({ fake, mode, bot: { folder } });
    expect((await fake.redeliver()).ms).toBeDefined();
    // Asked after it, and answered by the same queue.
    await fake.slash('/ask', 'another');
    await answered(fake, CHANNEL, 3);
    expect(fake.channel(CHANNEL).messages).toHaveLength(4);
    expect([first, second].map(({ bot }) => bot.provider.calls.length)).toEqual([1, 1]);
  });

  test('acknowledges the notice that events are left out, and logs it', async () => {
    const { fake, lines } = await runSlack({ mode });
    expect((await fake.leaveOutEvents()).ms).toBeDefined();
    const told = await eventually(() => lines.find(({ msg }) => /is dropping/.test(String(msg))));
    expect(told).toMatchObject({ level: 40, teamId: 'T00FAKE' });
    await fake.slash('/ask', 'are you there?');
    await answered(fake);
  });
});
