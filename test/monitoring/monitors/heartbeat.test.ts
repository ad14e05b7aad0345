import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { HeartbeatConfig } from '../../../src/contracts/monitoring.ts';
import {
  applySignal,
  createToken,
  deadlineMs,
  hashToken,
  markPingMissed,
  parseSignal,
  type Signal,
} from '../../../src/monitoring/monitors/heartbeat.ts';
import {
  coverStatus,
  createInitialState,
  type MonitorState,
  uncoverStatus,
  underlyingStatus,
} from '../../../src/monitoring/state/state.ts';
import { parseCron } from '../../../src/monitoring/time/cron.ts';
import { long } from '../../helpers/long.ts';

const HOUR_MS = 3_600_000;
const runs = long ? 5_000 : 150;

const settings = (given: Partial<HeartbeatConfig>) => HeartbeatConfig.parse(given);
const config = settings({ period_seconds: 100, grace_seconds: 10, max_run_seconds: 30 });
const ping: Signal = { kind: 'ping' };
const start: Signal = { kind: 'start' };
const fail: Signal = { kind: 'fail', reason: 'the job reported that it failed' };
const exit = (code: number): Signal =>
  code === 0 ? ping : { kind: 'fail', reason: `the job ended with exit code ${code}` };
const at = (time: string) => Date.parse(`2026-03-03T${time}:00Z`);

/** The state after signals, each at its moment. */
function stateAfter(given: HeartbeatConfig, ...signals: Array<[number, Signal]>): MonitorState {
  return signals.reduce(
    (state, [ms, signal]) => applySignal(state, given, signal, ms).state,
    createInitialState(0),
  );
}

