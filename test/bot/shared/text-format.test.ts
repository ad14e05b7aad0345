import { expect, test } from 'vitest';
import { percentOf, percentText, splitInstants } from '../../../src/bot/shared/text-format.ts';

const NOW = Date.parse('2026-01-02T10:00:00Z');

test.each([
  ['down since 14:05 UTC (3 hours)', '2026-01-02T14:05:00Z'],
  ['checked 14:05:07 UTC', '2026-01-02T14:05:07Z'],
  ['from 26 Nov 2025 14:05 UTC', '2025-11-26T14:05:00Z'],
  ['since 26 Nov 14:05 UTC', '2025-11-26T14:05:00Z'],
  ['seit 3. März 14:05 UTC', '2026-03-03T14:05:00Z'],
  ['desde 26 dic 14:05 UTC', '2025-12-26T14:05:00Z'],
  ['no news since 2026-01-01 14:05 UTC', '2026-01-01T14:05:00Z'],
  ['at 2026-01-01T14:05:07.123Z', '2026-01-01T14:05:07Z'],
  ['all 5 services, 14:05 UTC', '2026-01-02T14:05:00Z'],
])('finds the moment in “%s”', (text, iso) => {
  const parts = splitInstants(text, NOW);
  expect(parts.map((part) => (typeof part === 'string' ? part : part.text)).join('')).toBe(text);
  const found = parts.flatMap((part) => (typeof part === 'string' ? [] : [part.atMs]));
  expect(found).toEqual([Date.parse(iso)]);
});

test.each([
  '22:00 to 07:00 (UTC)',
  'took 00:14',
  'port 14:05 UTCx',
  '1.14:05 UTC',
  '192.0.2.1:8080 UTC',
])('leaves “%s” as it is', (text) => expect(splitInstants(text, NOW)).toEqual([text]));

test.each([
  [0, '0 %'],
  [1e-9, '0.01 %'],
  [0.283_339, '28.33 %'],
  [0.57, '57 %'],
  [0.999_599, '99.96 %'],
  [1 - 1e-9, '99.99 %'],
  [1, '100 %'],
])('a share of %d reads %s', (share, text) => {
  expect(percentText(share)).toBe(text);
  expect(percentOf(share)).toBe(Number.parseFloat(text));
});
