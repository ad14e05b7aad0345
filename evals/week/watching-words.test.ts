import { expect, test } from 'vitest';
import { mayConcernWatching, sharesWords } from '../../src/bot/ask/watching-words.ts';
import { readAnswer, startTestBot } from '../../test/helpers/bot.ts';
import { CASES } from '../cases/cases.ts';
import { MONITORS } from './plan.ts';
import { LANGUAGES, QUESTIONS } from './questions.ts';

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

const names = MONITORS.map(({ name }) => name);

test('takes every question of the evaluation for one that may concern what is watched', () => {
  const recorded = Object.values(QUESTIONS).flatMap((one) => LANGUAGES.map((of) => one[of]));
  const questions = [...recorded, ...CASES.map(({ question }) => question)];
  expect(questions.length).toBeGreaterThan(100);
  expect(questions.filter((question) => !mayConcernWatching(question, names))).toEqual([]);
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
  ],
])('takes “%s” for one, too', (question) => {
  expect(mayConcernWatching(question, ['Shop', 'My service', 'db-1'])).toBe(true);
});

test.each(GENERAL)('knows that “%s” isn’t about monitors', (question) => {
  expect(mayConcernWatching(question, ['Shop', 'My service', 'db-1'])).toBe(false);
});

test('finds the words of tools in a question, in another form, too', () => {
  const about = ['tickets', 'tickets__search_issues', 'Search issues', 'Finds open bugs.'];
  expect(sharesWords('which bug is oldest?', about)).toBe(false);
  expect(sharesWords('find the ticket of Ada', ['ticket__find', ...about])).toBe(true);
  expect(sharesWords('why is the sky blue', about)).toBe(false);
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