describe('every signal and the deadline, in every state', () => {
  const states = {
    new: { ...createInitialState(0), awaitedFromMs: 0 },
    up: stateAfter(config, [1_000, ping]),
    'new and started': stateAfter(config, [1_000, start]),
    started: stateAfter(config, [500, ping], [1_000, start]),
    late: markPingMissed(stateAfter(config, [1_000, ping]), config, 111_000).state,
    'late and started': applySignal(
      markPingMissed(stateAfter(config, [1_000, ping]), config, 111_000).state,
      config,
      start,
      115_000,
    ).state,
    'late in its run': markPingMissed(stateAfter(config, [1_000, start]), config, 31_000).state,
    failed: stateAfter(config, [1_000, fail]),
  };
  const NOW_MS = 120_000;
  const events = { start, ping, fail, deadline: undefined };
  const FAILED = 'the job reported that it failed';
  const RUN = 'the run started at 00:00 UTC has not ended within 30 seconds';
  const FIRST =
    'no first ping within 1 minute 40 seconds plus 10 seconds of grace; waiting since 00:00 UTC';
  const LATE =
    'no ping within 1 minute 40 seconds plus 10 seconds of grace; the last one came at 00:00 UTC';

  /** state, event → what is found, the words for it, since when the run goes on, the next deadline */
  type Row = [
    keyof typeof states,
    keyof typeof events,
    'UP' | 'DOWN' | 'PENDING',
    string | undefined,
    number | undefined,
    number | undefined,
  ];
  const UP_AGAIN = NOW_MS + 110_000;
  const rows: Row[] = [
    ['new', 'start', 'PENDING', undefined, NOW_MS, NOW_MS + 30_000],
    ['new', 'ping', 'UP', undefined, undefined, UP_AGAIN],
    ['new', 'fail', 'DOWN', FAILED, undefined, undefined],
    ['new', 'deadline', 'DOWN', FIRST, undefined, undefined],
    ['up', 'start', 'UP', undefined, NOW_MS, NOW_MS + 30_000],
    ['up', 'ping', 'UP', undefined, undefined, UP_AGAIN],
    ['up', 'fail', 'DOWN', FAILED, undefined, undefined],
    ['up', 'deadline', 'DOWN', LATE, undefined, undefined],
    ['new and started', 'start', 'PENDING', undefined, 1_000, 31_000],
    ['new and started', 'ping', 'UP', undefined, undefined, UP_AGAIN],
    ['new and started', 'fail', 'DOWN', FAILED, undefined, undefined],
    ['new and started', 'deadline', 'DOWN', RUN, 1_000, undefined],
    ['started', 'start', 'UP', undefined, 1_000, 31_000],
    ['started', 'ping', 'UP', undefined, undefined, UP_AGAIN],
    ['started', 'fail', 'DOWN', FAILED, undefined, undefined],
    ['started', 'deadline', 'DOWN', RUN, 1_000, undefined],
    ['late', 'start', 'DOWN', LATE, NOW_MS, undefined],
    ['late', 'ping', 'UP', undefined, undefined, UP_AGAIN],
    ['late', 'fail', 'DOWN', FAILED, undefined, undefined],
    ['late', 'deadline', 'DOWN', LATE, undefined, undefined],
    ['late and started', 'start', 'DOWN', LATE, NOW_MS, undefined],
    ['late and started', 'ping', 'UP', undefined, undefined, UP_AGAIN],
    ['late and started', 'fail', 'DOWN', FAILED, undefined, undefined],
    ['late and started', 'deadline', 'DOWN', LATE, 115_000, undefined],
    ['late in its run', 'start', 'DOWN', RUN, NOW_MS, undefined],
    ['late in its run', 'ping', 'UP', undefined, undefined, UP_AGAIN],
    ['late in its run', 'fail', 'DOWN', FAILED, undefined, undefined],
    ['late in its run', 'deadline', 'DOWN', RUN, 1_000, undefined],
    ['failed', 'start', 'DOWN', FAILED, NOW_MS, undefined],
    ['failed', 'ping', 'UP', undefined, undefined, UP_AGAIN],
    ['failed', 'fail', 'DOWN', FAILED, undefined, undefined],
    ['failed', 'deadline', 'DOWN', FAILED, undefined, undefined],
  ];

  function happen(state: MonitorState, event: keyof typeof events) {
    const signal = events[event];
    return signal
      ? applySignal(state, config, signal, NOW_MS)
      : markPingMissed(state, config, NOW_MS);
  }

  test('each has a row in the table', () => {
    const all = Object.keys(states).flatMap((state) =>
      Object.keys(events).map((event) => `${state}, ${event}`),
    );
    expect(rows.map(([state, event]) => `${state}, ${event}`)).toEqual(all);
  });

  test.each(rows)('%s, then %s: %s', (from, event, status, reason, runStartedMs, dueMs) => {
    const before = states[from];
    const step = happen(before, event);
    expect(underlyingStatus(step.state).status).toBe(status);
    expect(step.state.status).toBe(status);
    expect(step.state.problem?.reason).toBe(reason);
    expect(step.state.runStartedMs).toBe(runStartedMs);
    expect(deadlineMs(step.state, config, 0)).toBe(dueMs);
    const isQuiet = before.status === 'PENDING' && status === 'UP';
    expect(step.change?.to).toBe(before.status === status || isQuiet ? undefined : status);
    if (step.change) expect(step.change).toMatchObject({ atMs: NOW_MS, sinceMs: NOW_MS });
    if (step.change?.to === 'DOWN') expect(step.change.reason).toBe(reason);
    expect(step.recheckSoon).toBe(false);
  });

  test.each(['PAUSED', 'MAINTENANCE'] as const)(
    '%s shows nothing of it and loses nothing of it',
    (set) => {
      for (const [from, event] of rows) {
        const plain = happen(states[from], event);
        const covered = happen(coverStatus(states[from], set, 117_000).state, event);
        expect(covered.change).toBeUndefined();
        expect(covered.state.status).toBe(set);
        expect(deadlineMs(covered.state, config, 0)).toBe(deadlineMs(plain.state, config, 0));
        expect(covered.state.runStartedMs).toBe(plain.state.runStartedMs);
        const back = uncoverStatus(covered.state, 125_000).state;
        expect({ ...back, changes: 0, flips: [] }).toEqual({
          ...plain.state,
          changes: 0,
          flips: [],
        });
      }
    },
  );
});

