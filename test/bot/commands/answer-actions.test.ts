import { describe, expect, test } from 'vitest';
import { underBroken } from '../../../src/bot/ask/answer-buttons.ts';
import { type CardAction, encodeAction } from '../../../src/bot/shared/card.ts';
import type { Reply } from '../../../src/bot/shared/invocation.ts';
import type { Person } from '../../../src/bot/shared/place.ts';
import { asKilled } from '../../helpers/after-kill.ts';
import { CHANNEL, cardOf, readAnswer, startTestBot, textOf } from '../../helpers/bot.ts';
import { eventually } from '../../helpers/eventually.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const ada: Person = { id: 'U1', name: 'Ada <!here>' };
const grace: Person = { id: 'U2', name: 'Grace' };

let invocations = 0;

async function start(options: Parameters<typeof startTestBot>[0] = {}) {
  const running = await startTestBot(options);
  const handle = (
    request: { line: string } | { command: string; values: Record<string, unknown> },
    { thread, person = ada, pressed }: { thread?: string; person?: Person; pressed?: string } = {},
  ) =>
    running.bot.dispatch({
      id: `answers:${++invocations}`,
      request,
      place: CHANNEL,
      person,
      thread,
      pressed,
    });
  async function ask(line: string, thread?: string) {
    return await readAnswer(await handle({ line: `/ask ${line}` }, { thread }), thread);
  }
  const press = (
    actions: readonly CardAction[] | undefined,
    label: string,
    where: { thread?: string; person?: Person } = {},
  ): Promise<Reply> => {
    const action = actions?.find((one) => one.label === label);
    if (!action) throw new Error(`There is no button ${label}.`);
    // Every platform can carry it.
    encodeAction(action);
    return handle(
      { command: action.command, values: action.values },
      { ...where, pressed: `message of ${where.thread}` },
    );
  };
  /** What the model was told last, but for the system prompt. */
  const told = () => {
    const messages: Array<{ role: string; content: string }> =
      running.provider.calls.at(-1)?.body.messages ?? [];
    return messages.filter(({ role }) => role !== 'system').map(({ content }) => content);
  };
  return { ...running, handle, ask, press, told };
}

const labels = (actions: readonly CardAction[] | undefined) => actions?.map(({ label }) => label);

test('anybody can stop an answer, which says who did, and a stopped answer is not remembered', async () => {
  const { provider, handle, press, ask, told } = await start();
  provider.answerWith(['one ', 'two '], { chunkMs: 1 });
  provider.failWith({ kind: 'stall', afterChunks: 2 });
  const reply = await handle({ line: '/ask count' }, { thread: 'T1' });
  if (reply.kind !== 'answer') throw new Error('no answer');
  expect(labels(reply.actions)).toEqual(['Stop']);
  const reading = readAnswer(reply, 'T1');
  await eventually(() => provider.calls.length === 1);
  expect(await press(reply.actions, 'Stop', { thread: 'T1', person: grace })).toEqual({
    kind: 'nothing',
  });
  const { end } = await reading;
  expect(end.note).toBe('Stopped by Grace.');
  expect(labels(end.actions)).toEqual(['Try again']);
  const late = cardOf(await press(reply.actions, 'Stop', { thread: 'T1' }));
  expect(textOf(late)).toContain('This answer has already ended.');
  provider.recover();
  await ask('two', 'T1');
  expect(told()).toEqual(['two']);
});

test('an answer that broke off is tried again with the same question and model', async () => {
  const { provider, ask, press, told } = await start();
  provider.failWith({ kind: 'status', status: 500 });
  const broken = await ask('model=test-vision why?', 'T1');
  provider.recover();
  const again = await readAnswer(
    await press(broken.end.actions, 'Try again', { thread: 'T1' }),
    'T1',
  );
  expect(again.end.note).toBeUndefined();
  expect(provider.calls.at(-1)?.body.model).toBe('test-vision');
  expect(told()).toEqual(['why?']);
  expect(labels(again.end.actions)).toEqual(['Regenerate', '👍', '👎']);
});

