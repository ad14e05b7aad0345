import { expect, test } from 'vitest';
import { CHANNEL, type Fault, type SlackFake, startSlack } from '../fakes/slack.ts';
import { labelsOf } from '../fakes/slack-buttons.ts';
import { shownText } from '../fakes/slack-limits.ts';
import type { Message } from '../fakes/slack-workspace.ts';
import { eventually } from '../support/eventually.ts';
import { runSlack } from './running-slack.ts';

const DIRECT = 'D00ADA';
const WHOLE = ['Regenerate', '👍', '👎'];

/** A workspace with a direct conversation, and the bot in it. */
async function runDirect(options: Parameters<typeof runSlack>[0] = {}) {
  const running = await runSlack(options);
  running.fake.addChannel({ id: DIRECT });
  return running;
}

/** The messages of the bot in a thread once the last has these buttons. */
async function shows(fake: SlackFake, channel: string, thread: string, labels: string[]) {
  return await eventually(
    () => {
      const shown = ours(fake, channel, thread);
      return labelsOf(shown.at(-1) ?? {}).join() === labels.join() && shown;
    },
    { what: `the buttons ${labels.join(', ')} in ${channel}` },
  );
}

const ours = (fake: SlackFake, channel: string, thread: string): Message[] =>
  fake.thread(channel, thread).filter(({ bot_id }) => bot_id);

const methods = (fake: SlackFake) => fake.calls.map(({ method }) => method);
const failed = (fake: SlackFake) => fake.calls.filter(({ outcome }) => outcome !== 'ok');

/** A text of so many characters, in numbered words and paragraphs, by which it is known whether all of it is there. */
function textOf(characters: number): string {
  let text = '';
  for (let n = 0; text.length < characters; n += 1) text += n % 40 === 39 ? `${n}.\n\n` : `${n} `;
  return text.slice(0, characters);
}

const bare = (text: string) => text.replace(/\s+/g, '');

/** What the messages show, without what stands under the last of them. */
const proseOf = (shown: Message[]) =>
  bare(
    shown
      .map(({ text, blocks }) => {
        const list = (blocks ?? []) as { type: string; text?: string }[];
        const prose = list.find(({ type }) => type === 'markdown');
        return prose ? prose.text : text;
      })
      .join('\n'),
  );

test.each([
  [DIRECT, 1],
  [DIRECT, 3_999],
  [DIRECT, 12_001],
  [DIRECT, 100_000],
  [CHANNEL, 1],
  [CHANNEL, 3_999],
  [CHANNEL, 12_001],
  [CHANNEL, 100_000],
])('in %s an answer of %i characters is shown whole and in order', async (channel, size) => {
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
});

test('in a direct message the first text begins a stream, and the end has the footer', async () => {
  const { fake, bot } = await runDirect();
  bot.provider.answerWith(['Light ', 'is ', '**scattered**.']);
  const goOn = bot.provider.holdChunks(1);
  const thread = fake.say('why is the sky blue?', { channel: DIRECT });
  const [growing] = await eventually(() => {
    const shown = ours(fake, DIRECT, thread);
    return shown[0]?.streaming && shown;
  });
  expect(growing?.text).toBe('Light ');
  goOn();
  const [whole, ...more] = await shows(fake, DIRECT, thread, WHOLE);
  expect(more).toEqual([]);
  expect(whole?.ts).toBe(growing?.ts);
  expect(shownText(whole ?? { text: '' })).toMatch(/^Light is \*\*scattered\*\*\.\ntest-model · /);
  expect(methods(fake)).not.toContain('chat.postMessage');
  expect(fake.calls.find(({ method }) => method === 'chat.startStream')?.args).toMatchObject({
    recipient_team_id: 'T00FAKE',
    recipient_user_id: 'U00ADA',
  });
});

test('/ask in a direct conversation is streamed under the question', async () => {
  const { fake, bot } = await runDirect();
  bot.provider.answerWith('Light is scattered.');
  await fake.slash('/ask', 'why is the sky blue?', { channel: DIRECT });
  const { ts } = await eventually(() => fake.messages(DIRECT)[0]);
  const [answer] = await shows(fake, DIRECT, ts, WHOLE);
  expect(shownText(answer ?? { text: '' })).toContain('Light is scattered.');
  expect(methods(fake)).toContain('chat.startStream');
});

test('an answer without a word is a message that says why', async () => {
  const { fake, bot } = await runDirect();
  bot.provider.failWith({ kind: 'status', status: 400 });
  const thread = fake.say('why?', { channel: DIRECT });
  const [answer] = await shows(fake, DIRECT, thread, ['Try again']);
  expect(shownText(answer ?? { text: '' })).toContain('⚠️');
  expect(methods(fake)).not.toContain('chat.startStream');
});

