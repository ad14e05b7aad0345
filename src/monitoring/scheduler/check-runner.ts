import type { Logger } from 'pino';
import { beginTurn } from '../../contracts/event-loop.ts';
import type { Metrics } from '../../http/metrics.ts';
import type { LeaseGroup, PartHolder, Store } from '../../store/store.ts';
import { type Check, timeoutSeconds } from '../checks/check.ts';
import type { CheckResult } from '../checks/check-result.ts';
import { type CheckedMonitor, isHeartbeat } from '../checks/check-type.ts';
import { type CheckTypes, shippedTypes } from '../checks/registry.ts';
import type { Connectivity } from '../connectivity/connectivity.ts';
import type { MonitorHistory } from '../history/history.ts';
import { awaitFirstPing, type Signal } from '../monitors/heartbeat.ts';
import {
  type MonitorListener,
  type Monitors,
  PARTS_COUNT,
  type WatchedMonitor,
} from '../monitors/monitors.ts';
import type { StateTransition } from '../monitors/state-store.ts';
import {
  applyResult,
  coverStatus,
  discardUnconfirmed,
  keepStatus,
  type MonitorState,
  recheckAfterMs,
  underlyingStatus,
} from '../state/state.ts';
import { DAY_MS, type ServiceClock } from '../time/clock.ts';
import { phaseOf, timeOfRhythm } from '../time/rhythm.ts';
import { HeartbeatDeadlines } from './heartbeat-deadlines.ts';
import { createInFlightChecks, notChecked } from './in-flight-checks.ts';
import { createMaintenanceWindows } from './maintenance-windows.ts';
import { addRunnerMetrics } from './metrics.ts';
import { Schedule } from './schedule.ts';
import { checksToMakeUp, type DefinedMonitor, firstChecks } from './startup-spread.ts';
import { createStoreReport } from './store-report.ts';

/** Pause before the store is asked again for the results of other processes. */
const CATCH_UP_AGAIN_MS = 500;

/** Kind of the leases that divide the monitors' parts among processes. */
const CHECKS = 'checks';

interface CheckRunnerOptions {
  monitors: Monitors;
  leases: Store['leases'];
  history: Pick<MonitorHistory, 'add' | 'cover' | 'prune' | 'takeOver' | 'leave'>;
  connectivity: Connectivity;
  check: Check;
  types?: CheckTypes;
  maxInFlight: number;
  clock: ServiceClock;
  metrics: Metrics;
  log: Logger;
}

interface FollowedMonitor {
  intervalMs: number;
  phaseMs: number;
  /** Times of the rhythm, the last one a check began for and the last one with a result. */
  begunMs: number;
  doneMs: number;
  /** The last result, or the time it was followed, on the monotonic clock. */
  learnedMs: number;
}

/**
 * Runs the checks of the monitors whose parts this process holds. The schedule says which check is due and who may run now; the
 * check runs with a deadline; the pure state machine applies its result; the state is stored if it changed, and the result goes to the
 * history. Heartbeats and maintenance windows are jobs of the same schedule.
 */
export class CheckRunner {
  private readonly options: CheckRunnerOptions & { types: CheckTypes };
  private readonly clock: ServiceClock;
  private readonly monitors: Monitors;
  private readonly stored;
  private readonly schedule: Schedule;
  private readonly windows;
  private readonly heartbeats: HeartbeatDeadlines;
  private readonly inFlight;
  private readonly countCheck: (type: string, outcome: string) => void;
  private readonly heldParts = new Set<number>();
  private readonly followed = new Map<string, FollowedMonitor>();
  private parts: LeaseGroup | undefined;
  private isStarting = false;
  private cancelPrune = () => {};
  private pruning = Promise.resolve();

