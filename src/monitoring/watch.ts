import { setMaxListeners } from 'node:events';
import type { Logger } from 'pino';
import type { HeartbeatConfig } from '../contracts/monitoring.ts';
import type { Metrics } from '../http/metrics.ts';
import type { Check, CheckedMonitor } from './check.ts';
import type { Clock } from './clock.ts';
import { deadlineMs, pinged, pingMissed } from './heartbeat.ts';
import type { MonitorJournals } from './journals.ts';
import type { Monitors, WatchedMonitor } from './monitors.ts';
import { createSchedule } from './schedule.ts';
import { type CheckResult, next, secondLookAfterMs } from './state.ts';
import { addWatchMetrics } from './watch-metrics.ts';

/** After a start, every overdue monitor is looked at within this time, or within its interval if that is shorter. */
const CATCH_UP_MS = 30_000;

const DAY_MS = 86_400_000;

/** The running service: checks what is due, waits for pings, and keeps what it finds. */
export interface Watch {
  /** Begins with the monitors there are: overdue ones first. */
  start(): void;
  /** A monitor was just made: it is checked at once. */
  begin(monitor: WatchedMonitor): void;
  /** A ping came. Resolves once it is durable. */
  ping(monitor: WatchedMonitor): Promise<void>;
  /** Breaks off the checks under way, which then count for nothing, and waits for what is being stored. */
  close(): Promise<void>;
}

/** Due by the heap → check with a deadline → pure next state → stored when it changed, result to the journal. */
export function createWatch(options: {
  monitors: Monitors;
  journals: MonitorJournals;
  check: Check;
  clock: Clock;
  metrics: Metrics;
  log: Logger;
}): Watch {
  const { monitors, journals, check, clock, log } = options;
  const closing = new AbortController();
  // Every check under way listens, and Node warns of more than ten.
  setMaxListeners(0, closing.signal);
  const stored = createStoreReport(log);
  const schedule = createSchedule({
    clock,
    run,
    onError: (error, monitor) => log.error({ err: error, monitor }, 'a check could not be run'),
  });
  const checks = addWatchMetrics(options.metrics, monitors, schedule);
  let cancelPrune = () => {};
  let pruning = Promise.resolve();

  async function run(id: string) {
    const monitor = monitors.get(id);
    if (monitor === undefined) return;
    const { definition } = monitor;
    if (definition.check_type === 'HEARTBEAT') await miss(monitor, definition.config);
    else await look(monitor, definition);
  }

  async function look(monitor: WatchedMonitor, definition: CheckedMonitor) {
    let result: CheckResult;
    try {
      result = await check(definition, closing.signal);
    } catch (error) {
      if (closing.signal.aborted) return;
      throw error;
    }
    checks.inc({ type: definition.check_type, outcome: result.outcome });
    const nowMs = clock.wallMs();
    const { config } = definition;
    const confirmation = { toDown: config.confirm_down, toUp: config.confirm_up };
    const step = next(monitor.state, result, confirmation, nowMs);
    if (step.lookAgain) {
      schedule.at(monitor.id, clock.monotonicMs() + secondLookAfterMs(config));
    }
    // Waited for, so that a store that hangs holds up checks and does not fill the memory with results.
    await stored.report(
      monitors.settle(monitor.id, step),
      journals.addResult(monitor.id, nowMs, result),
    );
  }

  async function miss(monitor: WatchedMonitor, config: HeartbeatConfig) {
    checks.inc({ type: 'HEARTBEAT', outcome: 'late' });
    await stored.report(
      monitors.settle(monitor.id, pingMissed(monitor.state, config, clock.wallMs())),
    );
  }

  function watchForPing(monitor: WatchedMonitor, config: HeartbeatConfig, sinceMs: number) {
    const dueMs = deadlineMs(monitor.state, config, sinceMs);
    if (dueMs === undefined) return;
    schedule.at(monitor.id, clock.monotonicMs() + dueMs - clock.wallMs());
  }

  function every(monitor: WatchedMonitor, definition: CheckedMonitor, firstMs: number) {
    const intervalMs = definition.config.interval_seconds * 1000;
    schedule.every(monitor.id, { intervalMs, firstMs, host: hostOf(definition) });
  }

  function startAll() {
    const nowMs = clock.wallMs();
    const monotonicMs = clock.monotonicMs();
    const overdue: Array<{ monitor: WatchedMonitor; definition: CheckedMonitor; dueMs: number }> =
      [];
    for (const monitor of monitors.all()) {
      const { definition, state } = monitor;
      if (definition.check_type === 'HEARTBEAT') {
        watchForPing(monitor, definition.config, nowMs);
        continue;
      }
      const intervalMs = definition.config.interval_seconds * 1000;
      const dueMs = (state.lastCheckedMs ?? Number.NEGATIVE_INFINITY) + intervalMs;
      // A time in the future beyond the interval is a wall clock that was set back.
      if (dueMs > nowMs && dueMs <= nowMs + intervalMs) {
        every(monitor, definition, monotonicMs + dueMs - nowMs);
      } else {
        overdue.push({ monitor, definition, dueMs });
      }
    }
    overdue.sort((a, b) => (a.dueMs < b.dueMs ? -1 : a.dueMs > b.dueMs ? 1 : 0));
    for (const [index, { monitor, definition }] of overdue.entries()) {
      const spreadMs = Math.min(definition.config.interval_seconds * 1000, CATCH_UP_MS);
      every(monitor, definition, monotonicMs + (index / overdue.length) * spreadMs);
    }
  }

  function pruneDaily() {
    pruning = stored.report(journals.prune(clock.wallMs()));
    cancelPrune = clock.after(DAY_MS, pruneDaily);
  }

  return {
    start() {
      startAll();
      schedule.start();
      pruneDaily();
    },
    begin(monitor) {
      const { definition } = monitor;
      if (definition.check_type === 'HEARTBEAT') return;
      every(monitor, definition, clock.monotonicMs());
    },
    async ping(monitor) {
      const { definition } = monitor;
      if (definition.check_type !== 'HEARTBEAT') return;
      const nowMs = clock.wallMs();
      const saved = monitors.settle(monitor.id, pinged(monitor.state, nowMs), { always: true });
      watchForPing(monitor, definition.config, nowMs);
      await saved;
    },
    async close() {
      cancelPrune();
      closing.abort();
      await schedule.stop();
      await pruning;
    },
  };
}

/** Monitors that share a host are not checked all at once. */
function hostOf(definition: CheckedMonitor): string {
  if (definition.check_type === 'DNS') return `dns:${definition.target.toLowerCase()}`;
  return new URL(definition.target).hostname;
}

/** Tells the log when storing begins to fail and when it works again, not at each of thousands of checks. */
function createStoreReport(log: Logger) {
  let failing = false;
  return {
    async report(...writes: Array<Promise<unknown>>): Promise<void> {
      const failed = (await Promise.allSettled(writes)).find(({ status }) => status === 'rejected');
      if (failed?.status === 'rejected' && !failing) {
        log.error({ err: failed.reason }, 'results of checks cannot be stored; checks go on');
      }
      if (!failed && failing) log.info('results of checks are stored again');
      failing = failed !== undefined;
    },
  };
}
