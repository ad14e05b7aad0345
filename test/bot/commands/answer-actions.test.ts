import { expect, test } from 'vitest';
import { underBroken } from '../../../src/bot/ask/answer-buttons.ts';
import type { CardAction } from '../../../src/bot/shared/card.ts';
import type { Person } from '../../../src/bot/shared/place.ts';
import { asKilled } from '../../helpers/after-kill.ts';
import { cardOf, readAnswer, startTestBot, textOf } from '../../helpers/bot.ts';
import { eventually } from '../../helpers/eventually.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const ada: Person = { id: 'U1', name: 'Ada <!here>' };
const grace: Person = { id: 'U2', name: 'Grace' };

async function start(options: Parameters<typeof startTestBot>[0] = {}) {
  const running = await startTestBot(options);
  const say = (line: string, thread?: string) => running.say(line, { thread, person: ada });
  const ask = async (line: string, thread?: string) =>
    await readAnswer(await say(`/ask ${line}`, thread), thread);
  const press = (
    actions: readonly CardAction[] | undefined,
    label: string,
    { thread, person = ada }: { thread?: string; person?: Person } = {},
  ) => running.press(actions, label, { thread, person, pressed: `message of ${thread}` });
  /** Messages in the last request to the model, without the system prompt. */
  const told = () => {
    const messages: Array<{ role: string; content: string }> =
      running.provider.calls.at(-1)?.body.messages ?? [];
    return messages.filter(({ role }) => role !== 'system').map(({ content }) => content);
  };
  return { ...running, say, ask, press, told };
}

const labels = (actions: readonly CardAction[] | undefined) => actions?.map(({ label }) => label);

test('anyone can stop an answer, which names them, and its thread forgets it', async () => {
  const { provider, say, press, ask, told } = await start();
  provider.answerWith(['one ', 'two '], { chunkMs: 1 });
  provider.failWith({ kind: 'stall', afterChunks: 2 });
  const reply = await say('/ask count', 'T1');
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

test('the last answer of a thread can be regenerated once, also after a restart', async () => {
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

test('an answer that reached its maximum length can be continued once', async () => {
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

test('a private answer is shared once, by its person, and its thread remembers it', async () => {
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

test('an answer is neither regenerated nor continued while a later question is answered', async () => {
  const { provider, say, ask, press, told } = await start();
  provider.answerWith('Half', { finishReason: 'length' });
  const first = await ask('one', 'T1');
  const letGo = provider.holdChunks(0);
  const later = readAnswer(await say('/ask two', 'T1'), 'T1');
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

test('a question between a press and its turn comes first, and the press asks nothing', async () => {
  const { provider, ask, press, say, told } = await start();
  const first = await ask('one', 'T1');
  const again = await press(first.end.actions, 'Regenerate', { thread: 'T1' });
  const letGo = provider.holdChunks(0);
  const later = readAnswer(await say('/ask two', 'T1'), 'T1');
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
  expect(labels(end.actions)).toEqual(['Regenerate', '👍', '👎']);
});

test('a failed regeneration can be tried again, also after a kill', async () => {
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
  // The platform shows it without an end.
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

test('a shared answer follows the one that is being generated in the thread', async () => {
  const { provider, ask, press, say, told } = await start();
  provider.answerWith('Quietly.');
  const { end } = await ask('private=true psst?');
  provider.answerWith('First.');
  const letGo = provider.holdChunks(0);
  const first = readAnswer(await say('/ask one', 'T1'), 'T1');
  await eventually(() => provider.calls.length === 2);
  const share = await press(end.actions, 'Share');
  if (share.kind !== 'answer') throw new Error('no answer');
  const shared = share.stream('T1')[Symbol.asyncIterator]();
  expect((await shared.next()).value).toEqual({ kind: 'text', text: 'Quietly.' });
  const ended = shared.next();
  letGo();
  await first;
  expect((await ended).value).toMatchObject({ kind: 'end' });
  await ask('two', 'T1');
  expect(told()).toEqual(['one', 'First.', 'psst?', 'Quietly.', 'two']);
});

test('a second press names the first person, unless it is a double click', async () => {
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

test('a button can be pressed again after its answer could not be shown', async () => {
  const { provider, ask, press } = await start();
  const first = await ask('one', 'T1');
  const again = () => press(first.end.actions, 'Regenerate', { thread: 'T1' });
  for (let tries = 0; tries < 2; tries += 1) {
    const reply = await again();
    if (reply.kind !== 'answer') throw new Error('no answer');
    reply.notShown?.();
  }
  provider.failWith({ kind: 'status', status: 500 });
  const failed = await again();
  await readAnswer(failed, 'T1');
  if (failed.kind !== 'answer') throw new Error('no answer');
  failed.notShown?.();
  provider.recover();
  expect((await readAnswer(await again(), 'T1')).end.note).toBeUndefined();
});

test('a press counts after a restart, unless the process died before its end', async () => {
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

test('a press does nothing if it cannot be stored', async () => {
  const { ask, press, store, provider } = await start();
  const { end } = await ask('one', 'T1');
  await store.close();
  const refused = cardOf(await press(end.actions, 'Regenerate', { thread: 'T1' }));
  expect(refused.title).toBe('Something went wrong');
  expect(provider.calls).toHaveLength(1);
});