  constructor(options: CheckRunnerOptions) {
    const { types = shippedTypes, monitors, history, connectivity, clock, log } = options;
    this.options = { ...options, types };
    this.clock = clock;
    this.monitors = monitors;
    const stored = createStoreReport(log);
    this.stored = stored;
    const schedule = new Schedule({
      clock,
      maxInFlight: options.maxInFlight,
      run: (job) => this.run(job),
      onError: (error, job) => log.error({ err: error, monitor: job }, 'could not run a check'),
      onWake: (sleptMs) => this.wake(sleptMs),
      onLate: (lateMs) => log.warn(latenessSentence(lateMs)),
      onTimely: () => log.info('checks start on time again'),
    });
    this.schedule = schedule;
    const { owns } = this;
    this.windows = createMaintenanceWindows({ monitors, owns, schedule, clock, stored });
    const onLate = () => this.countCheck('HEARTBEAT', 'late');
    this.heartbeats = new HeartbeatDeadlines({
      monitors,
      owns,
      history,
      schedule,
      clock,
      stored,
      onLate,
    });
    this.inFlight = createInFlightChecks({
      monitors,
      check: options.check,
      types,
      noticeSleep: schedule.noticeSleep,
      connectivity,
      apply: (monitor, definition, result) => this.apply(monitor, definition, result),
      discard: (monitor, definition) => this.discard(monitor, definition),
    });
    // A process has only the news of monitors that others check.
    const isStale = (monitor: WatchedMonitor) => owns(monitor.id) && this.isStale(monitor);
    const counter = addRunnerMetrics(options.metrics, {
      monitors,
      schedule,
      connectivity,
      isStale,
    });
    this.countCheck = (type, outcome) => counter(type, outcome).inc();
    monitors.listen(this.listener());
  }

  start(): void {
    this.isStarting = true;
    this.parts = this.options.leases(CHECKS, PARTS_COUNT, this.partHolder());
    this.isStarting = false;
    this.schedule.start();
    this.pruneDaily();
  }

  /** Aborts the current checks, whose results don't count, and waits until everything is stored. */
  async close(): Promise<void> {
    this.cancelPrune();
    this.inFlight.abandonAll(notChecked.closing());
    await this.schedule.stop();
    await this.parts?.close();
    await this.pruning;
    await this.stored.allWritten();
  }

  /** While this machine's own network is down, other processes check what they can. */
  setNetwork(isUp: boolean): void {
    this.parts?.setAble(isUp);
  }

  owns = (id: string): boolean => this.heldParts.has(this.monitors.get(id)?.part ?? Number.NaN);

  /** Durable when resolved; when it rejects, nothing has changed. */
  async pause(monitor: WatchedMonitor): Promise<void> {
    this.unfollow(monitor.id, notChecked.paused());
    const nowMs = this.clock.wallMs();
    await this.setStatus(monitor, {
      apply: (state) => coverStatus(state, 'PAUSED', nowMs),
      revert: () => this.windows.afterPause(monitor),
      onFailure: () => this.follow(monitor),
    });
  }

  /** Checks at once. Durable when resolved; when it rejects, nothing has changed. */
  async resume(monitor: WatchedMonitor): Promise<void> {
    if (!isPaused(monitor)) {
      await this.monitors.settle(monitor.id, keepStatus, { always: true })?.saved;
      return;
    }
    const nowMs = this.clock.wallMs();
    const show = this.windows.afterPause(monitor);
    const isJob = isHeartbeat(monitor.definition);
    await this.setStatus(monitor, {
      apply: (before) => {
        const step = show(before);
        return isJob ? { ...step, state: awaitFirstPing(step.state, nowMs) } : step;
      },
      revert: () => (state) => coverStatus(state, 'PAUSED', this.clock.wallMs()),
    });
    // Not before the state is stored, because the result of a check can't be taken back.
    if (!this.monitors.get(monitor.id) || isPaused(monitor)) return;
    void this.stored.handOver(this.windows.apply(monitor));
    this.follow(monitor);
  }

  /**
   * Checks now, or waits for the current check; resolves when its result counts. Not for HEARTBEAT. Rejects with a sentence if the
   * monitor is paused or removed, or if our own network is down.
   */
  async checkNow({ id, state, definition }: WatchedMonitor): Promise<void> {
    if (isHeartbeat(definition)) throw new TypeError('A heartbeat is not checked.');
    if (state.status === 'PAUSED') throw notChecked.paused();
    const counted = this.inFlight.waitForResult(id);
    if (!this.inFlight.isRunning(id)) this.schedule.at(id, this.clock.monotonicMs());
    await counted;
  }