test('an answer is made anew in place of the first, only while it is the last, also after a restart', async () => {
  const folder = await temporaryFolder();
  const first = await start({ folder });
  first.provider.answerWith('First.');
  await first.ask('one', 'T1');
  const second = await first.ask('two', 'T1');
  await first.stop();
  const later = await start({ folder });
  later.provider.answerWith('Another.');
  const again = await readAnswer(
    await later.press(second.end.actions, 'Regenerate', { thread: 'T1', person: grace }),
    'T1',
  );
  expect(again.text).toBe('Another.');
  expect(later.told()).toEqual(['one', 'First.', 'two']);
  const late = cardOf(await later.press(second.end.actions, 'Regenerate', { thread: 'T1' }));
  expect(textOf(late)).toContain('Grace pressed this first. The result is below this answer.');
  await later.ask('three', 'T1');
  expect(later.told()).toEqual(['one', 'First.', 'two', 'Another.', 'three']);
  const stale = cardOf(await later.press(again.end.actions, 'Regenerate', { thread: 'T1' }));
  expect(textOf(stale)).toContain('Only the last answer in a thread can be regenerated');
});

test('an answer that reached the longest its model gives can go on', async () => {
  const { provider, ask, press, told } = await start();
  provider.answerWith('Half', { finishReason: 'length' });
  const half = await ask('tell all', 'T1');
  expect(labels(half.end.actions)).toEqual(['Continue', 'Regenerate', '👍', '👎']);
  provider.answerWith(' and half.');
  const rest = await press(half.end.actions, 'Continue', { thread: 'T1' });
  expect((await readAnswer(rest, 'T1')).text).toBe(' and half.');
  expect(told()).toEqual(['tell all', 'Half', 'Continue exactly where you stopped.']);
  const late = await press(half.end.actions, 'Continue', { thread: 'T1', person: grace });
  expect(textOf(cardOf(late))).toContain('Ada <!here> pressed this first.');
  provider.answerWith('Half', { finishReason: 'length' });
  const other = await ask('tell more', 'T1');
  await ask('and then?', 'T1');
  const stale = cardOf(await press(other.end.actions, 'Continue', { thread: 'T1' }));
  expect(textOf(stale)).toContain('Only the last answer in a thread can be continued');
});

test('a private answer is shared once, by whom it was shown to, and its thread remembers it', async () => {
  const { provider, ask, press, told } = await start();
  provider.answerWith('Quietly.');
  const { end } = await ask('private=true why?');
  expect(labels(end.actions)).toEqual(['Share', '👍', '👎']);
  const stranger = cardOf(await press(end.actions, 'Share', { person: grace }));
  expect(textOf(stranger)).toContain('can no longer be shared');
  const shared = await press(end.actions, 'Share');
  expect(shared).toMatchObject({ kind: 'answer', private: false, question: 'why?' });
  const { text, end: sharedEnd } = await readAnswer(shared, 'T5');
  expect(text).toBe('Quietly.');
  expect(sharedEnd.footer).toBe(end.footer);
  expect(labels(sharedEnd.actions)).toEqual(['Regenerate', '👍', '👎']);
  expect(await press(end.actions, 'Share')).toEqual({ kind: 'nothing' });
  await ask('and then?', 'T5');
  expect(told()).toEqual(['why?', 'Quietly.', 'and then?']);
});

test('a private answer that broke off has no buttons', async () => {
  const { provider, ask } = await start();
  provider.failWith({ kind: 'status', status: 500 });
  const { end } = await ask('private=true why?');
  expect(end.note).toBeDefined();
  expect(end.actions ?? []).toEqual([]);
});

