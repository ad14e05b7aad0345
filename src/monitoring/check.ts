import type { MonitorCreate } from '../contracts/monitoring.ts';
import { type CheckDns, createCheckDns } from './check-dns.ts';
import { checkHttp } from './check-http.ts';
import { checkKeyword } from './check-keyword.ts';
import type { Connect } from './connect.ts';
import { CheckFailure } from './failure.ts';
import type { CheckResult } from './state.ts';
import type { TargetGuard } from './target-guard.ts';

/** A monitor that is checked by us; the others are pinged by their jobs. */
export type CheckedMonitor = Exclude<MonitorCreate, { check_type: 'HEARTBEAT' }>;

/** Checks a target once. Throws only when `closing` aborts: a check we broke off says nothing about its target. */
export type Check = (monitor: CheckedMonitor, closing: AbortSignal) => Promise<CheckResult>;

/** Timeout when none is given: ten seconds, less where the interval is short. */
const DEFAULT_TIMEOUT_SECONDS = 10;

/** How long a check may take, seconds; always under the interval. */
export function timeoutSeconds(config: CheckedMonitor['config']): number {
  return config.timeout_seconds ?? Math.min(DEFAULT_TIMEOUT_SECONDS, config.interval_seconds * 0.8);
}

/** The check of each kind, under one deadline over everything it does: look-up, connection, redirects and body. */
export function createCheck(tools: {
  guard: TargetGuard;
  connect: Connect;
  userAgent: string;
}): Check {
  const checkDns = createCheckDns(tools.guard);
  return async (monitor, closing) => {
    closing.throwIfAborted();
    const seconds = timeoutSeconds(monitor.config);
    const deadline = new AbortController();
    const abort = () => deadline.abort(closing.reason);
    const timer = setTimeout(
      () => deadline.abort(new CheckFailure('timeout', `no answer within ${seconds} s`)),
      seconds * 1000,
    );
    closing.addEventListener('abort', abort, { once: true });
    const startMs = performance.now();
    const elapsedMs = () => Math.round((performance.now() - startMs) * 10) / 10;
    try {
      await runCheck(tools, checkDns, monitor, seconds * 1000, deadline.signal);
      return { ok: true, outcome: 'ok', responseTimeMs: elapsedMs() };
    } catch (error) {
      closing.throwIfAborted();
      if (!(error instanceof CheckFailure)) throw error;
      const { outcome, message } = error;
      return { ok: false, outcome, reason: message, responseTimeMs: elapsedMs() };
    } finally {
      clearTimeout(timer);
      closing.removeEventListener('abort', abort);
    }
  };
}

async function runCheck(
  tools: { connect: Connect; userAgent: string },
  checkDns: CheckDns,
  monitor: CheckedMonitor,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<void> {
  switch (monitor.check_type) {
    case 'HTTP':
      return await checkHttp(tools, monitor, signal);
    case 'KEYWORD':
      return await checkKeyword(tools, monitor, signal);
    case 'DNS':
      return await checkDns(monitor, timeoutMs, signal);
  }
}
