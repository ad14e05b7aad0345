import { setMaxListeners } from 'node:events';
import { type CheckContext, outOfTime } from './check-context.ts';
import { CheckFailure, type CheckResult, type Degradation } from './check-result.ts';
import type { CheckedMonitor, ProbeTools } from './check-type.ts';
import { unlessAborted } from './connect.ts';
import { createDnsClient } from './dns-query.ts';
import { type CheckTypes, shippedTypes } from './registry.ts';
import { lostSecretsOf } from './secret-values.ts';

/**
 * Checks a target once; at its deadline it aborts `abort` with a `CheckFailure`. Throws only when somebody else aborted it: a
 * check that we abandoned says nothing about its target.
 */
export type Check = (monitor: CheckedMonitor, abort: AbortController) => Promise<CheckResult>;

/** Timeout when none is given: ten seconds, less where the interval is short. */
const DEFAULT_TIMEOUT_SECONDS = 10;

/** How long a check may take, seconds; always under the interval. */
export function timeoutSeconds(config: CheckedMonitor['config']): number {
  return config.timeout_seconds ?? Math.min(DEFAULT_TIMEOUT_SECONDS, config.interval_seconds * 0.8);
}

/** The check of every type, under one deadline over all it does: look-up, connection, redirects and body. */
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
    // Each of its redirects has waits of its own for it, and Node would warn of the eleventh as of a leak.
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
      // A reason of the type goes first: a date that comes nearer, where slow comes and goes.
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

/** Asked without them, the target would be found wanting for what is our own fault. */
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

/** Such as `2,340 ms`. */
const inMilliseconds = (ms: number) => `${ms.toLocaleString('en-GB')} ms`;