test('while a later question is answered, nothing before it is made anew or goes on', async () => {
  const { provider, handle, ask, press, told } = await start();
  provider.answerWith('Half', { finishReason: 'length' });
  const first = await ask('one', 'T1');
  const letGo = provider.holdChunks(0);
  const later = readAnswer(await handle({ line: '/ask two' }, { thread: 'T1' }), 'T1');
  await eventually(() => provider.calls.length === 2);
  for (const label of ['Regenerate', 'Continue']) {
    const refused = cardOf(await press(first.end.actions, label, { thread: 'T1', person: grace }));
    expect(textOf(refused)).toContain('A later question is being answered in this thread.');
  }
  letGo();
  await later;
  expect(provider.calls).toHaveLength(2);
  expect(told()).toEqual(['one', 'Half', 'two']);
  await ask('three', 'T1');
  expect(told()).toEqual(['one', 'Half', 'two', 'Half', 'three']);
});

test('a question asked between a press and its turn comes first, and the press asks nothing', async () => {
  const { provider, ask, press, handle, told } = await start();
  const first = await ask('one', 'T1');
  const again = await press(first.end.actions, 'Regenerate', { thread: 'T1' });
  const letGo = provider.holdChunks(0);
  const later = readAnswer(await handle({ line: '/ask two' }, { thread: 'T1' }), 'T1');
  await eventually(() => provider.calls.length === 2);
  const tooLate = readAnswer(again, 'T1');
  letGo();
  const { text, end } = await later;
  expect((await tooLate).end).toMatchObject({
    note: expect.stringContaining('Another question in this thread came first'),
    actions: [],
  });
  expect(provider.calls).toHaveLength(2);
  await ask('three', 'T1');
  expect(told()).toEqual(['one', first.text, 'two', text, 'three']);
  // It left no question of its own.
  expect(labels(end.actions)).toEqual(['Regenerate', '👍', '👎']);
});

test('a question that waits for an answer made anew comes after it', async () => {
  const { provider, ask, press, handle, told } = await start();
  provider.answerWith('First.');
  const first = await ask('one', 'T1');
  provider.answerWith('Another.');
  const letGo = provider.holdChunks(0);
  const again = readAnswer(await press(first.end.actions, 'Regenerate', { thread: 'T1' }), 'T1');
  await eventually(() => provider.calls.length === 2);
  const later = readAnswer(await handle({ line: '/ask two' }, { thread: 'T1' }), 'T1');
  letGo();
  await Promise.all([again, later]);
  expect(told()).toEqual(['one', 'Another.', 'two']);
});

test('an answer made anew that failed is tried again in place of the first, also after a kill', async () => {
  const folder = await temporaryFolder();
  const { provider, ask, press, told, stop } = await start({ folder });
  provider.answerWith('Zero.');
  await ask('zero', 'T1');
  provider.answerWith('First.');
  const first = await ask('one', 'T1');
  provider.failWith({ kind: 'status', status: 500 });
  const failed = await readAnswer(
    await press(first.end.actions, 'Regenerate', { thread: 'T1' }),
    'T1',
  );
  expect(labels(failed.end.actions)).toEqual(['Try again']);
  // Shown by its platform, and never ended.
  const cut = await press(failed.end.actions, 'Try again', { thread: 'T1', person: grace });
  if (cut.kind !== 'answer') throw new Error('no answer');
  await cut.begin({ thread: 'T1' });
  const killed = await asKilled(folder);
  await stop();

  const later = await start({ folder: killed });
  later.provider.answerWith('Another.');
  const actions = underBroken(cut.id);
  const again = await later.press(actions, 'Try again', { thread: 'T1', person: grace });
  expect((await readAnswer(again, 'T1')).text).toBe('Another.');
  expect(later.told()).toEqual(['zero', 'Zero.', 'one']);
  await later.ask('two', 'T1');
  expect(later.told()).toEqual(['zero', 'Zero.', 'one', 'Another.', 'two']);
  expect(told()).toEqual(['zero', 'Zero.', 'one']);
});

