import { expect, test } from 'vitest';
import { countSlots } from '../../bench/postgres/slots.ts';

const monitor = { id: 'mon_1', number: 1, intervalMs: 1_000, phaseMs: 300 };
const window = { fromMs: 1_000, toMs: 6_000 };
const count = (...times: number[]) => countSlots([monitor], { 1: times }, window);

test('Times of the grid that lie whole in the window are expected, and those with nobody are missed', () => {
  expect(count(1_400, 2_310, 4_900, 5_400)).toEqual({ expected: 4, missed: 1, doubled: 0 });
});

test('Two in the same time of the grid are doubled, and one a moment early belongs to the next', () => {
  expect(count(1_300, 1_900, 2_299, 3_305, 4_310)).toEqual({ expected: 4, missed: 0, doubled: 1 });
});

test('A monitor that nobody came to is missed in all of them', () => {
  expect(countSlots([monitor], {}, window)).toEqual({ expected: 4, missed: 4, doubled: 0 });
});
