import type { Logger } from 'pino';
import { beginTurn } from '../../contracts/event-loop.ts';
import type { Metrics } from '../../http/metrics.ts';
import type { LeaseGroup, PartHolder, Store } from '../../store/store.ts';
import { type Check, timeoutSeconds } from '../checks/check.ts';
import type { CheckResult } from '../checks/check-result.ts';
import { type CheckedMonitor, isHeartbeat } from '../checks/check-type.ts';
import { type CheckTypes, shippedTypes } from '../checks/registry.ts';
import type { Connectivity } from '../connectivity/connectivity.ts';
import type { History } from '../history/history.ts';
import { awaitedAgain, type Signal } from '../monitors/heartbeat.ts';
import { type Monitors, PARTS_COUNT, type WatchedMonitor } from '../monitors/monitors.ts';
import type { Happening } from '../monitors/state-store.ts';
import {
  cover,
  discardUnconfirmed,
  found,
  type MonitorState,
  next,
  recheckAfterMs,
  unchanged,
} from '../state/state.ts';
import { type Clock, DAY_MS } from '../time/clock.ts';
import { phaseOf, timeOfRhythm } from '../time/rhythm.ts';
import { createHeartbeatDeadlines } from './heartbeat-deadlines.ts';
import { createInFlightChecks, notChecked } from './in-flight-checks.ts';
import { createMaintenanceWindows } from './maintenance-windows.ts';
import { addRunnerMetrics } from './metrics.ts';
import { createSchedule } from './schedule.ts';
import { checksToMakeUp, firstChecks } from './startup-spread.ts';
import { createStoreReport } from './store-report.ts';

/** The running service: checks what is due, waits for signals, and keeps what it finds. */
export type CheckRunner = ReturnType<typeof createCheckRunner>;

