import fc from 'fast-check';
import { expect, test } from 'vitest';
import { long } from '../../helpers/long.ts';
import { type Seen, type Stretch, simulate } from '../../helpers/monitoring/network-world.ts';

const MINUTE_MS = 60_000;
const MANY = long ? 10_000 : 1_000;
/** A third of them is down. */
const SOME = long ? 3_000 : 600;

const never = () => false;
const hostsOf = (seen: Seen) => new Set(seen.downs.map(({ host }) => host));
/** Down for two checks and up for two, at its own time. */
const flaps = (host: number, atMs: number) => Math.floor((atMs + host * 7_919) / 150_000) % 2 === 0;

test('no monitor goes DOWN when all hosts fail because our network is lost, and the loss is logged once', async () => {
  const loss = { fromMs: 90_000, toMs: 150_000 };
  const seen = await simulate({
    seed: 1,
    hosts: MANY,
    lastsMs: 4 * MINUTE_MS,
    losses: [loss],
    isDown: never,
  });
  expect(seen.downs).toEqual([]);
  expectToldOf([loss], seen);
  expectNotHeldLong(seen);
});

test('all monitors go DOWN when all hosts are really down, and the network is not reported as lost', async () => {
  const seen = await simulate({
    seed: 2,
    hosts: MANY,
    lastsMs: 4 * MINUTE_MS,
    losses: [],
    isDown: (_, atMs) => atMs >= 90_000,
  });
  expect(hostsOf(seen).size).toBe(MANY);
  expect(seen.downs).toHaveLength(MANY);
  // An interval, two timeouts and what is between them, and at most one wait for each of the two.
  expect(Math.max(...seen.downs.map(({ atMs }) => atMs))).toBeLessThan(90_000 + 95_000);
  expect([seen.lost, seen.back]).toEqual([[], []]);
  expectNotHeldLong(seen);
});

test('exactly the hosts that are really down are DOWN when a third of them are and some flap', async () => {
  const loss = { fromMs: 200_000, toMs: 260_000 };
  const seen = await simulate({
    seed: 3,
    hosts: SOME,
    lastsMs: 6 * MINUTE_MS,
    losses: [loss],
    isDown: (host, atMs) =>
      host % 3 === 0 ? atMs >= 90_000 : host % 50 === 1 && flaps(host, atMs),
  });
  const wrong = [...hostsOf(seen)].filter((host) => host % 3 !== 0 && host % 50 !== 1);
  expect(wrong).toEqual([]);
  expect([...hostsOf(seen)].filter((host) => host % 3 === 0)).toHaveLength(SOME / 3);
  expectToldOf([loss], seen);
  expectNotHeldLong(seen);
});

test('targets on this machine go DOWN when they fail, and are no evidence about the network', async () => {
  const seen = await simulate({
    seed: 4,
    hosts: 500,
    lastsMs: 3 * MINUTE_MS,
    losses: [{ fromMs: 60_000, toMs: 3 * MINUTE_MS }],
    isDown: never,
    nameOf: (host) => `127.0.${host >> 8}.${host & 255}`,
  });
  expect(hostsOf(seen).size).toBe(500);
  expect([seen.lost, seen.probes]).toEqual([[], 0]);
});

test('a failure that counted as one loss began does not add up with the next loss', async () => {
  // Calm for less than an interval: many hosts are not checked between the two.
  const losses = [
    { fromMs: 40_000, toMs: 166_770 },
    { fromMs: 219_169, toMs: 234_169 },
  ];
  const seen = await simulate({
    seed: 0,
    hosts: 600,
    lastsMs: 384_169,
    losses,
    isDown: (host) => host % 10 === 0,
  });
  expect([...hostsOf(seen)].filter((host) => host % 10 !== 0)).toEqual([]);
  expectToldOf(losses, seen);
});

test('no good host is ever DOWN and each loss is logged once, in random histories', async () => {
  const worlds = fc.record({
    seed: fc.integer(),
    hosts: fc.integer({ min: 600, max: 900 }),
    losses: fc.array(
      fc.record({
        calmMs: fc.integer({ min: 40_000, max: 120_000 }),
        lastsMs: fc.integer({ min: 15_000, max: 150_000 }),
      }),
      { minLength: 1, maxLength: 3 },
    ),
    downFromMs: fc.integer({ min: 0, max: 300_000 }),
    downOneOf: fc.integer({ min: 3, max: 20 }),
  });
  await fc.assert(
    fc.asyncProperty(worlds, async ({ seed, hosts, losses, downFromMs, downOneOf }) => {
      const stretches: Stretch[] = [];
      let endMs = 0;
      for (const { calmMs, lastsMs } of losses) {
        stretches.push({ fromMs: endMs + calmMs, toMs: endMs + calmMs + lastsMs });
        endMs += calmMs + lastsMs;
      }
      const isBad = (host: number) => host % downOneOf === 0;
      const seen = await simulate({
        seed,
        hosts,
        lastsMs: Math.max(endMs, downFromMs) + 2.5 * MINUTE_MS,
        losses: stretches,
        isDown: (host, atMs) => isBad(host) && atMs >= downFromMs,
      });
      expect([...hostsOf(seen)].filter((host) => !isBad(host))).toEqual([]);
      expect(hostsOf(seen).size).toBe(Math.ceil(hosts / downOneOf));
      expectToldOf(stretches, seen);
      expectNotHeldLong(seen);
    }),
    { numRuns: long ? 300 : 3 },
  );
}, 600_000);

function expectToldOf(losses: Stretch[], { lost, back }: Seen) {
  expect(lost).toHaveLength(losses.length);
  expect(back).toHaveLength(losses.length);
  for (const [index, { fromMs, toMs }] of losses.entries()) {
    expect(lost[index]).toBeGreaterThanOrEqual(fromMs);
    expect(lost[index]).toBeLessThan(fromMs + 10_000);
    expect(back[index]).toBeGreaterThanOrEqual(toMs);
    expect(back[index]).toBeLessThan(toMs + 5_000);
  }
}

function expectNotHeldLong({ longestHeldMs, passedButHeld }: Seen) {
  expect(longestHeldMs).toBeLessThan(5_000);
  expect(passedButHeld).toBe(0);
}
