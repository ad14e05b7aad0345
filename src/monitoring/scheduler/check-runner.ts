import type { Logger } from 'pino';
import type { Metrics } from '../../http/metrics.ts';
import { type Check, timeoutSeconds } from '../checks/check.ts';
import type { CheckResult } from '../checks/check-result.ts';
import { type CheckedMonitor, isHeartbeat } from '../checks/check-type.ts';
import { type CheckTypes, shippedTypes } from '../checks/registry.ts';
import type { Connectivity } from '../connectivity/connectivity.ts';
import type { History } from '../history/history.ts';
import { awaitedAgain, type Signal } from '../monitors/heartbeat.ts';
import type { Monitors, WatchedMonitor } from '../monitors/monitors.ts';
import {
  cover,
  discardUnconfirmed,
  found,
  next,
  recheckAfterMs,
  type Step,
  unchanged,
} from '../state/state.ts';
import { type Clock, DAY_MS } from '../time/clock.ts';
import { createHeartbeatDeadlines } from './heartbeat-deadlines.ts';
import { createInFlightChecks, notChecked } from './in-flight-checks.ts';
import { createMaintenanceWindows } from './maintenance-windows.ts';
import { addRunnerMetrics } from './metrics.ts';
import { createSchedule } from './schedule.ts';
import { firstChecks } from './startup-spread.ts';
import { createStoreReport } from './store-report.ts';

/** The running service: checks what is due, waits for signals, and keeps what it finds. */
export type CheckRunner = ReturnType<typeof createCheckRunner>;

