import { z } from 'zod';
import { MonitorStatus } from '../../contracts/monitoring.ts';
import { type CheckResult, Outcome } from '../checks/check-result.ts';
import type { CheckedMonitor } from '../checks/check-type.ts';

/** When a monitor changes its status. */
export interface Confirmation {
  /** Failures in a row before it is DOWN, and degradations in a row before it is DEGRADED. */
  toDown: number;
  /** Successes in a row before it is UP again. */
  toUp: number;
}

/** So many flips within so long are flapping, which is over after as long without one. Our choice. */
const FLAPPING_FLIPS = 5;
const FLAPPING_MS = 15 * 60_000;

/** Successes in a row before a monitor that flaps is UP. */
const FLAPPING_TO_UP = 3;

/** The longest wait before the next check after a result that is not confirmed. */
const RECHECK_MS = 5_000;

/** What checks can find; PENDING until the first one passed or its failure was confirmed. */
const FoundStatus = z.enum(['PENDING', 'UP', 'DOWN', 'DEGRADED']);
export type FoundStatus = z.infer<typeof FoundStatus>;

/** Statuses that people set, over what checks find. */
export type SetStatus = 'PAUSED' | 'MAINTENANCE';

/** Of most monitors, of which very many may be in memory. */
const NO_FLIPS: number[] = [];

/** What is known of a monitor, as stored. Times are Unix milliseconds. */
export const MonitorState = z.object({
  /** As it is shown. */
  status: MonitorStatus,
  /** Since when `status` is so; for DOWN the time of the first failure. */
  sinceMs: z.int(),
  /** How often `status` has changed, but from PENDING to UP and back. */
  changes: z.int().nonnegative(),
  /** The underlying status: what checks find while `status` is PAUSED or MAINTENANCE. The stored key is older than the word. */
  beneath: z.object({ status: FoundStatus, sinceMs: z.int() }).optional(),
  /** In a row and not confirmed: failures while it is not DOWN, successes while it is, degradations (stored as `blemishes`) while it is UP. */
  failures: z.int().nonnegative(),
  successes: z.int().nonnegative().default(0),
  blemishes: z.int().nonnegative().default(0),
  firstFailureMs: z.int().optional(),
  /** Why it is not UP, or failing: kind and words. */
  problem: z.object({ outcome: Outcome, reason: z.string() }).optional(),
  /** When it last went DOWN or came back, oldest first; as many as flapping needs. */
  flips: z
    .array(z.int())
    .overwrite((flips) => (flips.length === 0 ? NO_FLIPS : flips))
    .default(() => NO_FLIPS),
  /** Enough flips came within the time, and it has not been calm since. */
  flapping: z.boolean().default(false),
  /** When the last check ended; for HEARTBEAT, when the last ping came. */
  lastCheckedMs: z.int().nullable(),
  responseTimeMs: z.number().nonnegative().nullable(),
  /** When the certificate ends that was last shown. */
  certificateEndsMs: z.int().optional(),
  /** HEARTBEAT without a ping yet: its first one is expected from this time on. */
  awaitedFromMs: z.int().optional(),
  /** HEARTBEAT: the job said that it started, and has not pinged since. */
  runStartedMs: z.int().optional(),
  /** HEARTBEAT with `cron`: the last ping counts for the expected times up to this one. */
  pingCountsToMs: z.int().optional(),
});
export type MonitorState = z.infer<typeof MonitorState>;

/** One change of the status that is shown. */
export const StatusChange = z.object({
  /** When it was found. */
  atMs: z.int(),
  /** Since when it is so. */
  sinceMs: z.int(),
  from: MonitorStatus,
  to: MonitorStatus,
  /** The how-manieth change of this monitor: tells a change written twice from two changes. */
  number: z.int(),
  outcome: Outcome.optional(),
  reason: z.string().optional(),
});
export type StatusChange = z.infer<typeof StatusChange>;

export interface Step {
  state: MonitorState;
  change: StatusChange | undefined;
  /** The result is not confirmed: check again soon, not a whole interval later. */
  recheckSoon: boolean;
}

/** The state of a monitor that was never checked. */
export function neverChecked(nowMs: number): MonitorState {
  return {
    status: 'PENDING',
    sinceMs: nowMs,
    changes: 0,
    failures: 0,
    successes: 0,
    blemishes: 0,
    flips: NO_FLIPS,
    flapping: false,
    lastCheckedMs: null,
    responseTimeMs: null,
  };
}

