import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { restOfMarkdown, splitMarkdown } from '../../../src/bot/ask/split-markdown.ts';
import { long } from '../../helpers/long.ts';

const numRuns = long ? 5_000 : 40;

/** Words, code blocks, blank lines, emoji families, flags, accents and the odd hostile run. */
const fragment = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: 'grapheme', maxLength: 30 }) },
  {
    weight: 6,
    arbitrary: fc.constantFrom('word ', 'A sentence. ', '\n', '\n\n', '  - item\n', '\r\n'),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom('```ℹ\n', '```\n', '\n```\n', '   ```ℹ\n', '~~~\n', '````\n'),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      '👨‍👩‍👧‍👦',
      '🇩🇪🇫🇷',
      'e\u0301',
      '👍🏽',
      ' \u0301',
      '\ud83d',
      '\udc4d',
    ),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom('x', ' ', '\u0301', '`', '\n', '👍'), fc.nat(400))
      .map(([unit, count]) => unit.repeat(count)),
  },
);
const markdown = fc.array(fragment, { maxLength: 60 }).map((fragments) => fragments.join(''));
const limits = fc.integer({ min: 100, max: 300 });

const FENCE_LINE = /^[ \t]*(`{3,}|~{3,})[^\n]*$/gm;
const bare = (text: string) => text.replace(/[`~ℹ\s]/g, '');

