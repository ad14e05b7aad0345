import { expect, test } from 'vitest';
import { exportedLines } from '../../../src/bot/feedback/export.ts';
import { createFeedback } from '../../../src/bot/feedback/feedback.ts';
import type { CardAction } from '../../../src/bot/shared/card.ts';
import type { Person, Place } from '../../../src/bot/shared/place.ts';
import { OFFLINE_PROVIDER } from '../../../src/contracts/gateway.ts';
import {
  CHANNEL,
  cardOf,
  readAnswer,
  startTestBot,
  type TestBotOptions,
  textOf,
} from '../../helpers/bot.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';
import { filesWith, openTestStore } from '../../helpers/test-store.ts';

const ada: Person = { id: 'U1', name: 'Ada' };
const grace: Person = { id: 'U2', name: 'Grace' };

type Where = { thread?: string; person?: Person; place?: Place };
type Actions = readonly CardAction[] | undefined;

/** A bot on a folder, what people do with it, and what is kept of that once it has stopped. */
async function start(options: TestBotOptions = {}) {
  const folder = options.folder ?? (await temporaryFolder());
  const running = await startTestBot({ ...options, folder });
  let presses = 0;
  const ask = async (line: string, thread?: string) =>
    await readAnswer(await running.say(`/ask ${line}`, { thread }), thread);
  const press = async (actions: Actions, label: string, where: Where = {}) => {
    presses += 1;
    // A second press of one message within two seconds is a double click.
    const pressed = `message ${presses}`;
    return cardOf(await running.press(actions, label, { ...where, pressed }));
  };
  /** The form that a button opens, as a platform asks for it before it has the press done. */
  const openForm = async (actions: Actions, where: Where = {}, label = '👎') => {
    const action = actions?.find((one) => one.label === label);
    if (!action) throw new Error(`There is no button ${label}.`);
    const opened = await running.bot.formOfPress(action, async () => ({
      ...{ place: CHANNEL, person: ada },
      ...where,
    }));
    return opened && { command: opened.command.name, carried: opened.carried };
  };
  const send = async (
    form: { command: string; carried: Record<string, string> } | undefined,
    values: Record<string, string>,
    where: Where = {},
  ) => {
    if (!form) throw new Error('There is no form.');
    const request = { command: form.command, values: { ...form.carried, ...values } };
    return cardOf(await running.send(request, where));
  };
  async function exported() {
    await running.stop();
    const store = await openTestStore({ folder, log: recordingLog().log });
    const lines: Array<Record<string, unknown>> = [];
    const feedback = createFeedback(store, { days: 90 });
    for await (const line of exportedLines(feedback, {}, (text) => text)) {
      lines.push(JSON.parse(line));
    }
    await store.close();
    return lines;
  }
  const share = (actions: Actions) => running.press(actions, 'Share');
  return { ...running, folder, ask, share, press, openForm, send, exported };
}

const T1 = { thread: 'T1' };

test('a rated answer is kept with its question, look-ups, model and times', async () => {
  const bot = await start();
  bot.service.add({ name: 'Shop', status: 'DOWN' });
  bot.provider.answerWith((body) =>
    body.messages.at(-1).role === 'tool'
      ? 'Shop is down.'
      : { calls: [{ name: 'list_monitors', arguments: '{"status":"down"}' }] },
  );
  const before = Date.now();
  const { end } = await bot.ask('what is down?', 'T1');
  expect(textOf(await bot.press(end.actions, '👍', T1))).toMatch(
    /rated 👍[\s\S]*its look-ups are kept for 90 days/,
  );
  expect(textOf(await bot.press(end.actions, '👎', { ...T1, person: grace }))).toContain('👎');
  const usage = textOf(cardOf(await bot.say('/askwatch usage')));
  expect(usage).toContain('| 👍 1 · 👎 1');
  const [line, ...others] = await bot.exported();
  expect(others).toEqual([]);
  expect(line).toMatchObject({
    ...{ up: 1, down: 1, question: 'what is down?', answer: 'Shop is down.' },
    ...{ platform: 'console', model: expect.stringMatching(/\w/), tools: ['list_monitors'] },
    calls: [
      {
        tool: 'list_monitors',
        input: { status: 'down' },
        result: { matching: 1, monitors: [{ name: 'Shop', status: 'DOWN' }] },
      },
    ],
  });
  expect(usage).toContain(String(line?.model));
  const [asked, first, whole] = ['askedAt', 'firstTextAt', 'wholeAt'].map((name) =>
    Date.parse(String(line?.[name])),
  );
  expect(asked).toBeGreaterThanOrEqual(before);
  expect(first).toBeGreaterThanOrEqual(asked ?? 0);
  expect(whole).toBeGreaterThanOrEqual(first ?? 0);
});

