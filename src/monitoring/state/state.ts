import { z } from 'zod';
import { FLAPPING_DOWNS, FLAPPING_MS } from '../../contracts/flapping.ts';
import { MonitorStatus } from '../../contracts/monitoring.ts';
import { type CheckResult, Outcome } from '../checks/check-result.ts';
import type { CheckedMonitor } from '../checks/check-type.ts';

/** Results in a row that change a status. */
export interface Confirmation {
  /** Failures in a row before it is DOWN, and degradations in a row before it is DEGRADED. */
  toDown: number;
  /** Successes in a row before it is UP again. */
  toUp: number;
}

/** Changes to and from DOWN, from the first change to DOWN that counts for flapping to the last. */
const FLAPPING_FLIPS = 2 * FLAPPING_DOWNS - 1;

/** Successes in a row before a monitor that flaps is UP. */
const FLAPPING_TO_UP = 3;

/** The longest wait before the next check after a result that is not confirmed. */
const RECHECK_MS = 5_000;

/** Statuses that checks find; PENDING until the first check passed or its failure was confirmed. */
const UnderlyingStatus = z.enum(['PENDING', 'UP', 'DOWN', 'DEGRADED']);
export type UnderlyingStatus = z.infer<typeof UnderlyingStatus>;

/** Statuses that people set, over what checks find. */
export type SetStatus = 'PAUSED' | 'MAINTENANCE';

/** Shared by most monitors, because very many may be in memory. */
const NO_FLIPS: number[] = [];

/**
 * The stored state of a monitor. Times are Unix milliseconds.
 *
 * Underlying status, found by checks and signals (`confirm_down`, `confirm_up` are settings):
 * - PENDING → UP: the first check passes.
 * - PENDING, UP, DEGRADED → DOWN: `confirm_down` failures in a row, a missed ping, or a job's failure signal.
 * - PENDING, UP → DEGRADED: `confirm_down` degraded checks in a row.
 * - DOWN → UP or DEGRADED: `confirm_up` passed checks in a row, at least 3 while flapping, or a ping.
 * - DEGRADED → UP: a check passes without degradation, or a ping.
 * - any → PENDING: an edit sets another target.
 *
 * Status set by people or windows, shown instead: PAUSED (pause, resume) and MAINTENANCE (a window opens, ends). `underlying` holds the
 * underlying status in the meantime; checks continue in MAINTENANCE. Covering a status forgets unconfirmed results.
 */
export const MonitorState = z.object({
  /** The shown status. */
  status: MonitorStatus,
  /** Begin of `status`; for DOWN the time of the first failure. */
  sinceMs: z.int(),
  /** Changes of `status`, except from PENDING to UP and back. */
  changes: z.int().nonnegative(),
  /** The underlying status while `status` is PAUSED or MAINTENANCE. */
  underlying: z.object({ status: UnderlyingStatus, sinceMs: z.int() }).optional(),
  /** Unconfirmed results in a row: failures if it isn't DOWN, successes if it is, degradations if it is UP. */
  failures: z.int().nonnegative(),
  successes: z.int().nonnegative(),
  degradations: z.int().nonnegative(),
  firstFailureMs: z.int().optional(),
  /** Reason for DOWN or DEGRADED, or for an unconfirmed failure. */
  problem: z.object({ outcome: Outcome, reason: z.string() }).optional(),
  /** Last changes to and from DOWN, oldest first; as many as flapping needs. */
  flips: z.array(z.int()).overwrite((flips) => (flips.length === 0 ? NO_FLIPS : flips)),
  flapping: z.boolean(),
  /** End of the last check; for HEARTBEAT, time of the last ping. */
  lastCheckedMs: z.int().nullable(),
  responseTimeMs: z.number().nonnegative().nullable(),
  /** End of the last certificate that the target sent. */
  certificateEndsMs: z.int().optional(),
  /** HEARTBEAT without a ping yet: its first one is expected from this time on. */
  awaitedFromMs: z.int().optional(),
  /** HEARTBEAT: the job sent a start, and no ping since. */
  runStartedMs: z.int().optional(),
  /** HEARTBEAT with `cron`: the last ping counts for the expected times up to this one. */
  pingCountsToMs: z.int().optional(),
});
export type MonitorState = z.infer<typeof MonitorState>;

/** One change of the status that is shown. */
export const StatusChange = z.object({
  atMs: z.int(),
  sinceMs: z.int(),
  from: MonitorStatus,
  to: MonitorStatus,
  /** Counts the changes of this monitor, so a change written twice isn't taken for two. */
  number: z.int(),
  outcome: Outcome.optional(),
  reason: z.string().optional(),
});
export type StatusChange = z.infer<typeof StatusChange>;

export interface StatusStep {
  state: MonitorState;
  change: StatusChange | undefined;
  /** The result is not confirmed: check again soon, not a whole interval later. */
  recheckSoon: boolean;
}