describe('every text', () => {
  test('is cut into pieces that fit', () => {
    fc.assert(
      fc.property(markdown, limits, (text, limit) => {
        for (const piece of splitMarkdown(text, limit)) {
          expect(piece.length).toBeLessThanOrEqual(limit);
          expect(piece.trim()).not.toBe('');
        }
      }),
      { numRuns },
    );
  });

  test('is whole when its pieces are joined, apart from fence lines and white space', () => {
    fc.assert(
      fc.property(markdown, limits, (text, limit) => {
        // Only `ℹ` stands behind a marker here, so that what a repeated fence line adds is known.
        const calm = text.replace(/[`~]+(?!ℹ)/g, '$&\n');
        expect(bare(splitMarkdown(calm, limit).join('\n'))).toBe(bare(calm));
      }),
      { numRuns },
    );
  });

  test('keeps its finished pieces when it grows', () => {
    fc.assert(
      fc.property(markdown, markdown, limits, (text, more, limit) => {
        const before = splitMarkdown(text, limit).slice(0, -1);
        expect(splitMarkdown(text + more, limit).slice(0, before.length)).toEqual(before);
      }),
      { numRuns },
    );
  });

  test('keeps its graphemes whole unless one is longer than a piece', () => {
    const calm = fc
      .array(
        fc.constantFrom('👨‍👩‍👧‍👦', '🇩🇪', 'e\u0301', '👍🏽', 'x', ' ', ' \u0301', '🏳️‍🌈', '\n', 'ä'),
        { maxLength: 400 },
      )
      .map((graphemes) => graphemes.join(''));
    const segmenter = new Intl.Segmenter(undefined, { granularity: 'grapheme' });
    const graphemes = (text: string) =>
      [...segmenter.segment(text)].map(({ segment }) => segment).filter((one) => one.trim() !== '');
    fc.assert(
      fc.property(calm, limits, (text, limit) => {
        expect(splitMarkdown(text, limit).flatMap(graphemes)).toEqual(graphemes(text));
      }),
      { numRuns },
    );
  });

  test('closes in each piece the code blocks it opens', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('code\n', '```\n', 'text\n\n')), (lines) => {
        const fences = splitMarkdown(lines.join(''), 100).map(
          (piece) => (piece.match(FENCE_LINE) ?? []).length % 2,
        );
        expect(fences.every((odd) => odd === 0)).toBe(true);
      }),
      { numRuns },
    );
  });
});

test('a text that fits is one piece, and nothing is none', () => {
  expect(splitMarkdown('Hello\n\nworld', 100)).toEqual(['Hello\n\nworld']);
  expect(splitMarkdown('x'.repeat(100), 100)).toEqual(['x'.repeat(100)]);
  expect(splitMarkdown('', 100)).toEqual([]);
  expect(splitMarkdown(' \n\n ', 100)).toEqual([]);
});

test.each([
  ['paragraphs', `${'a'.repeat(60)}\n\n${'b'.repeat(30)}\n${'c'.repeat(40)}`, 60],
  ['lines', `${'a'.repeat(20)} ${'b'.repeat(50)}\n${'c '.repeat(30)}`, 71],
  ['sentences', `${'a'.repeat(60)}. ${'bb '.repeat(30)}`, 61],
  ['words', `${'a'.repeat(40)} ${'b'.repeat(40)} ${'c'.repeat(40)}`, 81],
  ['letters', 'a'.repeat(150), 100],
])('cuts between %s', (_kind, text, length) => {
  expect(splitMarkdown(text, 100)[0]).toBe(text.slice(0, length));
});

test('closes a code block at the cut and opens it again with its info string', () => {
  const line = `${'x'.repeat(39)}\n`;
  expect(splitMarkdown(`Look:\n\`\`\`ts\n${line.repeat(3)}\`\`\`\nDone.`, 100)).toEqual([
    `Look:\n\`\`\`ts\n${line.repeat(2)}\`\`\``,
    `\`\`\`ts\n${line}\`\`\`\nDone.`,
  ]);
});

test('does not open a code block again only to close it', () => {
  const line = `${'x'.repeat(39)}\n`;
  expect(splitMarkdown(`\`\`\`\n${line.repeat(2)}\`\`\`\n\n  indented text`, 100)).toEqual([
    `\`\`\`\n${line.repeat(2)}\`\`\``,
    '  indented text',
  ]);
});

test('keeps the indentation of code and of lists', () => {
  const item = `  - ${'y'.repeat(60)}`;
  expect(splitMarkdown(`${item}\n${item}`, 100)).toEqual([item, item]);
});

test('keeps a code block whole where it can', () => {
  const block = `\`\`\`\n${'z'.repeat(40)}\n\`\`\``;
  expect(splitMarkdown(`${'a'.repeat(60)}\n${block}`, 100)).toEqual(['a'.repeat(60), block]);
});

test('refuses a limit without room for a fence', () => {
  expect(() => splitMarkdown('text', 99)).toThrow(RangeError);
});

test.each([
  ['combining marks', `a${'\u0301'.repeat(10_000)}`],
  ['joiners', '\u200d'.repeat(10_000)],
  ['surrogate halves', '\ud83d'.repeat(10_000)],
])('cuts a grapheme of 10,000 %s', (_name, text) => {
  const pieces = splitMarkdown(text, 1_900);
  expect(pieces.join('')).toBe(text);
  expect(pieces.length).toBeLessThanOrEqual(7);
});

test.each([
  ['letters', 'x'],
  ['marks', '\u0301'],
  ['spaces', ' '],
  ['blank lines', '\n'],
  ['backticks', '`'],
  ['fences', '```\n'],
  ['flags', '🇩🇪'],
  ['short words', 'a '],
])('does not hang on a very long text of %s', { timeout: 60_000 }, (_name, unit) => {
  // It takes a second at most; work that grows with the square of the text takes minutes.
  const text = `start ${unit.repeat((long ? 2_000_000 : 600_000) / unit.length)} end`;
  expect(splitMarkdown(text, 1_900).length).toBeLessThan(text.length / 100);
});

describe('the rest of a text after so many pieces', () => {
  test('is what the pieces leave out, with the code block that is open there', () => {
    const code = Array.from({ length: 60 }, (_, index) => `line ${index}`).join('\n');
    const text = `Before\n\n\`\`\`ts\n${code}\n\`\`\`\n\nAfter`;
    const pieces = splitMarkdown(text, 100);
    const rest = restOfMarkdown(text, 100, 2);
    expect(rest.startsWith('```ts\nline ')).toBe(true);
    expect(rest.endsWith('\n```\n\nAfter')).toBe(true);
    expect(splitMarkdown(rest, 100)).toEqual(pieces.slice(2));
  });

  test('is nothing where the pieces are all', () => {
    expect(restOfMarkdown('', 100, 2)).toBe('');
    expect(restOfMarkdown('word '.repeat(30), 100, 2)).toBe('');
    expect(restOfMarkdown('word '.repeat(30), 100, 8)).toBe('');
  });
});
