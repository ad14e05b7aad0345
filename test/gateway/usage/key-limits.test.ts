import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { KeyLimits } from '../../../src/contracts/key-limits.ts';
import type { UsageMeter } from '../../../src/gateway/usage/ledger.ts';
import { HttpError } from '../../../src/http/errors.ts';
import type { RequestEnd } from '../../../src/store/usage.ts';
import { keyWith, openLedger } from '../../helpers/gateway/usage-ledger.ts';
import { long } from '../../helpers/long.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** By how much a limit may free up late. */
const STEP_MS = 20;

/** Makes a call that must be refused, and gives the refusal. */
function refusalOf(call: () => void): HttpError {
  try {
    call();
  } catch (error) {
    if (error instanceof HttpError) return error;
    throw error;
  }
  throw new Error('It was not refused.');
}

const usageOf = (prompt_tokens: number, completion_tokens: number) => ({
  prompt_tokens,
  completion_tokens,
  total_tokens: prompt_tokens + completion_tokens,
});

const limitsArbitrary = fc.record(
  {
    requestsPerMinute: fc.integer({ min: 1, max: 6 }),
    tokensPerMinute: fc.integer({ min: 1, max: 300 }),
    tokensPerDay: fc.integer({ min: 1, max: 1_500 }),
    tokensPerMonth: fc.integer({ min: 1, max: 3_000 }),
  },
  { requiredKeys: [] },
);

const ends: RequestEnd[] = ['complete', 'client_gone', 'upstream_error', 'refused'];

const stepArbitrary = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('begin' as const),
      prompt: fc.nat(120),
      reply: fc.nat(80),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('end' as const),
      which: fc.nat(),
      end: fc.constantFrom(...ends),
      /** The part of what was set aside that was used. */
      part: fc.double({ min: 0, max: 1, noNaN: true }),
      told: fc.boolean(),
      again: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('wait' as const),
      ms: fc.oneof(
        fc.nat(500),
        fc.integer({ min: MINUTE_MS - 30, max: MINUTE_MS + 30 }),
        fc.nat(70_000),
        fc.nat(DAY_MS * 2),
      ),
    }),
  },
);

interface Begun {
  meter: UsageMeter;
  prompt: number;
  reply: number;
}

