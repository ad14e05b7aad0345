import { expect, test } from 'vitest';
import { indexNames, type NamedSubject, planAnswer } from '../../../src/bot/rules/rules.ts';
import { findInThread } from '../../../src/bot/rules/threads.ts';

const NAMES = ['Checkout API', 'checkout-api-staging', 'Shop', 'Blog', 'Payments', 'Payments'];
const SUBJECTS: NamedSubject[] = [
  ...NAMES.map((name, at): NamedSubject => {
    return { id: `m${at}`, kind: 'monitor', name, target: `https://host${at}.example/` };
  }),
  { id: 'p1', kind: 'monitor', name: 'Refunds (EU)', target: 'https://eu.example/' },
  { id: 'p2', kind: 'monitor', name: 'Refunds (EU) backup', target: 'https://backup.example/' },
  { id: 'a1', kind: 'alert', name: 'DiskFull db-1' },
];
const CLOCK = { nowMs: Date.parse('2026-11-27T15:36:00Z'), zone: 'UTC' };
const CONTEXT = { ...CLOCK, index: indexNames(SUBJECTS) };

/** Asks one question after another; returns what the last one means. */
function ask(thread: string, about: NamedSubject[] = []) {
  const questions = thread.split(' > ');
  const turns = questions.slice(0, -1).map((question, at, all) => {
    const before = all.slice(0, at).map((one) => ({ question: one, answer: '' }));
    const plan = planAnswer(findInThread(question, before, { ...CONTEXT, about }), CLOCK);
    return { question, answer: plan && 'text' in plan ? plan.text : '' };
  });
  return findInThread(questions.at(-1) ?? '', turns, { ...CONTEXT, about });
}

/** `Shop, down, from 2026-11-26`. */
function summary({ subjects, concepts, span }: ReturnType<typeof ask>) {
  const all = ['up', 'down', 'slow', 'uptime', 'certificate'] as const;
  const topics = all.filter((one) => concepts.has(one));
  const day = span && `from ${new Date(span.fromMs).toISOString().slice(0, 10)}`;
  return [...subjects.map(({ name }) => name), ...topics, day].filter(Boolean).join(', ');
}

test.each([
  ['is Checkout API up? > and the staging one?', 'checkout-api-staging, up'],
  ['is Checkout API up? > and Blog?', 'Blog, up'],
  ['is Shop slow today? > is it slower than yesterday?', 'Shop, slow, from 2026-11-27'],
  ['how many incidents this week? > which one was down the longest?', 'down, from 2026-11-23'],
  ['is Shop up? I have a demo at 2', 'Shop, up'],
  ['good morning! is Shop ok? three people wait at the entrance of the office', 'Shop'],
  ['is Shop up? > and yesterday?', 'Shop, up, from 2026-11-26'],
  ['are Shop and Blog up? > is Shop slow? > and the other one?', 'Blog, slow'],
  ['is Shop down? > and what else is down?', 'down'],
  ['I want to show a prospect our new Shop, is it down?', 'Shop, down'],
  ['is Checkout API up, and staging?', 'Checkout API, checkout-api-staging, up'],
  ['was Shop down yesterday? > and last week?', 'Shop, down, from 2026-11-16'],
  ['was Shop down yesterday? > why?', 'Shop, down, from 2026-11-26'],
  ['is Shop down? > since when? > why?', 'Shop, down'],
  ['uptime of Shop last week > what about Blog?', 'Blog, uptime, from 2026-11-16'],
  ['uptime of Shop last week > and now?', 'Shop, uptime'],
  ['was Shop down yesterday? > is it slow?', 'Shop, slow, from 2026-11-26'],
  ['is Shop up? > when does its certificate expire?', 'Shop, certificate'],
  ['is Shop up? > tell me a joke > since when?', 'Shop, up'],
  ['what was down yesterday? > and today?', 'down, from 2026-11-27'],
  ['ist Shop kaputt? > und gestern? > warum?', 'Shop, down, from 2026-11-26'],
  ['ist Shop kaputt? > seit wann? > und Blog?', 'Blog, down'],
  ['¿está caído Shop? > ¿y ayer? > ¿por qué?', 'Shop, down, from 2026-11-26'],
  ['¿está caído Shop? > ¿desde cuándo? > ¿y Blog?', 'Blog, down'],
])('“%s” means: %s', (thread, expected) => {
  expect(summary(ask(thread))).toBe(expected);
});