test('a shared answer comes after the one that is being generated in the thread', async () => {
  const { provider, ask, press, handle, told } = await start();
  provider.answerWith('Quietly.');
  const { end } = await ask('private=true psst?');
  provider.answerWith('First.');
  const letGo = provider.holdChunks(0);
  const first = readAnswer(await handle({ line: '/ask one' }, { thread: 'T1' }), 'T1');
  await eventually(() => provider.calls.length === 2);
  const share = await press(end.actions, 'Share');
  if (share.kind !== 'answer') throw new Error('no answer');
  const shared = share.stream('T1')[Symbol.asyncIterator]();
  // Everybody sees it at once.
  expect((await shared.next()).value).toEqual({ kind: 'text', text: 'Quietly.' });
  const ended = shared.next();
  letGo();
  await first;
  expect((await ended).value).toMatchObject({ kind: 'end' });
  await ask('two', 'T1');
  expect(told()).toEqual(['one', 'First.', 'psst?', 'Quietly.', 'two']);
});

describe('a button that is pressed twice', () => {
  const broken = { kind: 'status', status: 500 } as const;

  test('shows who was first, unless the same person clicked twice', async () => {
    const { provider, ask, press } = await start();
    const first = await ask('one', 'T1');
    const pressedBy = (person: Person) =>
      press(first.end.actions, 'Regenerate', { thread: 'T1', person });
    const again = await pressedBy(ada);
    const [double, second] = await Promise.all([pressedBy(ada), pressedBy(grace)]);
    expect(double).toEqual({ kind: 'nothing' });
    expect(second).toMatchObject({ kind: 'card', private: true });
    expect(textOf(cardOf(second))).toContain('Ada <!here> pressed this first.');
    await readAnswer(again, 'T1');
    expect(provider.calls).toHaveLength(2);
  });

  test('can be pressed again when the first press failed', async () => {
    const { provider, ask, press } = await start();
    const first = await ask('one', 'T1');
    const again = () => press(first.end.actions, 'Regenerate', { thread: 'T1' });
    for (let tries = 0; tries < 2; tries += 1) {
      const reply = await again();
      if (reply.kind !== 'answer') throw new Error('no answer');
      reply.notShown?.();
    }
    provider.failWith(broken);
    const failed = await again();
    await readAnswer(failed, 'T1');
    if (failed.kind !== 'answer') throw new Error('no answer');
    // Its end, with the button that tries again, could not be shown.
    failed.notShown?.();
    provider.recover();
    expect((await readAnswer(await again(), 'T1')).end.note).toBeUndefined();
  });

  test('acts once also over a restart, and may be tried again where the first died before its end', async () => {
    const folder = await temporaryFolder();
    const { ask, press, stop } = await start({ folder });
    const first = await ask('one', 'T1');
    const other = await ask('other', 'T2');
    await readAnswer(await press(first.end.actions, 'Regenerate', { thread: 'T1' }), 'T1');
    await press(other.end.actions, 'Regenerate', { thread: 'T2' });
    const killed = await asKilled(folder);
    await stop();
    const later = await start({ folder: killed });
    const late = await later.press(first.end.actions, 'Regenerate', { thread: 'T1' });
    expect(textOf(cardOf(late))).toContain('Someone pressed this first.');
    const again = await later.press(other.end.actions, 'Regenerate', { thread: 'T2' });
    expect((await readAnswer(again, 'T2')).end.note).toBeUndefined();
  });

  test('does nothing where it cannot be stored', async () => {
    const { ask, press, store, provider } = await start();
    const { end } = await ask('one', 'T1');
    await store.close();
    const refused = cardOf(await press(end.actions, 'Regenerate', { thread: 'T1' }));
    expect(refused.title).toBe('Something went wrong');
    expect(provider.calls).toHaveLength(1);
  });
});
