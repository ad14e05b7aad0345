import fc from 'fast-check';
import { expect, test } from 'vitest';
import { long } from '../../helpers/long.ts';
import { type Seen, type Stretch, simulate } from '../../helpers/monitoring/network-world.ts';

const MINUTE_MS = 60_000;

const hostsOf = (seen: Seen) => new Set(seen.downs.map(({ host }) => host));
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
