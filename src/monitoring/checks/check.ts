import { setMaxListeners } from 'node:events';
import { type CheckContext, outOfTime } from './check-context.ts';
import { CheckFailure, type CheckResult, type Degradation } from './check-result.ts';
import type { CheckedMonitor, ProbeTools } from './check-type.ts';
import { unlessAborted } from './connect.ts';
import { createDnsClient } from './dns-query.ts';
import { type CheckTypes, shippedTypes } from './registry.ts';
import { lostSecretsOf } from './secret-values.ts';

/**
 * Checks a target once; at the deadline it aborts `abort` with a `CheckFailure`. Throws only if a caller aborted it, because an
 * abandoned check says nothing about its target.
 */
export type Check = (monitor: CheckedMonitor, abort: AbortController) => Promise<CheckResult>;

/** Default timeout; shorter for short intervals. */
const DEFAULT_TIMEOUT_SECONDS = 10;

/** Timeout of a check, seconds; always shorter than the interval. */
export function timeoutSeconds(config: CheckedMonitor['config']): number {
  return config.timeout_seconds ?? Math.min(DEFAULT_TIMEOUT_SECONDS, config.interval_seconds * 0.8);
}

/** Creates the check for all types, with one deadline over look-up, connection, redirects and body. */
export function createCheck(
  options: Omit<ProbeTools, 'dnsClient'> & { types?: CheckTypes },
): Check {
  const { types = shippedTypes, ...rest } = options;
  const tools = { ...rest, dnsClient: createDnsClient() };
  async function probe(monitor: CheckedMonitor, context: CheckContext): Promise<void> {
    const lost = lostSecretsOf(monitor);
    if (lost.length > 0) throw secretsLost(lost);
    await types.ofChecked(monitor).probe(monitor, context, tools);
  }
  return async (monitor, abort) => {
    const { signal } = abort;
    signal.throwIfAborted();
    // Each redirect adds listeners, and Node would warn about the eleventh as a leak.
    setMaxListeners(0, signal);
    const context: CheckContext = {
      signal,
      timeoutMs: timeoutSeconds(monitor.config) * 1000,
      step: 'name',
      peer: '',
      redirected: false,
    };
    const timer = setTimeout(() => abort.abort(outOfTime(context)), context.timeoutMs);
    const startMs = performance.now();
    const elapsedMs = () => Math.round((performance.now() - startMs) * 10) / 10;
    try {
      await unlessAborted(probe(monitor, context), signal);
      const responseTimeMs = elapsedMs();
      // The type's reason goes first: an expiry date comes nearer, while slowness comes and goes.
      const degradation =
        types.ofChecked(monitor).degradation?.(monitor, context) ?? slow(monitor, responseTimeMs);
      return { ok: true, outcome: 'ok', ...degradation, responseTimeMs, ...certificateOf(context) };
    } catch (error) {
      if (!(error instanceof CheckFailure)) throw error;
      const { outcome, message } = error;
      const failure = { ok: false, outcome, reason: message, responseTimeMs: elapsedMs() };
      return { ...failure, ...certificateOf(context) };
    } finally {
      clearTimeout(timer);
    }
  };
}

/** A check without its secrets would blame the target for a problem of ours. */
const secretsLost = (names: readonly string[]) =>
  new CheckFailure(
    'failed',
    `not checked: the key to its stored secrets is lost. Enter them again: ${names.join(', ')}`,
  );

function slow(
  { config: { degraded_after_ms: limitMs } }: CheckedMonitor,
  responseTimeMs: number,
): { outcome: Degradation; reason: string } | undefined {
  if (limitMs === undefined || responseTimeMs <= limitMs) return undefined;
  const took = inMilliseconds(Math.ceil(responseTimeMs));
  const reason = `it answered after ${took}, more than ${inMilliseconds(limitMs)}`;
  return { outcome: 'slow', reason };
}

const certificateOf = ({ certificateEndsMs }: CheckContext) =>
  certificateEndsMs === undefined ? undefined : { certificateEndsMs };

const inMilliseconds = (ms: number) => `${ms.toLocaleString('en-GB')} ms`;
