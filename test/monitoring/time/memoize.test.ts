import { expect, test } from 'vitest';
import { memoize } from '../../../src/monitoring/time/memoize.ts';

test('computes each value once, keeps no more than its limit, and caches no failure', () => {
  const made: number[] = [];
  const half = memoize(2, (key: number) => {
    made.push(key);
    if (key % 2 === 1) throw new RangeError('odd');
    return key / 2;
  });
  expect([half(2), half(4), half(2), half(4)]).toEqual([1, 2, 1, 2]);
  expect(made).toEqual([2, 4]);
  expect(half(6)).toBe(3);
  expect([half(4), half(2)]).toEqual([2, 1]);
  expect(made).toEqual([2, 4, 6, 2]);
  expect(() => half(3)).toThrow('odd');
  expect(() => half(3)).toThrow('odd');
  expect(made).toEqual([2, 4, 6, 2, 3, 3]);
});