test('look-ups of rules are kept, too', async () => {
  const bot = await start({ models: [{ id: 'offline', owned_by: OFFLINE_PROVIDER } as never] });
  bot.service.add({ name: 'Shop', status: 'DOWN' });
  const { end, text } = await bot.ask('what is down?', 'T1');
  expect(text).toContain('Shop');
  await bot.press(end.actions, '👍', T1);
  const [line] = await bot.exported();
  expect(line).toMatchObject({ model: 'rules, no model', tools: ['list_monitors'], answer: text });
});

test('👎 opens a form once, and counts even if it is not sent', async () => {
  const bot = await start();
  const { end } = await bot.ask('why?', 'T1');
  expect(await bot.openForm(end.actions, T1, '👍')).toBeUndefined();
  const form = await bot.openForm(end.actions, T1);
  expect(form?.command).toBe('answer explain');
  await bot.press(end.actions, '👎', T1);
  const usage = async () => textOf(cardOf(await bot.say('/askwatch usage')));
  expect(await usage()).toContain('👍 0 · 👎 1');
  const what = '<!channel> @everyone *bold* `code` [x](http://evil.example)\n'.repeat(5);
  const thanks = await bot.send(form, { reason: 'out of date', what });
  expect(textOf(thanks)).not.toContain('evil.example');
  expect(thanks.tone).toBe('good');
  expect(await usage()).toContain('👍 0 · 👎 1');
  // This press takes it back, and asks for nothing.
  expect(await bot.openForm(end.actions, T1)).toBeUndefined();
  expect(await bot.openForm(end.actions, { ...T1, person: grace })).toBeDefined();
  expect(await bot.exported()).toMatchObject([
    { down: 1, wrong: [{ reason: 'out of date', what: what.trim() }] },
  ]);
});

test('an explanation that is too long or no choice is refused', async () => {
  const bot = await start();
  const { end } = await bot.ask('why?', 'T1');
  const form = await bot.openForm(end.actions, T1);
  await bot.press(end.actions, '👎', T1);
  const long = await bot.send(form, { what: 'x'.repeat(1_000_000) });
  expect(textOf(long)).toContain('too long: at most 1000 characters');
  expect((await bot.send(form, { reason: 'ugly' })).tone).toBe('warning');
  expect(await bot.exported()).toMatchObject([{ down: 1 }]);
  expect(await filesWith('xxxxxxxxxx', bot.folder)).toEqual([]);
});

test('a person who does not see an answer cannot rate it', async () => {
  const bot = await start();
  const { end } = await bot.ask('why?', 'T1');
  const form = await bot.openForm(end.actions, T1);
  const elsewhere = { ...T1, place: { platform: 'console', channel: 'other' } };
  for (const where of [{ thread: 'T2' }, {}, elsewhere]) {
    expect(textOf(await bot.press(end.actions, '👎', where))).toContain(
      'no longer remembers this answer',
    );
    expect(await bot.openForm(end.actions, where)).toBeUndefined();
  }
  await bot.press(end.actions, '👎', T1);
  for (const where of [{ thread: 'T2' }, elsewhere]) {
    expect(textOf(await bot.press(end.actions, '👍', where))).toContain(
      'no longer remembers this answer',
    );
  }
  expect(textOf(await bot.send(form, { what: 'no' }, elsewhere))).toContain(
    'no longer remembers this answer',
  );
  expect(await bot.exported()).toMatchObject([{ up: 0, down: 1 }]);
});

test('forgetting a thread deletes its ratings, and its buttons no longer work', async () => {
  const bot = await start();
  bot.provider.answerWith('Since it rains.');
  const { end } = await bot.ask('why is it wet?', 'T1');
  await bot.press(end.actions, '👎', T1);
  const form = await bot.openForm(end.actions, { ...T1, person: grace });
  const forgotten = await bot.say('/askwatch forget', T1);
  expect(textOf(cardOf(forgotten))).toContain('This thread is forgotten');
  for (const label of ['👍', '👎']) {
    expect(textOf(await bot.press(end.actions, label, T1))).toContain(
      'no longer remembers this answer',
    );
  }
  expect(textOf(await bot.send(form, { what: 'no' }))).toContain('no longer remembers this answer');
  expect(await bot.exported()).toEqual([]);
  for (const text of ['Since it rains.', 'why is it wet?']) {
    expect(await filesWith(text, bot.folder)).toEqual([]);
  }
});

