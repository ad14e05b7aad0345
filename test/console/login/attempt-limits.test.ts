import { describe, expect, onTestFinished, test } from 'vitest';
import {
  type Guesser,
  openLoginLimits,
  triesCollection,
} from '../../../src/console/login/attempt-limits.ts';
import { HttpError } from '../../../src/http/errors.ts';
import { openLowdbStore } from '../../../src/store/lowdb/lowdb-store.ts';
import { eventually } from '../../helpers/eventually.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Limits on clocks of their own over a real store, what a try comes to, and the same after a restart. */
async function limitsWithClock() {
  const { log, lines } = recordingLog();
  const store = await openLowdbStore({ folder: await temporaryFolder(), log });
  onTestFinished(() => store.close());
  const stored = store.collection(triesCollection);
  let unixMs = 1_000_000 * MINUTE_MS;
  /** A start has its own, that never goes back, and what it is still storing when the next one comes goes by that. */
  let clock = { ms: 0 };
  const open = () => {
    const own = clock;
    return openLoginLimits({
      ...{ stored, log, sweepEveryMs: 10 },
      ...{ nowMs: () => unixMs, clockMs: () => own.ms },
    });
  };
  let limits = await open();
  onTestFinished(() => limits.close());

  /** Gives a wrong password; the sentence of the refusal when it is not even looked at. */
  async function refusalOf(by: string | Guesser): Promise<string | undefined> {
    const guesser = typeof by === 'string' ? { address: by } : by;
    try {
      await limits.take(guesser);
      return undefined;
    } catch (error) {
      if (!(error instanceof HttpError)) throw error;
      expect([error.status, error.code]).toEqual([429, 'rate_limit_exceeded']);
      expect(Number(error.headers['retry-after'])).toBeGreaterThan(0);
      return error.message;
    }
  }
  /** How many wrong passwords one may give now; at most six are tried. */
  async function left(by: string | Guesser): Promise<number> {
    for (const given of times(6)) if ((await refusalOf(by)) !== undefined) return given;
    return 6;
  }
  function pass(ms: number) {
    unixMs += ms;
    clock.ms += ms;
  }
  /** Sets the one clock that people can set. */
  function setClock(by: number) {
    unixMs += by;
  }
  async function restart() {
    limits.close();
    clock = { ms: 7 };
    limits = await open();
  }
  const addresses = async () => (await stored.list()).map(({ id }) => id).sort();
  const take = (guesser: Guesser) => limits.take(guesser);
  return { stored, lines, take, refusalOf, left, pass, setClock, restart, addresses };
}

const times = (count: number) => Array.from({ length: count }, (_, index) => index);

test('one address has five wrong passwords in a minute, and others are not held up by it', async () => {
  const { refusalOf, left, pass } = await limitsWithClock();
  expect(await left('a')).toBe(5);
  pass(20_000);
  expect(await refusalOf('a')).toBe(
    'Too many wrong passwords from this address. Try again in 40 seconds.',
  );
  expect(await refusalOf('b')).toBeUndefined();
  pass(40_000);
  expect(await refusalOf('a')).toBeUndefined();
});

test.each<[string, Guesser]>([
  ['address', { address: 'a' }],
  ['browser', { session: 'a' }],
])('one %s has twenty wrong passwords in an hour', async (name, guesser) => {
  const { refusalOf, pass, restart } = await limitsWithClock();
  for (const _ of times(20)) {
    expect(await refusalOf(guesser)).toBeUndefined();
    pass(MINUTE_MS);
  }
  const refusal = `Too many wrong passwords from this ${name}. Try again in 40 minutes.`;
  expect(await refusalOf(guesser)).toBe(refusal);
  await restart();
  expect(await refusalOf(guesser)).toBe(refusal);
});

test('all addresses together have sixty wrong passwords in a minute, and refused ones are not stored', async () => {
  const { refusalOf, left, pass, addresses } = await limitsWithClock();
  const refusals: Array<string | undefined> = [];
  for (const index of times(200)) refusals.push(await refusalOf(`address ${index}`));
  expect(refusals.filter((one) => one === undefined)).toHaveLength(60);
  expect(refusals.at(-1)).toMatch(/^Too many wrong passwords in all/);
  expect(await addresses()).toHaveLength(60);
  pass(MINUTE_MS);
  expect(await left('address 199')).toBe(5);
});

test('a person who is logged in is not limited by others, and limits nobody', async () => {
  const { refusalOf, left } = await limitsWithClock();
  for (const index of times(100)) await refusalOf(`address ${index % 20}`);
  expect(await refusalOf('another')).toMatch(/in all/);
  expect(await left({ session: 'a' })).toBe(5);
  expect(await left({ session: 'b' })).toBe(5);
  const other = await limitsWithClock();
  for (const index of times(100)) await other.refusalOf({ session: `s${index}` });
  expect(await other.left('a')).toBe(5);
});

