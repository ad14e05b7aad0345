import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  plain,
  plainWithin,
  questionLine,
  threadName,
  within,
  withoutMentions,
} from '../../../src/discord/render/text.ts';

test.each([
  ['@everyone and @here', '＠everyone and ＠here'],
  ['<@123> <@!123> <@&456>', '‹@123> ‹@!123> ‹@&456>'],
  ['mail me@example.com', 'mail me@example.com'],
])('mentions in %s are shown as text', (text, shown) => {
  expect(withoutMentions(text)).toBe(shown);
});

test.each([
  [
    '**bold** _it_ ~~no~~ ||spoiler||',
    '\\*\\*bold\\*\\* \\_it\\_ \\~\\~no\\~\\~ \\|\\|spoiler\\|\\|',
  ],
  ['`code`', '\\`code\\`'],
  ['[click](https://evil.example)', '\\[click\\]\\(https://evil.example)'],
  ['<#123> <t:1:R> <:x:1>', '\\<\\#123\\> \\<t:1:R\\> \\<:x:1\\>'],
  ['# title', '\\# title'],
  ['- item\n12. item', '\\- item\n12\\. item'],
  ['https://example.com/a_b_c?x=*', 'https://example.com/a_b_c?x=*'],
  ['\\*', '\\\\\\*'],
])('%s is shown as it is written', (text, shown) => {
  expect(plain(text)).toBe(shown);
});

test('plain text says the same once Discord has taken the backslashes off', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'ab*_~`|<>[]()#@\\-. 1\n') }), (text) => {
      expect(plain(text).replace(/\\([^0-9A-Za-z\s])/g, '$1')).toBe(withoutMentions(text));
    }),
  );
});

test('a cut text fits with its backslashes', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('*', 'a', '👍', '`'), maxLength: 300 }),
      fc.integer({ min: 1, max: 100 }),
      (text, max) => {
        expect(plainWithin(text, max).length).toBeLessThanOrEqual(max);
      },
    ),
  );
});

test('a cut never leaves half a pair', () => {
  expect(within('👍👍', 4)).toBe('👍👍');
  expect(within('👍👍', 3)).toBe('👍…');
  expect(within('👍👍', 2)).toBe('…');
});

test('a question is repeated on one line, with nothing in it that works', () => {
  expect(questionLine('Al*ce', 'is @everyone\n**here**?')).toBe(
    '**Al\\*ce** asked: is ＠everyone \\*\\*here\\*\\*?',
  );
  expect(questionLine('a'.repeat(3_000), '*'.repeat(9_000)).length).toBeLessThanOrEqual(2_000);
});

test('a thread is named by its question, in at most 100 characters', () => {
  expect(threadName('why is\nthe sky blue?')).toBe('why is the sky blue?');
  expect(threadName('x'.repeat(200))).toHaveLength(100);
  expect(threadName(' \n ')).toBe('Question');
});
