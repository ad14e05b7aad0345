import { expect, test } from 'vitest';
import type { CheckResult } from '../../../src/monitoring/checks/check-result.ts';
import {
  applyResult,
  type Confirmation,
  coverStatus,
  createInitialState,
  discardUnconfirmed,
  goDown,
  goUp,
  isFlapping,
  type MonitorState,
  recheckAfterMs,
  resetForNewTarget,
  type StatusStep,
  uncoverStatus,
  underlyingStatus,
} from '../../../src/monitoring/state/state.ts';

const MINUTE_MS = 60_000;
/** The state of a monitor that was found UP at a moment. */
const upSince = (ms: number): MonitorState => ({ ...createInitialState(ms), status: 'UP' });

const USUAL: Confirmation = { toDown: 2, toUp: 1 };

const ok: CheckResult = { ok: true, outcome: 'ok', responseTimeMs: 12 };
const slow: CheckResult = {
  ok: true,
  outcome: 'slow',
  reason: 'took 900 ms',
  responseTimeMs: 900,
};
const expiring: CheckResult = {
  ok: true,
  outcome: 'expiring',
  reason: 'the certificate ends in 3 days',
  responseTimeMs: 12,
};
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

const LETTERS: Record<string, CheckResult> = {
  '.': ok,
  s: slow,
  e: expiring,
  x: refused,
  X: wrongStatus,
};

/**
 * Plays a story one second a letter, from 1,000 on: results, `P` and `M` to pause and for maintenance, `U` to show
 * again what is found. Gives the last state and every change and wish to look again.
 */
function play(
  story: string,
  confirmation = USUAL,
  from: MonitorState = upSince(0),
  everyMs = 1000,
) {
  const changes: string[] = [];
  const again: number[] = [];
  let state = from;
  let nowMs = from.lastCheckedMs ?? 0;
  for (const letter of story) {
    nowMs += everyMs;
    const step = stepOf(state, letter, confirmation, nowMs);
    if (step.change) {
      const { to, sinceMs, atMs, number } = step.change;
      changes.push(`${number}: ${to} at ${atMs} since ${sinceMs}`);
    }
    if (step.recheckSoon) again.push(nowMs);
    state = step.state;
  }
  return { state, changes, again, nowMs };
}

function stepOf(
  state: MonitorState,
  letter: string,
  confirmation: Confirmation,
  nowMs: number,
): StatusStep {
  if (letter === 'P') return coverStatus(state, 'PAUSED', nowMs);
  if (letter === 'M') return coverStatus(state, 'MAINTENANCE', nowMs);
  if (letter === 'U') return uncoverStatus(state, nowMs);
  const result = LETTERS[letter];
  if (!result) throw new Error(`no such letter: ${letter}`);
  return applyResult(state, result, confirmation, nowMs);
}

test.each([
  { story: '', status: 'PENDING', changes: [], again: [] },
  { story: '.', status: 'UP', changes: [], again: [] },
  { story: 's', status: 'UP', changes: [], again: [1000] },
  { story: 'x', status: 'PENDING', changes: [], again: [1000] },
  { story: 'x.', status: 'UP', changes: [], again: [1000] },
  { story: 'xX', status: 'DOWN', changes: ['1: DOWN at 2000 since 1000'], again: [1000] },
  {
    story: 'xPU',
    status: 'PENDING',
    changes: ['1: PAUSED at 2000 since 2000', '2: PENDING at 3000 since 0'],
    again: [1000],
  },
])('a new monitor is $status after "$story"', ({ story, status, changes, again }) => {
  expect(play(story, USUAL, createInitialState(0))).toMatchObject({
    state: { status },
    changes,
    again,
  });
});

test('a monitor with a new target is PENDING, without a change where it was UP', () => {
  const up = play('.').state;
  expect(resetForNewTarget(up, 5_000)).toMatchObject({
    state: { status: 'PENDING' },
    change: undefined,
  });
  const down = play('xx').state;
  expect(resetForNewTarget(down, 5_000).change).toMatchObject({ from: 'DOWN', to: 'PENDING' });
});

