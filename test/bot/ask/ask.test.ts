import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { AnswerPart } from '../../../src/bot/shared/invocation.ts';
import type { Fault, ProviderCall } from '../../fakes/model-provider.ts';
import { CHANNEL, readAnswer, startTestBot } from '../../helpers/bot.ts';
import { eventually } from '../../helpers/eventually.ts';
import { long } from '../../helpers/long.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

/** The messages of a request as `role: text` lines, without the system prompt. */
function promptOf({ body }: ProviderCall): string[] {
  const messages: Array<{ role: string; content: string }> = body.messages;
  return messages
    .filter(({ role }) => role !== 'system')
    .map(({ role, content }) => `${role}: ${content}`);
}

test('streams the answer and says which model gave it and how long it took', async () => {
  const { say, provider } = await startTestBot();
  provider.answerWith(['The sky ', 'is blue.']);
  const { text, end } = await readAnswer(await say('/ask why is the sky blue?'), 't1');
  expect(text).toBe('The sky is blue.');
  expect(end.note).toBeUndefined();
  expect(end.footer).toMatch(/^test-model · \d+\.\d s/);
  expect(provider.calls[0]?.body).toMatchObject({ model: 'test-model', stream: true });
});

test('does nothing before the answer is read', async () => {
  const { say, provider, bot } = await startTestBot();
  const reply = await say('/ask hello');
  expect(reply).toMatchObject({ kind: 'answer', question: 'hello', private: false });
  expect(provider.calls).toEqual([]);
  expect(await bot.isConversation(CHANNEL, 't1')).toBe(false);
  await readAnswer(reply, 't1');
  expect(provider.calls).toHaveLength(1);
  expect(await bot.isConversation(CHANNEL, 't1')).toBe(true);
});

test('sends what was said in the thread with a follow-up, and nothing of other threads', async () => {
  const { say, provider } = await startTestBot();
  provider.answerWith('First.');
  await readAnswer(await say('/ask one'), 't1');
  provider.answerWith('Second.');
  await readAnswer(await say('/ask two', { thread: 't1' }), 't1');
  await readAnswer(await say('/ask other'), 't2');
  expect(provider.calls.map(promptOf)).toEqual([
    ['user: one'],
    ['user: one', 'assistant: First.', 'user: two'],
    ['user: other'],
  ]);
});

test('remembers a thread across a restart', async () => {
  const folder = await temporaryFolder();
  const first = await startTestBot({ folder });
  first.provider.answerWith('First.');
  await readAnswer(await first.say('/ask one'), 't1');
  await first.stop();
  const second = await startTestBot({ folder });
  await readAnswer(await second.say('/ask two'), 't1');
  expect(second.provider.calls.map(promptOf)).toEqual([
    ['user: one', 'assistant: First.', 'user: two'],
  ]);
});

test('forgets a private answer', async () => {
  const { say, provider } = await startTestBot();
  const reply = await say('/ask private=true secret?');
  expect(reply).toMatchObject({ private: true });
  await readAnswer(reply);
  await readAnswer(await say('/ask again'));
  expect(provider.calls.map(promptOf)).toEqual([['user: secret?'], ['user: again']]);
});

test('answers one question at a time per thread, in the order they were asked', async () => {
  const { bot, say, provider } = await startTestBot();
  provider.answerWith((body) => `Answer to ${body.messages.at(-1).content}.`);
  const release = provider.holdChunks();
  const answers: ReturnType<typeof readAnswer>[] = [];
  for (const word of ['one', 'two', 'three']) {
    answers.push(readAnswer(await say(`/ask ${word}`), 't1'));
    // The order is that in which they are begun, and to note that takes as long as the disk does.
    await eventually(async () => (await bot.answersIn(CHANNEL, 't1')).length === answers.length);
  }
  const elsewhere = readAnswer(await say('/ask elsewhere'), 't2');
  await eventually(() => provider.calls.length === 2);
  release();
  const texts = (await Promise.all(answers)).map(({ text }) => text);
  expect(texts).toEqual(['Answer to one.', 'Answer to two.', 'Answer to three.']);
  await elsewhere;
  expect(provider.calls.map(promptOf).filter((prompt) => prompt.length > 1)).toEqual([
    ['user: one', 'assistant: Answer to one.', 'user: two'],
    [
      'user: one',
      'assistant: Answer to one.',
      'user: two',
      'assistant: Answer to two.',
      'user: three',
    ],
  ]);
});