/** The state of a monitor that was never checked. */
export function createInitialState(nowMs: number): MonitorState {
  return {
    status: 'PENDING',
    sinceMs: nowMs,
    changes: 0,
    failures: 0,
    successes: 0,
    degradations: 0,
    flips: NO_FLIPS,
    flapping: false,
    lastCheckedMs: null,
    responseTimeMs: null,
  };
}

/** The underlying status, found by checks, whichever status is shown. */
export function underlyingStatus(state: MonitorState): {
  status: UnderlyingStatus;
  sinceMs: number;
} {
  if (state.underlying) return state.underlying;
  // PAUSED and MAINTENANCE have an underlying status; the type cannot say so.
  return { status: state.status as UnderlyingStatus, sinceMs: state.sinceMs };
}

export function applyResult(
  before: MonitorState,
  result: CheckResult,
  confirmation: Confirmation,
  nowMs: number,
): StatusStep {
  const state = calmed(
    {
      ...before,
      lastCheckedMs: nowMs,
      responseTimeMs: result.responseTimeMs,
      certificateEndsMs: result.certificateEndsMs ?? before.certificateEndsMs,
    },
    nowMs,
  );
  const problem =
    result.outcome === 'ok'
      ? undefined
      : { outcome: result.outcome, reason: result.reason ?? 'the check failed' };
  if (!result.ok && problem) return failed(state, problem, confirmation, nowMs);
  return passed(state, problem, confirmation, nowMs);
}

type StatusProblem = NonNullable<MonitorState['problem']>;

function failed(
  state: MonitorState,
  problem: StatusProblem,
  { toDown }: Confirmation,
  nowMs: number,
): StatusStep {
  const failing = { ...state, successes: 0, degradations: 0 };
  const described = inTheSameWords(state.problem, problem);
  const { status } = underlyingStatus(state);
  if (status === 'DOWN') return keepStatus({ ...failing, problem: described });
  const failures = state.failures + 1;
  const firstFailureMs = state.firstFailureMs ?? nowMs;
  const counted = { ...failing, failures, firstFailureMs };
  if (failures >= toDown) return goDown({ ...counted, problem: described }, firstFailureMs, nowMs);
  // Until it is confirmed, DEGRADED keeps its own reason.
  return {
    ...keepStatus(status === 'DEGRADED' ? counted : { ...counted, problem: described }),
    recheckSoon: true,
  };
}

function passed(
  state: MonitorState,
  degradation: StatusProblem | undefined,
  { toDown, toUp }: Confirmation,
  nowMs: number,
): StatusStep {
  const { firstFailureMs: _, ...rest } = state;
  const passing: MonitorState = { ...rest, failures: 0 };
  if (underlyingStatus(state).status === 'DOWN') {
    const successes = state.successes + 1;
    const wanted = state.flapping ? Math.max(toUp, FLAPPING_TO_UP) : toUp;
    if (successes < wanted) return { ...keepStatus({ ...passing, successes }), recheckSoon: true };
    const recovered = { ...passing, successes: 0 };
    return degradation
      ? moved({ ...recovered, problem: degradation }, 'DEGRADED', nowMs, nowMs)
      : moved(recovered, 'UP', nowMs, nowMs);
  }
  if (!degradation) return moved({ ...passing, degradations: 0 }, 'UP', nowMs, nowMs);
  if (underlyingStatus(state).status === 'DEGRADED') {
    return keepStatus({ ...passing, problem: inTheSameWords(state.problem, degradation) });
  }
  const degradations = state.degradations + 1;
  if (degradations < toDown) {
    return {
      ...moved({ ...passing, degradations }, 'UP', nowMs, nowMs),
      recheckSoon: true,
    };
  }
  return moved({ ...passing, degradations: 0, problem: degradation }, 'DEGRADED', nowMs, nowMs);
}

/** UP at once, whatever the status was. Pure. */
export function goUp(state: MonitorState, nowMs: number): StatusStep {
  return moved(confirmedOf(calmed(state, nowMs)), 'UP', nowMs, nowMs);
}

/** DOWN since `sinceMs`; the state holds the problem already. Pure. */
export function goDown(state: MonitorState, sinceMs: number, nowMs: number): StatusStep {
  const { problem } = state;
  const confirmed = confirmedOf(calmed(state, nowMs));
  return moved(problem ? { ...confirmed, problem } : confirmed, 'DOWN', sinceMs, nowMs);
}

/** Shows a status that people set; the underlying status continues to change. Pure. */
export function coverStatus(state: MonitorState, status: SetStatus, nowMs: number): StatusStep {
  if (state.status === status) return keepStatus(state);
  // Unconfirmed results are forgotten, because no later result can confirm them.
  const covered = { ...confirmedOf(state), underlying: underlyingStatus(state) };
  return shown(covered, status, nowMs, nowMs);
}

/** A result said nothing about its target, so unconfirmed results are forgotten: they may have had the same cause. Pure. */
export function discardUnconfirmed(state: MonitorState): StatusStep {
  return keepStatus(confirmedOf(state));
}

