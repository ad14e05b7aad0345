import type { HeartbeatConfig } from '../../contracts/monitoring.ts';
import { type Cron, parseCron } from '../time/cron.ts';

/**
 * When the next ping is expected, Unix milliseconds: a period after the last one, or at the first time of `cron` that
 * the last one does not count for.
 */
export function expectedMs(
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