test('refuses politely when too many questions wait in one thread', async () => {
  const { say, provider } = await startTestBot();
  const release = provider.holdChunks();
  const first = readAnswer(await say('/ask first'), 't1');
  await eventually(() => provider.calls.length === 1);
  const waiting = Array.from({ length: 6 }, async () => readAnswer(await say('/ask more'), 't1'));
  const refused = await Promise.race(waiting);
  expect(refused).toMatchObject({
    text: '',
    end: { note: expect.stringContaining('5 questions') },
  });
  release();
  await first;
  const notes = (await Promise.all(waiting)).map(({ end }) => end.note);
  expect(notes.filter((note) => note === undefined)).toHaveLength(5);
});

const FAILURES: Array<{ fault: Fault; text: string; note: RegExp; isRare?: boolean }> = [
  { fault: { kind: 'reset' }, text: '', note: /cannot be reached/ },
  {
    fault: { kind: 'status', status: 400 },
    text: '',
    note: /rejected this: Fault 400/,
    isRare: true,
  },
  { fault: { kind: 'status', status: 401 }, text: '', note: /GATEWAY_API_KEY/ },
  {
    fault: { kind: 'status', status: 429, headers: { 'retry-after': '90' } },
    text: '',
    note: /Try again in 1 minute 30 seconds/,
  },
  { fault: { kind: 'status', status: 503 }, text: '', note: /error \(503\)/, isRare: true },
  { fault: { kind: 'html' }, text: '', note: /cannot be read/, isRare: true },
  { fault: { kind: 'cut', afterChunks: 1 }, text: 'One ', note: /./, isRare: true },
  { fault: { kind: 'no-reason' }, text: 'One two', note: /cut off/ },
  {
    fault: { kind: 'error-event', afterChunks: 1 },
    text: 'One ',
    note: /^The model crashed\. Ask again\.$/,
  },
];

test.each(FAILURES.filter(({ isRare }) => long || !isRare))(
  'says what happened when the gateway fails with $fault, and remembers nothing',
  async (row) => {
    const { say, provider } = await startTestBot();
    await readAnswer(await say('/ask warm up'), 't0');
    provider.answerWith(['One ', 'two']);
    provider.failWith(row.fault);
    const { text, end } = await readAnswer(await say('/ask one'), 't1');
    expect(text).toBe(row.text);
    expect(end.note).toMatch(row.note);
    provider.recover();
    await readAnswer(await say('/ask two'), 't1');
    expect(promptOf(provider.calls.at(-1) ?? fail())).toEqual(['user: two']);
  },
);

test('ends a stalled answer with what came and a note, and lets the next question in', async () => {
  const { say, provider } = await startTestBot({ settings: { askStallMs: 2_000 } });
  provider.answerWith(['One ', 'two']);
  provider.failWith({ kind: 'stall', afterChunks: 1 }, 1);
  const stalled = await readAnswer(await say('/ask one'), 't1');
  expect(stalled.text).toBe('One ');
  expect(stalled.end.note).toBeDefined();
  await eventually(() => provider.calls[0]?.aborted);
  const next = await readAnswer(await say('/ask two'), 't1');
  expect(next.text).toBe('One two');
});

test('does not call slow showing a stall', async () => {
  const { say, provider } = await startTestBot({ settings: { askStallMs: 2_000 } });
  provider.answerWith(['One ', 'two ', 'three']);
  const reply = await say('/ask one');
  if (reply.kind !== 'answer') throw new Error('no answer');
  const parts: AnswerPart[] = [];
  for await (const part of reply.stream('t1')) {
    parts.push(part);
    if (parts.length === 1) await pause(2_400);
  }
  expect(parts.at(-1)).toMatchObject({ note: undefined });
  expect(parts).toHaveLength(4);
});

