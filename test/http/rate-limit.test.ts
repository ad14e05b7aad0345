import { expect, test } from 'vitest';
import { createRateLimit, rateLimitHeaders } from '../../src/http/rate-limit.ts';

const WINDOW_MS = 60_000;

test('a refusal says when to come back, and coming back then works', () => {
  let now = 0;
  const rateLimit = createRateLimit({ limit: 2, windowMs: WINDOW_MS, nowMs: () => now });
  const headersAt = (time: number) => {
    now = time;
    return rateLimitHeaders(rateLimit.take('key'));
  };
  expect(headersAt(0)).toEqual({
    'x-ratelimit-limit': '2',
    'x-ratelimit-remaining': '1',
    'x-ratelimit-reset': '60',
  });
  expect(headersAt(10_500)).toMatchObject({
    'x-ratelimit-remaining': '0',
    'x-ratelimit-reset': '50',
  });
  expect(headersAt(20_000)).toMatchObject({ 'x-ratelimit-remaining': '0', 'retry-after': '40' });
  expect(headersAt(59_999)).toMatchObject({ 'retry-after': '1' });
  expect(headersAt(60_000)).not.toHaveProperty('retry-after');
});

test('a refused request uses no quota: who keeps asking is served again as soon as who waited', () => {
  let now = 0;
  const rateLimit = createRateLimit({ limit: 3, windowMs: WINDOW_MS, nowMs: () => now });
  let allowed = 0;
  for (now = 0; now < 10 * WINDOW_MS; now += 100) if (rateLimit.take('key').allowed) allowed += 1;
  expect(allowed).toBe(30);
});
