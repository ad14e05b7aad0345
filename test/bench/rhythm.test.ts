import { describe, expect, test } from 'vitest';
import { rhythmOf } from '../../bench/monitoring/arrivals.ts';

const monitor = (number: number) => ({
  ...{ id: `mon_${number}`, number, intervalMs: 1_000, phaseMs: 0 },
});
const window = { fromMs: 10_000, toMs: 15_000 };

describe('the rhythm of checks', () => {
  test('is read from when a monitor can have come into it: its first check comes at any time', () => {
    const times = { 1: [10_300, 11_300, 12_003, 13_004, 14_002] };
    expect(rhythmOf([monitor(1)], times, window)).toEqual({
      ...{ looks: 3, lagP99Ms: 4, driftMs: -1, missing: 0 },
    });
  });

  test('tells checks that did not come, of each monitor since it was in its rhythm', () => {
    const times = { 1: [8_000, 10_001, 11_001, 14_001], 2: [10_900, 12_001], 3: [] };
    // One of four of the first, the only one of the second, and two of that which never came.
    expect(rhythmOf([1, 2, 3].map(monitor), times, window).missing).toBe(4);
  });
});