test('a run tells how long it took when it ends, well or not', () => {
  expect(stateAfter(config, [1_000, start], [4_500, ping]).responseTimeMs).toBe(3_500);
  expect(stateAfter(config, [1_000, start], [4_500, exit(0)]).responseTimeMs).toBe(3_500);
  expect(stateAfter(config, [1_000, start], [4_500, exit(1)]).responseTimeMs).toBe(3_500);
  expect(
    stateAfter(config, [1_000, start], [4_500, ping], [9_000, ping]).responseTimeMs,
  ).toBeNull();
  expect(stateAfter(config, [9_000, start], [4_500, ping]).responseTimeMs).toBe(0);
});

test('a run may go on when the next ping would be due, and is late by its own time', () => {
  const long = settings({ period_seconds: 100, grace_seconds: 10, max_run_seconds: 7_200 });
  const state = stateAfter(long, [at('01:00'), ping], [at('02:00'), start]);
  expect(deadlineMs(state, long, 0)).toBe(at('04:00'));
  expect(markPingMissed(state, long, at('04:00')).change).toMatchObject({
    outcome: 'late',
    reason: 'the run started at 02:00 UTC has not ended within 2 hours',
  });
});

test('a run has the grace to end when no time for it is set', () => {
  const plain = settings({ grace_seconds: 60 });
  expect(deadlineMs(stateAfter(plain, [1_000, start]), plain, 0)).toBe(61_000);
});

test('a run tells its day when it began on another', () => {
  const state = stateAfter(config, [Date.parse('2026-03-02T23:59:50Z'), start]);
  expect(markPingMissed(state, config, at('00:00')).change?.reason).toBe(
    'the run started at 2026-03-02 23:59 UTC has not ended within 30 seconds',
  );
});

test('a run that is late and ends at last is UP, and tells how long it took', () => {
  const late = markPingMissed(stateAfter(config, [1_000, start]), config, 31_000).state;
  const back = applySignal(late, config, ping, 50_000);
  expect(back.change).toMatchObject({ from: 'DOWN', to: 'UP' });
  expect(back.state.responseTimeMs).toBe(49_000);
});

test('a run that dies and starts again and again is late all the same', () => {
  const state = stateAfter(config, [1_000, start], [11_000, start], [21_000, start]);
  expect(deadlineMs(state, config, 0)).toBe(31_000);
});

describe('what was due while the service was off', () => {
  const state = stateAfter(config, [5_000, ping]);

  test.each([
    ['long ago', 900_000, 910_000],
    ['soon after the start', 110_000, 120_000],
    ['later than a grace after the start', 50_000, 115_000],
    ['heard by this very service', 5_000, 115_000],
  ])('gets one grace from the start: due %s', (_, sinceMs, dueMs) => {
    expect(deadlineMs(state, config, sinceMs)).toBe(dueMs);
  });

  test('is also a run, which has its own time when it began after the start', () => {
    const short = settings({ grace_seconds: 3_600, max_run_seconds: 60 });
    const running = stateAfter(short, [5_000, start]);
    expect(deadlineMs(running, short, 900_000)).toBe(900_000 + HOUR_MS);
    expect(deadlineMs(running, short, 5_000)).toBe(65_000);
  });

  test('is also a ping of a crontab', () => {
    const hourly = settings({ cron: '0 * * * *', grace_seconds: 300 });
    const pinged = stateAfter(hourly, [at('01:01'), ping]);
    expect(deadlineMs(pinged, hourly, at('07:30'))).toBe(at('07:35'));
    expect(deadlineMs(pinged, hourly, at('01:30'))).toBe(at('02:05'));
  });
});