test('an address over its own limit does not use the limit of all', async () => {
  const { refusalOf } = await limitsWithClock();
  for (const _ of times(1_000)) await refusalOf('a');
  expect(await refusalOf('b')).toBeUndefined();
});

test('right passwords count for no limit, and are not stored', async () => {
  const { take, left, addresses, restart } = await limitsWithClock();
  for (const _ of times(200)) await (await take({ address: 'a' })).wasRight();
  expect(await addresses()).toEqual([]);
  await restart();
  expect(await left('a')).toBe(5);
});

describe('a restart', () => {
  test('forgets no wrong password, of one or of all', async () => {
    const { refusalOf, left, pass, restart } = await limitsWithClock();
    expect(await left('a')).toBe(5);
    expect(await left({ session: 's' })).toBe(5);
    for (const index of times(52)) await refusalOf(`address ${index}`);
    pass(20_000);
    await restart();
    expect(await refusalOf('a')).toBe(
      'Too many wrong passwords from this address. Try again in 40 seconds.',
    );
    expect(await refusalOf({ session: 's' })).toContain('Try again in 40 seconds');
    // Of sixty 57 are taken.
    expect(await left('b')).toBe(3);
    pass(40_000);
    await restart();
    expect([await left('a'), await left({ session: 's' })]).toEqual([5, 5]);
  });

  test('with a clock that was set back holds nobody up for longer than a restart with a right one', async () => {
    const { left, pass, setClock, restart } = await limitsWithClock();
    expect(await left('a')).toBe(5);
    pass(1_000);
    setClock(-1_000 * HOUR_MS);
    await restart();
    // They are not forgotten either.
    expect(await left('a')).toBe(0);
    pass(59_000);
    await restart();
    expect(await left('a')).toBe(0);
    pass(1_000);
    await restart();
    expect(await left('a')).toBe(5);
  });

  test('with a clock that was far ahead and is right again, likewise', async () => {
    const { left, pass, setClock, restart, addresses } = await limitsWithClock();
    setClock(10_000 * HOUR_MS);
    expect(await left('a')).toBe(5);
    setClock(-10_000 * HOUR_MS);
    await restart();
    expect(await left('a')).toBe(0);
    pass(MINUTE_MS);
    expect(await left('a')).toBe(5);
    pass(HOUR_MS);
    await eventually(async () => (await addresses()).length === 0);
  });

  test('takes no more than there can be, and goes on', async () => {
    const { stored, left, pass, restart } = await limitsWithClock();
    await stored.update('a', () => ({ atMs: times(10_000).map((index) => index * 1e9) }));
    await stored.update('', () => ({ atMs: [] }));
    await restart();
    expect([await left('a'), await left('b')]).toEqual([0, 5]);
    pass(HOUR_MS);
    expect(await left('a')).toBe(5);
  });
});

test('a clock that is set while the program runs frees nobody and holds nobody up', async () => {
  const { left, pass, setClock } = await limitsWithClock();
  expect(await left('a')).toBe(5);
  for (const by of [1_000, -2_000, 1_000]) {
    setClock(by * HOUR_MS);
    expect(await left('a')).toBe(0);
  }
  setClock(-5_000 * HOUR_MS);
  pass(MINUTE_MS);
  expect(await left('a')).toBe(5);
});

test('addresses are forgotten an hour after their last wrong password, also while nobody tries', async () => {
  const { left, pass, addresses, restart } = await limitsWithClock();
  await left('a');
  pass(30 * MINUTE_MS);
  await left('b');
  await left({ session: 's' });
  expect(await addresses()).toEqual(['a', 'b', 'session s']);
  pass(30 * MINUTE_MS);
  await eventually(async () => !(await addresses()).includes('a'));
  expect(await addresses()).toEqual(['b', 'session s']);
  pass(30 * MINUTE_MS);
  await restart();
  expect(await addresses()).toEqual([]);
});

test('a store that cannot write is told, and the limits go on', async () => {
  const { log, lines } = recordingLog();
  const store = await openLowdbStore({ folder: await temporaryFolder(), log });
  const limits = await openLoginLimits({ stored: store.collection(triesCollection), log });
  onTestFinished(() => limits.close());
  // A store that is closed takes nothing any more.
  await store.close();
  for (const _ of times(5)) await limits.take({ address: 'a' });
  await expect(limits.take({ address: 'a' })).rejects.toThrow(/Too many/);
  expect(lines).toHaveLength(5);
  expect(String(lines[0]?.msg)).toContain('a restart forgets it');
});
