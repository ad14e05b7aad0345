import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { openTab, snapshotOf, startTestConsole } from '../../helpers/console/test-console.ts';
import {
  CONSOLE_FREE,
  FORMS,
  lineOf,
  PRESSED,
  pressOf,
  startAsked,
  TYPED,
} from '../../helpers/rights-table.ts';

test('whoever is let into the console may do everything, by words, by a button and by a form', async () => {
  const { url, console } = await startTestConsole();
  const { bot, wrongIn } = await startAsked('console', ['somebody']);
  await console.start(bot);
  const tab = await openTab(url);
  const { id } = (await snapshotOf(tab)).person;
  const nobody = { manager: '', listed: '', 'in a listed group': '' };
  const people = { ...nobody, ordinary: id };
  const tried = (where: string) => ({ where, free: CONSOLE_FREE, people });
  const invoke = () => ({ id: randomUUID(), channel: 'general' });
  const message = { message: 'a1', private: true };
  const wrong = [
    await wrongIn(TYPED, { ...tried('typed'), invoke: (row) => tab.say(lineOf(row)) }),
    await wrongIn([...TYPED, ...PRESSED], {
      ...tried('pressed'),
      invoke: (row) => tab.tell('presses', { ...invoke(), ...message, action: pressOf(row) }),
    }),
    await wrongIn(FORMS, {
      ...tried('as a form'),
      kind: 'form',
      invoke: (row) => tab.say(lineOf(row).trim()),
    }),
    await wrongIn(
      TYPED.filter(
        ({ command, asks }) => asks !== 'nothing' && FORMS.some((form) => form.command === command),
      ),
      {
        ...tried('sent as a form'),
        invoke: ({ command, values }) => tab.tell('forms', { ...invoke(), command, values }),
      },
    ),
  ];
  expect(wrong.flat()).toEqual([]);
});
