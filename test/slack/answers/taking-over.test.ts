import { expect, test } from 'vitest';
import type { Reply } from '../../../src/bot/shared/invocation.ts';
import { labelsOf } from '../../fakes/slack/buttons.ts';
import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL, type SlackFake, startSlack } from '../../fakes/slack/slack.ts';
import { startTestBot } from '../../helpers/bot.ts';
import { eventually } from '../../helpers/eventually.ts';
import { leaving } from '../../helpers/slack/left-by-a-process.ts';
import { makeSlack, RESTING } from '../../helpers/slack/running-slack.ts';
import { DIRECT, ours, shows, textOf, WHOLE } from '../../helpers/slack/streaming-runs.ts';

/** A process of the bot in a workspace. */
async function startProcess(fake: SlackFake) {
  const { slack, lines } = await makeSlack({ fake });
  const test = await startTestBot({ settings: RESTING });
  const life = leaving(test.bot);
  await slack.start(life.bot);
  const { dispatch } = test.bot;
  return { ...test, ...life, slack, lines, dispatch };
}

/** Two processes in one workspace, of which the second goes on with what the first was asked. */
async function startTwo() {
  const fake = await startSlack();
  fake.addChannel({ id: DIRECT });
  const first = await startProcess(fake);
  return {
    fake,
    first,
    /** The model of the first says so much, and nothing more until `wake` lets it end. */
    stallAfter(text: string) {
      first.provider.answerWith([text, ' never shown']);
      return first.provider.holdChunks(1);
    },
    /** The first counts as dead, and another one answers in its place. */
    async takeOver({ hasBegun = true, instead }: { hasBegun?: boolean; instead?: string } = {}) {
      first.die();
      const second = await startProcess(fake);
      second.provider.answerWith('All of it.');
      const invocation = first.asked();
      await second.slack.takeOver?.({
        invocation,
        async dispatch(given) {
          const reply: Reply = await second.dispatch(
            instead === undefined ? given : { ...given, request: { line: '/ask count' } },
          );
          if (reply.kind !== 'answer' || !hasBegun) return reply;
          const { id, ...shownBefore } = first.answer();
          const earlier = instead === undefined ? undefined : { note: instead, actions: [] };
          return { ...reply, id, shownBefore, earlier };
        },
      });
      return second;
    },
  };
}

const textsIn = (fake: SlackFake, channel: string, thread: string) =>
  ours(fake, channel, thread).map((message) => shownText(message));

test.each([
  ['a channel', CHANNEL, 'one two'],
  ['a direct conversation, where it was streamed', DIRECT, 'one two'],
])(
  'an answer in %s goes on in its message, and whoever began it shows no more',
  async (_where, channel, text) => {
    const { fake, first, stallAfter, takeOver } = await startTwo();
    const wake = stallAfter(text);
    const thread = fake[channel === DIRECT ? 'say' : 'mention']('count', { channel });
    await eventually(() => textsIn(fake, channel, thread)[0]?.includes(text));
    const [begun] = ours(fake, channel, thread);
    const second = await takeOver();
    const [shown] = await shows(fake, channel, thread, WHOLE);
    expect(shown?.ts).toBe(begun?.ts);
    expect(textsIn(fake, channel, thread)).toEqual([expect.stringMatching(/^All of it\.\n/)]);
    expect(shown?.streaming).toBeFalsy();

    // The first comes back from a standstill.
    wake();
    await eventually(() => first.provider.calls[0]?.finished);
    await first.slack.stop();
    expect(textsIn(fake, channel, thread)).toEqual([expect.stringMatching(/^All of it\.\n/)]);
    const statuses = [...fake.sessions.values()].map(({ status }) => status);
    expect(statuses).toEqual(channel === DIRECT ? ['active'] : []);
    expect(second.provider.calls).toHaveLength(1);
    expect(fake.unhandled).toEqual([]);
  },
);

test.each([
  ['in a channel', CHANNEL],
  ['that was streamed', DIRECT],
])('of a long answer %s nothing is left below the new one', async (_where, channel) => {
  const { fake, stallAfter, takeOver } = await startTwo();
  stallAfter(textOf(24_000));
  const thread = fake[channel === DIRECT ? 'say' : 'mention']('count', { channel });
  await eventually(() => ours(fake, channel, thread).length >= 3);
  const [begun] = ours(fake, channel, thread);
  await takeOver();
  const shown = await shows(fake, channel, thread, WHOLE);
  expect(shown.map(({ ts }) => ts)).toEqual([begun?.ts]);
});