  /** Takes a heartbeat's signal. Durable when resolved. */
  async signal(monitor: WatchedMonitor, signal: Signal): Promise<void> {
    const { definition } = monitor;
    if (!isHeartbeat(definition)) throw new TypeError('Only a heartbeat accepts signals.');
    void this.stored.handOver(this.windows.apply(monitor));
    await this.heartbeats.signal(monitor, definition.config, signal);
  }

  /** Resolves when the shown statuses match the maintenance windows; `undefined` if they do already. */
  showMaintenance = (): Promise<void> | undefined => this.windows.show();

  /** There was no result for so long that the shown status may be out of date; never while paused. */
  isStale = (monitor: WatchedMonitor): boolean => {
    const { id, definition, state } = monitor;
    if (state.status === 'PAUSED') return false;
    if (isHeartbeat(definition)) return this.heartbeats.isStale(monitor, definition.config);
    const { config } = definition;
    const limitMs = (2 * config.interval_seconds + timeoutSeconds(config)) * 1000;
    if (!this.owns(id)) {
      return this.clock.wallMs() - (state.lastCheckedMs ?? monitor.createdAtMs) > limitMs;
    }
    const learnedMs = this.followed.get(id)?.learnedMs;
    return learnedMs !== undefined && this.clock.monotonicMs() - learnedMs > limitMs;
  };

  // A job of the schedule is due: a check, a heartbeat's deadline, or a change of a window.

  private async run(job: string): Promise<void> {
    const windowsOf = this.windows.monitorOf(job);
    const monitor = this.monitors.get(windowsOf ?? job);
    if (monitor === undefined || isPaused(monitor)) return;
    const { definition } = monitor;
    if (windowsOf !== undefined) {
      await this.stored.handOver(this.windows.apply(monitor));
    } else if (isHeartbeat(definition)) {
      // A ping missed during a window belongs to the window, even if the window's own job comes later.
      void this.stored.handOver(this.windows.apply(monitor));
      await this.heartbeats.due(monitor, definition.config);
    } else {
      const followed = this.followed.get(monitor.id);
      if (followed) {
        const { intervalMs, phaseMs } = followed;
        followed.begunMs = timeOfRhythm(this.clock.wallMs(), intervalMs, phaseMs);
      }
      await this.inFlight.check(monitor, definition);
    }
  }

  private async apply(
    monitor: WatchedMonitor,
    definition: CheckedMonitor,
    result: CheckResult,
  ): Promise<void> {
    this.countCheck(definition.check_type, result.outcome);
    const { id } = monitor;
    const { config } = definition;
    const nowMs = this.clock.wallMs();
    const followed = this.followed.get(id);
    if (followed) followed.learnedMs = this.clock.monotonicMs();
    // A window that begins now covers this result, even if the window's own job comes later.
    const covered = this.windows.apply(monitor);
    const confirmation = { toDown: config.confirm_down, toUp: config.confirm_up };
    const settled = this.monitors.settle(id, (state) =>
      state.status === 'PAUSED'
        ? keepStatus(state)
        : applyResult(state, result, confirmation, nowMs),
    );
    if (!settled) return;
    const { step, saved } = settled;
    if (step.recheckSoon) this.checkAgainSoon(id, config);
    if (step.state.failures === 1 || step.change?.to === 'DOWN') this.checkParents(definition);
    const added = this.options.history.add(id, nowMs, result, {
      found: underlyingStatus(step.state).status,
      everyMs: config.interval_seconds * 1000,
      covered: step.state.underlying !== undefined,
      slotMs: followed && takeSlot(followed),
    });
    await this.stored.handOver(covered, saved, added);
  }

  /** A result that says nothing about its target; an earlier failure may have had the same reason. */
  private async discard({ id, state }: WatchedMonitor, { check_type }: CheckedMonitor) {
    this.countCheck(check_type, 'unknown');
    const settled = this.monitors.settle(id, discardUnconfirmed);
    const nowMs = this.clock.wallMs();
    const covered = state.failures > 0 ? this.options.history.cover(id, nowMs) : undefined;
    await this.stored.handOver(settled?.saved, covered);
  }

  private checkAgainSoon(id: string, config: CheckedMonitor['config']): void {
    this.schedule.at(id, this.clock.monotonicMs() + recheckAfterMs(config));
  }

