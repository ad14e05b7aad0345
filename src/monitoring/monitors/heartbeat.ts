import { hash, randomBytes } from 'node:crypto';
import { inWords } from '../../contracts/duration.ts';
import type { HeartbeatConfig } from '../../contracts/monitoring.ts';
import { found, goDown, type MonitorState, type Step, success, unchanged } from '../state/state.ts';
import { type Cron, parseCron } from '../time/cron.ts';
import { timeInWords } from '../time/time-words.ts';

/** 192 random bits: the token is the only credential of a push. */
const TOKEN_BYTES = 24;

/** A new push token and what is stored of it. The token itself exists only in the answer to the create. */
export function createToken(): { token: string; tokenHash: string } {
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  return { token, tokenHash: hashToken(token) };
}

/** SHA-256 as hex. A random token of 192 bits needs no slow hash, and looking one up by its hash leaks no prefix. */
export function hashToken(token: string): string {
  return hash('sha256', token, 'hex');
}

/** What a job says: it is done, it begins, or it failed. */
export type Signal = { kind: 'ping' } | { kind: 'start' } | { kind: 'fail'; reason: string };

/** The signal in the path of a push: `start`, `fail`, or an exit code from 0 to 255. */
export function parseSignal(text: string): Signal | undefined {
  if (text === 'start') return { kind: 'start' };
  if (text === 'fail') return { kind: 'fail', reason: 'the job reported that it failed' };
  if (!/^(0|[1-9]\d{0,2})$/.test(text) || Number(text) > 255) return undefined;
  if (text === '0') return { kind: 'ping' };
  return { kind: 'fail', reason: `the job ended with exit code ${text}` };
}

/** A signal came: UP by a ping, DOWN at once by a failure; a start begins a run. Pure. */
export function signalled(
  state: MonitorState,
  config: HeartbeatConfig,
  signal: Signal,
  nowMs: number,
): Step {
  switch (signal.kind) {
    case 'start':
      return started(state, nowMs);
    case 'ping':
      return success(counted(ended(state, nowMs), config, nowMs), nowMs);
    case 'fail':
      return goDown(
        { ...ended(state, nowMs), problem: { outcome: 'failed', reason: signal.reason } },
        nowMs,
        nowMs,
      );
  }
}

/** Whether its job has said nothing yet. Pure. */
export const awaitsFirstPing = ({ lastCheckedMs, runStartedMs }: MonitorState) =>
  lastCheckedMs === null && runStartedMs === undefined;

/**
 * The state of a heartbeat that is waited for from now on, after it was made, resumed, or the service started: its first ping
 * is expected from then on, or from when it was before. Versions before this one waited for ever: where the first ping
 * would be late by now for one of these, it is expected from now on. Pure.
 */
export function awaited(
  state: MonitorState,
  config: HeartbeatConfig,
  { createdAtMs, nowMs }: { createdAtMs: number; nowMs: number },
): MonitorState {
  if (!awaitsFirstPing(state)) return state;
  const { awaitedFromMs } = state;
  if (awaitedFromMs !== undefined) {
    // A clock that was set back: it would be waited for until the clock gets there again.
    return awaitedFromMs <= nowMs ? state : { ...state, awaitedFromMs: nowMs };
  }
  const dueMs = scheduledDeadlineMs(createdAtMs, state, config);
  const isOver = createdAtMs > nowMs || (dueMs !== undefined && dueMs <= nowMs);
  return { ...state, awaitedFromMs: isOver ? nowMs : createdAtMs };
}

/** The same of one that was resumed: while it was paused nobody waited. Pure. */
export function awaitedAgain(state: MonitorState, nowMs: number): MonitorState {
  return awaitsFirstPing(state) ? { ...state, awaitedFromMs: nowMs } : state;
}

/**
 * When the next signal is missed, Unix milliseconds; `undefined` while it is DOWN.
 * What was due while the service was off, or soon after, gets one grace from `watchingSinceMs`: signals sent to a
 * service that is off are lost through no fault of the job.
 */
export function deadlineMs(
  state: MonitorState,
  config: HeartbeatConfig,
  watchingSinceMs: number,
): number | undefined {
  if (found(state).status === 'DOWN') return undefined;
  const lastMs = state.runStartedMs ?? state.lastCheckedMs ?? state.awaitedFromMs;
  if (lastMs === undefined) return undefined;
  const dueMs =
    state.runStartedMs === undefined
      ? scheduledDeadlineMs(lastMs, state, config)
      : state.runStartedMs + maxRunSeconds(config) * 1000;
  if (dueMs === undefined || lastMs >= watchingSinceMs) return dueMs;
  return Math.max(dueMs, watchingSinceMs + config.grace_seconds * 1000);
}

/** The deadline has passed without a signal: DOWN at once, for the grace was the confirmation. Pure. */
export function pingMissed(state: MonitorState, config: HeartbeatConfig, nowMs: number): Step {
  const reason = missedReason(state, config, nowMs);
  if (reason === undefined || found(state).status === 'DOWN') return unchanged(state);
  return goDown({ ...state, problem: { outcome: 'late', reason } }, nowMs, nowMs);
}

