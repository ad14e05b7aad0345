import { expect, test } from 'vitest';
import { percentOf, percentText } from '../../../src/bot/shared/percent.ts';

test.each([
  [0, '0 %'],
  [1e-9, '0.01 %'],
  [0.283_339, '28.33 %'],
  [0.57, '57 %'],
  [0.999_599, '99.95 %'],
  [1 - 1e-9, '99.99 %'],
  [1, '100 %'],
])('a share of %d reads %s', (share, text) => {
  expect(percentText(share)).toBe(text);
  expect(percentOf(share)).toBe(Number.parseFloat(text));
});