  /** Checks the parents of a failing monitor soon, so that both are found down at about the same time. Their owner does it. */
  private checkParents({ depends_on: parents = [] }: Pick<CheckedMonitor, 'depends_on'>): void {
    for (const id of parents) {
      const parent = this.monitors.get(id);
      if (!parent || !this.owns(id) || isPaused(parent) || isHeartbeat(parent.definition)) continue;
      const sinceCheckMs = this.clock.wallMs() - (parent.state.lastCheckedMs ?? 0);
      // Many monitors may depend on it, and each asks for this.
      const isRecent = sinceCheckMs < recheckAfterMs(parent.definition.config);
      if (!isRecent && !this.inFlight.isRunning(id)) {
        this.schedule.at(id, this.clock.monotonicMs());
      }
    }
  }

  // Which monitors are checked.

  private follow(monitor: WatchedMonitor, firstMs = this.clock.monotonicMs(), goesOn = false) {
    const { id, definition } = monitor;
    if (!this.owns(id)) return;
    if (isHeartbeat(definition)) {
      this.heartbeats.await(monitor, definition.config);
      return;
    }
    const intervalMs = definition.config.interval_seconds * 1000;
    const phaseMs = phaseOf(id, intervalMs);
    const learnedMs = this.clock.monotonicMs();
    this.followed.set(id, { intervalMs, phaseMs, begunMs: 0, doneMs: 0, learnedMs });
    const host = this.options.types.ofChecked(definition).limitedHost(definition);
    this.schedule.every(id, { intervalMs, firstMs, host, goesOn });
  }

  private unfollow(id: string, reason: Error): void {
    this.inFlight.abandon(id, reason);
    this.removeJobs(id);
  }

  private removeJobs(id: string): void {
    this.schedule.remove(id);
    this.windows.forget(id);
    this.followed.delete(id);
  }

  /** Stores a status that a person set. If it can't be stored, results that arrived in the meantime are shown as before. */
  private async setStatus(
    monitor: WatchedMonitor,
    change: { apply: StateTransition; revert: () => StateTransition; onFailure?: () => void },
  ): Promise<void> {
    const { id, state: before } = monitor;
    const settled = this.monitors.settle(id, change.apply, { always: true, orNothing: true });
    try {
      await settled?.saved;
    } catch (error) {
      change.onFailure?.();
      if (settled?.step.change && monitor.state !== before) {
        await this.stored.report(this.monitors.settle(id, change.revert())?.saved);
      }
      throw error;
    }
  }

  private listener(): MonitorListener {
    return {
      added: (monitor) => {
        this.windows.edited();
        this.follow(monitor);
      },
      edited: (monitor) => {
        this.windows.edited();
        if (isPaused(monitor)) return;
        this.inFlight.abandon(monitor.id);
        if (!this.owns(monitor.id)) return;
        this.windows.forget(monitor.id);
        void this.stored.handOver(this.windows.apply(monitor));
        this.follow(monitor);
      },
      removed: (id) => {
        this.unfollow(id, notChecked.removed());
        this.heartbeats.forget(id);
      },
      changedElsewhere: (monitor, before) => this.adoptChange(monitor, before),
    };
  }

  /** Another process changed the state: it paused or resumed the monitor, or took a signal or a result for it. */
  private adoptChange(monitor: WatchedMonitor, before: MonitorState): void {
    const { id, definition, state } = monitor;
    const wasPaused = before.status === 'PAUSED';
    if (isPaused(monitor)) {
      if (!wasPaused) this.unfollow(id, notChecked.paused());
      return;
    }
    const isNewlyDown = state.status === 'DOWN' && before.status !== 'DOWN';
    const isFailing = state.failures > before.failures;
    if (isNewlyDown || isFailing) this.checkParents(definition);
    if (!this.owns(id)) return;
    if (wasPaused) {
      void this.stored.handOver(this.windows.apply(monitor));
      this.follow(monitor);
    } else if (isHeartbeat(definition)) {
      this.heartbeats.planEarlier(monitor, definition.config);
    } else if (isFailing) this.checkAgainSoon(id, definition.config);
  }

  /** Shows the windows' statuses and awaits signals of monitors that aren't paused; returns the checked ones. */
  private takeUp(watched: readonly WatchedMonitor[]): DefinedMonitor[] {
    const checked: DefinedMonitor[] = [];
    for (const monitor of watched) {
      const { definition } = monitor;
      if (isPaused(monitor)) continue;
      void this.stored.handOver(this.windows.apply(monitor));
      if (isHeartbeat(definition)) this.heartbeats.await(monitor, definition.config);
      else checked.push({ monitor, definition });
    }
    return checked;
  }

