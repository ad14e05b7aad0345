import { expect, test } from 'vitest';
import {
  durationProblem,
  inWords,
  readDuration,
  readDurationAt,
} from '../../src/contracts/duration.ts';

const S = 1000;
const H = 3_600 * S;

test.each([
  ['30s', 30 * S],
  ['5m', 300 * S],
  ['2h', 2 * H],
  ['1d', 24 * H],
  ['4w', 28 * 24 * H],
  ['1h30m', 1.5 * H],
  ['2 hours 30 minutes', 2.5 * H],
  ['10 MIN', 600 * S],
  ['90', 90 * S],
])('“%s” is a duration of %i ms', (text, ms) => {
  expect(readDuration(text)).toBe(ms);
});

test.each(['', '5x', '5months', 'm', '0s', '-5m', '1.5h', '1h30', '9'.repeat(40)])(
  '“%s” is no duration',
  (text) => {
    expect(readDuration(text)).toBeUndefined();
  },
);

test('a plain number is refused where a unit is needed', () => {
  expect(readDuration('7', { needsUnit: true })).toBeUndefined();
  expect(readDuration('7d', { needsUnit: true })).toBe(7 * 24 * H);
});

test('a duration among words ends before the first word that is not of it', () => {
  expect(readDurationAt(['for', '2', 'hours', '30', 'minutes', 'UTC'], 1)).toEqual({
    ms: 2.5 * H,
    count: 4,
  });
  expect(readDurationAt(['for', 'ever'], 1)).toBeUndefined();
});

test('a problem names the unit, an example and the range', () => {
  const range = { minMs: 60 * S, maxMs: 24 * H };
  expect(durationProblem('5x', range)).toBe("I didn't understand “5x”. Use 30s, 5m, 2h or 1d");
  expect(durationProblem('10', range)).toBe('“10” is 10 seconds. Choose 1 minute to 1 day');
  expect(durationProblem('24h', range)).toBeUndefined();
});

test.each([
  [45 * S, '45 seconds'],
  [65 * 60 * S, '1 hour 5 minutes'],
  [24 * H + 5 * S, '1 day'],
  [0, '1 second'],
])('%i ms are shown as “%s”', (ms, words) => {
  expect(inWords(ms)).toBe(words);
});