test('no minute, day or month ever holds more than the limits, no request that fits is refused, and reserved tokens are given back', async () => {
  await fc.assert(
    fc.asyncProperty(
      limitsArbitrary,
      fc.array(stepArbitrary, { maxLength: 80, size: 'max' }),
      async (limits: KeyLimits, steps) => {
        const { ledger, clock, close } = await openLedger();
        const key = keyWith(limits);
        const under: Begun[] = [];
        const accepted: number[] = [];
        const used: Array<{ atMs: number; tokens: number }> = [];
        const since = (fromMs: number) =>
          used.filter(({ atMs }) => atMs > fromMs).reduce((sum, { tokens }) => sum + tokens, 0);
        const inPeriod = (length: number) => {
          const period = (atMs: number) => new Date(atMs).toISOString().slice(0, length);
          return used
            .filter(({ atMs }) => period(atMs) === period(clock.nowMs))
            .reduce((sum, { tokens }) => sum + tokens, 0);
        };
        const aside = () => under.reduce((sum, { prompt, reply }) => sum + prompt + reply, 0);
        const { requestsPerMinute, tokensPerMinute, tokensPerDay, tokensPerMonth } = limits;

        const check = () => {
          const now = clock.nowMs;
          const lately = accepted.filter((atMs) => atMs > now - MINUTE_MS).length;
          if (requestsPerMinute) expect(lately).toBeLessThanOrEqual(requestsPerMinute);
          if (tokensPerMinute) expect(since(now - MINUTE_MS)).toBeLessThanOrEqual(tokensPerMinute);
          if (tokensPerDay) expect(inPeriod(10)).toBeLessThanOrEqual(tokensPerDay);
          if (tokensPerMonth) expect(inPeriod(7)).toBeLessThanOrEqual(tokensPerMonth);
        };

        const begin = (prompt: number, reply: number) => {
          const now = clock.nowMs;
          const need = prompt + reply;
          const meter = ledger.open(key);
          const counted = accepted.filter((atMs) => atMs > now - MINUTE_MS - STEP_MS).length;
          const mayBeRefused =
            (requestsPerMinute !== undefined && counted >= requestsPerMinute) ||
            (tokensPerMinute !== undefined &&
              since(now - MINUTE_MS - STEP_MS) + aside() + need > tokensPerMinute) ||
            (tokensPerDay !== undefined && inPeriod(10) + aside() + need > tokensPerDay) ||
            (tokensPerMonth !== undefined && inPeriod(7) + aside() + need > tokensPerMonth);
          try {
            meter.takeRequest();
            meter.reserve(prompt, reply);
            accepted.push(now);
            under.push({ meter, prompt, reply });
          } catch (error) {
            expect(error).toMatchObject({ status: 429 });
            expect(mayBeRefused).toBe(true);
            meter.end('refused');
          }
        };

        const finish = (
          begun: Begun,
          end: RequestEnd,
          part: number,
          told: boolean,
          again: boolean,
        ) => {
          under.splice(under.indexOf(begun), 1);
          const { meter } = begun;
          const prompt = Math.floor(begun.prompt * part);
          const reply = Math.floor(begun.reply * part);
          meter.estimatePrompt = () => prompt;
          meter.addAnswer(reply / 2);
          meter.addAnswer(reply / 2);
          if (told) meter.usage = usageOf(prompt, reply);
          meter.end(end);
          if (again) {
            meter.end('complete');
            // A late reservation must not stay, because nobody would give it back.
            void meter.reserve(1, 0);
            void meter.takeRequest();
          }
          used.push({ atMs: clock.nowMs, tokens: end === 'refused' ? 0 : prompt + reply });
        };

        for (const step of steps) {
          if (step.kind === 'wait') clock.nowMs += step.ms;
          if (step.kind === 'begin') begin(step.prompt, step.reply);
          const begun = step.kind === 'end' ? under[step.which % under.length] : undefined;
          if (step.kind === 'end' && begun) {
            finish(begun, step.end, step.part, step.told, step.again);
          }
          check();
        }
        for (const begun of [...under]) finish(begun, 'client_gone', 0.5, false, true);
        check();

        clock.nowMs += MINUTE_MS + STEP_MS;
        const left = (limit: number | undefined, spent: number) =>
          limit === undefined ? {} : limit - spent;
        expect(ledger.left(key)).toEqual({
          ...(requestsPerMinute && { requestsPerMinute }),
          ...(tokensPerMinute && { tokensPerMinute }),
          ...(tokensPerDay && { tokensPerDay: left(tokensPerDay, inPeriod(10)) }),
          ...(tokensPerMonth && { tokensPerMonth: left(tokensPerMonth, inPeriod(7)) }),
        });
        await close();
      },
    ),
    { numRuns: long ? 2_000 : 25 },
  );
});

test('a refusal for too many requests says when to come back, and coming back then works', async () => {
  const { ledger, clock } = await openLedger();
  const key = keyWith({ requestsPerMinute: 2 });
  const headersOf = () => {
    const meter = ledger.open(key);
    meter.takeRequest();
    return meter.limitHeaders();
  };
  expect(headersOf()).toEqual({
    'x-ratelimit-limit-requests': '2',
    'x-ratelimit-remaining-requests': '1',
    'x-ratelimit-reset-requests': '1m0s',
  });
  clock.nowMs += 20_000;
  expect(headersOf()).toMatchObject({ 'x-ratelimit-remaining-requests': '0' });
  clock.nowMs += 10_500;
  const refusal = refusalOf(headersOf);
  expect(refusal).toMatchObject({ status: 429, code: 'rate_limit_exceeded', type: 'requests' });
  expect(refusal.headers).toEqual({
    'x-ratelimit-limit-requests': '2',
    'x-ratelimit-remaining-requests': '0',
    'x-ratelimit-reset-requests': '49.5s',
    'retry-after': '30',
  });
  expect(refusal.message).toBe(
    "This key has reached its limit of 2 requests per minute. Wait 30 s (Retry-After) and try again. The gateway's operator can change the limit (askwatch keys limit).",
  );
  clock.nowMs += Number(refusal.headers['retry-after']) * 1000;
  expect(headersOf()).toMatchObject({ 'x-ratelimit-remaining-requests': '0' });
});