  /** The schedule has spread the due checks; results of current checks are worthless, and signals were lost. */
  private wake(sleptMs: number): void {
    if (sleptMs > 0) {
      const seconds = Math.round(sleptMs / 1000);
      this.options.log.warn(`the machine slept for ${seconds} s, or its clock was changed`);
      this.inFlight.abandonAll();
    }
    this.takeUp(this.monitors.ofParts(this.heldParts));
  }

  // Parts of the monitors that this process gets from others, or gives to them.

  private partHolder(): PartHolder {
    return {
      taken: (parts, abandoned) => {
        for (const part of parts) this.heldParts.add(part);
        if (!this.isStarting) return this.takeOver(parts, abandoned);
        this.startAll();
        return undefined;
      },
      giving: async (parts) => {
        for (const part of parts) this.leavePart(part);
        // The next holder begins with the stored results.
        await this.stored.allWritten();
        await this.monitors.idle();
        this.leaveHistory(parts);
      },
      lost: (part) => {
        this.leavePart(part);
        this.leaveHistory([part]);
      },
    };
  }

  private startAll(): void {
    const startMs = this.clock.monotonicMs();
    const checked = this.takeUp(this.monitors.all());
    for (const { monitor, afterMs } of firstChecks(checked, this.clock.wallMs())) {
      this.follow(monitor, startMs + afterMs);
    }
  }

  private async takeOver(parts: readonly number[], abandoned: ReadonlySet<number>): Promise<void> {
    const heldParts = () => parts.filter((part) => this.heldParts.has(part));
    // Old states would leave out a time of the rhythm, or call a job late that has pinged.
    while (heldParts().length > 0 && !(await this.catchUp(parts))) {
      await new Promise<void>((resolve) => this.clock.after(CATCH_UP_AGAIN_MS, resolve));
    }
    const checked = this.takeUp(this.monitors.ofParts(heldParts()));
    const startMs = this.clock.monotonicMs();
    const turn = beginTurn();
    const isUnsure = ({ part }: WatchedMonitor) => abandoned.has(part);
    for (const { monitor, afterMs } of checksToMakeUp(checked, this.clock.wallMs(), isUnsure)) {
      if (!isPaused(monitor)) this.follow(monitor, startMs + afterMs, true);
      if (turn.isOver()) await turn.next();
    }
  }

  private async catchUp(parts: readonly number[]): Promise<boolean> {
    try {
      await this.monitors.catchUp({ notes: true });
      await this.options.history.takeOver(this.monitors.ofParts(parts).map(({ id }) => id));
      return true;
    } catch (error) {
      this.options.log.debug(
        { err: error },
        'could not read what other processes stored; retrying',
      );
      return false;
    }
  }

  /** Current checks of the part may still count. */
  private leavePart(part: number): void {
    this.heldParts.delete(part);
    for (const { id } of this.monitors.ofParts([part])) {
      this.removeJobs(id);
      this.heartbeats.forget(id);
    }
  }

  private leaveHistory(parts: readonly number[]): void {
    for (const { id } of this.monitors.ofParts(parts)) this.options.history.leave(id);
  }

  private pruneDaily(): void {
    const nowMs = this.clock.wallMs();
    this.pruning = this.stored.report(
      this.options.history.prune(nowMs),
      this.monitors.prune(nowMs),
    );
    this.cancelPrune = this.clock.after(DAY_MS, () => this.pruneDaily());
  }
}

const isPaused = ({ state }: WatchedMonitor) => state.status === 'PAUSED';

/** The time of the rhythm that a result is for; `undefined` for a second result of the same time. */
function takeSlot(followed: FollowedMonitor): number | undefined {
  if (followed.begunMs === followed.doneMs) return undefined;
  followed.doneMs = followed.begunMs;
  return followed.doneMs;
}

function latenessSentence(lateMs: number): string {
  const seconds = Math.round(lateMs / 1000);
  return `checks start ${seconds} s late: too many monitors for this machine, or their intervals are too short`;
}
