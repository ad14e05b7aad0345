import { expect, test } from 'vitest';
import { createLoginLimits, type Guesser } from '../../../src/console/login/login-limits.ts';
import { HttpError } from '../../../src/http/errors.ts';
import { createMemoryWindows } from '../../../src/store/memory-windows.ts';

const MINUTE_MS = 60_000;

function limitsWithClock() {
  let nowMs = 0;
  const countAttempt = createLoginLimits({ windows: createMemoryWindows }, () => nowMs);

  /** Enters a wrong password; resolves to the sentence of a refusal. */
  async function refusalOf(guesser: Guesser): Promise<string | undefined> {
    try {
      await countAttempt(guesser);
      return undefined;
    } catch (error) {
      if (!(error instanceof HttpError)) throw error;
      expect([error.status, error.code]).toEqual([429, 'rate_limit_exceeded']);
      expect(Number(error.headers['retry-after'])).toBeGreaterThan(0);
      return error.message;
    }
  }
  /** Counts the wrong passwords that are accepted now, of at most six. */
  async function acceptedOf(guesser: Guesser): Promise<number> {
    for (let count = 0; count < 6; count += 1) if (await refusalOf(guesser)) return count;
    return 6;
  }
  const pass = (ms: number) => {
    nowMs += ms;
  };
  return { countAttempt, refusalOf, acceptedOf, pass };
}

const at = (address: string): Guesser => ({ address });

test('one address may enter five wrong passwords in a minute, and delays nobody else', async () => {
  const { refusalOf, acceptedOf, pass } = limitsWithClock();
  expect(await acceptedOf(at('a'))).toBe(5);
  pass(20_000);
  expect(await refusalOf(at('a'))).toBe(
    'Too many wrong passwords from this address. Try again in 40 seconds.',
  );
  expect(await refusalOf(at('b'))).toBeUndefined();
  pass(40_000);
  expect(await refusalOf(at('a'))).toBeUndefined();
});

test.each<[string, Guesser]>([
  ['address', { address: 'a' }],
  ['browser', { session: 'a' }],
])('one %s may enter twenty wrong passwords in an hour', async (name, guesser) => {
  const { refusalOf, pass } = limitsWithClock();
  for (let count = 0; count < 20; count += 1) {
    expect(await refusalOf(guesser)).toBeUndefined();
    pass(MINUTE_MS);
  }
  expect(await refusalOf(guesser)).toBe(
    `Too many wrong passwords from this ${name}. Try again in 40 minutes.`,
  );
  pass(40 * MINUTE_MS);
  expect(await refusalOf(guesser)).toBeUndefined();
});

test('all addresses together may enter sixty wrong passwords in a minute', async () => {
  const { refusalOf, acceptedOf, pass } = limitsWithClock();
  const refusals: Array<string | undefined> = [];
  for (let index = 0; index < 200; index += 1) refusals.push(await refusalOf(at(`${index}`)));
  expect(refusals.filter((one) => one === undefined)).toHaveLength(60);
  expect(refusals.at(-1)).toMatch(/^Too many wrong passwords in all/);
  pass(MINUTE_MS);
  expect(await acceptedOf(at('199'))).toBe(5);
});

test('a logged-in browser is not limited by others, and limits nobody', async () => {
  const strangers = limitsWithClock();
  for (let index = 0; index < 100; index += 1) await strangers.refusalOf(at(`${index % 20}`));
  expect(await strangers.refusalOf(at('another'))).toMatch(/in all/);
  expect(await strangers.acceptedOf({ session: 'a' })).toBe(5);
  expect(await strangers.acceptedOf({ session: 'b' })).toBe(5);
  const members = limitsWithClock();
  for (let index = 0; index < 100; index += 1) await members.refusalOf({ session: `${index}` });
  expect(await members.acceptedOf(at('a'))).toBe(5);
});

test('an address over its own limit does not use up the limit of all', async () => {
  const { refusalOf } = limitsWithClock();
  for (let count = 0; count < 1_000; count += 1) await refusalOf(at('a'));
  expect(await refusalOf(at('b'))).toBeUndefined();
});

test('right passwords count for no limit', async () => {
  const { countAttempt, acceptedOf } = limitsWithClock();
  for (let count = 0; count < 200; count += 1) await (await countAttempt(at('a')))();
  expect(await acceptedOf(at('a'))).toBe(5);
});
