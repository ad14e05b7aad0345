import { z } from 'zod';

/** How a check ended; `ok` or the kind of failure. The labels of the metric and the reason a failure is "the same". */
export const Outcome = z.enum([
  'ok',
  'timeout',
  'connection',
  'name',
  'tls',
  'protocol',
  'status',
  'redirect',
  'keyword',
  'dns',
  'blocked',
  'late',
]);
export type Outcome = z.infer<typeof Outcome>;

/** What one check found. */
export interface CheckResult {
  ok: boolean;
  outcome: Outcome;
  /** Why it failed, in words a person understands; absent when `ok`. */
  reason?: string;
  responseTimeMs: number;
}

/** Failures in a row before a monitor is DOWN. Our choice: one failure may be the network's, two are the target's. */
export const FAILURES_TO_DOWN = 2;

/** The longest wait before the second look after a first failure. */
const SECOND_LOOK_MS = 5_000;

/** What is known of a monitor, as stored. Times are Unix milliseconds. */
export const MonitorState = z.object({
  status: z.enum(['UP', 'DOWN']),
  /** Since when `status` is so; for DOWN the time of the first failure. */
  sinceMs: z.int(),
  /** How often `status` has changed. */
  changes: z.int().nonnegative(),
  /** Failures in a row, counted up to `FAILURES_TO_DOWN`. */
  failures: z.int().nonnegative(),
  firstFailureMs: z.int().optional(),
  /** Why it is failing: kind and words. */
  problem: z.object({ outcome: Outcome, reason: z.string() }).optional(),
  /** When the last check ended; for HEARTBEAT, when the last ping came. */
  lastCheckedMs: z.int().nullable(),
  responseTimeMs: z.number().nonnegative().nullable(),
});
export type MonitorState = z.infer<typeof MonitorState>;

/** One change of status. */
export interface StatusChange {
  /** When it was found. */
  atMs: number;
  /** Since when it is so. */
  sinceMs: number;
  from: MonitorState['status'];
  to: MonitorState['status'];
  /** The how-manieth change of this monitor: tells a change written twice from two changes. */
  number: number;
  reason?: string;
}

export interface Step {
  state: MonitorState;
  change: StatusChange | undefined;
  /** The failure is not confirmed: look again soon, not a whole interval later. */
  lookAgain: boolean;
}

/** The state of a monitor that was just made: presumed UP until checked. */
export function presumedUp(nowMs: number): MonitorState {
  return {
    status: 'UP',
    sinceMs: nowMs,
    changes: 0,
    failures: 0,
    lastCheckedMs: null,
    responseTimeMs: null,
  };
}

/**
 * What a check result makes of a state: DOWN after two failures in a row, since the first of them; UP after one
 * success. Pure.
 */
export function next(state: MonitorState, result: CheckResult, nowMs: number): Step {
  const checked = { ...state, lastCheckedMs: nowMs, responseTimeMs: result.responseTimeMs };
  if (result.ok) return success(checked, nowMs);

  const problem = {
    outcome: result.outcome,
    reason: result.reason ?? 'the check failed',
  };
  if (state.status === 'DOWN') {
    // The same kind of failure keeps its words: "after 3 ms" and "after 4 ms" are not news.
    const same = state.problem?.outcome === problem.outcome;
    return step({ ...checked, problem: same ? state.problem : problem });
  }
  const failures = state.failures + 1;
  const firstFailureMs = state.firstFailureMs ?? nowMs;
  const failing = { ...checked, failures, firstFailureMs, problem };
  if (failures < FAILURES_TO_DOWN) return { ...step(failing), lookAgain: true };
  return goDown(failing, firstFailureMs, nowMs);
}

/** How long after a first failure the second look comes, for a monitor with this interval. */
export function secondLookAfterMs(intervalMs: number): number {
  return Math.min(SECOND_LOOK_MS, intervalMs / 2);
}

/** UP, whatever it was before. Pure. */
export function success(state: MonitorState, nowMs: number): Step {
  const { problem: _problem, firstFailureMs: _firstFailureMs, ...rest } = state;
  if (state.status === 'UP') return step({ ...rest, failures: 0 });
  const changes = state.changes + 1;
  return step(
    { ...rest, status: 'UP', sinceMs: nowMs, changes, failures: 0 },
    { atMs: nowMs, sinceMs: nowMs, from: state.status, to: 'UP', number: changes },
  );
}

/** DOWN since `sinceMs`; the state holds the problem already. Pure. */
export function goDown(state: MonitorState, sinceMs: number, nowMs: number): Step {
  const changes = state.changes + 1;
  return step(
    { ...state, status: 'DOWN', sinceMs, changes },
    {
      atMs: nowMs,
      sinceMs,
      from: state.status,
      to: 'DOWN',
      number: changes,
      ...(state.problem ? { reason: state.problem.reason } : {}),
    },
  );
}

function step(state: MonitorState, change?: StatusChange): Step {
  return { state, change, lookAgain: false };
}
