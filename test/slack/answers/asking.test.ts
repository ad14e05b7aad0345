import { describe, expect, test } from 'vitest';
import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL, type SlackFake, USER } from '../../fakes/slack/slack.ts';
import { eventually } from '../../helpers/eventually.ts';
import { runSlack } from '../../helpers/slack/running-slack.ts';

/** The replies of a thread once the last of them has its footer. */
async function answered(fake: SlackFake, channel: string, thread: string, replies = 1) {
  return await eventually(
    () => {
      const shown = fake.thread(channel, thread).map(shownText);
      const done =
        shown.length >= replies && !/Thinking…|Writing…/.test(shown.at(-1) ?? 'Writing…');
      return done && shown;
    },
    { what: `an answer in ${channel}` },
  );
}

/** The thread that `/ask` opened last. */
async function threadOfAsk(fake: SlackFake, channel = CHANNEL): Promise<string> {
  return (await eventually(() => fake.messages(channel).at(-1))).ts;
}

test('over HTTP /ask is acknowledged, shown as a message and answered in its thread', async () => {
  const { fake, bot } = await runSlack({ mode: 'http' });
  bot.provider.answerWith('Light is **scattered**.', { chunkMs: 5 });
  const release = bot.provider.holdChunks();
  const ack = await fake.slash('/ask', 'why is the sky blue?');
  expect(ack.ms).toBeDefined();
  release();
  const thread = await threadOfAsk(fake);
  const [answer = ''] = await answered(fake, CHANNEL, thread);
  expect(fake.messages(CHANNEL).map(shownText)).toEqual(['ada asks\nwhy is the sky blue?']);
  expect(answer).toMatch(/^Light is \*\*scattered\*\*\.\n\S/);
  expect(fake.unhandled).toEqual([]);
  expect(fake.calls.filter(({ outcome }) => outcome !== 'ok')).toEqual([]);
});

test('a mention is one question, whichever of its two events comes first', async () => {
  const { fake, bot } = await runSlack();
  for (const [before, first] of [true, false].entries()) {
    fake.mentionFirst = first;
    const ts = fake.mention('what is up?');
    await eventually(() => fake.acks.length === 2 * (before + 1));
    await answered(fake, CHANNEL, ts);
  }
  expect(fake.acks.filter(({ ms }) => ms === undefined)).toEqual([]);
  expect(bot.provider.calls).toHaveLength(2);
});
test('a direct message is a question, and runs a command when it begins with one', async () => {
  const { fake } = await runSlack();
  fake.addChannel({ id: 'D00ADA' });
  const ts = fake.say('hello there', { channel: 'D00ADA' });
  await answered(fake, 'D00ADA', ts);
  fake.say('/askwatch help', { channel: 'D00ADA' });
  await eventually(() =>
    fake
      .whispers('D00ADA')
      .concat(fake.messages('D00ADA').map(shownText))
      .some((text) => text.includes('/monitor add')),
  );
});
test('a private answer is shown to the asker only, also where the bot is no member', async () => {
  const { fake, bot } = await runSlack();
  fake.addChannel({ id: 'C00ELSEWHERE', member: false });
  bot.provider.answerWith('A secret.');
  await fake.slash('/ask', 'private=true tell me', { channel: 'C00ELSEWHERE' });
  await eventually(() =>
    fake.whispers('C00ELSEWHERE').some((text) => text.startsWith('A secret.')),
  );
  expect(fake.messages('C00ELSEWHERE')).toEqual([]);
  expect(fake.whispers('C00ELSEWHERE', 'U00OTHER')).toEqual([]);
});

test('a private answer longer than a response address takes is shown whole', async () => {
  const { fake, bot } = await runSlack();
  const paragraphs = Array.from({ length: 700 }, (_, n) => `Paragraph ${n} ${'word '.repeat(15)}`);
  bot.provider.answerWith(paragraphs.join('\n\n'));
  await fake.slash('/ask', 'private=true everything');
  const all = () => fake.whispers(CHANNEL).join('\n');
  await eventually(() => all().includes('Paragraph 699 '));
  for (const [n] of paragraphs.entries()) expect(all()).toContain(`Paragraph ${n} `);
  expect(fake.messages(CHANNEL)).toEqual([]);
});

