import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { MonitorStatus } from '../../../src/contracts/monitoring.ts';
import type { CheckResult } from '../../../src/monitoring/checks/check-result.ts';
import {
  cover,
  type FoundStatus,
  found,
  isFlapping,
  MonitorState,
  neverChecked,
  next,
  type SetStatus,
  type StatusChange,
  uncover,
} from '../../../src/monitoring/state/state.ts';
import { long } from '../../helpers/long.ts';

type Finding = 'ok' | 'slow' | 'expiring' | 'connection' | 'status';
type Event = { waitMs: number } & ({ finding: Finding } | { cover: SetStatus } | { uncover: true });

const MINUTE_MS = 60_000;
const isFailure = (finding: Finding) => finding === 'connection' || finding === 'status';
const isBlemish = (finding: Finding) => finding === 'slow' || finding === 'expiring';

/** The same rules told over the list of all that was found, with nothing counted. */
function createModel(toDown: number, toUp: number) {
  let status: FoundStatus = 'PENDING';
  let sinceMs = 0;
  let covered: { status: SetStatus; sinceMs: number } | undefined;
  let shownMs = 0;
  let findings: Array<{ finding: Finding; atMs: number }> = [];
  let flips: number[] = [];
  let flapping = false;
  let changes = 0;

  /** The findings at the end that are all so. */
  function tail(is: (finding: Finding) => boolean) {
    const other = findings.findLastIndex(({ finding }) => !is(finding));
    return findings.slice(other + 1);
  }
  function nextStatus(): FoundStatus {
    const last = findings.at(-1)?.finding;
    if (tail(isFailure).length >= toDown) return 'DOWN';
    if (status === 'DOWN') {
      const wanted = flapping ? Math.max(3, toUp) : toUp;
      if (tail((finding) => !isFailure(finding)).length < wanted) return 'DOWN';
      return last && isBlemish(last) ? 'DEGRADED' : 'UP';
    }
    if (last === 'ok') return 'UP';
    if (tail(isBlemish).length >= toDown) return 'DEGRADED';
    return status === 'PENDING' && last && isBlemish(last) ? 'UP' : status;
  }
  return {
    find(finding: Finding, nowMs: number) {
      if (nowMs - (flips.at(-1) ?? nowMs) > 15 * MINUTE_MS) flapping = false;
      findings.push({ finding, atMs: nowMs });
      const to = nextStatus();
      if (to === status) return;
      const isFirst = status === 'PENDING' && to === 'UP';
      const isFlip = (to === 'DOWN') !== (status === 'DOWN');
      sinceMs = to === 'DOWN' ? (tail(isFailure)[0]?.atMs ?? nowMs) : nowMs;
      status = to;
      if (covered) return;
      if (!isFirst) changes += 1;
      shownMs = sinceMs;
      if (!isFlip) return;
      flips.push(nowMs);
      const fifth = flips.at(-5);
      if (fifth !== undefined && nowMs - fifth <= 15 * MINUTE_MS) flapping = true;
    },
    cover(by: SetStatus, nowMs: number) {
      if (covered?.status === by) return;
      covered = { status: by, sinceMs: nowMs };
      findings = [];
      changes += 1;
      shownMs = nowMs;
    },
    uncover() {
      if (!covered) return;
      covered = undefined;
      changes += 1;
      shownMs = sinceMs;
    },
    /** Flips before flapping ended count no more. */
    settle(nowMs: number) {
      if (flapping && nowMs - (flips.at(-1) ?? nowMs) > 15 * MINUTE_MS) {
        flapping = false;
        flips = [];
      }
    },
    shown: (): { status: MonitorStatus; sinceMs: number; changes: number; flapping: boolean } => ({
      status: covered?.status ?? status,
      sinceMs: shownMs,
      changes,
      flapping,
    }),
    found: () => ({ status, sinceMs }),
    unconfirmed: () => (status === 'DOWN' ? 0 : tail(isFailure).length),
  };
}

const resultOf = (finding: Finding, nowMs: number): CheckResult => ({
  ok: !isFailure(finding),
  outcome: finding,
  ...(finding !== 'ok' && { reason: `${finding} at ${nowMs}` }),
  responseTimeMs: 1,
});

const waitMs = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: 0, max: 2 * MINUTE_MS }) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 20 * MINUTE_MS }) },
);
const finding = (weights: Record<Finding, number>) =>
  fc.oneof(
    ...Object.entries(weights).map(([one, weight]) => ({
      weight,
      arbitrary: fc.constant(one as Finding),
    })),
  );
