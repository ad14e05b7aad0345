import { expect, onTestFinished, test } from 'vitest';
import { startModelProvider } from '../../fakes/model-provider.ts';
import { labelsOf } from '../../fakes/slack/buttons.ts';
import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL, type SlackFake, startSlack } from '../../fakes/slack/slack.ts';
import { asKilled } from '../../helpers/after-kill.ts';
import { eventually } from '../../helpers/eventually.ts';
import { runSlack } from '../../helpers/slack/running-slack.ts';
import { DIRECT, ours, WHOLE } from '../../helpers/slack/streaming-runs.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';
import { storedText } from '../../helpers/test-store.ts';

const NOTE = 'Askwatch was restarted before this answer was complete.';

/** A workspace whose bot can be killed, and started again on what it left. */
async function begin() {
  const fake = await startSlack();
  fake.addChannel({ id: DIRECT });
  const provider = await startModelProvider();
  onTestFinished(() => provider.close());
  let folder = await temporaryFolder();
  let running = await runSlack({ fake, bot: { folder, provider } });
  return {
    fake,
    provider,
    /** The model says so much of an answer, and then nothing more. */
    stallAfter(words: string[]) {
      provider.answerWith([...words, 'and', 'more']);
      provider.failWith({ kind: 'stall', afterChunks: words.length }, 1);
    },
    /** `unstored` is what still happens after the last write to the store. */
    async kill(unstored?: () => Promise<unknown>) {
      folder = await asKilled(folder);
      await unstored?.();
      // Slack speaks to the newest connection, so the old one hears nothing more.
      void running.slack.stop();
      return folder;
    },
    async start() {
      provider.answerWith('All of it.');
      running = await runSlack({ fake, bot: { folder, provider } });
      return running.bot.lines;
    },
  };
}

const shownIn = (fake: SlackFake, channel: string, thread: string) =>
  ours(fake, channel, thread).map((message) => [shownText(message), labelsOf(message)] as const);

/** The last message of a thread, once an earlier process's answer got its end. */
const endIn = (fake: SlackFake, channel: string, thread: string) =>
  eventually(
    () => {
      const last = shownIn(fake, channel, thread).at(-1);
      return last?.[0].includes(NOTE) && last;
    },
    { what: `the note in ${channel}` },
  );

test.each([
  ['a channel', CHANNEL, ['one ', 'two '], 'one two'],
  ['a channel before its first text', CHANNEL, [], ''],
  ['a direct conversation', DIRECT, ['one ', 'two '], 'one two'],
])('an answer in %s that a kill cut short gets its end', async (_where, channel, words, text) => {
  const { fake, provider, stallAfter, kill, start } = await begin();
  stallAfter(words);
  const direct = channel === DIRECT;
  const thread = fake[direct ? 'say' : 'mention']('count', { channel });
  await eventually(() => provider.calls.length === 1);
  if (!direct || text !== '') {
    await eventually(() =>
      shownIn(fake, channel, thread)
        .at(-1)?.[0]
        .includes(text || 'Thinking…'),
    );
  }
  await kill();
  await start();
  const [shown, labels] = await endIn(fake, channel, thread);
  expect(shown).toMatch(text);
  expect(shown).not.toMatch(/Writing…|Thinking…/);
  expect(labels).toEqual(['Try again']);
  expect(ours(fake, channel, thread)).toHaveLength(1);
  const statuses = () => [...fake.sessions.values()].map(({ status }) => status);
  await eventually(() => statuses().join() === (direct ? 'active' : ''));

  // Slack, which had no answer to its delivery, tries again.
  expect((await fake.redeliver()).ms).toBeDefined();
  await fake.press('Try again', { channel, ts: ours(fake, channel, thread)[0]?.ts ?? '' });
  await eventually(() => shownIn(fake, channel, thread).at(-1)?.[1].join() === WHOLE.join());
  expect(shownIn(fake, channel, thread).at(-1)?.[0]).toContain('All of it.');
  const told: { role: string; content: string }[] = provider.calls[1]?.body.messages;
  expect(told.filter(({ role }) => role !== 'system')).toEqual([
    { role: 'user', content: 'count' },
  ]);
  expect(provider.calls).toHaveLength(2);
});