test('asked where it cannot post, the bot says to invite it', async () => {
  const { fake, bot } = await runSlack();
  fake.addChannel({ id: 'C00ELSEWHERE', member: false });
  await fake.slash('/ask', 'anyone here?', { channel: 'C00ELSEWHERE' });
  const [whisper] = await eventually(() => {
    const shown = fake.whispers('C00ELSEWHERE', USER);
    return shown.length > 0 && shown;
  });
  expect(whisper).toContain('/invite');
  expect(bot.provider.calls).toEqual([]);
});

test('a list is shown to all, also where the bot is no member', async () => {
  const { fake } = await runSlack();
  fake.addChannel({ id: 'C00ELSEWHERE', member: false });
  await fake.slash('/monitor', 'list', { channel: 'C00ELSEWHERE' });
  await eventually(() => fake.messages('C00ELSEWHERE').length === 1);
  expect(fake.whispers('C00ELSEWHERE')).toEqual([]);
});

test('a slash command of another kind is acknowledged with a sentence', async () => {
  const { fake } = await runSlack();
  const { ms, payload } = await fake.slash('/deploy', 'now');
  expect(ms).toBeDefined();
  expect(payload).toMatchObject({ response_type: 'ephemeral' });
  expect(JSON.stringify(payload)).toContain('/monitor');
});

describe('when Slack has trouble', () => {
  test.each([
    ['a 500', { kind: 'status', status: 500, stored: true }],
    ['a lost connection', { kind: 'drop', stored: true }],
  ] as const)(
    'a message that was stored in spite of %s is not posted again',
    async (_what, fault) => {
      const { fake } = await runSlack();
      fake.fail('chat.postMessage', fault, { times: 2 });
      await fake.slash('/ask', 'only once');
      await answered(fake, CHANNEL, await threadOfAsk(fake));
      expect(fake.messages(CHANNEL)).toHaveLength(1);
      expect(fake.thread(CHANNEL, await threadOfAsk(fake))).toHaveLength(1);
    },
  );

  test.each([
    ['a 500', { kind: 'status', status: 500 }],
    ['a lost connection', { kind: 'drop' }],
  ] as const)('a message that %s swallowed is posted again', async (_what, fault) => {
    const { fake } = await runSlack();
    fake.fail('chat.postMessage', fault);
    fake.fail('chat.update', fault);
    await fake.slash('/ask', 'once at least');
    await answered(fake, CHANNEL, await threadOfAsk(fake));
    expect(fake.messages(CHANNEL)).toHaveLength(1);
  });

  test('the end of an answer is shown in the end', async () => {
    const { fake } = await runSlack();
    fake.fail('chat.update', { kind: 'status', status: 500 }, { times: 2 });
    await fake.slash('/ask', 'anything');
    const [answer] = await answered(fake, CHANNEL, await threadOfAsk(fake));
    expect(answer).toContain('Hello from the fake provider.');
  });

  test('an answer whose message was deleted stops the model, and tells the person why', async () => {
    const { fake, bot } = await runSlack();
    bot.provider.answerWith(Array(4_000).fill('word '), { chunkMs: 50 });
    await fake.slash('/ask', 'a long story');
    const thread = await threadOfAsk(fake);
    await eventually(() => fake.thread(CHANNEL, thread).some(({ edits }) => edits > 0));
    fake.channel(CHANNEL).messages.length = 1;
    await eventually(() => bot.provider.calls[0]?.aborted);
    expect(await eventually(() => fake.whispers(CHANNEL).at(-1))).toMatch(/message was deleted/);
  });
});

test('a private answer that takes longer than its response address lasts is shown all the same', async () => {
  const { fake, bot } = await runSlack();
  bot.provider.answerWith('Light is scattered.');
  const release = bot.provider.holdAnswers();
  await fake.slash('/ask', 'private=true why is the sky blue?');
  await eventually(() => bot.provider.calls.length === 1);
  fake.clock.advance(31 * 60_000);
  release();
  await eventually(() =>
    fake.whispers(CHANNEL).some((text) => text.includes('Light is scattered.')),
  );
  expect(fake.calls.some(({ method }) => method === 'chat.postEphemeral')).toBe(true);
});
