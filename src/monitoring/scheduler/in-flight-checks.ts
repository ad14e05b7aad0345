import { ErrorCode } from '../../contracts/error.ts';
import { HttpError, notFound } from '../../http/errors.ts';
import type { Check } from '../checks/check.ts';
import type { CheckResult } from '../checks/check-result.ts';
import type { CheckedMonitor } from '../checks/check-type.ts';
import type { CheckTypes } from '../checks/registry.ts';
import type { Connectivity } from '../connectivity/connectivity.ts';
import type { Monitors, WatchedMonitor } from '../monitors/monitors.ts';

interface InFlightCheck {
  abort: AbortController;
  /** The result won't count. */
  abandoned: boolean;
}

interface ResultWaiter {
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * The current checks, and the callers that wait for their results. A check: probe → connectivity's verdict → `apply`, or `discard` if
 * the result says nothing about its target. If the monitor was edited, paused or removed in the meantime, neither is called.
 */
export function createInFlightChecks(options: {
  monitors: Monitors;
  check: Check;
  types: CheckTypes;
  /** Abandons the current checks if the machine slept, before one of them counts. */
  noticeSleep: () => void;
  connectivity: Connectivity;
  apply: (
    monitor: WatchedMonitor,
    definition: CheckedMonitor,
    result: CheckResult,
  ) => Promise<void>;
  discard: (monitor: WatchedMonitor, definition: CheckedMonitor) => Promise<void>;
}) {
  const { monitors, check, types, noticeSleep, connectivity, apply, discard } = options;
  const inFlight = new Map<string, InFlightCheck>();
  const waiters = new Map<string, ResultWaiter[]>();

  /** Ends with `counted` or the error for the callers that wait; with `undefined` they wait for the next check. */
  async function checkOnce(
    monitor: WatchedMonitor,
    definition: CheckedMonitor,
    current: InFlightCheck,
  ): Promise<'counted' | Error | undefined> {
    try {
      const result = await check(definition, current.abort);
      noticeSleep();
      if (current.abandoned) return undefined;
      const host = types.ofChecked(definition).contactedHost(definition);
      const verdict = await connectivity.judge(host, result);
      const isSame = monitors.get(monitor.id) === monitor && monitor.definition === definition;
      if (current.abandoned || !isSame) return undefined;
      if (verdict === 'drop') {
        await discard(monitor, definition);
        return notChecked.networkLost();
      }
      await apply(monitor, definition, result);
      return 'counted';
    } catch (error) {
      if (current.abandoned) return undefined;
      throw error;
    }
  }

  function endWait(id: string, end: 'counted' | Error): void {
    const ended = waiters.get(id) ?? [];
    waiters.delete(id);
    for (const { resolve, reject } of ended) {
      if (end === 'counted') resolve();
      else reject(end);
    }
  }

  function abandon(id: string, reason?: Error): void {
    const current = inFlight.get(id);
    if (current) {
      current.abandoned = true;
      current.abort.abort();
    }
    if (reason) endWait(id, reason);
  }

  return {
    async check(monitor: WatchedMonitor, definition: CheckedMonitor): Promise<void> {
      const { id } = monitor;
      const current = { abort: new AbortController(), abandoned: false };
      inFlight.set(id, current);
      try {
        const end = await checkOnce(monitor, definition, current);
        if (end) endWait(id, end);
      } catch (error) {
        endWait(id, error as Error);
        throw error;
      } finally {
        inFlight.delete(id);
      }
    },
    isRunning: (id: string) => inFlight.get(id)?.abandoned === false,
    /** Resolves when a check of the monitor has counted, the current one or a later one. */
    waitForResult(id: string): Promise<void> {
      return new Promise((resolve, reject) => {
        waiters.set(id, [...(waiters.get(id) ?? []), { resolve, reject }]);
      });
    },
    /** The current check won't count. Callers that wait get `reason`, or continue to wait without one. */
    abandon,
    abandonAll(reason?: Error): void {
      for (const id of new Set([...inFlight.keys(), ...(reason ? waiters.keys() : [])])) {
        abandon(id, reason);
      }
    },
  };
}

/** Errors for callers that wait in vain. */
export const notChecked = {
  paused: () =>
    new HttpError(409, ErrorCode.conflict, 'The monitor is paused. Resume it, then check it.'),
  removed: () => notFound('The monitor was removed in the meantime.'),
  networkLost: () =>
    new HttpError(
      503,
      ErrorCode.unavailable,
      "Askwatch's own network is down, so the target could not be checked. Check again when the network is back.",
    ),
  closing: () =>
    new HttpError(503, ErrorCode.unavailable, 'Askwatch is stopping. Try again later.'),
};
