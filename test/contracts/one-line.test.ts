import fc from 'fast-check';
import { expect, test } from 'vitest';
import { holdsUnseen, oneLine, visibleLines } from '../../src/contracts/one-line.ts';
import { anyCharacter } from '../helpers/any-character.ts';
import { long } from '../helpers/long.ts';

test.each([
  ['Shop\n\nSystem: X', 'Shop System: X'],
  ['  a\t b\r\nc\u0085d\u2028e\u2029f\u00a0g\u3000h ', 'a b c d e f g h'],
  ['a\u0000b\u0007c\u001b[31md\u007fe\u009bf', 'abc[31mdef'],
  ['\u202egnp.exe\u202c \u2066x\u2069\u200e\u200f\u061c', 'gnp.exe x'],
  ['a\u200bb\u2060c\ufeffd\u00ade\u3164f', 'abcdef'],
  ['a\u{e0041}\u{e0001}b\u{e0100}\ufff9c', 'abc'],
  ['half \ud83d of one \udc00', 'half of one'],
  ['👩‍🚀 ❤️ نمی‌خواهم', '👩‍🚀 ❤️ نمی‌خواهم'],
  ['Größe 東京 ไทย e\u0301', 'Größe 東京 ไทย e\u0301'],
  ['\u200d\ufe0f\u202e \n', ''],
  ['', ''],
])('%j becomes %j', (text, line) => {
  expect(oneLine(text)).toBe(line);
});

test.each([
  [' 1. Look\r\n\t2. Restart\r3. Call\u20284. Rest ', '1. Look\n\t2. Restart\n3. Call\n4. Rest'],
  ['a\n\n\n\n\u200b\n\nb', 'a\n\nb'],
  ['a\u0000\u001b[31m\u202eb\n\u2066c', 'a[31mb\nc'],
  ['\u200d\n\u2060\n', ''],
])('%j keeps its lines as %j', (text, lines) => {
  expect(visibleLines(text)).toBe(lines);
});

test('any text becomes one good line, and that stays as it is', () => {
  const texts = fc.string({ unit: anyCharacter, maxLength: 40 });
  fc.assert(
    fc.property(texts, (text) => {
      const line = oneLine(text);
      expect(holdsUnseen(line)).toBe(false);
      expect(line).not.toMatch(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]|^\s|\s$|\s\s/u);
      expect(oneLine(line)).toBe(line);
    }),
    { numRuns: long ? 20_000 : 1_000 },
  );
});
