import fc from 'fast-check';
import { expect, test } from 'vitest';
import { examples, understand } from '../../../src/bot/rules/rules.ts';
import { anyCharacter } from '../../helpers/any-character.ts';
import { hostileMarkdown } from '../../helpers/console/hostile-markdown.ts';

const NOW_MS = Date.parse('2026-11-27T15:36:00Z');

/** Pieces that templates know, quotes that nothing ends, and what readers of text have been slow with. */
const PIECES = [
  ...[
    'a',
    'the ',
    'is ',
    'what is ',
    'uptime of ',
    'last 1 day ',
    "'s ",
    '"a" ',
    'please ',
    'hey, ',
  ],
  ...['between 1 november and 2 november ', 'since when and why, ', 'every ', 'as ', 'can you '],
  ...['"', '“', '„', '«', '‘', "'a ", '`', '¿', '?', '.', ',', ' ', '\n', '\t', '24. ', '24.11.'],
  ...['https://', 'https://a.b,', 'a.', 'a.b ', '-', '\u0301', '\u200b', '\ud800', '😀', '§ ', 'ﷺ'],
  ...['von der ', 'seit wann ', 'letzte woche ', 'qué está ', 'de la ', 'la semana pasada '],
];
const BEFORE = ['', 'uptime of ', 'what is ', 'incidents ', 'watch https://a.b as ', 'status of "'];

/** The longest that any of the texts takes of the CPU, in milliseconds; what the compiler adds is taken away by asking again. */
function slowest(texts: readonly string[]): number {
  const timeOf = (text: string) => {
    const before = process.cpuUsage();
    understand(text, NOW_MS);
    examples(text);
    return process.cpuUsage(before).user / 1_000;
  };
  return Math.max(...texts.map((text) => Math.min(timeOf(text), timeOf(text), timeOf(text))));
}

test('no text takes long, whatever is repeated in it, at 100 KB and at what is read at most', () => {
  understand('what is down', NOW_MS);
  const texts = [290, 299, 100_000].flatMap((length) => [
    ...BEFORE.flatMap((before) =>
      PIECES.map((piece) => (before + piece.repeat(length / piece.length + 1)).slice(0, length)),
    ),
    ...hostileMarkdown(length).map(([, text]) => text.slice(0, length)),
  ]);
  expect(slowest(texts)).toBeLessThan(100);
});

test('nothing throws, whatever is asked', () => {
  for (const text of texts()) {
    expect(() => understand(text, NOW_MS)).not.toThrow();
    expect(examples(text)).toHaveLength(3);
  }
});

test('nothing throws, whatever characters and known words are mixed', () => {
  const piece = fc.oneof(fc.constantFrom(...PIECES, ...BEFORE), anyCharacter);
  const text = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(''));
  fc.assert(
    fc.property(text, (question) => {
      expect(() => understand(question, NOW_MS)).not.toThrow();
      expect(examples(question)).toHaveLength(3);
    }),
    { numRuns: 300 },
  );
});

function texts(): string[] {
  return [
    ...PIECES,
    ...BEFORE.flatMap((before) => PIECES.map((piece) => before + piece)),
    ...hostileMarkdown(200).map(([, text]) => text),
    ...['uptime of $&', 'status of constructor', 'status of __proto__', 'incidents on 99 november'],
    ...['last 999 weeks', 'uptime of Shop in the last 999 months', 'incidents on 0000-00-00'],
  ];
}

test('a moment that is far away throws nothing', () => {
  for (const nowMs of [0, -1, 8.64e15 - 1e12, Date.parse('2028-02-29T00:00:00Z')]) {
    for (const span of [
      'last week',
      'on 29 February',
      'since Monday',
      'in the last 3 months',
      'on 1 May',
    ]) {
      expect(() => understand(`incidents ${span}`, nowMs)).not.toThrow();
    }
  }
});