describe('tokens per minute', () => {
  test('a refused request gives back its own count and its reserved tokens only once', async () => {
    const { ledger } = await openLedger();
    const key = keyWith({ requestsPerMinute: 5, tokensPerMinute: 100 });
    const [first, second] = [ledger.open(key), ledger.open(key)];
    for (const meter of [first, second]) {
      meter.takeRequest();
      meter.reserve(20, 10);
    }
    refusalOf(() => second.reserve(71, 0));
    refusalOf(() => second.reserve(71, 0));
    expect(ledger.left(key)).toEqual({ requestsPerMinute: 4, tokensPerMinute: 70 });
    second.end('refused');
    expect(ledger.left(key)).toEqual({ requestsPerMinute: 4, tokensPerMinute: 70 });
    first.end('refused');
    expect(ledger.left(key)).toEqual({ requestsPerMinute: 4, tokensPerMinute: 100 });
  });

  test('a request whose caller left uses no more of the limits', async () => {
    const { ledger } = await openLedger();
    const key = keyWith({ requestsPerMinute: 5, tokensPerMinute: 100 });
    const meter = ledger.open(key);
    meter.end('client_gone');
    meter.takeRequest();
    meter.reserve(10, 10);
    expect(ledger.left(key)).toEqual({ requestsPerMinute: 5, tokensPerMinute: 100 });
  });

  test('reserved tokens count until the request has ended, and its real usage after that', async () => {
    const { ledger, clock } = await openLedger();
    const key = keyWith({ tokensPerMinute: 1_000 });
    const first = ledger.open(key);
    expect(first.countsTokens).toBe(true);
    first.reserve(300, 400);
    expect(first.limitHeaders()).toEqual({
      'x-ratelimit-limit-tokens': '1000',
      'x-ratelimit-remaining-tokens': '300',
      'x-ratelimit-reset-tokens': '1m0s',
    });
    const second = ledger.open(key);
    const early = refusalOf(() => second.reserve(301, 0));
    expect(early.message).toContain(
      '1000 tokens per minute: 0 are used, 700 are reserved for requests in progress, and this request needs about 301 (301 for the prompt, up to 0 for the answer)',
    );
    expect(early.headers['retry-after']).toBe('1');
    first.usage = usageOf(300, 50);
    first.end('complete');
    clock.nowMs += 5_000;
    second.reserve(300, 350);
    second.reserve(200, 350);
    expect(second.limitHeaders()).toMatchObject({ 'x-ratelimit-remaining-tokens': '100' });
    const third = ledger.open(key);
    const refusal = refusalOf(() => third.reserve(100, 1));
    expect(refusal).toMatchObject({ code: 'rate_limit_exceeded', type: 'tokens' });
    expect(refusal.headers['retry-after']).toBe('55');
    clock.nowMs += 55_000;
    third.reserve(100, 1);
  });

  test('a request that can never fit is refused with a sentence and a header against retries', async () => {
    const { ledger } = await openLedger();
    const meter = ledger.open(keyWith({ tokensPerMinute: 1_000 }));
    const refusal = refusalOf(() => meter.reserve(600.2, 400));
    expect(refusal).toMatchObject({ status: 429, code: 'insufficient_quota', type: 'tokens' });
    expect(refusal.message).toBe(
      "This key may use 1000 tokens per minute, but this request needs about 1001 (601 for the prompt, up to 400 for the answer). Send less, or ask for a shorter answer with max_tokens. The gateway's operator can change the limit (askwatch keys limit).",
    );
    expect(refusal.headers).toMatchObject({ 'x-should-retry': 'false' });
    expect(refusal.headers).not.toHaveProperty('retry-after');
  });

  describe.each([{ tokensPerMinute: 10 }, { tokensPerDay: 10 }, { tokensPerMonth: 10 }])(
    'with %j',
    (limits) => {
      test.each([Number.NaN, Number.POSITIVE_INFINITY, Number.MAX_SAFE_INTEGER, 1e300])(
        'a reply of %d tokens never fits, and leaves nothing behind',
        async (reply) => {
          const { ledger } = await openLedger();
          // Without a limit of tokens nothing is set aside, so nothing odd is either.
          ledger.open(keyWith({ requestsPerMinute: 1 })).reserve(reply, reply);
          const meter = ledger.open(keyWith(limits));
          expect(refusalOf(() => meter.reserve(1, reply)).code).toBe('insufficient_quota');
          meter.end('refused');
          expect(ledger.left(keyWith(limits))).toEqual(limits);
        },
      );
    },
  );
});