test.each([
  { name: 'stays UP while all is well', story: '..', changes: [], again: [] },
  { name: 'stays UP after one failure and looks again', story: 'x', changes: [], again: [1000] },
  { name: 'forgets one failure after a success', story: 'x.x.', changes: [], again: [1000, 3000] },
  {
    name: 'is DOWN after two, since the first',
    story: '.xx',
    changes: ['1: DOWN at 3000 since 2000'],
    again: [2000],
  },
  {
    name: 'counts failures of different kinds together',
    story: 'xX',
    changes: ['1: DOWN at 2000 since 1000'],
    again: [1000],
  },
  {
    name: 'stays DOWN without a further change',
    story: 'xxxx',
    changes: ['1: DOWN at 2000 since 1000'],
    again: [1000],
  },
  {
    name: 'is UP after one success',
    story: 'xx.',
    changes: ['1: DOWN at 2000 since 1000', '2: UP at 3000 since 3000'],
    again: [1000],
  },
  {
    name: 'needs two failures again after a recovery',
    story: 'xx.x',
    changes: ['1: DOWN at 2000 since 1000', '2: UP at 3000 since 3000'],
    again: [1000, 4000],
  },
  {
    name: 'is DEGRADED after two slow answers, and UP after one that is not',
    story: 's.ss.',
    changes: ['1: DEGRADED at 4000 since 4000', '2: UP at 5000 since 5000'],
    again: [1000, 3000],
  },
  {
    name: 'counts degradations of different kinds together, and a failure between them ends the count',
    story: 'sxese',
    changes: ['1: DEGRADED at 4000 since 4000'],
    again: [1000, 2000, 3000],
  },
  {
    name: 'is DOWN after DEGRADED only when that is confirmed',
    story: 'ssxsxx',
    changes: ['1: DEGRADED at 2000 since 2000', '2: DOWN at 6000 since 5000'],
    again: [1000, 3000, 5000],
  },
  {
    name: 'is DEGRADED when it comes back slow',
    story: 'xxs',
    changes: ['1: DOWN at 2000 since 1000', '2: DEGRADED at 3000 since 3000'],
    again: [1000],
  },
  {
    name: 'tells no change when a cover ends and nothing else is found',
    story: 'xxMxxU',
    changes: [
      '1: DOWN at 2000 since 1000',
      '2: MAINTENANCE at 3000 since 3000',
      '3: DOWN at 6000 since 1000',
    ],
    again: [1000],
  },
  {
    name: 'shows after a cover what was found beneath it, since it was found',
    story: '.Mxxx.xxU',
    changes: ['1: MAINTENANCE at 2000 since 2000', '2: DOWN at 9000 since 7000'],
    again: [3000, 7000],
  },
  {
    name: 'is UP after a cover when it came back beneath it',
    story: 'xxM.U',
    changes: [
      '1: DOWN at 2000 since 1000',
      '2: MAINTENANCE at 3000 since 3000',
      '3: UP at 5000 since 4000',
    ],
    again: [1000],
  },
  {
    name: 'forgets at a cover what was not confirmed',
    story: 'xMxUPxU',
    changes: [
      '1: MAINTENANCE at 2000 since 2000',
      '2: UP at 4000 since 0',
      '3: PAUSED at 5000 since 5000',
      '4: UP at 7000 since 0',
    ],
    again: [1000, 3000, 6000],
  },
  {
    name: 'shows a pause over maintenance, and maintenance again after it',
    story: 'xxMPMU',
    changes: [
      '1: DOWN at 2000 since 1000',
      '2: MAINTENANCE at 3000 since 3000',
      '3: PAUSED at 4000 since 4000',
      '4: MAINTENANCE at 5000 since 5000',
      '5: DOWN at 6000 since 1000',
    ],
    again: [1000],
  },
  {
    name: 'takes a cover that is there already, and an end of none, for nothing',
    story: 'UPPUU',
    changes: ['1: PAUSED at 2000 since 2000', '2: UP at 4000 since 0'],
    again: [],
  },
])('$name', ({ story, changes, again }) => {
  const outcome = play(story);
  expect(outcome.changes).toEqual(changes);
  expect(outcome.again).toEqual(again);
  expect(outcome.state.changes).toBe(changes.length);
});