/** Runs of one finding, as real targets have them: single ones would hardly ever confirm ten. */
const run = fc
  .tuple(
    finding({ ok: 6, slow: 2, expiring: 1, connection: 4, status: 2 }),
    fc.integer({ min: 1, max: 11 }),
    waitMs,
  )
  .map(([found, length, wait]): Event[] =>
    Array.from({ length }, () => ({ waitMs: wait, finding: found })),
  );
const other = waitMs.chain((wait) =>
  fc.constantFrom<Event[]>(
    [{ waitMs: wait, cover: 'PAUSED' }],
    [{ waitMs: wait, cover: 'MAINTENANCE' }],
    [{ waitMs: wait, uncover: true }],
  ),
);
const story = fc
  .array(fc.oneof({ weight: 5, arbitrary: run }, { weight: 1, arbitrary: other }), {
    maxLength: 40,
  })
  .map((parts) => parts.flat());
const confirmed = fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 10 }));

function play(state: MonitorState, event: Event, confirmation: [number, number], nowMs: number) {
  if ('cover' in event) return cover(state, event.cover, nowMs);
  if ('uncover' in event) return uncover(state, nowMs);
  const [toDown, toUp] = confirmation;
  return next(state, resultOf(event.finding, nowMs), { toDown, toUp }, nowMs);
}

test('follows the rules for any results and settings, in any order', () => {
  fc.assert(
    fc.property(story, confirmed, confirmed, (events, toDown, toUp) => {
      const model = createModel(toDown, toUp);
      let state = neverChecked(0);
      let nowMs = 0;
      for (const event of events) {
        nowMs += event.waitMs;
        const before = state.status;
        const step = play(state, event, [toDown, toUp], nowMs);
        if ('cover' in event) model.cover(event.cover, nowMs);
        else if ('uncover' in event) model.uncover();
        else {
          model.settle(nowMs);
          model.find(event.finding, nowMs);
        }
        state = step.state;
        const { flapping, ...shown } = model.shown();
        expect(state).toMatchObject(shown);
        if (!('cover' in event) && !('uncover' in event)) {
          expect(isFlapping(state, nowMs)).toBe(flapping);
        }
        expect(found(state)).toEqual(model.found());
        expect(state.failures).toBe(model.unconfirmed());
        checkStep(step.change, { before, state, nowMs });
      }
    }),
    { numRuns: long ? 5_000 : 50 },
  );
}, 600_000);

test('keeps what must always hold, also when the clock is set back and the settings change', () => {
  const set = fc.record({
    events: story,
    backMs: fc.array(fc.integer({ min: 0, max: 3_600_000 }), { minLength: 1, maxLength: 5 }),
    confirmations: fc.array(fc.tuple(confirmed, confirmed), { minLength: 1, maxLength: 5 }),
  });
  fc.assert(
    fc.property(set, ({ events, backMs, confirmations }) => {
      let state = neverChecked(1_800_000_000_000);
      let nowMs = state.sinceMs;
      for (const [index, event] of events.entries()) {
        const isSetBack = index % 17 === 16;
        nowMs += event.waitMs - (isSetBack ? (backMs[index % backMs.length] ?? 0) : 0);
        const confirmation = confirmations[index % confirmations.length] ?? [1, 1];
        const before = state.status;
        const step = play(state, event, confirmation, nowMs);
        state = step.state;
        checkStep(step.change, { before, state, nowMs });
        expect(MonitorState.parse(JSON.parse(JSON.stringify(state)))).toEqual(state);
      }
    }),
    { numRuns: long ? 5_000 : 50 },
  );
}, 600_000);

function checkStep(
  change: StatusChange | undefined,
  { before, state, nowMs }: { before: MonitorStatus; state: MonitorState; nowMs: number },
) {
  const isCovered = state.status === 'PAUSED' || state.status === 'MAINTENANCE';
  expect(isCovered).toBe(state.beneath !== undefined);
  const isUp = ['UP', 'PENDING'].includes(found(state).status);
  // Why it is not UP, or failing; and nothing when it is neither.
  expect(state.problem !== undefined).toBe(!isUp || state.failures > 0);
  expect(state.firstFailureMs !== undefined).toBe(state.failures > 0);
  expect(state.flips.length).toBeLessThanOrEqual(5);
  if (!change) {
    if (before !== 'PENDING' || state.status !== 'UP') expect(state.status).toBe(before);
    return;
  }
  expect(change).toMatchObject({
    from: before,
    to: state.status,
    number: state.changes,
    atMs: nowMs,
  });
  expect(change.from).not.toBe(change.to);
  expect(change.sinceMs).toBeLessThanOrEqual(nowMs);
  expect(change.sinceMs).toBe(state.sinceMs);
  expect(change.reason !== undefined).toBe(change.to === 'DOWN' || change.to === 'DEGRADED');
}
