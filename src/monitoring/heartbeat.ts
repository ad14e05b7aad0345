import { createHash, randomBytes } from 'node:crypto';
import type { HeartbeatConfig } from '../contracts/monitoring.ts';
import { goDown, type MonitorState, type Step, success } from './state.ts';

/** 192 random bits: the token is the only credential of a push. */
const TOKEN_BYTES = 24;

/** A new push token and what is stored of it. The token itself exists only in the answer to the create. */
export function createToken(): { token: string; tokenHash: string } {
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  return { token, tokenHash: hashToken(token) };
}

/** SHA-256 as hex. A random token of 192 bits needs no slow hash, and looking one up by its hash leaks no prefix. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

/** A ping came: UP. Pure. */
export function pinged(state: MonitorState, nowMs: number): Step {
  return success({ ...state, lastCheckedMs: nowMs }, nowMs);
}

/**
 * When the next ping is missed, Unix milliseconds; `undefined` while waiting for the first one and when it is missed
 * already. A ping that was due while the service was off gets one grace period from `watchingSinceMs`: pings sent to a
 * service that is off are lost through no fault of the job.
 */
export function deadlineMs(
  state: MonitorState,
  config: HeartbeatConfig,
  watchingSinceMs: number,
): number | undefined {
  if (state.status === 'DOWN' || state.lastCheckedMs === null) return undefined;
  const graceMs = config.grace_seconds * 1000;
  const dueMs = state.lastCheckedMs + config.period_seconds * 1000 + graceMs;
  return Math.max(dueMs, watchingSinceMs + graceMs);
}

/** The deadline has passed without a ping: DOWN at once, for the grace was the confirmation. Pure. */
export function pingMissed(state: MonitorState, config: HeartbeatConfig, nowMs: number): Step {
  if (state.status === 'DOWN') return { state, change: undefined, lookAgain: false };
  const reason = `no ping within ${inWords(config.period_seconds)} and ${inWords(config.grace_seconds)} of grace`;
  return goDown({ ...state, problem: { outcome: 'late', reason } }, nowMs, nowMs);
}

const UNITS = [
  [86_400, 'day'],
  [3_600, 'hour'],
  [60, 'minute'],
] as const;

function inWords(seconds: number): string {
  for (const [size, unit] of UNITS) {
    if (seconds % size === 0) {
      const count = seconds / size;
      return `${count} ${unit}${count === 1 ? '' : 's'}`;
    }
  }
  return `${seconds} second${seconds === 1 ? '' : 's'}`;
}
