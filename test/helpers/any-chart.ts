import fc from 'fast-check';
import type { Chart } from '../../src/bot/shared/card.ts';

const HOUR_MS = 3_600_000;

/** Any chart with these texts: of no point, of gaps only, of a day in which it was down, of months. */
export function anyChart(text: fc.Arbitrary<string>): fc.Arbitrary<Chart> {
  const value = fc.option(
    fc.oneof(
      { weight: 9, arbitrary: fc.nat(60_000) },
      { weight: 9, arbitrary: fc.double({ min: 0, max: 1e5, noNaN: true }) },
      { weight: 1, arbitrary: fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }) },
    ),
  );
  return fc
    .record({
      values: fc.array(value, { maxLength: 90 }),
      fromMs: fc.integer({ min: 0, max: 4e12 }),
      stepMs: fc.constantFrom(1, 60_000, HOUR_MS, 24 * HOUR_MS),
      outages: fc.array(fc.tuple(fc.nat(99), fc.nat(99)), { maxLength: 5 }),
      words: fc.record({ title: text, unit: text, text }),
    })
    .map(({ values, fromMs, stepMs, outages, words }) => ({
      kind: 'chart',
      ...words,
      points: values.map((one, index) => ({ atMs: fromMs + index * stepMs, value: one })),
      stepMs,
      outages: outages.map(([from, to]) => ({
        fromMs: fromMs + Math.min(from, to) * stepMs,
        toMs: fromMs + (Math.max(from, to) + 1) * stepMs,
      })),
    }));
}