test.each([
  ...['is Shop up? > what is down?', 'is Shop up? > which services are down?'],
  ...['was Shop up yesterday? > how many monitors are down?', 'ist Shop da? > was ist kaputt?'],
  ...[
    'is Shop up? > who is the president of Chile?',
    'is Shop up? > what time is the standup today?',
  ],
])('“%s” ends with a fresh question, which forgets the monitor', (thread) => {
  expect(ask(thread).subjects).toEqual([]);
});

test.each([
  ['is Refunds up? > the first', 'p1'],
  ['is Refunds up? > the second one', 'p2'],
  ['ist Refunds online? > der zweite', 'p2'],
  ['is Refunds up? > 2', 'p2'],
  ['is Refunds up? > Refunds (EU)', 'p1'],
  ['is Refunds up? > the backup', 'p2'],
  ['is Payments up? > the second', 'm5'],
])('“%s” picks %s of the choices', (thread, id) => {
  const found = ask(thread);
  expect(found.subjects.map((one) => one.id)).toEqual([id]);
  expect(found).toMatchObject({ choices: [], concepts: new Set(ask('is Shop up?').concepts) });
});

test.each(['is Refunds up? > the fifth', 'is Refunds up? > 0'])('“%s” picks none', (thread) => {
  expect(ask(thread).subjects).toEqual([]);
});

test.each([
  'is Shop up? > mute until 18:00 please',
  'ist Shop da? > dann bis 18 Uhr stummschalten',
])('“%s” requests a change of the monitor before', (thread) => {
  const untilMs = Date.parse('2026-11-27T18:00:00Z');
  expect(ask(thread)).toMatchObject({
    subjects: [{ name: 'Shop' }],
    request: { verb: 'snooze', untilMs },
  });
});

test('“both” means a name and the one other name that it is a part of', () => {
  const { subjects } = ask('are Refunds (EU) up? both of them');
  expect(subjects.map(({ id }) => id)).toEqual(['p1', 'p2']);
});

test('parts of names in a follow-up mean several monitors', () => {
  const { subjects } = ask('is Checkout API up? > staging and Blog too');
  expect(subjects.map(({ name }) => name)).toEqual(['Blog', 'checkout-api-staging']);
});

test('a picked choice keeps the time and the request that wait for it', () => {
  expect(summary(ask('uptime of Refunds last week > the second'))).toMatch(/backup.*2026-11-16$/);
  expect(ask('pause Refunds > the second').request).toEqual({ verb: 'pause' });
});

test('a request for “it” is for the monitor before it, and isn’t repeated', () => {
  const { subjects, request } = ask('is Shop up? > pause it for 2 hours');
  expect(subjects.map(({ name }) => name)).toEqual(['Shop']);
  expect(request?.verb).toBe('pause');
  expect(ask('pause Shop > and Blog?').request).toBeUndefined();
});

test('a question in the thread of an alert is about that alert', () => {
  const about = SUBJECTS.filter(({ kind }) => kind === 'alert');
  for (const question of ['why?', 'since when?', 'status', 'and yesterday?', 'acknowledge it']) {
    expect([question, ask(question, about).subjects]).toEqual([question, about]);
  }
  expect(ask('is Shop up?', about).subjects.map(({ name }) => name)).toEqual(['Shop']);
  expect(ask('what is down?', about).subjects).toEqual([]);
});
