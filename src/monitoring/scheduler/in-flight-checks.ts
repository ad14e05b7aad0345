import type { Check, CheckedMonitor } from '../checks/check.ts';
import type { CheckResult } from '../checks/check-result.ts';
import { lookedAtHost } from '../checks/target-host.ts';
import type { OwnNetwork } from '../connectivity/connectivity.ts';
import type { Monitors, WatchedMonitor } from '../monitors/monitors.ts';

/** The looks under way, and who waits for what they find. */
export interface Looks {
  /** Looks at a monitor; ends when what it found is taken over, or when the look was broken off. */
  look(monitor: WatchedMonitor, definition: CheckedMonitor): Promise<void>;
  isUnderWay(id: string): boolean;
  /** Resolves when a look at the monitor has counted, this one or a later one. */
  nextOf(id: string): Promise<void>;
  /** The look under way counts for nothing; who waits goes on waiting, or is told why that is in vain. */
  breakOff(id: string, inVain?: Error): void;
  breakOffAll(inVain?: Error): void;
}

interface Waiting {
  promise: Promise<void>;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/**
 * One look: check, then our own network's word on it, then `count`. What was found of a monitor that has been edited,
 * paused or removed meanwhile counts for nothing. `unknown` is told of findings that say nothing of their target.
 */
export function createLooks(options: {
  monitors: Monitors;
  check: Check;
  /** Breaks off the looks under way when the machine slept, before one of them counts. */
  noticeSleep: () => void;
  ownNetwork: OwnNetwork;
  count: (
    monitor: WatchedMonitor,
    definition: CheckedMonitor,
    result: CheckResult,
  ) => Promise<void>;
  unknown: (monitor: WatchedMonitor, definition: CheckedMonitor) => Promise<void>;
  /** What those who wait are told then. */
  networkLost: () => Error;
}): Looks {
  const { monitors, check, noticeSleep, ownNetwork, count, unknown, networkLost } = options;
  const underWay = new Map<string, AbortController>();
  const waiting = new Map<string, Waiting>();

  /** What those who wait are to be told, or `undefined` when they wait on. */
  async function lookOnce(
    monitor: WatchedMonitor,
    definition: CheckedMonitor,
    signal: AbortSignal,
  ): Promise<'counted' | Error | undefined> {
    try {
      const result = await check(definition, signal);
      noticeSleep();
      if (signal.aborted) return undefined;
      const verdict = await ownNetwork.judge(lookedAtHost(definition), result);
      const isOf = monitors.get(monitor.id) === monitor && monitor.definition === definition;
      if (signal.aborted || !isOf) return undefined;
      if (verdict === 'drop') {
        await unknown(monitor, definition);
        return networkLost();
      }
      await count(monitor, definition, result);
      return 'counted';
    } catch (error) {
      if (signal.aborted) return undefined;
      throw error;
    }
  }

  function tell(id: string, end: 'counted' | Error) {
    const waits = waiting.get(id);
    waiting.delete(id);
    if (end === 'counted') waits?.resolve();
    else waits?.reject(end);
  }

  function breakOff(id: string, inVain?: Error) {
    underWay.get(id)?.abort();
    if (inVain) tell(id, inVain);
  }

  return {
    async look(monitor, definition) {
      const { id } = monitor;
      const abort = new AbortController();
      underWay.set(id, abort);
      try {
        const end = await lookOnce(monitor, definition, abort.signal);
        if (end) tell(id, end);
      } catch (error) {
        tell(id, error as Error);
        throw error;
      } finally {
        underWay.delete(id);
      }
    },
    isUnderWay: (id) => {
      const abort = underWay.get(id);
      return abort !== undefined && !abort.signal.aborted;
    },
    nextOf(id) {
      const known = waiting.get(id);
      if (known) return known.promise;
      const waits = newWaiting();
      waiting.set(id, waits);
      return waits.promise;
    },
    breakOff,
    breakOffAll(inVain) {
      for (const id of new Set([...underWay.keys(), ...(inVain ? waiting.keys() : [])])) {
        breakOff(id, inVain);
      }
    },
  };
}

function newWaiting(): Waiting {
  let resolve = () => {};
  let reject: (error: unknown) => void = () => {};
  const promise = new Promise<void>((onDone, onError) => {
    resolve = onDone;
    reject = onError;
  });
  return { promise, resolve, reject };
}
