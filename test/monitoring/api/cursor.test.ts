import { expect, test } from 'vitest';
import { pageAfter } from '../../../src/monitoring/api/list-writer.ts';

const IDS = ['d', 'b', 'e', 'a', 'c'];

test('pages come one after another in the order of the ids, each id once, and the last has no next', () => {
  expect(pageAfter(IDS, '', 2)).toEqual({ ids: ['a', 'b'], next: 'b' });
  expect(pageAfter(IDS, 'b', 2)).toEqual({ ids: ['c', 'd'], next: 'd' });
  expect(pageAfter(IDS, 'd', 2)).toEqual({ ids: ['e'], next: null });
});

test('a page that is just full has no next, and neither has an empty one', () => {
  expect(pageAfter(IDS, 'c', 2)).toEqual({ ids: ['d', 'e'], next: null });
  expect(pageAfter(IDS, 'e', 2)).toEqual({ ids: [], next: null });
});

test('the id that a page comes after may be gone, and none that came since is left out', () => {
  expect(pageAfter(['a', 'c', 'bb'], 'b', 5)).toEqual({ ids: ['bb', 'c'], next: null });
});
