import { expect, test } from 'vitest';
import { diff, isRemembered, type PollSnapshot } from '../../../src/bot/incidents/diff.ts';
import { counting } from '../../helpers/bot/stepped-watch.ts';

test('a list that is the same array is not looked at again, and any other is', () => {
  const listed = [counting('a', 1), counting('b', 1)];
  const isLearned = diff(undefined, listed).snapshot;
  expect(isRemembered(isLearned, listed)).toBe(false);
  expect(diff(isLearned, listed).snapshot).toBe(isLearned);
  expect(isRemembered(isLearned, listed)).toBe(true);
  expect(diff(isLearned, listed)).toEqual({ snapshot: isLearned, changes: new Map() });
  const fewer = listed.slice(0, 1);
  expect(isRemembered(isLearned, fewer)).toBe(false);
  const missing = diff(isLearned, fewer).snapshot;
  // Missing twice means removed, even if the list is the same array.
  expect(diff(missing, fewer).changes.has('b')).toBe(true);
});

test('a list is not taken as remembered while what it lacks or tells is not settled', () => {
  const listed = [counting('a', 3, { status: 'DOWN' }), counting('b', 1)];
  const before = diff(undefined, [counting('a', 1), counting('b', 1)]).snapshot;
  const asked = diff(before, listed, new Set(['a'])).snapshot;
  // Its missed changes aren't known yet.
  expect(diff(asked, listed, new Set(['a'])).snapshot).toBe(asked);
  expect(isRemembered(asked, listed)).toBe(false);
  const part = [listed[1]].flatMap((one) => one ?? []);
  expect(diff(before, part, new Set(), { isPart: true }).snapshot).toBe(before);
  expect(isRemembered(before, part)).toBe(false);
  const short: PollSnapshot = { ...before, shortLists: 3 };
  expect(diff(short, []).snapshot.shortLists).toBe(3);
  expect(isRemembered(short, [])).toBe(false);
});
