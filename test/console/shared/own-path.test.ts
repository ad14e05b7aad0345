import fc from 'fast-check';
import { expect, test } from 'vitest';
import { ownPath } from '../../../src/console/shared/own-path.ts';
import { long } from '../../helpers/long.ts';

/** Resolves a path from a page of the console, as a browser does. */
const HERE = 'https://ask.example.com';

test.each([
  ['/', '/'],
  ['/status', '/status'],
  ['/status?hours=24#top', '/status?hours=24#top'],
  ['/#/general/m1', '/#/general/m1'],
  ['/a/../account', '/account'],
])('%s leads to %s', (text, path) => {
  expect(ownPath(text)).toBe(path);
});

test.each([
  '//evil.example',
  '///evil.example',
  '\\\\evil.example',
  '/\\evil.example',
  '/\t/evil.example',
  '/\n/evil.example',
  '/.//evil.example',
  '/..//evil.example',
  '/%2e//evil.example',
  '/a/../..//evil.example',
  'javascript:alert(1)',
  'https://evil.example',
  'evil.example',
  ' //evil.example',
  '',
  `/${'x'.repeat(2_000)}`,
  undefined,
  null,
])('%j leads to the first page', (text) => {
  expect(ownPath(text)).toBe('/');
});

test('no path leads to another server, and reading it twice changes nothing', () => {
  const piece = fc.constantFrom(
    '/',
    '\\',
    '.',
    '..',
    '%2e',
    '\t',
    '\n',
    ':',
    '@',
    '?',
    '#',
    'evil',
  );
  const text = fc.oneof(
    fc.string(),
    fc.webUrl(),
    fc.array(piece).map((pieces) => pieces.join('')),
  );
  fc.assert(
    fc.property(text, fc.boolean(), (given, withSlash) => {
      const path = ownPath(withSlash ? `/${given}` : given);
      expect(new URL(path, HERE).origin).toBe(HERE);
      expect(path).toMatch(/^\/(?![/\\])/);
      expect(ownPath(path)).toBe(path);
    }),
    { numRuns: long ? 20_000 : 150 },
  );
});