test('a private answer’s rating is kept without its words', async () => {
  const bot = await start();
  bot.provider.answerWith('It is the dragonfruit.');
  const { end } = await bot.ask('private=true what is a pitaya?');
  const form = await bot.openForm(end.actions);
  expect(form?.carried.private).toBe('true');
  expect(textOf(await bot.press(end.actions, '👎'))).toContain('Only the rating is kept');
  expect(textOf(await bot.press(end.actions, '👎', { person: grace }))).toContain(
    'no longer remembers this answer',
  );
  expect(await bot.openForm(end.actions, { person: grace })).toBeUndefined();
  const thanks = await bot.send(form, { reason: 'wrong', what: 'a kiwi it is' });
  expect(textOf(thanks)).toContain('not what you wrote');
  const stranger = await bot.send(form, { what: 'mine' }, { person: grace });
  expect(textOf(stranger)).toContain('no longer remembers this answer');
  const [line, ...others] = await bot.exported();
  expect(others).toEqual([]);
  expect(line).toMatchObject({ private: true, down: 1, model: expect.stringMatching(/\w/) });
  expect(line).toHaveProperty('wholeAt');
  for (const name of ['question', 'answer', 'calls', 'wrong']) {
    expect(line).not.toHaveProperty(name);
  }
  for (const text of ['dragonfruit', 'pitaya', 'kiwi']) {
    expect(await filesWith(text, bot.folder)).toEqual([]);
  }
});

test('a private answer is kept if its reader agrees', async () => {
  const bot = await start();
  bot.provider.answerWith('It is the dragonfruit.');
  const { end } = await bot.ask('private=true what is a pitaya?');
  const form = await bot.openForm(end.actions);
  await bot.press(end.actions, '👎');
  const keep = 'the question and the answer, too';
  await bot.send(form, { what: 'a kiwi it is', keep });
  expect(await bot.exported()).toMatchObject([
    {
      ...{ private: true, down: 1, question: 'what is a pitaya?' },
      ...{ answer: 'It is the dragonfruit.', wrong: [{ what: 'a kiwi it is' }] },
    },
  ]);
});

test('a private answer is deleted once its reader rates it without agreeing', async () => {
  const bot = await start();
  bot.provider.answerWith('It is the dragonfruit.');
  const { end } = await bot.ask('private=true what is a pitaya?');
  const form = await bot.openForm(end.actions);
  await bot.press(end.actions, '👎');
  await bot.send(form, { what: 'a kiwi', keep: 'the question and the answer, too' });
  await bot.press(end.actions, '👍');
  const [line] = await bot.exported();
  expect(line).toMatchObject({ private: true, up: 1, down: 0 });
  for (const name of ['question', 'answer', 'wrong']) expect(line).not.toHaveProperty(name);
  for (const text of ['dragonfruit', 'pitaya', 'kiwi']) {
    expect(await filesWith(text, bot.folder)).toEqual([]);
  }
});

test('a shared private answer is rated like any other', async () => {
  const bot = await start();
  bot.provider.answerWith('Quietly.');
  const { end } = await bot.ask('private=true psst?');
  await bot.press(end.actions, '👍');
  const shared = await readAnswer(await bot.share(end.actions), 'T5');
  await bot.press(shared.end.actions, '👎', { thread: 'T5', person: grace });
  const lines = await bot.exported();
  expect(lines).toMatchObject([{ up: 1, down: 1, question: 'psst?', answer: 'Quietly.' }]);
  expect(lines[0]).not.toHaveProperty('private');
});

test('👎 counts without a form if only ratings are kept', async () => {
  const bot = await start({ settings: { feedbackDays: 0 } });
  bot.service.add({ name: 'Kumquat' });
  bot.provider.answerWith(({ messages }) =>
    messages.at(-1).role === 'tool'
      ? 'Since it rains.'
      : { calls: [{ name: 'list_monitors', arguments: '{}' }] },
  );
  const { end } = await bot.ask('why is the service wet today?', 'T1');
  expect(await bot.openForm(end.actions, T1)).toBeUndefined();
  expect(textOf(await bot.press(end.actions, '👎', T1))).toContain('Only the rating is kept');
  expect(await bot.exported()).toMatchObject([{ down: 1 }]);
  const files = await filesWith('Since it rains.', bot.folder);
  expect(files.filter((name) => name.startsWith('feedback'))).toEqual([]);
  // Look-ups are kept only for ratings.
  expect(await filesWith('Kumquat', bot.folder)).toEqual([]);
});
