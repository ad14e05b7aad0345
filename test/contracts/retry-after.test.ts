import { expect, test } from 'vitest';
import { readRetryAfterMs } from '../../src/contracts/rate-limit.ts';

const NOON_MS = Date.UTC(2026, 10, 21, 12);

test.each([
  [{ 'retry-after': '7' }, 7_000],
  [{ 'retry-after': '0' }, 0],
  [{ 'retry-after': '0.25' }, 250],
  [{ 'retry-after': 'Sat, 21 Nov 2026 12:00:30 GMT' }, 30_000],
  [{ 'retry-after': 'Sat, 21 Nov 2026 11:00:00 GMT' }, 0],
  [{ 'retry-after': '9', 'retry-after-ms': '120.5' }, 121],
  [{ 'retry-after': '9', 'retry-after-ms': 'soon' }, 9_000],
  [{}, undefined],
  [{ 'retry-after': 'later' }, undefined],
  [{ 'retry-after': '' }, undefined],
  [{ 'retry-after': '1e999' }, undefined],
])('the headers %j ask for a pause of %s ms', (headers, expected) => {
  expect(readRetryAfterMs(headers, NOON_MS)).toBe(expected);
});

test('a negative number asks for no pause', () => {
  expect(readRetryAfterMs({ 'retry-after': '-5' }, NOON_MS) ?? 0).toBe(0);
});
