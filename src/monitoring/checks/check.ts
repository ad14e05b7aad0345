import type { MonitorCreate } from '../../contracts/monitoring.ts';
import { expiryWarning } from './certificate.ts';
import { type CheckContext, createCheckContext, outOfTime } from './check-context.ts';
import type { CheckResult, Degradation } from './check-result.ts';
import { type Connect, unlessAborted } from './connect.ts';
import { type CheckDns, createCheckDns } from './dns.ts';
import { CheckFailure } from './failure.ts';
import { checkHttp, type WebCheckTools } from './http.ts';
import { checkKeyword } from './keyword.ts';
import { lostSecretsOf } from './secret-values.ts';
import type { SsrfGuard } from './ssrf-guard.ts';

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
  guard: SsrfGuard;
  connect: Connect;
  userAgent: string;
}): Check {
  const checkDns = createCheckDns(tools.guard);
  return async (monitor, closing) => {
    closing.throwIfAborted();
    const deadline = new AbortController();
    const abort = () => deadline.abort(closing.reason);
    const context = createCheckContext(deadline.signal, timeoutSeconds(monitor.config) * 1000);
    const timer = setTimeout(() => deadline.abort(outOfTime(context)), context.timeoutMs);
    closing.addEventListener('abort', abort, { once: true });
    const startMs = performance.now();
    const elapsedMs = () => Math.round((performance.now() - startMs) * 10) / 10;
    try {
      await unlessAborted(runCheck(tools, checkDns, monitor, context), deadline.signal);
      const responseTimeMs = elapsedMs();
      const degradation = degradationOf(monitor, context, responseTimeMs);
      return { ok: true, outcome: 'ok', ...degradation, responseTimeMs, ...certificateOf(context) };
    } catch (error) {
      closing.throwIfAborted();
      if (!(error instanceof CheckFailure)) throw error;
      const { outcome, message } = error;
      const failure = { ok: false, outcome, reason: message, responseTimeMs: elapsedMs() };
      return { ...failure, ...certificateOf(context) };
    } finally {
      clearTimeout(timer);
      closing.removeEventListener('abort', abort);
    }
  };
}

async function runCheck(
  tools: WebCheckTools,
  checkDns: CheckDns,
  monitor: CheckedMonitor,
  context: CheckContext,
): Promise<void> {
  const lost = lostSecretsOf(monitor);
  if (lost.length > 0) throw secretsLost(lost);
  switch (monitor.check_type) {
    case 'HTTP':
      return checkHttp(tools, monitor, context);
    case 'KEYWORD':
      return checkKeyword(tools, monitor, context);
    case 'DNS':
      return checkDns(monitor, context);
  }
}

/** Asked without them, the target would be found wanting for what is our own fault. */
const secretsLost = (names: readonly string[]) =>
  new CheckFailure(
    'failed',
    `it is not checked: the key of its stored secrets is lost. Give them anew: ${names.join(', ')}`,
  );

/** What is not as it should be about a check that passed. Expiring goes before slow: it has a date, and slow comes and goes. */
function degradationOf(
  { check_type, config }: CheckedMonitor,
  { certificateEndsMs }: CheckContext,
  responseTimeMs: number,
): { outcome: Degradation; reason: string } | undefined {
  // Who takes any certificate also takes one that ends.
  if (check_type !== 'DNS' && !config.ignore_tls && certificateEndsMs !== undefined) {
    const reason = expiryWarning(certificateEndsMs, config.tls_expiry_days, Date.now());
    if (reason !== undefined) return { outcome: 'expiring', reason };
  }
  const { degraded_after_ms: limitMs } = config;
  if (limitMs === undefined || responseTimeMs <= limitMs) return undefined;
  const took = inMilliseconds(Math.ceil(responseTimeMs));
  const reason = `it answered after ${took}, more than ${inMilliseconds(limitMs)}`;
  return { outcome: 'slow', reason };
}

const certificateOf = ({ certificateEndsMs }: CheckContext) =>
  certificateEndsMs === undefined ? undefined : { certificateEndsMs };

/** Such as `2,340 ms`. */
const inMilliseconds = (ms: number) => `${ms.toLocaleString('en-GB')} ms`;