test('cuts an endless answer at a bound and closes the call', async () => {
  const { say, provider } = await startTestBot();
  provider.failWith({ kind: 'endless' }, 1);
  const { text, end } = await readAnswer(await say('/ask for ever'), 't1');
  expect(text).toHaveLength(100_000);
  expect(end.note).toMatch(/longer than/);
  await eventually(() => provider.calls[0]?.aborted);
});

test('stops with a note when the platform aborts, and the call at the service ends', async () => {
  const { say, provider } = await startTestBot();
  provider.failWith({ kind: 'stall', afterChunks: 1 }, 1);
  const controller = new AbortController();
  const answer = readAnswer(await say('/ask one'), 't1', controller.signal);
  await eventually(() => provider.calls.length === 1);
  controller.abort();
  expect((await answer).end.note).toMatch(/^Stopped/);
  await eventually(() => provider.calls[0]?.aborted);
});

test('ends answers with a note when the bot stops, those that wait too, and takes no more', async () => {
  const { say, provider, bot } = await startTestBot();
  provider.failWith({ kind: 'stall', afterChunks: 1 });
  const answers = ['one', 'two'].map(async (word) => readAnswer(await say(`/ask ${word}`), 't1'));
  await eventually(() => provider.calls.length === 1);
  await bot.stop();
  for (const answer of answers) expect((await answer).end.note).toMatch(/restarting/);
  const late = await readAnswer(await say('/ask late'), 't1');
  expect(late.end.note).toMatch(/restarting/);
  expect(provider.calls).toHaveLength(1);
});

test('lets an answer that is about to end be whole when the bot stops', async () => {
  const { say, provider, bot } = await startTestBot();
  const release = provider.holdChunks();
  const answer = readAnswer(await say('/ask one'), 't1');
  await eventually(() => provider.calls.length === 1);
  const stopping = bot.stop();
  release();
  expect((await answer).end.note).toBeUndefined();
  await stopping;
});

test('gives the turn to the next when a platform stops reading halfway', async () => {
  const { say, provider } = await startTestBot();
  provider.answerWith(['One ', 'two']);
  const reply = await say('/ask one');
  if (reply.kind !== 'answer') throw new Error('no answer');
  for await (const _part of reply.stream('t1')) break;
  await readAnswer(await say('/ask two'), 't1');
  expect(promptOf(provider.calls.at(-1) ?? fail())).toEqual(['user: two']);
});

test('uses the model that is named, whatever its letter case, and says which there are otherwise', async () => {
  const { say, provider } = await startTestBot();
  await readAnswer(await say('/ask model=TEST-vision what is this?'));
  expect(provider.calls[0]?.body.model).toBe('test-vision');
  const { end } = await readAnswer(await say('/ask model=gpt-9 what is this?'));
  expect(end.note).toContain(
    'No text model called “gpt-9”. Choose one of: test-model, test-vision',
  );
  expect(provider.calls).toHaveLength(1);
});

test('says that a question is too long for the model instead of sending it', async () => {
  const { say, provider } = await startTestBot({
    models: [{ id: 'tiny', context_length: 200, kind: 'text' }],
  });
  const { end } = await readAnswer(await say(`/ask ${'word '.repeat(300)}`), 't1');
  expect(end.note).toMatch(/too long for tiny/);
  expect(provider.calls).toEqual([]);
});

test('notes an answer that the model ended at its length limit, and remembers it', async () => {
  const { say, provider } = await startTestBot();
  provider.answerWith('Long', { finishReason: 'length' });
  const { end } = await readAnswer(await say('/ask one'), 't1');
  expect(end.note).toMatch(/Ask it to continue/);
  await readAnswer(await say('/ask go on'), 't1');
  expect(promptOf(provider.calls.at(-1) ?? fail())).toContain('assistant: Long');
});

test('shows no key that a service repeats in its error', async () => {
  const { say, provider } = await startTestBot();
  const message = `Bad key sk-abcdefghijklmnop1234 or Bearer abc.def in awg_${'a'.repeat(40)}`;
  provider.failWith({ kind: 'status', status: 400, body: { error: { message, type: 'x' } } });
  const { end } = await readAnswer(await say('/ask one'));
  expect(end.note).toContain('Bad key [secret]');
  expect(end.note).not.toMatch(/abcdefgh|abc\.def|aaaa/);
});

function fail(): never {
  throw new Error('The model was not called.');
}
