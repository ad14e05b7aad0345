import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Chart } from '../../../src/bot/shared/card.ts';
import { layOut, valueWords } from '../../../src/bot/shared/chart-layout.ts';
import { long } from '../../helpers/long.ts';

const HOUR_MS = 3_600_000;
const START = Date.parse('2026-11-21T11:00:00Z');
const BOX = { width: 640, height: 200, left: 50, right: 10, top: 10, bottom: 30 };

function chartOf(values: Array<number | null>, outages: Chart['outages'] = []): Chart {
  const points = values.map((value, index) => ({ atMs: START + index * HOUR_MS, value }));
  const words = { title: 'Response time', unit: 'ms', text: '' };
  return { kind: 'chart', ...words, points, stepMs: HOUR_MS, outages };
}

const lengths = (chart: Chart) => layOut(chart, BOX).runs.map((run) => run.length);

test('a line ends before a gap and begins anew after it', () => {
  expect(lengths(chartOf([1, 2, null, 3, null, null, 4, 5, 6]))).toEqual([2, 1, 3]);
  expect(lengths(chartOf([7]))).toEqual([1]);
  expect(lengths(chartOf([null, null]))).toEqual([]);
  expect(lengths(chartOf([]))).toEqual([]);
});

test('a line does not cross an outage between two values either', () => {
  const short = { fromMs: START + 1.7 * HOUR_MS, toMs: START + 1.8 * HOUR_MS };
  expect(lengths(chartOf([1, 2, 3, 4], [short]))).toEqual([2, 2]);
  const layout = layOut(chartOf([1, 2, 3, 4], [short]), BOX);
  // 580 pixels are four hours.
  expect(layout.outages[0]?.x).toBeCloseTo(50 + 1.7 * 145);
  expect(layout.outages[0]?.width).toBeCloseTo(14.5);
  expect(layout.unseen).toEqual([]);
});

test('unmeasured time differs from time in which the monitor was down', () => {
  const down = { fromMs: START + HOUR_MS, toMs: START + 2 * HOUR_MS };
  const { unseen, outages } = layOut(chartOf([1, null, null, 4], [down]), BOX);
  expect(outages).toEqual([{ x: 195, width: 145 }]);
  expect(unseen).toEqual([{ x: 340, width: 145 }]);
});

test('marks are round: values from 0, times of the reader’s day', () => {
  const { values, times } = layOut(chartOf(Array(24).fill(870)), BOX);
  expect(values.map(({ label }) => label)).toEqual(['0', '250 ms', '500 ms', '750 ms', '1.0 s']);
  const hours = (marks: typeof times, zoneMs = 0) =>
    marks.map(({ atMs }) => new Date(atMs + zoneMs).getUTCHours());
  expect(hours(times)).toEqual([12, 16, 20, 0, 4, 8]);
  const india = 5.5 * HOUR_MS;
  const there = layOut(chartOf(Array(24).fill(870)), BOX, india).times;
  expect(hours(there, india)).toEqual([16, 20, 0, 4, 8, 12]);
  expect(valueWords(0, '%')).toBe('0');
  expect(valueWords(12.3456, '%')).toBe('12.3 %');
});

const isWithin = (value: number, min: number, max: number) =>
  value >= min - 1e-6 && value <= max + 1e-6;

test('any chart is laid out inside its box, with every value', () => {
  const value = fc.option(
    fc.oneof(fc.nat(9_000), fc.double({ min: 0, noNaN: true, noDefaultInfinity: true })),
  );
  const hours = fc.double({ min: -5, max: 60, noNaN: true });
  fc.assert(
    fc.property(
      fc.array(value, { maxLength: 60 }),
      fc.array(fc.tuple(hours, hours), { maxLength: 10 }),
      (values, spans) => {
        const outages = spans.map(([from, to]) => ({
          fromMs: START + Math.min(from, to) * HOUR_MS,
          toMs: START + Math.max(from, to) * HOUR_MS,
        }));
        const chart = chartOf(values, outages);
        const layout = layOut(chart, BOX);
        const xs = [
          ...layout.runs.flat().map(({ x }) => x),
          ...[layout.steps, layout.outages, layout.unseen]
            .flat()
            .flatMap((one) => [...[one.x, one.x + one.width]]),
          ...layout.times.map(({ x }) => x),
        ];
        const ys = [...layout.runs.flat(), ...layout.values].map(({ y }) => y);
        expect(xs.filter((x) => !isWithin(x, 50, 630))).toEqual([]);
        expect(ys.filter((y) => !isWithin(y, 10, 170))).toEqual([]);
        expect(layout.values.length).toBeLessThanOrEqual(6);
        expect(layout.times.length).toBeLessThanOrEqual(7);
        const drawn = layout.runs.flat().length;
        expect(drawn).toBe(values.filter((one) => one !== null).length);
      },
    ),
    { numRuns: long ? 5_000 : 200 },
  );
});
