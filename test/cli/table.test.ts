import { expect, test } from 'vitest';
import { plain } from '../../src/app/plain.ts';
import { tableLines } from '../../src/cli/table.ts';

test('columns are as wide as what they hold, and numbers stand at the right', () => {
  const headings = ['NAME', 'COUNT', 'NOTE'];
  expect(
    tableLines(headings, [['a', 1, ''], ['a longer 😀 name', 1234567, 'x'], ['short']]),
  ).toEqual([
    'NAME               COUNT  NOTE',
    'a                      1',
    'a longer 😀 name  1234567  x',
    'short',
  ]);
  expect(tableLines(headings, [])).toEqual(['NAME  COUNT  NOTE']);
});

test.each([
  ['\u001b]0;title\u0007', '\\u{1b}]0;title\\u{7}'],
  ['a\tb\r\nc', 'a\\u{9}b\\u{d}\\u{a}c'],
  ['\u009b31mred', '\\u{9b}31mred'],
  ['evil\u202egnp.exe', 'evil\\u{202e}gnp.exe'],
  ['zero\u200bwidth', 'zero\\u{200b}width'],
  ['half \ud800 pair', 'half \\u{d800} pair'],
  ['line\u2028end', 'line\\u{2028}end'],
  ['héllo 世界 😀 \\', 'héllo 世界 😀 \\'],
])('nothing that a terminal obeys is printed: %j', (text, shown) => {
  expect(plain(text)).toBe(shown);
  expect(tableLines(['NAME'], [[text]])[1]).toBe(shown.trimEnd());
});
