import { expect, test } from 'vitest';
import { indexNames, type NamedSubject, planAnswer } from '../../../src/bot/rules/rules.ts';
import { findInThread } from '../../../src/bot/rules/threads.ts';
import { createRandom } from '../../helpers/random.ts';

const random = createRandom(20_261_127);
const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;

const FIRST = 'Checkout Payments Search Größen My Nightly Website giftcards auth Étoile'.split(' ');
const SECOND = 'api worker database service backup cache (EU) staging Überblick portal'.split(' ');
const NAMES = FIRST.flatMap((first) => SECOND.map((second) => first + pick([...' -_']) + second));

const SUBJECTS = Array.from({ length: 1_000 }, (_, at): NamedSubject => {
  const name = NAMES[at] ?? `${pick(NAMES)} ${at}`;
  return { id: `m${at}`, kind: 'monitor', name, target: `https://host${at}.example/` };
});
const CLOCK = { nowMs: Date.parse('2026-11-27T15:36:00Z'), zone: 'UTC' };
const FEW = { ...CLOCK, index: indexNames(SUBJECTS.slice(0, 100)) };
const THOUSAND = { ...CLOCK, index: indexNames(SUBJECTS) };

const QUESTIONS =
  `is everything ok? | what was down yesterday between 10:00 and 12:00? | pause it for 2h
  rename it to New | which certificates expire in the next two weeks? | write a poem about servers
  uptime of the slowest monitors last week | watch https://new.example every 5 minutes as New
  wie lange war gestern alles kaputt? | seit wann ist der Dienst langsam? | was ist um 9 Uhr los?
  ¿cuántas veces cayó el servicio la semana pasada? | ¿y el viernes pasado a las 9:00?`.split(
    / \| |\n +/,
  );
const PIECES = [
  ...'" “ « \' ` \u0301 \u200b \ud800 \udc00 😀 \u202e \0 \n a. 1: 24. https:// - 0 @ İ ﷺ ß'.split(
    ' ',
  ),
  ...['99 november ', 'the last ', 'n1 ', ' '],
];

function misspelt(word: string): string {
  const at = Math.floor(random() * word.length);
  return word.slice(0, at) + pick(['', ...'aeinrstü']) + word.slice(at + Math.round(random()));
}

function randomQuestion(): string {
  const texts = [pick(QUESTIONS), pick(NAMES), pick(QUESTIONS)].slice(0, Math.ceil(random() * 3));
  const words = texts.join(' ').split(/(?<=[\s-])/);
  const changed = words.flatMap((word) => {
    const chance = Math.floor(random() * 10);
    return [[], [word, word], [pick(PIECES), word], [misspelt(word)]][chance] ?? [word];
  });
  if (random() < 0.3) changed.sort(() => random() - 0.5);
  const flood = random() < 0.005 ? pick(PIECES).repeat(100_000) : '';
  return changed.join('') + flood;
}

function foldedWords(text: string): string[] {
  const words = text.match(/\p{L}[\p{L}\p{M}\d'’]*|\d+/gu) ?? [];
  const plain = words.map((word) => word.normalize('NFKD').replace(/[\p{M}'’]/gu, ''));
  return plain.map((word) => word.toLowerCase().replaceAll('ß', 'ss'));
}

function isNear(a: string, b: string, typos: number): boolean {
  if (typos < Math.abs(a.length - b.length)) return false;
  if (a === '' || b === '') return true;
  const [restA, restB] = [a.slice(1), b.slice(1)];
  if (a[0] === b[0]) return isNear(restA, restB, typos);
  const isSwapped = a[0] === b[1] && a[1] === b[0];
  const rest = [[restA, b] as const, [a, restB] as const, [restA, restB] as const];
  if (isSwapped) rest.push([a.slice(2), b.slice(2)]);
  return rest.some(([one, other]) => typos > 0 && isNear(one, other, typos - 1));
}

/** True if a word of the name, two together, its target or its id is in the question. */
function isNamed({ id, name, target = '' }: NamedSubject, question: string): boolean {
  const withPairs = (all: string[]) => all.flatMap((one, at) => [one, one + (all[at + 1] ?? '')]);
  const asked = withPairs(foldedWords(question.slice(0, 600)));
  const own = foldedWords(name);
  const isWord = (one: string, form: string) => {
    const [short, long] = [one, form].map((word) => word.replace(/s$/, '')) as [string, string];
    const allowed = Math.min(one.length, form.length) < 5 ? 0 : Math.round(one.length / 5);
    return short === long || isNear(one, long, Math.min(allowed, 4));
  };
  const forms = [...withPairs(own), own.join(''), id];
  const isExact = forms.some((one) => asked.includes(one));
  if (isExact || question.includes(target.slice(8, -1))) return true;
  return asked.some((one) => forms.some((form) => isWord(one, form)));
}

test('random questions name only what is in them', () => {
  const invented: string[] = [];
  let named = 0;
  for (let count = 0; count < 10_000; count += 1) {
    const question = randomQuestion();
    const context = count % 10 === 0 ? THOUSAND : FEW;
    const found = findInThread(question, [], context);
    planAnswer(found, context);
    const subjects = [...found.subjects, ...found.choices];
    if (subjects.length > 0) named += 1;
    const unnamed = subjects.slice(0, 5).filter((one) => !isNamed(one, question));
    for (const { name } of unnamed) invented.push(`${name} in ${question}`);
  }
  expect(invented).toEqual([]);
  expect(named).toBeGreaterThan(1_000);
});

test.each(['!', ' um', 'as ', '"'])('of 100,000 times “%s” only the beginning is read', (one) => {
  const { words } = findInThread(`watch https://a.example as ${one.repeat(100_000)} Shop`, [], FEW);
  expect(words.length).toBeLessThanOrEqual(200);
  expect(words.at(-1)?.to ?? 0).toBeLessThanOrEqual(600);
});
