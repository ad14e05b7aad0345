import { ErrorCode } from '../../contracts/error.ts';
import { HttpError, notFound } from '../../http/errors.ts';
import type { Check } from '../checks/check.ts';
import type { CheckResult } from '../checks/check-result.ts';
import type { CheckedMonitor } from '../checks/check-type.ts';
import type { CheckTypes } from '../checks/registry.ts';
import type { Connectivity } from '../connectivity/connectivity.ts';
import type { Monitors, WatchedMonitor } from '../monitors/monitors.ts';

/** A check under way; when it is abandoned it is aborted too, unless its deadline was first. */
interface UnderWay {
  abort: AbortController;
  abandoned: boolean;
}

interface Waiter {
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * The checks under way, and who waits for what they find. One check: probe, then connectivity's verdict on it, then `count`. What was found of a monitor that has been edited,
 * paused or removed meanwhile counts for nothing. `unknown` is called for results that say nothing of their target.
 */
export function createInFlightChecks(options: {
  monitors: Monitors;
  check: Check;
  types: CheckTypes;
  /** Breaks off the checks under way when the machine slept, before one of them counts. */
  noticeSleep: () => void;
  connectivity: Connectivity;
  count: (
    monitor: WatchedMonitor,
    definition: CheckedMonitor,
    result: CheckResult,
  ) => Promise<void>;
  unknown: (monitor: WatchedMonitor, definition: CheckedMonitor) => Promise<void>;
}) {
  const { monitors, check, types, noticeSleep, connectivity, count, unknown } = options;
  const underWay = new Map<string, UnderWay>();
  const waiting = new Map<string, Waiter[]>();

  /** How the wait for it ends, or `undefined` when it goes on. */
  async function checkOnce(
    monitor: WatchedMonitor,
    definition: CheckedMonitor,
    own: UnderWay,
  ): Promise<'counted' | Error | undefined> {
    try {
      const result = await check(definition, own.abort);
      noticeSleep();
      if (own.abandoned) return undefined;
      const verdict = await connectivity.judge(
        types.ofChecked(definition).contactedHost(definition),
        result,
      );
      const isOf = monitors.get(monitor.id) === monitor && monitor.definition === definition;
      if (own.abandoned || !isOf) return undefined;
      if (verdict === 'drop') {
        await unknown(monitor, definition);
        return notChecked.networkLost();
      }
      await count(monitor, definition, result);
      return 'counted';
    } catch (error) {
      if (own.abandoned) return undefined;
      throw error;
    }
  }

  function endWait(id: string, end: 'counted' | Error) {
    const waiters = waiting.get(id) ?? [];
    waiting.delete(id);
    for (const { resolve, reject } of waiters) {
      if (end === 'counted') resolve();
      else reject(end);
    }
  }

  function abandon(id: string, reason?: Error) {
    const own = underWay.get(id);
    if (own) {
      own.abandoned = true;
      own.abort.abort();
    }
    if (reason) endWait(id, reason);
  }

  return {
    /** Checks a monitor; ends when what it found is taken over, or when the check was abandoned. */
    async check(monitor: WatchedMonitor, definition: CheckedMonitor): Promise<void> {
      const { id } = monitor;
      const own = { abort: new AbortController(), abandoned: false };
      underWay.set(id, own);
      try {
        const end = await checkOnce(monitor, definition, own);
        if (end) endWait(id, end);
      } catch (error) {
        endWait(id, error as Error);
        throw error;
      } finally {
        underWay.delete(id);
      }
    },
    isUnderWay: (id: string) => underWay.get(id)?.abandoned === false,
    /** Resolves when a check of the monitor has counted, this one or a later one. */
    nextOf(id: string): Promise<void> {
      return new Promise((resolve, reject) => {
        waiting.set(id, [...(waiting.get(id) ?? []), { resolve, reject }]);
      });
    },
    /** The check under way counts for nothing; who waits goes on waiting, or has `reason` as the error. */
    abandon,
    abandonAll(reason?: Error): void {
      for (const id of new Set([...underWay.keys(), ...(reason ? waiting.keys() : [])])) {
        abandon(id, reason);
      }
    },
  };
}

/** What who asked for a check is told when it is in vain. */
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