test('what the model says pings nobody at any moment, however it is cut into pieces', async () => {
  const { fake, bot } = await runDirect();
  const hostile = [
    '<',
    '!chan',
    'nel> <',
    '@',
    'U00ADA> @',
    'he',
    're &l',
    't;!here> <!sub',
    'team^S1',
  ];
  bot.provider.answerWith([...hostile, '|x> <https://a.example|a>']);
  // One piece after the other, each of which Slack has to take.
  let goOn = bot.provider.holdChunks(0);
  const thread = fake.say('greet', { channel: DIRECT });
  for (let sent = 1; sent <= hostile.length; sent += 1) {
    const next = bot.provider.holdChunks(sent);
    goOn();
    goOn = next;
    await eventually(() => bot.provider.calls[0]?.sentChunks === sent);
  }
  goOn();
  const [answer] = await shows(fake, DIRECT, thread, WHOLE);
  expect(answer?.called).toEqual([]);
  expect(shownText(answer ?? { text: '' })).toContain('<https://a.example|a>');
  for (const { args } of fake.calls.filter(({ method }) => method.endsWith('Stream'))) {
    expect(String(args.markdown_text ?? '')).not.toMatch(/<[!@]|@here|@channel/);
  }
});

const LOST: [string, string, Fault][] = [
  'chat.startStream',
  'chat.appendStream',
  'chat.stopStream',
].flatMap((method): [string, string, Fault][] => [
  [method, 'a 500 that was stored', { kind: 'status', status: 500, stored: true }],
  [method, 'a 500', { kind: 'status', status: 500 }],
  [method, 'a cut connection that was stored', { kind: 'drop', stored: true }],
  [method, 'a cut connection', { kind: 'drop' }],
  [method, 'msg_too_long', { kind: 'error', error: 'msg_too_long' }],
  [method, 'internal_error', { kind: 'error', error: 'internal_error' }],
  [method, 'a limit', { kind: 'limited', retryAfterSeconds: 1 }],
]);