test.each(Array.from({ length: 10 }, (_, index) => index + 1))('confirms %i times', (times) => {
  const confirmation = { toDown: times, toUp: times };
  const failures = 'x'.repeat(times - 1);
  expect(play(failures, confirmation).changes).toEqual([]);
  expect(play(`${failures}.${failures}`, confirmation).changes).toEqual([]);
  const down = play(`${failures}x`, confirmation);
  expect(down.changes).toEqual([`1: DOWN at ${times * 1000} since 1000`]);
  expect(down.again).toHaveLength(times - 1);

  const successes = '.'.repeat(times - 1);
  expect(play(`${successes}x${successes}`, confirmation, down.state).changes).toEqual([]);
  const up = play(`${successes}.`, confirmation, down.state);
  expect(up.changes).toEqual([`2: UP at ${times * 2000} since ${times * 2000}`]);
  expect(up.again).toHaveLength(times - 1);

  const blemishes = 's'.repeat(times - 1);
  expect(play(blemishes, confirmation).changes).toEqual([]);
  const degraded = play(`${blemishes}s`, confirmation);
  expect(degraded.changes).toEqual([`1: DEGRADED at ${times * 1000} since ${times * 1000}`]);
  expect(play('.', confirmation, degraded.state).state.status).toBe('UP');
});

test('counts on when it must confirm fewer or more times from now on', () => {
  const two = play('xx', { toDown: 5, toUp: 1 }).state;
  expect(play('x', { toDown: 3, toUp: 1 }, two).changes).toEqual(['1: DOWN at 3000 since 1000']);
  expect(play('x', { toDown: 2, toUp: 1 }, two).changes).toEqual(['1: DOWN at 3000 since 1000']);
});

test('keeps the words of a problem while its kind stays, and takes new ones when it changes', () => {
  const reason = (...results: CheckResult[]) => {
    let state = upSince(0);
    for (const [at, result] of results.entries())
      state = applyResult(state, result, USUAL, at).state;
    return state.problem?.reason;
  };
  const later = { ...refused, reason: 'connection refused after 4 ms' };
  expect(reason(refused, later)).toBe(refused.reason);
  expect(reason(refused, refused, later)).toBe(refused.reason);
  expect(reason(refused, refused, wrongStatus)).toBe('answered 503');
  const slower = { ...slow, reason: 'took 901 ms' };
  expect(reason(slow, slow, slower)).toBe(slow.reason);
  expect(reason(slow, slow, slower, expiring)).toBe(expiring.reason);
  // DEGRADED is shown, and its reason stays until another status is confirmed.
  expect(reason(slow, slow, refused)).toBe(slow.reason);
  expect(reason(slow, slow, refused, refused)).toBe(refused.reason);
});

test.each([
  ['after a recovery', 'xx.'],
  ['after a failure that was not confirmed', 'x.'],
  ['after such a failure and a slow answer', 'xs'],
  ['after a slow answer that was not confirmed', 's'],
  ['after DEGRADED', 'ss.'],
  ['when a cover ends over such a failure', 'xMU'],
  ['when it recovered beneath a cover', 'xxM.U'],
])('holds no problem while it is UP: %s', (_, story) => {
  const { state } = play(story);
  expect(state.status).toBe('UP');
  expect(state.problem).toBeUndefined();
  expect(state.firstFailureMs).toBeUndefined();
});

