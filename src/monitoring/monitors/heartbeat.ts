import { hash, randomBytes } from 'node:crypto';
import { inWords } from '../../contracts/duration.ts';
import type { HeartbeatConfig } from '../../contracts/monitoring.ts';
import {
  goDown,
  goUp,
  keepStatus,
  type MonitorState,
  type StatusStep,
  underlyingStatus,
} from '../state/state.ts';
import { type Cron, parseCron } from '../time/cron.ts';
import { timeInWords } from '../time/time-words.ts';

/** 192 random bits: the token is the only credential of a push. */
const TOKEN_BYTES = 24;

/** Only the hash is stored; the token itself exists only in the answer. */
export function createToken(): { token: string; tokenHash: string } {
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  return { token, tokenHash: hashToken(token) };
}

/** SHA-256 as hex. A random token of 192 bits needs no slow hash, and a lookup by hash leaks no prefix. */
export function hashToken(token: string): string {
  return hash('sha256', token, 'hex');
}

/** The job succeeded, started, or failed. */
export type Signal = { kind: 'ping' } | { kind: 'start' } | { kind: 'fail'; reason: string };

/** Parses the end of a push URL: `start`, `fail`, or an exit code from 0 to 255. */
export function parseSignal(text: string): Signal | undefined {
  if (text === 'start') return { kind: 'start' };
  if (text === 'fail') return { kind: 'fail', reason: 'the job reported that it failed' };
  if (!/^(0|[1-9]\d{0,2})$/.test(text) || Number(text) > 255) return undefined;
  if (text === '0') return { kind: 'ping' };
  return { kind: 'fail', reason: `the job ended with exit code ${text}` };
}

/** A ping makes the monitor UP, a failure makes it DOWN at once, a start begins a run. Pure. */
export function applySignal(
  state: MonitorState,
  config: HeartbeatConfig,
  signal: Signal,
  nowMs: number,
): StatusStep {
  switch (signal.kind) {
    case 'start':
      return started(state, nowMs);
    case 'ping':
      return goUp(withPingCounted(withRunEnded(state, nowMs), config, nowMs), nowMs);
    case 'fail':
      return goDown(
        { ...withRunEnded(state, nowMs), problem: { outcome: 'failed', reason: signal.reason } },
        nowMs,
        nowMs,
      );
  }
}

/** The job has never sent a signal. Pure. */
export const awaitsFirstPing = ({ lastCheckedMs, runStartedMs }: MonitorState) =>
  lastCheckedMs === null && runStartedMs === undefined;

/**
 * The state when the service starts to watch: an expectation that a clock set back has moved into the future begins now. Pure.
 */
export function correctAwaited(state: MonitorState, nowMs: number): MonitorState {
  const { awaitedFromMs = Number.POSITIVE_INFINITY } = state;
  return awaitedFromMs <= nowMs ? state : awaitFirstPing(state, nowMs);
}

/** The state after a resume: the first ping is expected from now on. Pure. */
export function awaitFirstPing(state: MonitorState, nowMs: number): MonitorState {
  return awaitsFirstPing(state) ? { ...state, awaitedFromMs: nowMs } : state;
}

/**
 * The time after which the next signal is late, Unix milliseconds; `undefined` while the monitor is DOWN. A signal that was due
 * while the service was off, or soon after, gets one grace from `watchingSinceMs`, because the job can't help that it was lost.
 */
export function deadlineMs(
  state: MonitorState,
  config: HeartbeatConfig,
  watchingSinceMs: number,
): number | undefined {
  if (underlyingStatus(state).status === 'DOWN') return undefined;
  const lastMs = state.runStartedMs ?? state.lastCheckedMs ?? state.awaitedFromMs;
  if (lastMs === undefined) return undefined;
  const dueMs =
    state.runStartedMs === undefined
      ? scheduledDeadlineMs(lastMs, state, config)
      : state.runStartedMs + maxRunSeconds(config) * 1000;
  if (dueMs === undefined || lastMs >= watchingSinceMs) return dueMs;
  return Math.max(dueMs, watchingSinceMs + config.grace_seconds * 1000);
}

/** Makes the monitor DOWN at once after its deadline, because the grace already was the confirmation. Pure. */
export function markPingMissed(
  state: MonitorState,
  config: HeartbeatConfig,
  nowMs: number,
): StatusStep {
  const reason = missedReason(state, config, nowMs);
  if (reason === undefined || underlyingStatus(state).status === 'DOWN') return keepStatus(state);
  return goDown({ ...state, problem: { outcome: 'late', reason } }, nowMs, nowMs);
}

/** A start during a run is ignored, or a job that dies and restarts again and again would never be late. */
function started(state: MonitorState, nowMs: number): StatusStep {
  const running = state.runStartedMs !== undefined && underlyingStatus(state).status !== 'DOWN';
  return keepStatus(running ? state : { ...state, runStartedMs: nowMs });
}

/** The end of a run, or a ping of a job that doesn't report its starts. */
function withRunEnded(
  { runStartedMs, awaitedFromMs: _, ...state }: MonitorState,
  nowMs: number,
): MonitorState {
  const responseTimeMs = runStartedMs === undefined ? null : Math.max(0, nowMs - runStartedMs);
  return { ...state, lastCheckedMs: nowMs, responseTimeMs };
}

function withPingCounted(
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

/** The time of the next ping, Unix milliseconds: a period after the last one, or the first `cron` time it didn't count for. */
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
 * A ping counts for all `cron` times up to this one, Unix milliseconds; `undefined` without `cron`.
 *
 * A job whose clock is a minute fast must not raise an alarm, and a job that pings twice must not hide that it misses its next
 * time. So a ping counts for a future time only if no earlier ping is missing, if the time is within the grace, and if it is
 * closer than half the distance to the time after it.
 */
export function pingCountsToMs(
  before: number | undefined,
  config: HeartbeatConfig,
  nowMs: number,
): number | undefined {
  if (config.cron === undefined) return undefined;
  const cron = parseCron(config.cron, config.timezone);
  const graceMs = config.grace_seconds * 1000;
  // Before the first ping no time counts as missed.
  const countedMs = before === undefined ? nowMs : earlier(before, nowMs, config);
  // For a time longer ago than the grace, this ping is too late.
  const owedMs = cron.nextAfter(Math.max(countedMs, nowMs - graceMs - 1));
  const early =
    owedMs !== undefined && owedMs > nowMs && owedMs - nowMs <= earliestMs(cron, owedMs, graceMs);
  return Math.max(countedMs, early ? owedMs : nowMs);
}

/** A ping counts for a time at most this long before it. */
function earliestMs(cron: Cron, timeMs: number, graceMs: number): number {
  const afterMs = cron.nextAfter(timeMs) ?? Number.POSITIVE_INFINITY;
  return Math.min(graceMs, (afterMs - timeMs) / 2);
}

/** No ping counts for more than the grace, even if the settings were different then. */
function earlier(countsToMs: number, pingMs: number, config: HeartbeatConfig): number {
  return Math.min(countsToMs, pingMs + config.grace_seconds * 1000);
}
