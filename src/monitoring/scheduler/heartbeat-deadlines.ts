import type { HeartbeatConfig } from '../../contracts/monitoring.ts';
import type { CheckResult } from '../checks/check-result.ts';
import type { MonitorHistory } from '../history/history.ts';
import {
  applySignal,
  correctAwaited,
  deadlineMs,
  markPingMissed,
  type Signal,
} from '../monitors/heartbeat.ts';
import type { Monitors, WatchedMonitor } from '../monitors/monitors.ts';
import { keepStatus, type MonitorState, underlyingStatus } from '../state/state.ts';
import type { ServiceClock } from '../time/clock.ts';
import type { Schedule } from './schedule.ts';
import type { StoreReport } from './store-report.ts';

/** Pause before the store is asked again whether there was a signal. */
const RETRY_MS = 1_000;

interface HeartbeatTools {
  monitors: Monitors;
  owns: (id: string) => boolean;
  history: Pick<MonitorHistory, 'add'>;
  schedule: Schedule;
  clock: ServiceClock;
  stored: StoreReport;
  /** Called for each missed deadline. */
  onLate: () => void;
}

/** Waits for the signals of heartbeats. Each deadline is a job of the schedule, under the id of the monitor. */
export class HeartbeatDeadlines {
  private readonly tools: HeartbeatTools;
  /** No signal was lost since then, on the monotonic clock. */
  private readonly listeningSinceMs = new Map<string, number>();
  /** The next turn in the schedule, on the monotonic clock. */
  private readonly plannedMs = new Map<string, number>();

  constructor(tools: HeartbeatTools) {
    this.tools = tools;
  }

  /** Waits for the next signal from now on; an earlier deadline gets a new grace period. */
  await(monitor: WatchedMonitor, config: HeartbeatConfig): void {
    const { monitors, clock, stored } = this.tools;
    const { id } = monitor;
    this.listeningSinceMs.set(id, clock.monotonicMs());
    const nowMs = clock.wallMs();
    if (correctAwaited(monitor.state, nowMs) !== monitor.state) {
      const correct = (state: MonitorState) => keepStatus(correctAwaited(state, nowMs));
      void stored.handOver(monitors.settle(id, correct, { always: true })?.saved);
    }
    this.plan(monitor, config);
  }

  /** The schedule's turn of a deadline has come. */
  async due(monitor: WatchedMonitor, config: HeartbeatConfig): Promise<void> {
    const { monitors, clock, stored, onLate } = this.tools;
    const { id } = monitor;
    this.plannedMs.delete(id);
    // Another process may have taken a signal a moment ago.
    if (!(await this.isCaughtUp())) {
      this.planAt(id, clock.monotonicMs() + RETRY_MS);
      return;
    }
    const nowMs = clock.wallMs();
    const sinceMs = this.listeningSince(id);
    const dueMs = deadlineMs(monitor.state, config, sinceMs);
    if (dueMs === undefined) return;
    // There was a signal, or the wall clock was set.
    if (dueMs > nowMs) {
      this.plan(monitor, config);
      return;
    }
    onLate();
    const settled = monitors.settle(id, (state) => {
      const stillDueMs = deadlineMs(state, config, sinceMs);
      const isMissed = stillDueMs !== undefined && stillDueMs <= nowMs;
      return isMissed ? markPingMissed(state, config, nowMs) : keepStatus(state);
    });
    if (!settled) return;
    const { state } = settled.step;
    const recorded = this.record(id, state, config, failure('late', state));
    await stored.handOver(recorded, settled.saved);
  }

  /** Applies a signal. Resolves once it is durable. */
  async signal(monitor: WatchedMonitor, config: HeartbeatConfig, signal: Signal): Promise<void> {
    const { monitors, clock, stored } = this.tools;
    const { id } = monitor;
    const nowMs = clock.wallMs();
    const settled = monitors.settle(id, (state) => applySignal(state, config, signal, nowMs), {
      always: true,
    });
    if (!settled) return;
    const { state } = settled.step;
    const result = resultOf(signal, state);
    // Only the state must be durable; the history is written in batches, a moment later.
    if (result) void stored.handOver(this.record(id, state, config, result));
    if (state.status !== 'PAUSED') this.planEarlier(monitor, config);
    await settled.saved;
  }

  /** A later turn replaces nothing: it plans the next one when it comes, which costs less than moving it at each signal. */
  planEarlier({ id, state }: WatchedMonitor, config: HeartbeatConfig): void {
    const { clock } = this.tools;
    const dueMs = deadlineMs(state, config, this.listeningSince(id));
    if (dueMs === undefined) return;
    const atMs = clock.monotonicMs() + dueMs - clock.wallMs();
    if (atMs < (this.plannedMs.get(id) ?? Number.POSITIVE_INFINITY)) this.planAt(id, atMs);
  }

  /** A signal was due while the service was off, and its new grace period isn't over. */
  isStale({ id, state }: WatchedMonitor, config: HeartbeatConfig): boolean {
    const nowMs = this.tools.clock.wallMs();
    if (nowMs - this.listeningSince(id) > config.grace_seconds * 1000) return false;
    const dueMs = deadlineMs(state, config, Number.NEGATIVE_INFINITY);
    return dueMs !== undefined && dueMs < nowMs;
  }

  forget(id: string): void {
    this.listeningSinceMs.delete(id);
    this.plannedMs.delete(id);
  }

  private async isCaughtUp(): Promise<boolean> {
    try {
      await this.tools.monitors.catchUp();
      return true;
    } catch {
      return false;
    }
  }

  /** Unix time, by the current wall clock. */
  private listeningSince(id: string): number {
    const { clock } = this.tools;
    const nowMs = clock.monotonicMs();
    return Math.floor(clock.wallMs() - nowMs + (this.listeningSinceMs.get(id) ?? nowMs));
  }

  private plan({ id, state }: WatchedMonitor, config: HeartbeatConfig): void {
    const { clock } = this.tools;
    const dueMs = deadlineMs(state, config, this.listeningSince(id));
    const afterMs = dueMs === undefined ? Number.POSITIVE_INFINITY : dueMs - clock.wallMs();
    this.planAt(id, clock.monotonicMs() + afterMs);
  }

  private planAt(id: string, atMs: number): void {
    if (!this.tools.owns(id)) return;
    this.plannedMs.set(id, atMs);
    this.tools.schedule.at(id, atMs);
  }

  private record(id: string, state: MonitorState, config: HeartbeatConfig, result: CheckResult) {
    const nowMs = this.tools.clock.wallMs();
    // The result holds until the next signal is missed.
    const untilMs =
      deadlineMs(state, config, this.listeningSince(id)) ?? nowMs + config.period_seconds * 1000;
    return this.tools.history.add(id, nowMs, result, {
      found: underlyingStatus(state).status,
      everyMs: Math.max(untilMs - nowMs, 1),
      covered: state.underlying !== undefined,
    });
  }
}

/** A start says nothing about its job yet. */
function resultOf(signal: Signal, state: MonitorState): CheckResult | undefined {
  if (signal.kind === 'start') return undefined;
  if (signal.kind === 'fail') return failure('failed', state);
  return { ok: true, outcome: 'ok', responseTimeMs: state.responseTimeMs ?? 0 };
}

const failure = (outcome: 'late' | 'failed', state: MonitorState): CheckResult => ({
  ok: false,
  outcome,
  reason: state.problem?.reason,
  responseTimeMs: state.responseTimeMs ?? 0,
});