test('gives the reason with a change', () => {
  const { change } = applyResult(play('x').state, refused, USUAL, 5000);
  expect(change).toMatchObject({ outcome: 'connection', reason: refused.reason });
  const back = applyResult(play('xx').state, ok, USUAL, 5000).change;
  expect(back).not.toHaveProperty('reason');
  expect(coverStatus(play('xx').state, 'PAUSED', 5000).change).not.toHaveProperty('reason');
  expect(uncoverStatus(play('xxP').state, 5000).change).toMatchObject({
    to: 'DOWN',
    outcome: 'connection',
  });
  expect(uncoverStatus(play('MxxU').state, 5000).change).toBeUndefined();
});

/** Down and back so often, a minute each way. */
const flaps = (times: number, from?: MonitorState) =>
  play('xx.'.repeat(times), USUAL, from, 20_000);

test('is flapping after three changes to DOWN in fifteen minutes, and then needs three successes to be UP', () => {
  const { state, nowMs } = flaps(2);
  expect(state.flips).toHaveLength(4);
  expect(isFlapping(state, nowMs)).toBe(false);
  const fifth = play('xx', USUAL, state);
  expect(fifth.state.flapping).toBe(true);
  const almost = play('..x..', USUAL, fifth.state);
  expect(almost.changes).toEqual([]);
  expect(almost.again).toHaveLength(4);
  const up = play('.', USUAL, almost.state);
  expect(up.state.status).toBe('UP');
  expect(isFlapping(up.state, up.nowMs)).toBe(true);
  expect(play('...', { toDown: 2, toUp: 4 }, fifth.state).changes).toEqual([]);
});

test('flips that take longer than fifteen minutes are no flapping', () => {
  // Flips at 2, 3, 5, 6 and 8 steps: the fifth is six steps after the first.
  const flips = (everyMs: number) => play('xx.xx.xx', USUAL, undefined, everyMs).state.flapping;
  expect(flips((15 * MINUTE_MS) / 6)).toBe(true);
  expect(flips((15 * MINUTE_MS) / 6 + 1)).toBe(false);
});

test('is not flapping after two changes to DOWN, however many to UP', () => {
  const { state } = play(`${'x'.repeat(40)}..xx..xx..`, USUAL, undefined, 30_000);
  expect(state.flips).toHaveLength(5);
  expect(state.flapping).toBe(false);
});

test('goes on flapping while flips come less than fifteen minutes apart', () => {
  let { state, nowMs } = play('xx.xx.xx');
  for (const story of ['...', 'xx', '...', 'xx']) {
    ({ state, nowMs } = play(story, USUAL, state, 3 * MINUTE_MS));
    expect(isFlapping(state, nowMs)).toBe(true);
  }
});

test('DEGRADED and UP by turns are no flips', () => {
  expect(play('ss.'.repeat(9)).state.flips).toEqual([]);
});

test('flapping is over after fifteen minutes without a flip, whichever function judges it', () => {
  const { state, nowMs } = play('xx.xx.xx');
  const calmMs = nowMs + 15 * MINUTE_MS;
  expect(isFlapping(state, calmMs)).toBe(true);
  expect(isFlapping(state, calmMs + 1)).toBe(false);
  const calm = applyResult(state, ok, USUAL, calmMs + 1);
  expect(calm.change?.to).toBe('UP');
  expect(calm.state).toMatchObject({ flapping: false, flips: [calmMs + 1] });
  expect(applyResult(state, ok, USUAL, calmMs).change).toBeUndefined();
  const again = goDown(goUp(state, nowMs).state, calmMs + 1, calmMs + 1);
  expect(again.state).toMatchObject({ flapping: false, flips: [calmMs + 1] });
});

test('stays flapping under a pause or maintenance, which is no flip', () => {
  const { state, nowMs } = play('xx.xx.xxMPU');
  expect(isFlapping(state, nowMs)).toBe(true);
  expect(state.flips).toHaveLength(5);
});