describe('a budget', () => {
  test('a used-up budget is a 429 that no client repeats, and it says when the next day begins', async () => {
    const { ledger, clock } = await openLedger();
    const key = keyWith({ tokensPerDay: 1_000 });
    const first = ledger.open(key);
    first.reserve(500, 400);
    const waiting = refusalOf(() => ledger.open(key).reserve(101, 0));
    // It may fit when the first has used less than was set aside.
    expect(waiting).toMatchObject({ code: 'rate_limit_exceeded', type: 'tokens' });
    expect(waiting.headers).toEqual({ 'retry-after': '1' });
    first.usage = usageOf(500, 400);
    first.end('complete');
    const refusal = refusalOf(() => ledger.open(key).reserve(101, 0));
    expect(refusal).toMatchObject({ code: 'insufficient_quota', type: 'insufficient_quota' });
    expect(refusal.headers).toEqual({ 'x-should-retry': 'false' });
    expect(refusal.message).toBe(
      "This key may use 1000 tokens per day: 900 are used, 0 are reserved for requests in progress, and this request needs about 101 (101 for the prompt, up to 0 for the answer). The next day begins at 2026-11-21T00:00Z. The gateway's operator can change the limit (askwatch keys limit).",
    );
    clock.nowMs += DAY_MS / 2;
    ledger.open(key).reserve(1_000, 0);
  });

  test('the budget of a month ends with the month', async () => {
    const { ledger, clock } = await openLedger({ atMs: Date.UTC(2026, 11, 30, 12) });
    const key = keyWith({ tokensPerMonth: 10 });
    const first = ledger.open(key);
    first.reserve(10, 0);
    first.usage = usageOf(10, 0);
    first.end('client_gone');
    clock.nowMs += DAY_MS;
    const refusal = refusalOf(() => ledger.open(key).reserve(1, 0));
    expect(refusal.message).toContain('10 tokens per month: 10 are used');
    expect(refusal.message).toContain('The next month begins at 2027-01-01T00:00Z.');
    clock.nowMs += DAY_MS;
    ledger.open(key).reserve(10, 0);
  });

  test('can be overdrawn by a request that used more than was set aside, and then refuses', async () => {
    const { ledger } = await openLedger();
    const key = keyWith({ tokensPerDay: 100, tokensPerMinute: 100 });
    const meter = ledger.open(key);
    meter.reserve(10, 10);
    meter.usage = usageOf(150, 10);
    meter.end('complete');
    expect(ledger.left(key)).toEqual({ tokensPerDay: 0, tokensPerMinute: 0 });
    expect(ledger.open(key).limitHeaders()).toMatchObject({ 'x-ratelimit-remaining-tokens': '0' });
    expect(refusalOf(() => ledger.open(key).reserve(0, 1)).status).toBe(429);
  });
});

test('a key without limits has no headers, needs no estimate and is never refused', async () => {
  const { ledger } = await openLedger();
  const key = keyWith();
  for (let turn = 0; turn < 1_000; turn += 1) {
    const meter = ledger.open(key);
    meter.takeRequest();
    meter.reserve(1e9, 1e9);
    expect([meter.countsTokens, meter.limitHeaders()]).toEqual([false, {}]);
    meter.end('complete');
  }
  expect(ledger.left(key)).toEqual({});
});
