import fc from 'fast-check';
import { expect, test } from 'vitest';
import { settledText } from '../../../src/slack/answers/streamed-answer.ts';
import { harmless } from '../../../src/slack/render/text.ts';
import { long } from '../../helpers/long.ts';

/** Parts of mentions, and similar text. */
const piece = fc.constantFrom(
  ...[
    '<',
    '!',
    '@',
    '#',
    '&',
    '&lt;',
    '&#60;',
    '&#0',
    '&#x0003c;',
    '&#33;',
    '&excl;',
    '&com',
    'mat;',
  ],
  ...[
    'channel',
    'here',
    'every',
    'one',
    'group',
    '!--',
    '!doc',
    'type',
    '![',
    'subteam^S1|x>',
    '>',
  ],
  ...[
    '\u200b',
    '\\',
    '\u{e0041}',
    '\ud83d',
    '\ude00',
    '\0',
    '0',
    ' ',
    '\n',
    'a',
    'words of a text, ',
    'bank.example',
    'www.bank.example/a',
    '[',
    ']',
    '](',
    ']:',
    'https://evil.example',
    'https://bаnk.example',
    ')',
    '|',
    '`',
    '\n\n',
    '```\n',
  ],
);
const hostile = fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join(''));

test('what is settled of a text is how the whole text made harmless begins, wherever it is cut', () => {
  fc.assert(
    fc.property(hostile, (text) => {
      const whole = harmless(text);
      const parts = Array.from({ length: text.length + 1 }, (_, end) =>
        settledText(text.slice(0, end)),
      );
      expect(parts.filter((part) => !whole.startsWith(part))).toEqual([]);
    }),
    { numRuns: long ? 500 : 100 },
  );
});
test.each(['<', '<!', '<!chan', '@', '@here', 'Hello @ev', 'Hello &#3', 'Hello <\u200b\u200b'])(
  '“%s” waits for what comes next',
  (text) => {
    expect(settledText(text)).toBe(text.startsWith('Hello') ? 'Hello ' : '');
  },
);

test('plain text is settled at once, and a sign that makes no mention soon after', () => {
  expect(settledText('Light is **scattered**.')).toBe('Light is **scattered**.');
  expect(settledText(`a < b ${'and so on '.repeat(4)}`)).toBe(`a < b ${'and so on '.repeat(4)}`);
  expect(settledText('half a pair \ud83d')).toBe('half a pair ');
});