test('a clock that is set back by a day ends flapping, and no time lies in the future', () => {
  const { state } = play('xx.xx.xx', USUAL, { ...upSince(0), lastCheckedMs: 1440 * MINUTE_MS });
  expect(isFlapping(state, 5000)).toBe(false);
  const back = uncoverStatus(coverStatus(state, 'PAUSED', 6000).state, 7000);
  expect(back.change).toMatchObject({ to: 'DOWN', sinceMs: 7000, atMs: 7000 });
});

test('a job that flaps is UP after one ping all the same', () => {
  const { state, nowMs } = play('xx.xx.xx');
  const step = goUp(state, nowMs + 1000);
  expect(step).toMatchObject({ change: { to: 'UP' }, recheckSoon: false });
  expect(step.state.problem).toBeUndefined();
});

test('goes DOWN at once for a late heartbeat, also under maintenance', () => {
  const late = { outcome: 'late', reason: 'no ping' } as const;
  const step = goDown({ ...play('x').state, problem: late }, 4000, 5000);
  expect(step.change).toMatchObject({ to: 'DOWN', sinceMs: 4000, atMs: 5000, ...late });
  expect(step.state).toMatchObject({ failures: 0, problem: late });
  expect(step.state.firstFailureMs).toBeUndefined();
  const beneath = goDown({ ...play('M').state, problem: late }, 4000, 5000);
  expect(beneath.change).toBeUndefined();
  expect(underlyingStatus(beneath.state)).toEqual({ status: 'DOWN', sinceMs: 4000 });
});

test('a check without a result takes back unconfirmed failures, and no more', () => {
  const after = (story: string, confirmation?: Confirmation) => {
    const { state } = play(story, confirmation);
    const step = discardUnconfirmed(state);
    expect([step.change, step.recheckSoon]).toEqual([undefined, false]);
    expect(step.state.lastCheckedMs).toBe(state.lastCheckedMs);
    return step.state;
  };
  expect(after('.x')).toMatchObject({ status: 'UP', failures: 0 });
  expect(after('.x').problem).toBeUndefined();
  expect(after('.x').firstFailureMs).toBeUndefined();
  expect(play('x', USUAL, after('.x')).changes).toEqual([]);
  expect(play('s', USUAL, after('.s')).changes).toEqual([]);
  expect(play('.', { toDown: 1, toUp: 2 }, after('x.', { toDown: 1, toUp: 2 })).changes).toEqual(
    [],
  );
  expect(after('xx')).toEqual(play('xx').state);
  expect(after('ssx').problem?.outcome).toBe('slow');
});

test('keeps what a check measured, and the last certificate it saw', () => {
  const shown = { ...ok, responseTimeMs: 7, certificateEndsMs: 99 };
  const { state } = applyResult(upSince(0), shown, USUAL, 1000);
  expect(state).toMatchObject({ lastCheckedMs: 1000, responseTimeMs: 7, certificateEndsMs: 99 });
  expect(applyResult(state, refused, USUAL, 2000).state).toMatchObject({
    lastCheckedMs: 2000,
    responseTimeMs: 3,
    certificateEndsMs: 99,
  });
});

test('does not alter the state it is given', () => {
  for (const story of ['', 'x', 'xx', 's', 'ss', 'xx.xx.xx', 'P', 'xxM']) {
    const { state } = play(story);
    const before = structuredClone(state);
    const frozen = Object.freeze({ ...state, flips: Object.freeze(state.flips) as number[] });
    for (const letter of '.sxXPMU') stepOf(frozen, letter, USUAL, 99_000);
    goUp(frozen, 99_000);
    goDown(frozen, 99_000, 99_000);
    expect(frozen).toEqual(before);
  }
});

test('is checked a second time after five seconds, or half the interval if that is shorter', () => {
  expect(recheckAfterMs({ interval_seconds: 60 })).toBe(5_000);
  expect(recheckAfterMs({ interval_seconds: 5 })).toBe(2_500);
  expect(recheckAfterMs({ interval_seconds: 60, retry_seconds: 20 })).toBe(20_000);
  expect(recheckAfterMs({ interval_seconds: 60, retry_seconds: 3600 })).toBe(30_000);
});