/** What checks find of a monitor, whatever is shown of it. */
export function found(state: MonitorState): { status: FoundStatus; sinceMs: number } {
  if (state.beneath) return state.beneath;
  // PAUSED and MAINTENANCE have an underlying status; the type cannot say so.
  return { status: state.status as FoundStatus, sinceMs: state.sinceMs };
}

/**
 * What a check result makes of a state: DOWN after so many failures in a row, since the first of them; UP after so many
 * successes, from PENDING after one; DEGRADED after so many degradations. Pure.
 */
export function next(
  before: MonitorState,
  result: CheckResult,
  confirmation: Confirmation,
  nowMs: number,
): Step {
  const state = calmed(
    {
      ...before,
      lastCheckedMs: nowMs,
      responseTimeMs: result.responseTimeMs,
      ...(result.certificateEndsMs !== undefined && {
        certificateEndsMs: result.certificateEndsMs,
      }),
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

type Problem = NonNullable<MonitorState['problem']>;

function failed(
  state: MonitorState,
  problem: Problem,
  { toDown }: Confirmation,
  nowMs: number,
): Step {
  const failing = { ...state, successes: 0, blemishes: 0 };
  const described = inTheSameWords(state.problem, problem);
  const { status } = found(state);
  if (status === 'DOWN') return unchanged({ ...failing, problem: described });
  const failures = state.failures + 1;
  const firstFailureMs = state.firstFailureMs ?? nowMs;
  const counted = { ...failing, failures, firstFailureMs };
  if (failures >= toDown) return goDown({ ...counted, problem: described }, firstFailureMs, nowMs);
  // Until it is confirmed, DEGRADED keeps its own reason.
  return {
    ...unchanged(status === 'DEGRADED' ? counted : { ...counted, problem: described }),
    recheckSoon: true,
  };
}

function passed(
  state: MonitorState,
  degradation: Problem | undefined,
  { toDown, toUp }: Confirmation,
  nowMs: number,
): Step {
  const { firstFailureMs: _, ...rest } = state;
  const passing: MonitorState = { ...rest, failures: 0 };
  if (found(state).status === 'DOWN') {
    const successes = state.successes + 1;
    const wanted = state.flapping ? Math.max(toUp, FLAPPING_TO_UP) : toUp;
    if (successes < wanted) return { ...unchanged({ ...passing, successes }), recheckSoon: true };
    const recovered = { ...passing, successes: 0 };
    return degradation
      ? moved({ ...recovered, problem: degradation }, 'DEGRADED', nowMs, nowMs)
      : moved(recovered, 'UP', nowMs, nowMs);
  }
  if (!degradation) return moved({ ...passing, blemishes: 0 }, 'UP', nowMs, nowMs);
  if (found(state).status === 'DEGRADED') {
    return unchanged({ ...passing, problem: inTheSameWords(state.problem, degradation) });
  }
  const blemishes = state.blemishes + 1;
  if (blemishes < toDown) {
    return { ...moved({ ...passing, blemishes }, 'UP', nowMs, nowMs), recheckSoon: true };
  }
  return moved({ ...passing, blemishes: 0, problem: degradation }, 'DEGRADED', nowMs, nowMs);
}

/** UP, whatever was found before, at once. Pure. */
export function success(state: MonitorState, nowMs: number): Step {
  return moved(confirmedOf(calmed(state, nowMs)), 'UP', nowMs, nowMs);
}

/** DOWN since `sinceMs`; the state holds the problem already. Pure. */
export function goDown(state: MonitorState, sinceMs: number, nowMs: number): Step {
  const { problem } = state;
  const confirmed = confirmedOf(calmed(state, nowMs));
  return moved(problem ? { ...confirmed, problem } : confirmed, 'DOWN', sinceMs, nowMs);
}

/** Shows a status that people set; the underlying status goes on changing. Pure. */
export function cover(state: MonitorState, status: SetStatus, nowMs: number): Step {
  if (state.status === status) return unchanged(state);
  // What was not confirmed before is forgotten: nobody can confirm it now.
  const covered = { ...confirmedOf(state), beneath: found(state) };
  return shown(covered, status, nowMs, nowMs);
}

/**
 * A check found nothing out about its target, as while our own network is lost: what was not confirmed before it is forgotten,
 * for it may have been the same. Pure.
 */
export function discardUnconfirmed(state: MonitorState): Step {
  return unchanged(confirmedOf(state));
}

/** Shows again what is found. Pure. */
export function uncover({ beneath, ...state }: MonitorState, nowMs: number): Step {
  if (!beneath) return unchanged(state);
  return shown(state, beneath.status, beneath.sinceMs, nowMs);
}

/** Whether it goes up and down all the time. */
export function isFlapping(state: MonitorState, nowMs: number): boolean {
  return calmed(state, nowMs).flapping;
}

/** How long after a result that is not confirmed the next check comes. */
export function recheckAfterMs(
  config: Pick<CheckedMonitor['config'], 'interval_seconds' | 'retry_seconds'>,
): number {
  const { interval_seconds, retry_seconds } = config;
  return Math.min(
    retry_seconds === undefined ? RECHECK_MS : retry_seconds * 1000,
    (interval_seconds * 1000) / 2,
  );
}

/** Found as `to`, which is the underlying status where people have set another; the state holds the problem already. */
function moved(state: MonitorState, to: FoundStatus, sinceMs: number, nowMs: number): Step {
  const from = found(state).status;
  const described = to === 'UP' ? withoutProblem(state) : state;
  if (from === to) return unchanged(described);
  if (state.beneath) {
    return unchanged({ ...described, beneath: { status: to, sinceMs: Math.min(sinceMs, nowMs) } });
  }
  const isFlip = from === 'DOWN' || to === 'DOWN';
  return shown(isFlip ? flipped(described, nowMs) : described, to, sinceMs, nowMs);
}

function shown(state: MonitorState, to: MonitorStatus, foundSinceMs: number, nowMs: number): Step {
  // A clock that was set back since then.
  const sinceMs = Math.min(foundSinceMs, nowMs);
  if (isQuiet(state.status, to)) return unchanged({ ...state, status: to, sinceMs });
  const number = state.changes + 1;
  const problem = to === 'DOWN' || to === 'DEGRADED' ? state.problem : undefined;
  return {
    state: { ...state, status: to, sinceMs, changes: number },
    change: { atMs: nowMs, sinceMs, from: state.status, to, number, ...problem },
    recheckSoon: false,
  };
}

/** That a first check passed, or is awaited again, is no change that anyone is to be told. */
const isQuiet = (from: MonitorStatus, to: MonitorStatus) =>
  (from === 'PENDING' && to === 'UP') || (from === 'UP' && to === 'PENDING');

/** The same kind of problem keeps its words: "after 3 ms" and "after 4 ms" are not news. */
function inTheSameWords(before: Problem | undefined, problem: Problem): Problem {
  return before?.outcome === problem.outcome ? before : problem;
}

/** The state without what was not confirmed. */
function confirmedOf(state: MonitorState): MonitorState {
  const { status } = found(state);
  const { firstFailureMs: _, ...rest } =
    status === 'UP' || status === 'PENDING' ? withoutProblem(state) : state;
  return { ...rest, failures: 0, successes: 0, blemishes: 0 };
}

function withoutProblem({ problem: _, ...state }: MonitorState): MonitorState {
  return state;
}

/** Nothing that others are to learn of. Pure. */
export function unchanged(state: MonitorState): Step {
  return { state, change: undefined, recheckSoon: false };
}

/**
 * The state of a monitor whose target is another from now on: PENDING until checked, under what people set.
 * `changes` goes on counting, or a change to come would look like one that was delivered. Pure.
 */
export function withNewTarget(state: MonitorState, nowMs: number): Step {
  const { status, sinceMs, changes } = state;
  const fresh: MonitorState = { ...neverChecked(nowMs), changes };
  if (state.beneath) {
    const beneath = { status: 'PENDING', sinceMs: nowMs } as const;
    return unchanged({ ...fresh, status, sinceMs, beneath });
  }
  return status === 'PENDING'
    ? unchanged(fresh)
    : shown({ ...fresh, status }, 'PENDING', nowMs, nowMs);
}

/** With one more flip. Pure. */
function flipped(state: MonitorState, nowMs: number): MonitorState {
  const flips = [...state.flips, nowMs].slice(-FLAPPING_FLIPS);
  const [first = nowMs] = flips;
  const often = flips.length === FLAPPING_FLIPS && isWithin(first, nowMs);
  return { ...state, flips, flapping: state.flapping || often };
}

/** Without its flapping, once it has been calm for long enough. Pure. */
function calmed(state: MonitorState, nowMs: number): MonitorState {
  const last = state.flips.at(-1);
  if (!state.flapping || (last !== undefined && isWithin(last, nowMs))) return state;
  return { ...state, flapping: false, flips: NO_FLIPS };
}

/** Either way from now: the clock may have been set back. */
function isWithin(flipMs: number, nowMs: number): boolean {
  return Math.abs(nowMs - flipMs) <= FLAPPING_MS;
}