test('a question that was asked by a command is not shown again, though only Slack knows of it', async () => {
  const { fake, first, stallAfter, takeOver } = await startTwo();
  stallAfter('one two');
  // The answer to the post is lost with the process.
  fake.fail('chat.postMessage', { kind: 'hang', stored: true });
  await fake.slash('/ask', 'count');
  const [question] = await eventually(
    () => fake.messages(CHANNEL).length > 0 && fake.messages(CHANNEL),
  );
  expect(first.answer().thread).toBeUndefined();
  await takeOver();
  expect(fake.messages(CHANNEL).map(({ ts }) => ts)).toEqual([question?.ts]);
  await shows(fake, CHANNEL, question?.ts ?? '', WHOLE);
  expect(ours(fake, CHANNEL, question?.ts ?? '')).toHaveLength(1);
});

test('an answer that was not begun is shown as if it had been asked for here', async () => {
  const { fake, stallAfter, takeOver } = await startTwo();
  stallAfter('one two');
  await fake.slash('/ask', 'count');
  const { ts } = await eventually(() => fake.messages(CHANNEL)[0]);
  fake.remove(CHANNEL, ts);
  await takeOver({ hasBegun: false });
  const { ts: again } = await eventually(() => fake.messages(CHANNEL).at(-1));
  expect(textsIn(fake, CHANNEL, again)).toEqual([expect.stringMatching(/^All of it\.\n/)]);
});

test('a card that stands in the channel already is not posted again', async () => {
  const { fake, takeOver } = await startTwo();
  await fake.slash('/monitor', 'list');
  await eventually(() => fake.messages(CHANNEL).length === 1);
  await takeOver();
  expect(fake.messages(CHANNEL)).toHaveLength(1);
  fake.remove(CHANNEL, fake.messages(CHANNEL)[0]?.ts ?? '');
  await takeOver();
  expect(fake.messages(CHANNEL)).toHaveLength(1);
});

test('whoever typed a command where the bot is no member is answered at its address, which is stored encrypted', async () => {
  const { fake, first, takeOver } = await startTwo();
  const { id: channel } = fake.addChannel({ id: 'C00ELSEWHERE', member: false });
  await fake.slash('/monitor', 'pause nothing', { channel });
  await eventually(() => fake.whispers(channel).length === 1);
  const { origin = {} } = first.asked();
  expect(origin.responseUrl).toMatch(/^[\w-]{60,}$/);
  expect(JSON.stringify(first.asked())).not.toContain('/response/');
  await takeOver();
  expect(fake.whispers(channel)).toHaveLength(2);
});

test('an answer that was asked for anew takes the buttons from the one before, whose blocks are stored nowhere', async () => {
  const { fake, first, stallAfter, takeOver } = await startTwo();
  first.provider.answerWith('The first one.');
  const thread = fake.mention('count');
  const [earlier] = await shows(fake, CHANNEL, thread, WHOLE);
  stallAfter('one two');
  // As a process that died before it could.
  fake.fail('chat.update', { kind: 'error', error: 'message_not_found' });
  await fake.press('Regenerate');
  await eventually(() => textsIn(fake, CHANNEL, thread).some((text) => text.includes('one two')));
  expect(JSON.stringify(first.asked())).not.toContain('The first one.');
  await takeOver({ instead: 'Another answer is below.' });
  await shows(fake, CHANNEL, thread, WHOLE);
  const was = ours(fake, CHANNEL, thread).find(({ ts }) => ts === earlier?.ts);
  expect(labelsOf(was ?? {})).toEqual([]);
  expect(was && shownText(was)).toMatch(/^The first one\.[\s\S]*\nAnother answer is below\.$/);
});

test('what Slack does not take now can be tried again, and what it never takes is told', async () => {
  const { fake, first, takeOver } = await startTwo();
  await fake.slash('/monitor', 'list');
  await eventually(() => fake.messages(CHANNEL).length === 1);
  fake.remove(CHANNEL, fake.messages(CHANNEL)[0]?.ts ?? '');
  fake.fail('chat.postMessage', { kind: 'status', status: 503 }, { times: 3 });
  await expect(takeOver()).rejects.toMatchObject({ name: 'DeliveryError', permanent: false });
  expect(first.asked().id).toMatch(/^slack:/);
  fake.fail('chat.postMessage', { kind: 'error', error: 'restricted_action' });
  await takeOver();
  expect(fake.whispers(CHANNEL).join()).toContain('Askwatch couldn’t post its reply.');
});
