import { expect, test } from 'vitest';
import { createLoginLimits } from '../../src/console/login-limits.ts';
import { HttpError } from '../../src/http/errors.ts';

/** Limits on a clock of their own, and what a try comes to: nothing, or the refusal's sentence. */
function limitsWithClock() {
  let now = 0;
  const limits = createLoginLimits(() => now);
  function refusalOf(address: string): string | undefined {
    try {
      limits.take(address);
      return undefined;
    } catch (error) {
      if (!(error instanceof HttpError)) throw error;
      expect([error.status, error.code]).toEqual([429, 'rate_limit_exceeded']);
      expect(Number(error.headers['retry-after'])).toBeGreaterThan(0);
      return error.message;
    }
  }
  const pass = (ms: number) => {
    now += ms;
  };
  return { limits, refusalOf, pass };
}

const times = (count: number) => Array.from({ length: count }, (_, index) => index);

test('one address has five wrong passwords in a minute, and others are not held up by it', () => {
  const { refusalOf, pass } = limitsWithClock();
  expect(times(5).map(() => refusalOf('a'))).toEqual(times(5).map(() => undefined));
  pass(20_000);
  expect(refusalOf('a')).toBe(
    'Too many wrong passwords from this address. Wait 40 seconds, and try again.',
  );
  expect(refusalOf('b')).toBeUndefined();
  pass(40_000);
  expect(refusalOf('a')).toBeUndefined();
});

test('and twenty in an hour', () => {
  const { refusalOf, pass } = limitsWithClock();
  for (const _ of times(20)) {
    expect(refusalOf('a')).toBeUndefined();
    pass(60_000);
  }
  expect(refusalOf('a')).toBe(
    'Too many wrong passwords from this address. Wait 40 minutes, and try again.',
  );
});

test('many addresses have sixty in a minute, and those refused are not remembered', () => {
  const { refusalOf, pass } = limitsWithClock();
  const refusals = times(200).map((index) => refusalOf(`address ${index}`));
  expect(refusals.filter((one) => one === undefined)).toHaveLength(60);
  expect(refusals.at(-1)).toMatch(/^Too many wrong passwords in all/);
  pass(60_000);
  expect(times(5).map(() => refusalOf('address 199'))).toEqual(times(5).map(() => undefined));
});

test('who is over the limit of an address takes nothing from all', () => {
  const { refusalOf } = limitsWithClock();
  for (const _ of times(1_000)) refusalOf('a');
  expect(refusalOf('b')).toBeUndefined();
});

test('right passwords hold nobody up', () => {
  const { limits, refusalOf } = limitsWithClock();
  for (const _ of times(1_000)) limits.take('a')();
  expect(times(5).map(() => refusalOf('a'))).toEqual(times(5).map(() => undefined));
  expect(refusalOf('a')).toBeDefined();
});
