import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Runbook, runbookAddress, shortRunbook } from '../../src/contracts/monitoring.ts';
import { anyCharacter } from '../helpers/any-character.ts';

test.each([
  ['https://u:hunter2@wiki.example/shop', 'https://…@wiki.example/shop'],
  [
    'See https://wiki.example/?token=abc&page=2\nand redis://:pw@db:6379.',
    'See https://wiki.example/?token=…&page=2\nand redis://…@db:6379.',
  ],
  [
    'https://wiki.example/viewpage.action?spaceKey=OPS',
    'https://wiki.example/viewpage.action?spaceKey=OPS',
  ],
  ['Call @here and <!channel>', 'Call @here and <!channel>'],
])('the runbook %j is kept as %j', (text, kept) => {
  expect(Runbook.parse(text)).toBe(kept);
});

test('a kept runbook stays as it is when it is sent again', () => {
  const pieces = fc.constantFrom('https://', 'u:p@', '?token=', '\n', '…', ' ', 'x');
  const texts = fc.array(fc.oneof(pieces, anyCharacter), { maxLength: 30 });
  fc.assert(
    fc.property(texts, (parts) => {
      const kept = Runbook.parse(parts.join(''));
      expect(Runbook.parse(kept)).toBe(kept);
      expect(Runbook.parse(shortRunbook(kept))).toBe(shortRunbook(kept));
    }),
  );
});

test.each([
  ['https://wiki.example/shop', 'https://wiki.example/shop'],
  ['HTTP://wiki.example', 'HTTP://wiki.example'],
  ['https://wiki.example/shop and more', undefined],
  ['https://', undefined],
  ['javascript:alert(1)', undefined],
  ['ftp://wiki.example', undefined],
  [`https://wiki.example/${'x'.repeat(500)}`, undefined],
])('the address in the runbook %j is %j', (text, address) => {
  expect(runbookAddress(text)).toBe(address);
});

test('the short form of a long text is one line of 200 characters, and never an address', () => {
  expect(shortRunbook('1. Look\n\n2. Restart')).toBe('1. Look 2. Restart');
  const cut = shortRunbook(`https://wiki.example/${'x'.repeat(2_000)}`);
  expect(cut).toMatch(/^https:\/\/wiki\.example\/x+ …$/);
  expect(cut).toHaveLength(200);
  expect(runbookAddress(cut)).toBeUndefined();
  expect(Array.from(shortRunbook('🙂'.repeat(300)))).toHaveLength(200);
  expect(shortRunbook(`a${' '.repeat(3_000)}b`)).toBe('a …');
});