/** Due by the heap → check with a deadline → pure next state → stored when it changed, result to the history. */
export function createCheckRunner(options: {
  monitors: Monitors;
  /** Competes for the parts of the monitors. */
  leases: Store['leases'];
  history: Pick<History, 'add' | 'cover' | 'prune' | 'takeOver' | 'leave'>;
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
    onError: (error, job) => log.error({ err: error, monitor: job }, 'could not run a check'),
    onWake: wake,
    onLate: (lateMs) => log.warn(sentenceOfLate(lateMs)),
    onTimely: () => log.info('checks start on time again'),
  });
  /** The parts of the monitors that this process watches over. */
  const held = new Set<number>();
  const owns = (id: string) => held.has(monitors.get(id)?.part ?? Number.NaN);
  const windows = createMaintenanceWindows({ monitors, owns, schedule, clock, stored });
  const countCheck = (type: string, outcome: string) => checks(type, outcome).add();
  const heartbeats = createHeartbeatDeadlines({
    monitors,
    owns,
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
      await stored.handOver(
        monitors.settle(id, discardUnconfirmed)?.saved,
        // A later failure must not confirm the one that is discarded.
        state.failures > 0 ? history.cover(id, clock.wallMs()) : undefined,
      );
    },
  });
  const checks = addRunnerMetrics(options.metrics, {
    ...{ monitors, schedule, connectivity },
    // Of the others this process hears only what is news, unless somebody asks.
    isStale: (monitor) => owns(monitor.id) && isStale(monitor),
  });
  /** When something was last learned of a monitor, or it was put on, on the monotonic clock. */
  const learnedMs = new Map<string, number>();
  /** The times of the rhythm that the monitors watched over here were last checked for. */
  const slots = new Map<string, Slot>();
  let parts: LeaseGroup | undefined;
  let isStarting = false;
  let cancelPrune = () => {};
  let pruning = Promise.resolve();

  async function run(job: string) {
    const ofWindows = windows.monitorOf(job);
    const monitor = monitors.get(ofWindows ?? job);
    if (monitor === undefined || monitor.state.status === 'PAUSED') return;
    const { definition } = monitor;
    if (ofWindows !== undefined) await stored.handOver(windows.apply(monitor));
    else if (isHeartbeat(definition)) {
      // A ping that is missing in a window is missed in it, also when its turn in the schedule is still to come.
      void stored.handOver(windows.apply(monitor));
      await heartbeats.due(monitor, definition.config);
    } else {
      const slot = slots.get(monitor.id);
      if (slot) slot.begunMs = timeOfRhythm(clock.wallMs(), slot.intervalMs, slot.phaseMs);
      await inFlight.check(monitor, definition);
    }
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
    const settled = monitors.settle(id, (state) =>
      state.status === 'PAUSED' ? unchanged(state) : next(state, result, confirmation, nowMs),
    );
    if (!settled) return;
    const { step, saved } = settled;
    if (step.recheckSoon) schedule.at(id, clock.monotonicMs() + recheckAfterMs(config));
    if (step.state.failures === 1 || step.change?.to === 'DOWN') checkParents(definition);
    await stored.handOver(
      covered,
      saved,
      history.add(id, nowMs, result, {
        found: found(step.state).status,
        everyMs: config.interval_seconds * 1000,
        covered: step.state.beneath !== undefined,
        slotMs: slotOf(id),
      }),
    );
  }

  /**
   * Checks soon what a monitor depends on that has begun to fail, so that both are found to be down at about the same time. What
   * another process watches over is checked there.
   */
  function checkParents({ depends_on: parents = [] }: Pick<CheckedMonitor, 'depends_on'>) {
    for (const id of parents) {
      const parent = monitors.get(id);
      if (!parent || !owns(id) || isPaused(parent) || isHeartbeat(parent.definition)) continue;
      const soonMs = recheckAfterMs(parent.definition.config);
      const checkedMs = clock.wallMs() - (parent.state.lastCheckedMs ?? 0);
      // Many may depend on it.
      if (checkedMs >= soonMs && !inFlight.isUnderWay(id)) schedule.at(id, clock.monotonicMs());
    }
  }

  /** The time of the rhythm that a result is for; `undefined` for one more of the same. */
  function slotOf(id: string): number | undefined {
    const slot = slots.get(id);
    if (!slot || slot.begunMs === slot.doneMs) return undefined;
    slot.doneMs = slot.begunMs;
    return slot.doneMs;
  }

  /** Puts a monitor on: its first check, or the end of the wait for a signal. */
  function follow(monitor: WatchedMonitor, firstMs = clock.monotonicMs(), { goesOn = false } = {}) {
    const { id, definition } = monitor;
    if (!owns(id)) return;
    if (isHeartbeat(definition)) return heartbeats.await(monitor, definition.config);
    learnedMs.set(id, clock.monotonicMs());
    const intervalMs = definition.config.interval_seconds * 1000;
    const host = types.ofChecked(definition).limitedHost(definition);
    slots.set(id, { intervalMs, phaseMs: phaseOf(id, intervalMs), begunMs: 0, doneMs: 0 });
    schedule.every(id, { intervalMs, firstMs, host, goesOn });
  }

  function leaveOff(id: string) {
    schedule.remove(id);
    windows.forget(id);
    slots.delete(id);
    learnedMs.delete(id);
  }

  function takeOff(id: string, reason: Error) {
    inFlight.abandon(id, reason);
    leaveOff(id);
  }

  const isGone = ({ id }: WatchedMonitor) => monitors.get(id) === undefined;

  /** Takes over what a person set, or nothing when it cannot be stored: then `undo` puts the schedule back. */
  async function set(
    monitor: WatchedMonitor,
    happening: Happening,
    undo: () => void,
    back: () => Happening,
  ) {
    const { id, state: before } = monitor;
    const settled = monitors.settle(id, happening, { always: true, orNothing: true });
    try {
      await settled?.saved;
    } catch (error) {
      undo();
      // When something was found meanwhile, it is taken back as a change of its own.
      if (settled?.step.change && monitor.state !== before) {
        await stored.report(monitors.settle(id, back())?.saved);
      }
      throw error;
    }
  }

  /** Shows what windows say now and waits for signals anew, of those that are not paused; gives those that are checked. */
  function takeUp(watched: readonly WatchedMonitor[]) {
    const checked: Array<{ monitor: WatchedMonitor; definition: CheckedMonitor }> = [];
    for (const monitor of watched) {
      const { definition } = monitor;
      if (isPaused(monitor)) continue;
      void stored.handOver(windows.apply(monitor));
      if (isHeartbeat(definition)) heartbeats.await(monitor, definition.config);
      else checked.push({ monitor, definition });
    }
    return checked;
  }

  function startAll() {
    const checked = takeUp(monitors.all());
    const startMs = clock.monotonicMs();
    for (const { monitor, afterMs } of firstChecks(checked, clock.wallMs())) {
      follow(monitor, startMs + afterMs);
    }
  }

  const isCaughtUp = async (taken: readonly number[]) => {
    try {
      await monitors.catchUp({ notes: true });
      await history.takeOver(monitors.ofParts(taken).map(({ id }) => id));
      return true;
    } catch (error) {
      log.debug({ err: error }, 'could not read what other processes stored; retrying');
      return false;
    }
  };

  /** Goes on with what another process has watched over, once all that it stored is known. */
  async function takeOver(taken: readonly number[], abandoned: ReadonlySet<number>) {
    // Whoever begins with what is old would leave out a time of the rhythm, or take a job that has pinged for late.
    while (taken.some((part) => held.has(part)) && !(await isCaughtUp(taken))) {
      await new Promise<void>((resolve) => clock.after(CATCH_UP_AGAIN_MS, resolve));
    }
    const checked = takeUp(monitors.ofParts(taken.filter((part) => held.has(part))));
    const startMs = clock.monotonicMs();
    const turn = beginTurn();
    const isUnsure = ({ part }: WatchedMonitor) => abandoned.has(part);
    for (const { monitor, afterMs } of checksToMakeUp(checked, clock.wallMs(), isUnsure)) {
      if (!isPaused(monitor)) follow(monitor, startMs + afterMs, { goesOn: true });
      if (turn.isOver()) await turn.next();
    }
  }

  /** Another process watches over those of a part from now on; what is under way may still count. */
  function leavePart(part: number) {
    held.delete(part);
    for (const { id } of monitors.ofParts([part])) {
      leaveOff(id);
      heartbeats.forget(id);
    }
  }

  function leaveHistory(parts: readonly number[]) {
    for (const { id } of monitors.ofParts(parts)) history.leave(id);
  }

  const partHolder: PartHolder = {
    taken(taken, abandoned) {
      for (const part of taken) held.add(part);
      if (isStarting) return startAll();
      return takeOver(taken, abandoned);
    },
    async giving(given) {
      for (const part of given) leavePart(part);
      // Who takes them begins with what is stored.
      await stored.allWritten();
      await monitors.idle();
      leaveHistory(given);
    },
    lost(part) {
      leavePart(part);
      leaveHistory([part]);
    },
  };

  /** The schedule has spread the checks; what was under way says nothing, and signals were lost. */
  function wake(sleptMs: number) {
    if (sleptMs > 0) {
      log.warn(`the machine slept for ${Math.round(sleptMs / 1000)} s, or its clock was changed`);
      inFlight.abandonAll();
    }
    takeUp(monitors.ofParts(held));
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
    const { config } = definition;
    const limitMs = (2 * config.interval_seconds + timeoutSeconds(config)) * 1000;
    if (!owns(id)) return clock.wallMs() - (state.lastCheckedMs ?? monitor.createdAtMs) > limitMs;
    const sinceMs = learnedMs.get(id);
    return sinceMs !== undefined && clock.monotonicMs() - sinceMs > limitMs;
  }

  monitors.listen({
    /** It is checked at once. */
    added(monitor) {
      windows.edited();
      follow(monitor);
    },
    /** Its settings or windows hold from now on, and it is checked at once. */
    edited(monitor) {
      windows.edited();
      if (isPaused(monitor)) return;
      inFlight.abandon(monitor.id);
      if (!owns(monitor.id)) return;
      windows.forget(monitor.id);
      void stored.handOver(windows.apply(monitor));
      follow(monitor);
    },
    /** Nothing that is still found of it counts. */
    removed(id) {
      takeOff(id, notChecked.removed());
      heartbeats.forget(id);
    },
    changedElsewhere(monitor, before) {
      const { id, definition, state } = monitor;
      const wasPaused = before.status === 'PAUSED';
      if (isPaused(monitor)) {
        if (!wasPaused) takeOff(id, notChecked.paused());
        return;
      }
      const isNewlyDown = state.status === 'DOWN' && before.status !== 'DOWN';
      if (isNewlyDown || state.failures > before.failures) checkParents(definition);
      if (!owns(id)) return;
      if (wasPaused) {
        void stored.handOver(windows.apply(monitor));
        follow(monitor);
      } else if (isHeartbeat(definition)) heartbeats.signalledElsewhere(monitor, definition.config);
      else if (state.failures > before.failures)
        schedule.at(id, clock.monotonicMs() + recheckAfterMs(definition.config));
    },
  });

  return {
    /** Begins with the monitors there are: overdue ones first. */
    start(): void {
      isStarting = true;
      parts = options.leases(CHECKS, PARTS_COUNT, partHolder);
      isStarting = false;
      schedule.start();
      pruneDaily();
    },
    /** Whether this machine's own network is there; while it is not, other processes check what they can. */
    setNetwork: (isThere: boolean) => parts?.setAble(isThere),
    /** Whether this process watches over a monitor. */
    owns,
    /** Takes a monitor off, until it is resumed. Durable when resolved; when it rejects nothing has changed. */
    async pause(monitor: WatchedMonitor): Promise<void> {
      takeOff(monitor.id, notChecked.paused());
      const undo = () => follow(monitor);
      const back = () => windows.afterPause(monitor);
      const nowMs = clock.wallMs();
      await set(monitor, (state) => cover(state, 'PAUSED', nowMs), undo, back);
    },
    /** Puts a paused monitor back and checks at once. Durable when resolved; when it rejects nothing has changed. */
    async resume(monitor: WatchedMonitor): Promise<void> {
      if (!isPaused(monitor)) {
        await monitors.settle(monitor.id, unchanged, { always: true })?.saved;
        return;
      }
      const nowMs = clock.wallMs();
      const back = () => (state: MonitorState) => cover(state, 'PAUSED', clock.wallMs());
      const shown = windows.afterPause(monitor);
      const isJob = isHeartbeat(monitor.definition);
      const resumed: Happening = (before) => {
        const step = shown(before);
        return isJob ? { ...step, state: awaitedAgain(step.state, nowMs) } : step;
      };
      await set(monitor, resumed, () => {}, back);
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
        throw new TypeError('Only a heartbeat accepts signals.');
      }
      void stored.handOver(windows.apply(monitor));
      await heartbeats.signal(monitor, definition.config, signal);
    },
    /** Resolves when what is told of monitors says what their maintenance windows say now; `undefined` when it does already. */
    showMaintenance: windows.show,
    /** Nothing has been learned of it for so long that what is shown may be out of date; never while it is paused. */
    isStale,
    /** Breaks off the checks under way, which then count for nothing, and waits for what is being stored. */
    async close(): Promise<void> {
      cancelPrune();
      inFlight.abandonAll(notChecked.closing());
      await schedule.stop();
      await parts?.close();
      await pruning;
      await stored.allWritten();
    },
  };
}

/** While the store is away it is asked again after so long what others have stored. */
const CATCH_UP_AGAIN_MS = 500;

/** The kind of lease that the parts of the monitors are. */
const CHECKS = 'checks';

/** A monitor's rhythm, and the time of it that the last check was begun for, and the last one that counted. */
interface Slot {
  intervalMs: number;
  phaseMs: number;
  begunMs: number;
  doneMs: number;
}

const isPaused = ({ state }: WatchedMonitor) => state.status === 'PAUSED';

function sentenceOfLate(lateMs: number): string {
  const seconds = Math.round(lateMs / 1000);
  return `checks start ${seconds} s late: too many monitors for this machine, or their intervals are too short`;
}