/** Begins a run. A start during a run begins no second one, or a job that dies and starts again and again would never be late. */
function started(state: MonitorState, nowMs: number): Step {
  const running = state.runStartedMs !== undefined && found(state).status !== 'DOWN';
  return unchanged(running ? state : { ...state, runStartedMs: nowMs });
}

/** The state at the end of a run, or after a ping of a job that does not say when it starts. */
function ended(
  { runStartedMs, awaitedFromMs: _, ...state }: MonitorState,
  nowMs: number,
): MonitorState {
  const responseTimeMs = runStartedMs === undefined ? null : Math.max(0, nowMs - runStartedMs);
  return { ...state, lastCheckedMs: nowMs, responseTimeMs };
}

/** What the ping counts for, when there is a crontab. */
function counted(
  { pingCountsToMs: before, ...state }: MonitorState,
  config: HeartbeatConfig,
  nowMs: number,
): MonitorState {
  const countsToMs = pingCountsToMs(before, config, nowMs);
  return countsToMs === undefined ? state : { ...state, pingCountsToMs: countsToMs };
}

function scheduledDeadlineMs(
  lastMs: number,
  state: MonitorState,
  config: HeartbeatConfig,
): number | undefined {
  const dueMs = expectedMs(lastMs, state.pingCountsToMs, config);
  return dueMs === undefined ? undefined : dueMs + config.grace_seconds * 1000;
}

function maxRunSeconds(config: HeartbeatConfig): number {
  return config.max_run_seconds ?? config.grace_seconds;
}

/** Why it is late, or `undefined` when nothing is expected. */
function missedReason(
  state: MonitorState,
  config: HeartbeatConfig,
  nowMs: number,
): string | undefined {
  const { runStartedMs, lastCheckedMs, awaitedFromMs, pingCountsToMs } = state;
  if (runStartedMs !== undefined) {
    const began = timeInWords(runStartedMs, 'UTC', nowMs);
    return `the run started at ${began} has not ended within ${inWords(maxRunSeconds(config) * 1000)}`;
  }
  const fromMs = lastCheckedMs ?? awaitedFromMs;
  if (fromMs === undefined) return undefined;
  const grace = inWords(config.grace_seconds * 1000);
  if (config.cron === undefined) {
    const from = timeInWords(fromMs, 'UTC', nowMs);
    const missed = `within ${inWords(config.period_seconds * 1000)} plus ${grace} of grace`;
    return lastCheckedMs === null
      ? `no first ping ${missed}; waiting since ${from}`
      : `no ping ${missed}; the last one came at ${from}`;
  }
  const dueMs = expectedMs(fromMs, pingCountsToMs, config);
  if (dueMs === undefined) return undefined;
  const ping = lastCheckedMs === null ? 'first ping' : 'ping';
  return `the ${ping} expected at ${timeInWords(dueMs, config.timezone, nowMs)} did not arrive within ${grace}`;
}

/**
 * When the next ping is expected, Unix milliseconds: a period after the last one, or at the first time of `cron` that
 * the last one does not count for.
 */
function expectedMs(
  lastPingMs: number,
  countsToMs: number | undefined,
  config: HeartbeatConfig,
): number | undefined {
  if (config.cron === undefined) return lastPingMs + config.period_seconds * 1000;
  const cron = parseCron(config.cron, config.timezone);
  return cron.nextAfter(
    Math.max(lastPingMs, earlier(countsToMs ?? lastPingMs, lastPingMs, config)),
  );
}

/**
 * The times of `cron` that a ping counts for are those up to this one, Unix milliseconds; `undefined` without `cron`.
 *
 * A job whose clock is a minute fast must raise no alarm, and a job that pings twice must not hide that it misses its
 * next time. So a ping counts for a time that is still to come only when none is owed for the time before, when it is
 * within the grace of it, and when it is less than half way from there to the one after.
 */
export function pingCountsToMs(
  before: number | undefined,
  config: HeartbeatConfig,
  nowMs: number,
): number | undefined {
  if (config.cron === undefined) return undefined;
  const cron = parseCron(config.cron, config.timezone);
  const graceMs = config.grace_seconds * 1000;
  // A first ping owes nothing to the times before it.
  const countedMs = before === undefined ? nowMs : earlier(before, nowMs, config);
  // A time longer ago than the grace was missed: a ping now comes too late for it.
  const owedMs = cron.nextAfter(Math.max(countedMs, nowMs - graceMs - 1));
  const early =
    owedMs !== undefined && owedMs > nowMs && owedMs - nowMs <= earliestMs(cron, owedMs, graceMs);
  return Math.max(countedMs, early ? owedMs : nowMs);
}

/** How long before a time a ping counts for it. */
function earliestMs(cron: Cron, timeMs: number, graceMs: number): number {
  const afterMs = cron.nextAfter(timeMs) ?? Number.POSITIVE_INFINITY;
  return Math.min(graceMs, (afterMs - timeMs) / 2);
}

/** What earlier pings count for; no ping counts for more than the grace, also when the settings were others then. */
function earlier(countsToMs: number, pingMs: number, config: HeartbeatConfig): number {
  return Math.min(countsToMs, pingMs + config.grace_seconds * 1000);
}
