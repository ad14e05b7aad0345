import { describe, expect, test } from 'vitest';
import { CHANNEL, type SlackFake, startSlack } from '../fakes/slack.ts';
import { shownText } from '../fakes/slack-limits.ts';
import type { Message } from '../fakes/slack-workspace.ts';
import { eventually } from '../support/eventually.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { type Mode, type RunningSlack, runSlack } from './running-slack.ts';

const OTHER = 'C00OTHER';
const LONG = Array(4_000).fill('word ');

/** The answer in a channel with one question, once it is whole. */
const answered = (fake: SlackFake, channel = CHANNEL, at = 1) =>
  eventually(() => {
    const answer = fake.channel(channel).messages[at];
    return answer && !/Thinking…|Writing…/.test(shownText(answer)) && answer;
  });

/** An answer that is being written, with some text of it there. */
async function inMidAnswer(): Promise<Awaited<ReturnType<typeof runSlack>> & { answer: Message }> {
  const running = await runSlack();
  running.bot.provider.answerWith(LONG, { chunkMs: 25 });
  await running.fake.slash('/ask', 'tell me all');
  const answer = await eventually(() => running.fake.channel(CHANNEL).messages[1]);
  await eventually(() => answer.edits > 0);
  return { ...running, answer };
}

const whisper = (fake: SlackFake) => eventually(() => fake.whispers(CHANNEL).at(-1));

describe('what ends an answer on the way stops the model and tells the person what to do', () => {
  test.each<[string, (running: RunningSlack) => void, RegExp]>([
    [
      'the channel is archived',
      ({ fake }) => {
        fake.channel(CHANNEL).archived = true;
      },
      /archived\. Unarchive it/,
    ],
    [
      'the app loses a scope',
      ({ fake }) => void fake.scopes.delete('chat:write'),
      /lacks the scope chat:write\. Add it under "OAuth & Permissions"/,
    ],
    ['the token is revoked', ({ fake }) => fake.revoke('bot'), /Install the app again/],
    [
      'the message is deleted',
      ({ fake }) => {
        fake.channel(CHANNEL).messages.length = 1;
      },
      /message was deleted/,
    ],
    [
      'an admin lets the bot change nothing more',
      ({ fake }) =>
        fake.fail(
          'chat.update',
          { kind: 'error', error: 'edit_window_closed' },
          { times: Number.POSITIVE_INFINITY },
        ),
      /does not allow changing messages/,
    ],
  ])('%s', async (_what, change, sentence) => {
    const { bot, ...running } = await inMidAnswer();
    change(running);
    await eventually(() => bot.provider.calls[0]?.aborted);
    expect(await whisper(running.fake)).toMatch(sentence);
  });

  test('a token that is revoked ends the program, with a sentence', async () => {
    const { fake, fatal } = await inMidAnswer();
    fake.revoke('bot');
    const [error] = await eventually(() => fatal.length > 0 && fatal);
    expect(error?.message).toMatch(/^SLACK_BOT_TOKEN: .*token_revoked.*OAuth/);
  });
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
  expect(await whisper(fake)).toContain('target');
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
  await fake.slash('/ask', 'here?');
  await fake.slash('/ask', 'and there?', { channel: OTHER });
  for (const channel of [CHANNEL, OTHER]) {
    expect(shownText(await answered(fake, channel))).toContain('Hello from the fake provider.');
    expect(fake.channel(channel).messages).toHaveLength(2);
  }
});

describe('a connection', () => {
  test.each(['refresh_requested', 'warning', 'link_disabled', 'too_many_websockets'] as const)(
    'that Slack ends with “%s” is opened again, also in mid-answer',
    async (reason) => {
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
    },
  );

  test('that is cut in mid-answer holds up nothing, and what was pressed after it is heard', async () => {
    const { fake, bot, answer } = await inMidAnswer();
    fake.cut();
    const { edits } = answer;
    await eventually(() => answer.edits > edits);
    await fake.press('Stop');
    expect(shownText(await answered(fake))).toMatch(/word[\s\S]*Stopped by ada/);
    expect(bot.provider.calls).toHaveLength(1);
    expect(fake.channel(CHANNEL).messages).toHaveLength(2);
  });

  test.each([
    'null',
    '[]',
    '17',
    'no JSON',
    '{"type":"events_api"}',
    '{"type":"events_api","envelope_id":"e","payload":{}}',
    '{"type":"app_rate_limited","payload":"app_rate_limited"}',
    '{"type":"slash_commands","envelope_id":"e"}',
    '{"type":"interactive","envelope_id":"e","payload":null}',
  ])('over which %s comes goes on', async (frame) => {
    const { fake } = await runSlack();
    fake.frame(frame);
    await fake.slash('/ask', 'are you there?');
    await answered(fake);
  });
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

  test('the notice that events are left out is acknowledged, and whoever runs the program is told', async () => {
    const { fake, lines } = await runSlack({ mode });
    expect((await fake.leaveOutEvents()).ms).toBeDefined();
    const told = await eventually(() => lines.find(({ msg }) => /leaves out/.test(String(msg))));
    expect(told).toMatchObject({ level: 40, teamId: 'T00FAKE' });
    await fake.slash('/ask', 'are you there?');
    await answered(fake);
  });
});
