import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type {
  InteractionOutcome,
  Message,
  ShownForm,
} from '../../../src/console/shared/api-types.ts';
import { textOf } from '../../helpers/bot.ts';
import {
  openTab,
  repliesOf,
  startTestConsole,
  type Tab,
} from '../../helpers/console/test-console.ts';
import { eventually } from '../../helpers/eventually.ts';
import { filesWith } from '../../helpers/files-with.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

/** Private cards that this tab received, with their commands. */
const privateCards = ({ heard }: Tab) =>
  heard.flatMap((event) => {
    const message: Message | undefined =
      event.kind === 'reply'
        ? event.reply
        : event.kind === 'message'
          ? event.listed.message
          : undefined;
    return message?.private && message.body.kind === 'card'
      ? [{ text: textOf(message.body.card), command: message.command }]
      : [];
  });

async function ask(tab: Tab, url: string) {
  const said = await tab.say('/ask why?');
  if (said.shown !== 'thread') throw new Error('There is no thread.');
  const thread = said.message;
  const answer = await eventually(async () => {
    const [first] = await repliesOf(url, thread);
    return first?.body.kind === 'answer' && !first.body.growing && first;
  });
  return { thread, answer };
}

async function send(
  tab: Tab,
  { command, carried = {} }: ShownForm,
  { thread, ...values }: Record<string, string>,
): Promise<InteractionOutcome> {
  const gesture = { id: randomUUID(), channel: 'general', ...(thread && { thread }) };
  const response = await tab.tell('forms', {
    ...gesture,
    command,
    values: { ...values, ...carried },
  });
  return (await response.json()) as InteractionOutcome;
}

const formOf = (outcome: InteractionOutcome): ShownForm => {
  if (outcome.shown !== 'form') throw new Error(`There is no form, but ${outcome.shown}.`);
  return outcome.form;
};

test('a press of 👎 counts and opens the form that asks for the reason', async () => {
  const { url } = await startTestConsole();
  const tab = await openTab(url);
  const { thread, answer } = await ask(tab, url);
  expect((await tab.press(answer, '👍', { thread })).shown).toBe('thread');
  const form = formOf(await tab.press(answer, '👎', { thread }));
  expect(form).toMatchObject({
    ...{ command: 'answer explain', title: 'What was wrong?', send: 'Send', values: {} },
    carried: { answer: expect.any(String) },
  });
  expect(form.fields['']?.map(({ name, required }) => [name, required])).toEqual([
    ['reason', false],
    ['what', false],
  ]);
  await eventually(() => privateCards(tab).some(({ text }) => text.includes('rated 👎')));
  expect(await send(tab, form, { thread, what: 'x'.repeat(1_001) })).toEqual({
    shown: 'problems',
    problems: { what: '“what” is too long: at most 1000 characters.' },
  });
  expect(await send(tab, form, { thread, reason: 'wrong', what: '<b>no</b>' })).toEqual({
    ...{ shown: 'thread', message: thread },
  });
  const thanks = await eventually(() =>
    privateCards(tab).find(({ text }) => text.includes('Your comment is saved')),
  );
  // Nobody can type this command.
  expect(thanks.command).toBeUndefined();
  const usage = formless(await tab.say('/askwatch usage'));
  expect(usage.shown).toBe('channel');
  await eventually(() => privateCards(tab).some(({ text }) => text.includes('👍 0 · 👎 1')));
});

const formless = (outcome: InteractionOutcome) => {
  expect(outcome.shown).not.toBe('form');
  return outcome;
};

test('a rating of a private answer stores nothing of it unless its person chooses that', async () => {
  const folder = await temporaryFolder();
  const { url, provider } = await startTestConsole({ folder });
  const [tab, other] = [await openTab(url), await openTab(url)];
  provider.answerWith('It is the dragonfruit.');
  await tab.say('/ask private=true what is a pitaya?');
  const quiet = await eventually(() =>
    tab.heard
      .flatMap((event) => (event.kind === 'message' ? [event.listed.message] : []))
      .find(({ body }) => body.kind === 'answer' && !body.growing),
  );
  const form = formOf(await tab.press(quiet, '👎'));
  expect(form.fields['']?.map(({ name }) => name)).toEqual(['reason', 'what', 'keep']);
  await send(tab, form, { what: 'a kiwi it is' });
  await eventually(() => privateCards(tab).some(({ text }) => text.includes('not what you wrote')));
  for (const text of ['dragonfruit', 'pitaya', 'kiwi']) {
    expect(await filesWith(text, folder)).toEqual([]);
  }
  // Another person can't store it.
  const stolen = await send(other, form, { keep: 'the question and the answer, too' });
  expect(JSON.stringify(stolen)).toContain('no longer remembers this answer');
  expect(await filesWith('dragonfruit', folder)).toEqual([]);
  await send(tab, form, { keep: 'the question and the answer, too' });
  expect(await filesWith('dragonfruit', folder)).not.toEqual([]);
});