describe('a crontab', () => {
  const hourly = settings({ cron: '0 * * * *', grace_seconds: 300 });
  const due = (given: HeartbeatConfig, ...times: string[]) => {
    const state = stateAfter(given, ...times.map((time): [number, Signal] => [at(time), ping]));
    const ms = deadlineMs(state, given, 0);
    return ms === undefined ? undefined : new Date(ms).toISOString().slice(11, 16);
  };

  test.each([
    ['after a ping in time', ['02:01'], '03:05'],
    ['on the minute', ['02:00'], '03:05'],
    ['after a ping between two times', ['02:30'], '03:05'],
    ['after a ping too early for the next', ['02:01', '02:54'], '03:05'],
    ['after a ping just early enough for the next', ['02:01', '02:55'], '04:05'],
    ['of a job whose clock is a minute fast', ['01:59', '02:59'], '04:05'],
    ['of one that pings twice', ['02:59', '03:00'], '04:05'],
    ['of one that pings again after an early ping', ['02:57', '02:58', '02:59'], '04:05'],
    ['of one that missed a time and is a minute fast', ['00:59', '02:59'], '04:05'],
    ['of one that is early for one time and late for the next', ['00:59', '02:04'], '03:05'],
  ])('expects the next ping %s', (_, times, deadline) => {
    expect(due(hourly, ...times)).toBe(deadline);
  });

  test.each([
    // The grace is longer than from one time to the next: a ping first counts for the time it is owed for.
    ['late for one time', ['02:00', '03:40'], '05:00'],
    ['first of all and near the next time', ['02:40'], '05:00'],
    ['first of all and near the last time', ['02:20'], '04:00'],
    ['early for one time', ['02:00', '03:00', '03:40'], '06:00'],
    ['more than half way', ['02:00', '03:00', '03:29'], '05:00'],
  ])('with a long grace, a ping %s', (_, times, deadline) => {
    expect(due({ ...hourly, grace_seconds: 3_600 }, ...times)).toBe(deadline);
  });

  test('a ping in the last moment of the grace counts for its time, and not for the next', () => {
    expect(due({ ...hourly, grace_seconds: 1_800 }, '01:00', '02:30')).toBe('03:30');
    expect(due({ ...hourly, grace_seconds: 1_800 }, '01:00', '02:31')).toBe('04:30');
  });

  test('a ping outside the grace counts up to its own moment', () => {
    const state = stateAfter(hourly, [at('02:01'), ping], [at('02:54'), ping]);
    expect(state.pingCountsToMs).toBe(at('02:54'));
  });

  test('names the ping that did not come, by the clock of its zone', () => {
    const nightly = settings({ cron: '30 2 * * *', timezone: 'Europe/Berlin' });
    const state = stateAfter(nightly, [at('01:31'), ping]);
    const dueMs = Date.parse('2026-03-04T01:30Z') + HOUR_MS;
    expect(deadlineMs(state, nightly, 0)).toBe(dueMs);
    expect(markPingMissed(state, nightly, dueMs).change).toMatchObject({
      outcome: 'late',
      reason: 'the ping expected at 02:30 Europe/Berlin did not arrive within 1 hour',
    });
    expect(markPingMissed(state, nightly, dueMs + 24 * HOUR_MS).change?.reason).toBe(
      'the ping expected at 2026-03-04 02:30 Europe/Berlin did not arrive within 1 hour',
    );
  });

  test('expects the night in which 02:30 does not exist when the clock has moved on', () => {
    const nightly = settings({ cron: '30 2 * * *', timezone: 'Europe/Berlin' });
    const state = stateAfter(nightly, [Date.parse('2026-03-28T01:31Z'), ping]);
    expect(deadlineMs(state, nightly, 0)).toBe(Date.parse('2026-03-29T01:00Z') + HOUR_MS);
  });

  test('takes no account of settings it had before', () => {
    const daily = settings({ cron: '0 3 * * *', grace_seconds: 3_600 });
    const early = stateAfter(daily, [at('02:01'), ping]);
    expect(deadlineMs(early, daily, 0)).toBe(at('04:00') + 24 * HOUR_MS);
    // Counted for 03:00 with an hour of grace; now a ping counts for five minutes ahead at most.
    expect(deadlineMs(early, { ...hourly, cron: '*/10 * * * *' }, 0)).toBe(at('02:15'));
    const period = applySignal(early, config, ping, at('02:02')).state;
    expect(period.pingCountsToMs).toBeUndefined();
    expect(deadlineMs(period, config, 0)).toBe(at('02:02') + 110_000);
  });

  const crontab = fc.constantFrom(
    '0 * * * *',
    '*/15 * * * *',
    '30 2 * * *',
    '0 9-17 * * 1-5',
    '5,6 1,13 * * *',
  );
  const zone = fc.constantFrom('UTC', 'Europe/Berlin', 'Australia/Lord_Howe', 'America/New_York');

  /** From some days before the clocks of most zones change. */
  function timesOf(cron: string, timezone: string, count: number): number[] {
    const found: number[] = [];
    for (let ms = Date.parse('2026-03-05'); found.length < count; found.push(ms)) {
      ms = parseCron(cron, timezone).nextAfter(ms) ?? Number.NaN;
    }
    return found;
  }

  test('raises no alarm for a job that pings at each of its times, a little early or within the grace', () => {
    const offset = fc.double({ min: -1, max: 1, noNaN: true, maxExcluded: true });
    fc.assert(
      fc.property(
        crontab,
        zone,
        fc.integer({ min: 1, max: 7_200 }),
        fc.array(offset, { minLength: 60, maxLength: 60 }),
        (cron, timezone, grace_seconds, offsets) => {
          const given = settings({ cron, timezone, grace_seconds });
          const times = timesOf(cron, timezone, offsets.length + 1);
          let state = createInitialState(0);
          for (const [index, part] of offsets.entries()) {
            const timeMs = times[index] ?? Number.NaN;
            const graceMs = grace_seconds * 1000;
            const gapMs = (times[index + 1] ?? Number.NaN) - timeMs;
            const lastMs = state.lastCheckedMs ?? 0;
            const pingMs = Math.max(
              lastMs,
              timeMs + Math.trunc(part * (part < 0 ? Math.min(graceMs, gapMs / 2) : graceMs)),
            );
            expect(deadlineMs(state, given, 0) ?? Number.POSITIVE_INFINITY).toBeGreaterThan(pingMs);
            state = applySignal(state, given, ping, pingMs).state;
          }
        },
      ),
      { numRuns: runs / 5 },
    );
  });

  test('notices a job that pings no more at the first time that is not within the grace, if not before', () => {
    fc.assert(
      fc.property(
        crontab,
        zone,
        fc.integer({ min: 1, max: 7_200 }),
        fc.array(fc.nat({ max: 7_200 }), { minLength: 1, maxLength: 20 }),
        (cron, timezone, grace_seconds, waits) => {
          const given = settings({ cron, timezone, grace_seconds });
          let nowMs = Date.parse('2026-03-05');
          let state = createInitialState(0);
          for (const seconds of waits) {
            nowMs += seconds * 1000;
            state = applySignal(state, given, ping, nowMs).state;
          }
          const times = parseCron(cron, timezone);
          const graceMs = grace_seconds * 1000;
          // An early ping may count for any time within the grace.
          const latestMs = times.nextAfter(nowMs + graceMs) ?? Number.NaN;
          const possible: number[] = [];
          for (let ms = nowMs; ms < latestMs; possible.push(ms + graceMs)) {
            ms = times.nextAfter(ms) ?? Number.NaN;
          }
          expect(possible).toContain(deadlineMs(state, given, 0));
        },
      ),
      { numRuns: runs },
    );
  });
});

test.each([
  ['start', start],
  ['fail', fail],
  ['0', ping],
  ['7', exit(7)],
  ['255', exit(255)],
  ...['', 'ping', 'START', '00', '01', '256', '999', '-1', '1.0', ' 1', '1e2', 'fail\n', '1\n'].map(
    (text): [string, undefined] => [text, undefined],
  ),
])("reads the signal '%s'", (text, signal) => {
  expect(parseSignal(text)).toEqual(signal);
});

test('makes tokens of at least 128 random bits and keeps only their hash', () => {
  const { token, tokenHash } = createToken();
  expect(Buffer.from(token, 'base64url').length * 8).toBeGreaterThanOrEqual(128);
  expect(tokenHash).toBe(hashToken(token));
  expect(tokenHash).not.toContain(token);
  expect(createToken().token).not.toBe(token);
});
