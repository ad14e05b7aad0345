import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createSlidingWindow } from '../../src/store/sliding-window.ts';
import { long } from '../helpers/long.ts';

const WINDOW_MS = 60_000;

/** Amounts added and not taken back, with their times. */
interface Added {
  atMs: number;
  amount: number;
  place: number;
}

const step = fc.record({
  pauseMs: fc.oneof(fc.constant(0), fc.constant(WINDOW_MS), fc.nat(300), fc.nat(45_000)),
  amount: fc.integer({ min: 1, max: 50 }),
  /** Which earlier addition is partly taken back, if that many ago there is one. */
  back: fc.option(fc.record({ ago: fc.nat(5), part: fc.nat(50) }), { nil: undefined }),
});

test('the window counts exactly what was added in the last 60 seconds and not taken back', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 150, size: 'max' }), fc.nat(200), (steps, most) => {
      let now = 5_000;
      const window = createSlidingWindow(WINDOW_MS);
      const added: Added[] = [];
      const counted = (atMs: number) => added.filter((each) => each.atMs > atMs - WINDOW_MS);
      const sum = (all: Added[]) => all.reduce((total, { amount }) => total + amount, 0);
      for (const { pauseMs, amount, back } of steps) {
        now += pauseMs;
        added.push({ atMs: now, amount, place: window.add(amount, now) });
        const earlier = back && added.at(-1 - back.ago);
        if (back && earlier) {
          const part = Math.min(back.part, earlier.amount);
          window.takeBack(earlier.place, part);
          if (earlier.atMs > now - WINDOW_MS) earlier.amount -= part;
        }
        expect(window.used(now)).toBe(sum(counted(now)));
        const oldest = counted(now).find((each) => each.amount > 0);
        expect(window.oldestMs(now)).toBe(oldest ? oldest.atMs + WINDOW_MS - now : 0);
        const emptyMs = window.emptyMs(now);
        expect(sum(counted(now + emptyMs))).toBe(0);
        if (sum(counted(now)) === 0) expect(emptyMs).toBe(0);
        const waitMs = window.waitMs(most, now);
        expect(sum(counted(now + waitMs))).toBeLessThanOrEqual(most);
        if (waitMs > 0) expect(sum(counted(now + waitMs - 1))).toBeGreaterThan(most);
      }
    }),
    { numRuns: long ? 1_000 : 30 },
  );
});

test('a window in steps counts everything for 60 seconds at least and a step longer at most, in few entries', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(40), fc.integer({ min: 1, max: 9 })), {
        maxLength: 200,
        size: 'max',
      }),
      (steps) => {
        let now = 0;
        const window = createSlidingWindow(1_000, 20);
        const added: Array<{ atMs: number; amount: number }> = [];
        const since = (fromMs: number) =>
          added.filter(({ atMs }) => atMs > fromMs).reduce((sum, { amount }) => sum + amount, 0);
        const places = new Set<number>();
        for (const [pauseMs, amount] of steps) {
          now += pauseMs;
          places.add(window.add(amount, now));
          added.push({ atMs: now, amount });
          expect(window.used(now)).toBeGreaterThanOrEqual(since(now - 1_000));
          expect(window.used(now)).toBeLessThanOrEqual(since(now - 1_020));
        }
        expect(places.size).toBeLessThanOrEqual(Math.ceil(now / 20) + 1);
      },
    ),
    { numRuns: long ? 1_000 : 25 },
  );
});

test('the window is empty when everything was taken back', () => {
  const window = createSlidingWindow(WINDOW_MS);
  window.takeBack(window.add(3, 1_000), 3);
  expect(window.emptyMs(1_000)).toBe(0);
  expect(window.emptyMs(1_001)).toBe(0);
  expect(window.waitMs(0, 1_001)).toBe(0);
});
