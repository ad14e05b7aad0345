import { expect, test } from 'vitest';
import { indexNames, mayConcernServices } from '../../src/bot/rules/rules.ts';
import { readAnswer, startTestBot } from '../../test/helpers/bot.ts';
import { CASES } from '../cases/cases.ts';
import { PLAIN_QUESTIONS } from './plain-questions.ts';
import { MONITORS } from './plan.ts';

const GENERAL = [
  'why is the sky blue',
  'What is the capital of France?',
  'explain recursion in Python',
  'How do I reverse a list in JavaScript?',
  'write a haiku about autumn',
  'Who was Ada Lovelace?',
  'tell me a joke about cats',
  'How much is 17 % of 340?',
  'Warum ist der Himmel blau?',
  'Schreibe ein Gedicht über den Herbst',
  '¿Por qué el cielo es azul?',
];

const indexOf = (names: readonly string[]) =>
  indexNames(names.map((name) => ({ id: name, name, kind: 'monitor' })));
const WEEK = indexOf(MONITORS.map(({ name }) => name));
const THREE = indexOf(['Shop', 'My service', 'db-1']);

test('a question of the evaluation may concern services', () => {
  const plain = PLAIN_QUESTIONS.filter(({ id }) => !/^(?:outside-)?off-/.test(id));
  // The functions of a thread's first question stay for the ones after it.
  const threads = [...CASES, ...plain].map((one) => ({ before: [], ...one }));
  expect(threads.length).toBeGreaterThan(140);
  const missed = threads.filter(
    ({ question, before }) => ![question, ...before].some((text) => mayConcernServices(text, WEEK)),
  );
  expect(missed.map(({ question }) => question)).toEqual([]);
});

test.each([
  ...['how is it?', 'and now?', 'is my service up?', 'how is My service?', 'what about db-1?'],
  ...['any alerts firing?', 'who is on call?', 'silence the shop for 2 hours', 'remove X'],
  ...['what was down last night?', 'did anything break?', 'is 10.0.0.5 ok', 'quoi de neuf ?'],
  ...[
    'ping example.com',
    'wie geht es dem Shop?',
    'サイトは動いていますか',
    'who used most tokens?',
    'est-ce que le site marche ?',
    'il sito è raggiungibile?',
    'why do we get 503?',
  ],
])('“%s” may concern services, too', (question) => {
  expect(mayConcernServices(question, THREE)).toBe(true);
});

test.each(GENERAL)('“%s” doesn’t concern services', (question) => {
  expect(mayConcernServices(question, THREE)).toBe(false);
});

test('sends functions with a question that may need them, and with what follows it', async () => {
  const bot = await startTestBot();
  bot.service.add({ name: 'Aurora' });
  const sent = async (question: string, thread: string) => {
    await readAnswer(await bot.say(`/ask ${question}`), thread);
    return bot.provider.calls.at(-1)?.body;
  };
  const general = await sent('why is the sky blue', 't1');
  expect(general.tools).toBeUndefined();
  expect(general.messages[0].content).toContain('was looked up');
  expect((await sent('what is Aurora', 't2')).tools).toHaveLength(16);
  expect((await sent('what is down?', 't3')).tools).toHaveLength(16);
  expect((await sent('tell me a joke about it', 't3')).tools).toHaveLength(16);
});