test('an answer to /ask, whose thread only Slack knows, gets its end there', async () => {
  const { fake, stallAfter, kill, start } = await begin();
  stallAfter(['one ']);
  await fake.slash('/ask', 'count');
  const { ts } = await eventually(() => fake.messages(CHANNEL)[0]);
  await eventually(() => shownIn(fake, CHANNEL, ts)[0]?.[0].includes('one'));
  await kill();
  await start();
  expect(await endIn(fake, CHANNEL, ts)).toEqual([expect.stringMatching(/^one/), ['Try again']]);
  await fake.press('Try again', { ts: ours(fake, CHANNEL, ts).at(-1)?.ts ?? '' });
  await eventually(() => shownIn(fake, CHANNEL, ts).at(-1)?.[1].join() === WHOLE.join());
});

test('a stream that Slack ended meanwhile gets its end by an edit', async () => {
  const { fake, stallAfter, kill, start } = await begin();
  stallAfter(['one ']);
  const thread = fake.say('count', { channel: DIRECT });
  await eventually(() => shownIn(fake, DIRECT, thread)[0]?.[0].includes('one'));
  await kill();
  fake.expireStreams();
  await start();
  expect(await endIn(fake, DIRECT, thread)).toEqual([expect.stringMatching(/^one/), ['Try again']]);
});

test('an answer without a message gets its end posted, if that is possible', async () => {
  const { fake, kill, start } = await begin();
  fake.addChannel({ id: 'C00GONE' });
  fake.fail('chat.postMessage', { kind: 'hang' }, { times: 2 });
  const thread = fake.mention('count');
  fake.mention('count', { channel: 'C00GONE' });
  await eventually(
    () => fake.calls.filter(({ method }) => method === 'chat.postMessage').length === 2,
  );
  await kill();
  fake.fail(
    'conversations.replies',
    { kind: 'error', error: 'channel_not_found' },
    { channel: 'C00GONE' },
  );
  const lines = await start();
  expect(await endIn(fake, CHANNEL, thread)).toEqual([
    expect.stringContaining('Try again.'),
    ['Try again'],
  ]);
  await eventually(() =>
    lines.some(({ msg }) => /an interrupted answer.* giving up/.test(String(msg))),
  );
});

test('the end of a private answer is shown to its asker, and the question is posted nowhere', async () => {
  const { fake, provider, stallAfter, kill, start } = await begin();
  stallAfter(['one ']);
  await fake.slash('/ask', 'private=true what is secret?');
  await eventually(() => provider.calls.length === 1);
  const folder = await kill();
  const stored = await storedText(folder);
  expect(stored).not.toContain('what is secret?');
  await start();
  await eventually(() => fake.whispers(CHANNEL).some((text) => text.includes(NOTE)));
  expect(fake.messages(CHANNEL)).toEqual([]);
});

test('an answer whose end is shown, though the store has it as unfinished, is left as it is', async () => {
  const { fake, stallAfter, kill, start } = await begin();
  stallAfter(['one ']);
  const thread = fake.mention('count');
  const shown = () => shownIn(fake, CHANNEL, thread);
  await eventually(() => shown().at(-1)?.[0].includes('one'));
  await kill(async () => {
    await fake.press('Stop', { ts: ours(fake, CHANNEL, thread)[0]?.ts ?? '' });
    await eventually(() => shown().at(-1)?.[1].includes('Try again'));
  });
  const ended = shown();
  const searches = () => fake.calls.filter(({ method }) => method === 'conversations.replies');
  const before = searches().length;
  await start();
  await eventually(() => searches().length > before);
  const next = fake.mention('and now?');
  await eventually(() => shownIn(fake, CHANNEL, next).at(-1)?.[1].join() === WHOLE.join());
  expect(shown()).toEqual(ended);
});
