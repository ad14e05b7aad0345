import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRateLimit, rateLimitHeaders } from '../../src/http/rate-limit.ts';
import { long } from '../helpers/long.ts';

const WINDOW_MS = 60_000;

test('no window of 60 seconds ever holds more than the limit, and nobody under it is refused', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 5 }),
      fc.array(fc.tuple(fc.nat(2), fc.oneof(fc.nat(200), fc.nat(40_000))), {
        maxLength: 120,
        size: 'max',
      }),
      (limit, steps) => {
        let now = 1_000;
        const rateLimit = createRateLimit({ limit, windowMs: WINDOW_MS, nowMs: () => now });
        const allowedOf = new Map<number, number[]>();
        for (const [who, pauseMs] of steps) {
          now += pauseMs;
          const allowed = allowedOf.get(who) ?? [];
          const counted = allowed.filter((time) => time > now - WINDOW_MS);
          const verdict = rateLimit.take(String(who));
          expect(verdict.allowed).toBe(counted.length < limit);
          if (verdict.allowed) counted.push(now);
          allowedOf.set(who, counted);
          expect(verdict.remaining).toBe(limit - counted.length);
          expect(verdict.resetMs).toBe((counted[0] ?? 0) + WINDOW_MS - now);
        }
      },
    ),
    { numRuns: long ? 1_000 : 30 },
  );
});

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

test('callers who have been silent for a window are forgotten', () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  let now = 0;
  const rateLimit = createRateLimit({ limit: 120, windowMs: WINDOW_MS, nowMs: () => now });
  const heapAfter = (count: number) => {
    for (let n = 0; n < count; n += 1) {
      now += 10;
      rateLimit.take(`caller ${now} from an address with a long name`);
    }
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  // Two windows of callers are the most that is kept; 50,000 would be about 8 MB.
  const before = heapAfter(15_000);
  expect(heapAfter(50_000) - before).toBeLessThan(4_000_000);
});
