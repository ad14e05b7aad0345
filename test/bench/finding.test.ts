import { describe, expect, test } from 'vitest';
import { type Finding, findingsOfTimes, isMet, resultOf } from '../../bench/shared/finding.ts';

const finding = (changes: Partial<Finding>): Finding => ({
  ...{ name: 'cpu', title: 'CPU per request', unit: 'µs', compare: 'ratio' },
  passes: [
    { askwatch: 400, reference: 100, base: 50 },
    { askwatch: 900, reference: 300, base: 60 },
    { askwatch: 500, reference: 100, base: 70 },
  ],
  ...changes,
});

describe('a finding', () => {
  test('is the median of what each pass showed, not the ratio of medians that no pass showed', () => {
    expect(resultOf(finding({}))).toBe(4);
    expect(resultOf(finding({ compare: 'added' }))).toBe(430);
    expect(resultOf(finding({ compare: 'itself' }))).toBe(500);
  });

  test('a finding without its counterpart has no figure', () => {
    const passes = [{ askwatch: 400 }];
    expect(() => resultOf(finding({ passes }))).toThrow('cpu has nothing');
    expect(() => resultOf(finding({ passes, compare: 'added' }))).toThrow('cpu has nothing');
  });

  test('meets a goal at its limit', () => {
    expect(isMet(finding({ goal: { atMost: 4 } }))).toBe(true);
    expect(isMet(finding({ goal: { atMost: 3.9 } }))).toBe(false);
    expect(isMet(finding({ goal: { atLeast: 4 } }))).toBe(true);
    expect(isMet(finding({ goal: { atLeast: 4.1 } }))).toBe(false);
    expect(isMet(finding({}))).toBeUndefined();
  });

  test('times give one finding per percentile, with the counterpart of the same pass', () => {
    const upTo = (most: number) => Array.from({ length: most }, (_, at) => at + 1);
    expect(
      findingsOfTimes({
        ...{ name: 'ack', title: 'ack', timesMs: [upTo(100), upTo(200)] },
        referenceMs: [upTo(10), upTo(20)],
        shares: { p50: undefined, p95: { atMost: 150 } },
      }),
    ).toEqual([
      {
        ...{ name: 'ack-p50', title: 'ack, p50 of 300', unit: 'ms', compare: 'itself' },
        passes: [
          { askwatch: 50, reference: 5 },
          { askwatch: 100, reference: 10 },
        ],
      },
      {
        ...{ name: 'ack-p95', title: 'ack, p95 of 300', unit: 'ms', compare: 'itself' },
        goal: { atMost: 150 },
        passes: [
          { askwatch: 95, reference: 10 },
          { askwatch: 190, reference: 19 },
        ],
      },
    ]);
  });
});