/** Asks; the answer comes in three parts, each once the one before is shown. Gives what is shown in the end. */
async function askInThree({ fake, bot }: Awaited<ReturnType<typeof runDirect>>, text: string) {
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

test.each(LOST)('nothing is lost or doubled when %s meets %s', async (method, _what, fault) => {
  const running = await runDirect();
  running.fake.fail(method, fault);
  const text = textOf(9_000);
  const shown = await askInThree(running, text);
  expect(failed(running.fake).map((call) => call.method)).toContain(method);
  expect(proseOf(shown)).toBe(bare(text));
  expect(shown.filter(({ streaming }) => streaming)).toEqual([]);
  await eventually(() => [...running.fake.sessions.values()][0]?.status === 'active');
});

test('a call that hangs is given up, and the answer shown all the same', async () => {
  const running = await runDirect();
  running.fake.fail('chat.appendStream', { kind: 'hang', stored: true });
  const text = textOf(3_000);
  expect(proseOf(await askInThree(running, text))).toBe(bare(text));
});

test.each(['unknown_method', 'not_allowed', 'missing_scope', 'channel_type_not_supported'])(
  'where Slack refuses to stream with %s, answers are edited as in channels',
  async (error) => {
    const running = await runDirect();
    const { fake } = running;
    fake.fail('chat.startStream', { kind: 'error', error });
    const text = textOf(5_000);
    expect(proseOf(await askInThree(running, text))).toBe(bare(text));
    expect(methods(fake)).not.toContain('chat.stopStream');
  },
);

test('a stream that Slack ended after five minutes goes on by edits, with a button to stop it', async () => {
  const { fake, bot } = await runDirect();
  bot.provider.answerWith(['one ', 'two ', 'three ', 'four.']);
  let goOn = bot.provider.holdChunks(1);
  const thread = fake.say('count', { channel: DIRECT });
  await eventually(() => ours(fake, DIRECT, thread)[0]?.streaming);
  fake.expireStreams();
  const end = bot.provider.holdChunks(2);
  goOn();
  goOn = end;
  const [edited] = await shows(fake, DIRECT, thread, ['Stop']);
  expect(shownText(edited ?? { text: '' })).toMatch(/^one two\nWriting…/);
  goOn();
  const [whole, ...more] = await shows(fake, DIRECT, thread, WHOLE);
  expect(shownText(whole ?? { text: '' })).toMatch(/^one two three four\./);
  expect(more).toEqual([]);
});

test('an answer that ends after Slack ended its stream is shown whole', async () => {
  const { fake, bot } = await runDirect();
  bot.provider.answerWith(['one ', 'two.']);
  const goOn = bot.provider.holdChunks(1);
  const thread = fake.say('count', { channel: DIRECT });
  await eventually(() => ours(fake, DIRECT, thread)[0]?.streaming);
  fake.expireStreams();
  goOn();
  const shown = await shows(fake, DIRECT, thread, WHOLE);
  expect(shown.map(shownText)).toEqual([expect.stringMatching(/^one two\./)]);
});

test('an old stream gives way to a further one before Slack ends it', async () => {
  const { fake, bot } = await runDirect({ streamMs: 1 });
  bot.provider.answerWith(['one ', 'two\n', 'three ', 'four\n', 'five.']);
  const goOn = bot.provider.holdChunks(1);
  const thread = fake.say('count', { channel: DIRECT });
  await eventually(() => ours(fake, DIRECT, thread)[0]?.streaming);
  goOn();
  const shown = await shows(fake, DIRECT, thread, WHOLE);
  expect(shown.length).toBeGreaterThan(1);
  expect(proseOf(shown)).toBe('onetwothreefourfive.');
  expect(failed(fake)).toEqual([]);
  const goesOn = fake.calls
    .filter(({ method }) => method === 'chat.stopStream')
    .map(({ args }) => args.session_status);
  expect(goesOn).toEqual([...Array(shown.length - 1).fill('processing'), undefined]);
});

test('a code block that a stream cannot hold is closed and opened again in the next', async () => {
  const { fake, bot } = await runDirect();
  bot.provider.answerWith(`\`\`\`ts\n${'const a = 1;\n'.repeat(1_200)}\`\`\``);
  const thread = fake.say('code', { channel: DIRECT });
  const shown = await shows(fake, DIRECT, thread, WHOLE);
  expect(shown).toHaveLength(2);
  for (const message of shown) expect(shownText(message)).toMatch(/^```ts\n[^`]*```(?:\n|$)/);
});

test('an answer whose stream was deleted stops the model', async () => {
  const { fake, bot } = await runDirect();
  bot.provider.answerWith(Array(4_000).fill('word '), { chunkMs: 50 });
  const thread = fake.say('a long story', { channel: DIRECT });
  const { ts } = await eventually(() => ours(fake, DIRECT, thread)[0]);
  fake.remove(DIRECT, ts);
  await eventually(() => bot.provider.calls[0]?.aborted);
});

test('a stop of the program cuts a stream with a note, and leaves none open', async () => {
  const { fake, bot, slack } = await runDirect();
  bot.provider.answerWith(Array(4_000).fill('word '), { chunkMs: 50 });
  const thread = fake.say('a long story', { channel: DIRECT });
  await eventually(() => ours(fake, DIRECT, thread)[0]?.streaming);
  await Promise.all([bot.bot.stop(), slack.stop()]);
  const [cut] = ours(fake, DIRECT, thread);
  expect(cut?.streaming).toBe(false);
  expect(shownText(cut ?? { text: '' })).toMatch(/^word [\s\S]*⚠️ Askwatch is restarting/);
  expect([...fake.sessions.values()]).toMatchObject([{ status: 'active' }]);
});

test('after a lost start, a stream of an earlier answer in the thread is left alone', async () => {
  const fake = await startSlack();
  const running = await runDirect({ fake });
  running.bot.provider.answerWith('First.');
  const thread = fake.say('one', { channel: DIRECT });
  await shows(fake, DIRECT, thread, WHOLE);
  running.bot.provider.answerWith('Second.');
  fake.fail('chat.startStream', { kind: 'drop' });
  fake.say('two', { channel: DIRECT, threadTs: thread });
  const shown = await eventually(() => {
    const all = ours(fake, DIRECT, thread);
    return all.length === 2 && labelsOf(all[1] ?? {}).length === 3 && all.map(shownText);
  });
  expect(shown).toEqual([expect.stringMatching(/^First\./), expect.stringMatching(/^Second\./)]);
});

test('after a lost start, what was streamed since the question was asked is left alone', async () => {
  const { fake, bot } = await runDirect();
  bot.provider.answerWith(['First', '.']);
  const begin = bot.provider.holdAnswers();
  const end = bot.provider.holdChunks(1);
  const thread = fake.say('one', { channel: DIRECT });
  await eventually(() => bot.provider.calls.length === 1);
  fake.say('two', { channel: DIRECT, threadTs: thread });
  await eventually(() => fake.acks.length === 2);
  begin();
  await eventually(() => ours(fake, DIRECT, thread)[0]?.streaming);
  fake.fail('chat.startStream', { kind: 'drop' });
  bot.provider.answerWith('Second.');
  end();
  const shown = await eventually(() => {
    const all = ours(fake, DIRECT, thread);
    return all.length === 2 && labelsOf(all[1] ?? {}).length === 3 && all.map(shownText);
  });
  expect(shown).toEqual([expect.stringMatching(/^First\./), expect.stringMatching(/^Second\./)]);
});
