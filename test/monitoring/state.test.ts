import { expect, test } from 'vitest';
import {
  type CheckResult,
  type MonitorState,
  next,
  presumedUp,
  secondLookAfterMs,
} from '../../src/monitoring/state.ts';

const ok: CheckResult = { ok: true, outcome: 'ok', responseTimeMs: 12 };
const refused: CheckResult = {
  ok: false,
  outcome: 'connection',
  reason: 'connection refused after 3 ms',
  responseTimeMs: 3,
};
const wrongStatus: CheckResult = {
  ok: false,
  outcome: 'status',
  reason: 'answered 503',
  responseTimeMs: 9,
};

/** Runs results one second apart from 1,000 on; gives the last state and every change and wish to look again. */
function run(results: CheckResult[], from: MonitorState = presumedUp(0)) {
  const changes: string[] = [];
  const again: number[] = [];
  let state = from;
  results.forEach((result, index) => {
    const nowMs = (index + 1) * 1000;
    const step = next(state, result, nowMs);
    if (step.change) {
      const { to, sinceMs, atMs, number } = step.change;
      changes.push(`${number}: ${to} at ${atMs} since ${sinceMs}`);
    }
    if (step.lookAgain) again.push(nowMs);
    state = step.state;
  });
  return { state, changes, again };
}

test.each([
  { name: 'stays UP while all is well', results: [ok, ok], changes: [], again: [], status: 'UP' },
  {
    name: 'stays UP after one failure and looks again',
    results: [refused],
    changes: [],
    again: [1000],
    status: 'UP',
  },
  {
    name: 'forgets one failure after a success',
    results: [refused, ok, refused, ok],
    changes: [],
    again: [1000, 3000],
    status: 'UP',
  },
  {
    name: 'is DOWN after two, since the first',
    results: [ok, refused, refused],
    changes: ['1: DOWN at 3000 since 2000'],
    again: [2000],
    status: 'DOWN',
  },
  {
    name: 'counts failures of different kinds together',
    results: [refused, wrongStatus],
    changes: ['1: DOWN at 2000 since 1000'],
    again: [1000],
    status: 'DOWN',
  },
  {
    name: 'stays DOWN without a further change',
    results: [refused, refused, refused, refused],
    changes: ['1: DOWN at 2000 since 1000'],
    again: [1000],
    status: 'DOWN',
  },
  {
    name: 'is UP after one success',
    results: [refused, refused, ok],
    changes: ['1: DOWN at 2000 since 1000', '2: UP at 3000 since 3000'],
    again: [1000],
    status: 'UP',
  },
  {
    name: 'needs two failures again after a recovery',
    results: [refused, refused, ok, refused],
    changes: ['1: DOWN at 2000 since 1000', '2: UP at 3000 since 3000'],
    again: [1000, 4000],
    status: 'UP',
  },
])('$name', ({ results, changes, again, status }) => {
  const outcome = run(results);
  expect(outcome.changes).toEqual(changes);
  expect(outcome.again).toEqual(again);
  expect(outcome.state.status).toBe(status);
  expect(outcome.state.changes).toBe(changes.length);
});

test('keeps the words of a failure while its kind stays, and takes new ones when it changes', () => {
  const slower = { ...refused, reason: 'connection refused after 4 ms' };
  expect(run([refused, refused, slower]).state.problem?.reason).toBe(refused.reason);
  expect(run([refused, refused, wrongStatus]).state.problem?.reason).toBe('answered 503');
});

test('holds no problem once it is UP', () => {
  const { state } = run([refused, refused, ok]);
  expect(state.problem).toBeUndefined();
  expect(state.firstFailureMs).toBeUndefined();
});

test('does not alter the state it is given', () => {
  const state = Object.freeze(presumedUp(0));
  next(state, refused, 1);
  expect(state).toEqual(presumedUp(0));
});

test('looks a second time after five seconds, or half the interval if that is shorter', () => {
  expect(secondLookAfterMs(60_000)).toBe(5_000);
  expect(secondLookAfterMs(5_000)).toBe(2_500);
});