/** Due by the heap → check with a deadline → pure next state → stored when it changed, result to the history. */
export function createCheckRunner(options: {
  monitors: Monitors;
  history: Pick<History, 'add' | 'prune'>;
  connectivity: Connectivity;
  check: Check;
  types?: CheckTypes;
  /** Checks under way at a time. */
  maxInFlight: number;
  clock: Clock;
  metrics: Metrics;
  log: Logger;
}) {
  const { monitors, history, connectivity, check, types = shippedTypes, clock, log } = options;
  const stored = createStoreReport(log);
  const schedule = createSchedule({
    clock,
    maxInFlight: options.maxInFlight,
    run,
    onError: (error, job) => log.error({ err: error, monitor: job }, 'a check could not be run'),
    onWake: wake,
    onLate: (lateMs) => log.warn(sentenceOfLate(lateMs)),
    onTimely: () => log.info('checks start on time again'),
  });
  const windows = createMaintenanceWindows({ monitors, schedule, clock });
  const countCheck = (type: string, outcome: string) => checks(type, outcome).add();
  const heartbeats = createHeartbeatDeadlines({
    monitors,
    history,
    schedule,
    clock,
    stored,
    onLate: () => countCheck('HEARTBEAT', 'late'),
  });
  const inFlight = createInFlightChecks({
    monitors,
    check,
    types,
    noticeSleep: schedule.noticeSleep,
    connectivity,
    count,
    async unknown({ id, state }, { check_type }) {
      countCheck(check_type, 'unknown');
      await stored.handOver(monitors.settle(id, discardUnconfirmed(state)));
    },
  });
  const checks = addRunnerMetrics(options.metrics, { monitors, schedule, connectivity, isStale });
  /** When something was last learned of a monitor, or it was put on, on the monotonic clock. */
  const learnedMs = new Map<string, number>();
  let cancelPrune = () => {};
  let pruning = Promise.resolve();

  async function run(job: string) {
    const ofWindows = windows.monitorOf(job);
    const monitor = monitors.get(ofWindows ?? job);
    if (monitor === undefined || monitor.state.status === 'PAUSED') return;
    const { definition } = monitor;
    if (ofWindows !== undefined) await stored.handOver(windows.apply(monitor));
    else if (isHeartbeat(definition)) await heartbeats.due(monitor, definition.config);
    else await inFlight.check(monitor, definition);
  }

  async function count(monitor: WatchedMonitor, definition: CheckedMonitor, result: CheckResult) {
    countCheck(definition.check_type, result.outcome);
    const { id } = monitor;
    const { config } = definition;
    const nowMs = clock.wallMs();
    learnedMs.set(id, clock.monotonicMs());
    // A window that begins now is over what is found now, also when its turn in the schedule is still to come.
    const covered = windows.apply(monitor);
    const confirmation = { toDown: config.confirm_down, toUp: config.confirm_up };
    const step = next(monitor.state, result, confirmation, nowMs);
    if (step.recheckSoon) schedule.at(id, clock.monotonicMs() + recheckAfterMs(config));
    await stored.handOver(
      covered,
      monitors.settle(id, step),
      history.add(id, nowMs, result, {
        found: found(step.state).status,
        everyMs: config.interval_seconds * 1000,
        covered: step.state.beneath !== undefined,
      }),
    );
  }

  /** Puts a monitor on: its first check, or the end of the wait for a signal. */
  function follow(monitor: WatchedMonitor, firstMs = clock.monotonicMs()) {
    const { id, definition } = monitor;
    if (isHeartbeat(definition)) return heartbeats.await(monitor, definition.config);
    learnedMs.set(id, clock.monotonicMs());
    const intervalMs = definition.config.interval_seconds * 1000;
    schedule.every(id, {
      intervalMs,
      firstMs,
      host: types.ofChecked(definition).limitedHost(definition),
    });
  }

  function takeOff(id: string, reason: Error) {
    inFlight.abandon(id, reason);
    schedule.remove(id);
    windows.forget(id);
  }

  const isGone = ({ id }: WatchedMonitor) => monitors.get(id) === undefined;

  /** Takes over what a person set, or nothing when it cannot be stored: then `undo` puts the schedule back. */
  async function set(monitor: WatchedMonitor, step: Step, undo: () => void, back: () => Step) {
    const { id, state: before } = monitor;
    try {
      await monitors.settle(id, step, { always: true, orNothing: true });
    } catch (error) {
      undo();
      // When something was found meanwhile, it is taken back as a change of its own.
      if (step.change && monitor.state !== before) {
        await stored.report(monitors.settle(id, back()));
      }
      throw error;
    }
  }

  /** Shows what windows say now and waits for signals anew, of all that are not paused; gives those that are checked. */
  function takeUp() {
    const checked: Array<{ monitor: WatchedMonitor; definition: CheckedMonitor }> = [];
    for (const monitor of monitors.all()) {
      const { definition } = monitor;
      if (isPaused(monitor)) continue;
      void stored.handOver(windows.apply(monitor));
      if (isHeartbeat(definition)) heartbeats.await(monitor, definition.config);
      else checked.push({ monitor, definition });
    }
    return checked;
  }

  function startAll() {
    const checked = takeUp();
    const startMs = clock.monotonicMs();
    for (const { monitor, afterMs } of firstChecks(checked, clock.wallMs())) {
      follow(monitor, startMs + afterMs);
    }
  }

  /** The schedule has spread the checks; what was under way says nothing, and signals were lost. */
  function wake(sleptMs: number) {
    if (sleptMs > 0) {
      log.warn(`the machine slept for ${Math.round(sleptMs / 1000)} s, or its clock was set`);
      inFlight.abandonAll();
    }
    takeUp();
  }

  function pruneDaily() {
    const nowMs = clock.wallMs();
    pruning = stored.report(history.prune(nowMs), monitors.prune(nowMs));
    cancelPrune = clock.after(DAY_MS, pruneDaily);
  }

  function isStale(monitor: WatchedMonitor): boolean {
    const { id, definition, state } = monitor;
    if (state.status === 'PAUSED') return false;
    if (isHeartbeat(definition)) return heartbeats.isStale(monitor, definition.config);
    const sinceMs = learnedMs.get(id);
    if (sinceMs === undefined) return false;
    const { config } = definition;
    const limitMs = (2 * config.interval_seconds + timeoutSeconds(config)) * 1000;
    return clock.monotonicMs() - sinceMs > limitMs;
  }

  return {
    /** Begins with the monitors there are: overdue ones first. */
    start(): void {
      startAll();
      schedule.start();
      pruneDaily();
    },
    /** A monitor was just made: it is checked at once. */
    added: (monitor: WatchedMonitor) => follow(monitor),
    /** Its settings or windows changed: they hold from now on, and it is checked at once. */
    edited(monitor: WatchedMonitor): void {
      if (monitor.state.status === 'PAUSED') return;
      inFlight.abandon(monitor.id);
      windows.forget(monitor.id);
      void stored.handOver(windows.apply(monitor));
      follow(monitor);
    },
    /** It is gone: nothing that is still found of it counts. */
    removed(id: string): void {
      takeOff(id, notChecked.removed());
      learnedMs.delete(id);
      heartbeats.forget(id);
    },
    /** Takes a monitor off, until it is resumed. Durable when resolved; when it rejects nothing has changed. */
    async pause(monitor: WatchedMonitor): Promise<void> {
      const { id } = monitor;
      const before = monitor.state;
      takeOff(id, notChecked.paused());
      const undo = () => follow(monitor);
      const back = () => windows.afterPause(monitor);
      await set(monitor, cover(before, 'PAUSED', clock.wallMs()), undo, back);
    },
    /** Puts a paused monitor back and checks at once. Durable when resolved; when it rejects nothing has changed. */
    async resume(monitor: WatchedMonitor): Promise<void> {
      if (!isPaused(monitor)) {
        await monitors.settle(monitor.id, unchanged(monitor.state), { always: true });
        return;
      }
      const back = () => cover(monitor.state, 'PAUSED', clock.wallMs());
      const step = windows.afterPause(monitor);
      const state = isHeartbeat(monitor.definition)
        ? awaitedAgain(step.state, clock.wallMs())
        : step.state;
      await set(monitor, { ...step, state }, () => {}, back);
      // Only now: what a check finds could not be taken back.
      if (isGone(monitor) || isPaused(monitor)) return;
      void stored.handOver(windows.apply(monitor));
      follow(monitor);
    },
    /**
     * Checks now, or waits for the check under way; resolves when what it found counts. Not for HEARTBEAT. Rejects with a
     * sentence when the monitor is paused or removed, or when our own network is gone.
     */
    async checkNow({ id, state, definition }: WatchedMonitor): Promise<void> {
      if (isHeartbeat(definition)) {
        throw new TypeError('A heartbeat is not checked.');
      }
      if (state.status === 'PAUSED') throw notChecked.paused();
      const counted = inFlight.nextOf(id);
      if (!inFlight.isUnderWay(id)) schedule.at(id, clock.monotonicMs());
      await counted;
    },
    /** A job said something. Durable when resolved. */
    async signal(monitor: WatchedMonitor, signal: Signal): Promise<void> {
      const { definition } = monitor;
      if (!isHeartbeat(definition)) {
        throw new TypeError('Only a heartbeat takes signals.');
      }
      void stored.handOver(windows.apply(monitor));
      await heartbeats.signal(monitor, definition.config, signal);
    },
    /** Nothing has been learned of it for so long that what is shown may be out of date; never while it is paused. */
    isStale,
    /** Breaks off the checks under way, which then count for nothing, and waits for what is being stored. */
    async close(): Promise<void> {
      cancelPrune();
      inFlight.abandonAll(notChecked.closing());
      await schedule.stop();
      await pruning;
      await stored.allWritten();
    },
  };
}

const isPaused = ({ state }: WatchedMonitor) => state.status === 'PAUSED';

function sentenceOfLate(lateMs: number): string {
  const seconds = Math.round(lateMs / 1000);
  return `checks start ${seconds} s late: too many monitors for this machine, or their intervals are too short`;
}
