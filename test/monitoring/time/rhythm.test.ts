import { expect, test } from 'vitest';
import { timeOfRhythm } from '../../../src/monitoring/time/rhythm.ts';

const MINUTE = 60_000;

test.each([
  [MINUTE, 0],
  [MINUTE, 58_999],
  [MINUTE, -40],
  [MINUTE, -1_000],
  [5_000, -500],
])(
  'a check of an interval of %i ms that begins %i ms after its time is for that',
  (intervalMs, lateMs) => {
    const phaseMs = 1_234;
    const timeMs = 1_800_000_000_000 + phaseMs;
    expect(timeOfRhythm(timeMs + lateMs, intervalMs, phaseMs)).toBe(timeMs);
  },
);

test.each([
  [MINUTE, -1_001],
  [5_000, -501],
])('one of %i ms that begins %i ms before it is for the time before', (intervalMs, earlyMs) => {
  const timeMs = 1_800_000_000_000;
  expect(timeOfRhythm(timeMs + earlyMs, intervalMs, 0)).toBe(timeMs - intervalMs);
});
