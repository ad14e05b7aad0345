import { expect, test } from 'vitest';
import { labelsOf } from '../../fakes/slack/buttons.ts';
import { shownText } from '../../fakes/slack/limits.ts';
import { CHANNEL, type Fault, startSlack } from '../../fakes/slack/slack.ts';
import { eventually } from '../../helpers/eventually.ts';
import { holdTimers } from '../../helpers/hold-timers.ts';
import {
  askInThree,
  bare,
  DIRECT,
  editsInstead,
  failed,
  losesNothing,
  methods,
  ours,
  proseOf,
  runDirect,
  shows,
  showsWhole,
  textOf,
  WHOLE,
} from '../../helpers/slack/streaming-runs.ts';

test.each([
  [DIRECT, 12_001],
  [CHANNEL, 12_001],
])('in %s an answer of %i characters is shown whole and in order', showsWhole);

test('a direct answer is a stream with a footer at its end', async () => {
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
  // Slack must accept each piece.
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
test.each<[string, string, Fault]>([
  ['chat.startStream', 'a cut connection that was stored', { kind: 'drop', stored: true }],
  ['chat.startStream', 'a limit', { kind: 'limited', retryAfterSeconds: 1 }],
  ['chat.appendStream', 'a 500 that was stored', { kind: 'status', status: 500, stored: true }],
  ['chat.appendStream', 'msg_too_long', { kind: 'error', error: 'msg_too_long' }],
  ['chat.stopStream', 'a cut connection', { kind: 'drop' }],
])('nothing is lost or doubled when %s meets %s', losesNothing);

test('a call that hangs is given up, and the answer shown all the same', async () => {
  const running = await runDirect();
  running.fake.fail('chat.appendStream', { kind: 'hang', stored: true });
  const calls = holdTimers(10_000);
  const text = textOf(3_000);
  const asked = askInThree(running, text);
  await eventually(() => running.fake.calls.some(({ outcome }) => outcome === 'hang'));
  calls.expire();
  expect(proseOf(await asked)).toBe(bare(text));
});

test('answers grow by edits if Slack refuses to stream', async () => {
  await editsInstead('unknown_method');
});

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
  const { fake, bot, slack } = await runDirect({ drainMs: 60_000 });
  bot.provider.answerWith(Array(4_000).fill('word '), { chunkMs: 50 });
  const thread = fake.say('a long story', { channel: DIRECT });
  await eventually(() => ours(fake, DIRECT, thread)[0]?.streaming);
  await Promise.all([bot.bot.stop(), slack.stop()]);
  const [cut] = ours(fake, DIRECT, thread);
  expect(cut?.streaming).toBe(false);
  expect(shownText(cut ?? { text: '' })).toMatch(/^word [\s\S]*⚠️ Askwatch is restarting/);
  expect([...fake.sessions.values()]).toMatchObject([{ status: 'active' }]);
});

test('a lost start leaves the stream of an earlier answer alone', async () => {
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