/** Shows the underlying status again. Pure. */
export function uncoverStatus({ underlying, ...state }: MonitorState, nowMs: number): StatusStep {
  if (!underlying) return keepStatus(state);
  return shown(state, underlying.status, underlying.sinceMs, nowMs);
}

export function isFlapping(state: MonitorState, nowMs: number): boolean {
  return calmed(state, nowMs).flapping;
}

export function recheckAfterMs(
  config: Pick<CheckedMonitor['config'], 'interval_seconds' | 'retry_seconds'>,
): number {
  const { interval_seconds, retry_seconds } = config;
  return Math.min(
    retry_seconds === undefined ? RECHECK_MS : retry_seconds * 1000,
    (interval_seconds * 1000) / 2,
  );
}

/** Moves the underlying status to `to`; the state holds the problem already. */
function moved(
  state: MonitorState,
  to: UnderlyingStatus,
  sinceMs: number,
  nowMs: number,
): StatusStep {
  const from = underlyingStatus(state).status;
  const described = to === 'UP' ? withoutProblem(state) : state;
  if (from === to) return keepStatus(described);
  if (state.underlying) {
    return keepStatus({
      ...described,
      underlying: { status: to, sinceMs: Math.min(sinceMs, nowMs) },
    });
  }
  const isFlip = from === 'DOWN' || to === 'DOWN';
  return shown(isFlip ? flipped(described, to, nowMs) : described, to, sinceMs, nowMs);
}

function shown(
  state: MonitorState,
  to: MonitorStatus,
  foundSinceMs: number,
  nowMs: number,
): StatusStep {
  // A clock that was set back since then.
  const sinceMs = Math.min(foundSinceMs, nowMs);
  if (isQuiet(state.status, to)) return keepStatus({ ...state, status: to, sinceMs });
  const number = state.changes + 1;
  const problem = to === 'DOWN' || to === 'DEGRADED' ? state.problem : undefined;
  return {
    state: { ...state, status: to, sinceMs, changes: number },
    change: { atMs: nowMs, sinceMs, from: state.status, to, number, ...problem },
    recheckSoon: false,
  };
}

/** A first check that passes is no news, nor is a monitor that waits for one again. */
const isQuiet = (from: MonitorStatus, to: MonitorStatus) =>
  (from === 'PENDING' && to === 'UP') || (from === 'UP' && to === 'PENDING');

/** A problem keeps its words while its outcome is the same: "after 3 ms" and "after 4 ms" are not news. */
function inTheSameWords(before: StatusProblem | undefined, problem: StatusProblem): StatusProblem {
  return before?.outcome === problem.outcome ? before : problem;
}

/** The state without unconfirmed results. */
function confirmedOf(state: MonitorState): MonitorState {
  const { status } = underlyingStatus(state);
  const { firstFailureMs: _, ...rest } =
    status === 'UP' || status === 'PENDING' ? withoutProblem(state) : state;
  return { ...rest, failures: 0, successes: 0, degradations: 0 };
}

function withoutProblem({ problem: _, ...state }: MonitorState): MonitorState {
  return state;
}

/** A step without a change of status. Pure. */
export function keepStatus(state: MonitorState): StatusStep {
  return { state, change: undefined, recheckSoon: false };
}

/**
 * The state after an edit of the target: PENDING until checked, beneath a status that people set. `changes` keeps counting, so that
 * a later change doesn't look like a delivered one. Pure.
 */
export function resetForNewTarget(state: MonitorState, nowMs: number): StatusStep {
  const { status, sinceMs, changes } = state;
  const fresh: MonitorState = { ...createInitialState(nowMs), changes };
  if (state.underlying) {
    const underlying = { status: 'PENDING', sinceMs: nowMs } as const;
    return keepStatus({ ...fresh, status, sinceMs, underlying });
  }
  return status === 'PENDING'
    ? keepStatus(fresh)
    : shown({ ...fresh, status }, 'PENDING', nowMs, nowMs);
}

function flipped(state: MonitorState, to: UnderlyingStatus, nowMs: number): MonitorState {
  const flips = [...state.flips, nowMs].slice(-FLAPPING_FLIPS);
  const [first = nowMs] = flips;
  const often = to === 'DOWN' && flips.length === FLAPPING_FLIPS && isWithin(first, nowMs);
  return { ...state, flips, flapping: state.flapping || often };
}

/** Ends flapping once no flip came for long enough. Pure. */
function calmed(state: MonitorState, nowMs: number): MonitorState {
  const last = state.flips.at(-1);
  if (!state.flapping || (last !== undefined && isWithin(last, nowMs))) return state;
  return { ...state, flapping: false, flips: NO_FLIPS };
}

/** In both directions, because the clock may have been set back. */
function isWithin(flipMs: number, nowMs: number): boolean {
  return Math.abs(nowMs - flipMs) <= FLAPPING_MS;
}
