import type { HeartbeatConfig } from '../../contracts/monitoring.ts';
import type { CheckResult } from '../checks/check-result.ts';
import type { History } from '../history/history.ts';
import { awaited, deadlineMs, pingMissed, type Signal, signalled } from '../monitors/heartbeat.ts';
import type { Monitors, WatchedMonitor } from '../monitors/monitors.ts';
import { found, type MonitorState, unchanged } from '../state/state.ts';
import type { Clock } from '../time/clock.ts';
import type { Schedule } from './schedule.ts';
import type { StoreReport } from './store-report.ts';

/** While it cannot be known whether there was a signal, it is asked again after so long. */
const AGAIN_MS = 1_000;

const isDone = (work: Promise<unknown>) =>
  work.then(
    () => true,
    () => false,
  );

/** Waits for the signals of jobs. A deadline is a job of the schedule by the id of the monitor; `onLate` is called for each missed. */
export function createHeartbeatDeadlines(options: {
  monitors: Monitors;
  /** Whether this process is the one that watches over a monitor. */
  owns: (id: string) => boolean;
  history: Pick<History, 'add'>;
  schedule: Schedule;
  clock: Clock;
  stored: StoreReport;
  onLate: () => void;
}) {
  const { monitors, owns, history, schedule, clock, stored, onLate } = options;
  /** Since when nothing that was sent was lost, on the monotonic clock. */
  const listeningSinceMs = new Map<string, number>();

  /** The next turn of each that has one, on the monotonic clock. */
  const plannedMs = new Map<string, number>();

  /** As Unix time, as the wall clock has it now. */
  function sinceMs(id: string): number {
    const nowMs = clock.monotonicMs();
    return Math.floor(clock.wallMs() - nowMs + (listeningSinceMs.get(id) ?? nowMs));
  }

  function plan({ id, state }: WatchedMonitor, config: HeartbeatConfig) {
    const dueMs = deadlineMs(state, config, sinceMs(id));
    const afterMs = dueMs === undefined ? Number.POSITIVE_INFINITY : dueMs - clock.wallMs();
    planAt(id, clock.monotonicMs() + afterMs);
  }

  function planAt(id: string, atMs: number) {
    if (!owns(id)) return;
    plannedMs.set(id, atMs);
    schedule.at(id, atMs);
  }

  /** As `plan`, but a turn that now comes too early stays, and plans the next: moving it at each signal would cost more. */
  function planEarlier({ id, state }: WatchedMonitor, config: HeartbeatConfig) {
    const dueMs = deadlineMs(state, config, sinceMs(id));
    if (dueMs === undefined) return;
    const atMs = clock.monotonicMs() + dueMs - clock.wallMs();
    if (atMs < (plannedMs.get(id) ?? Number.POSITIVE_INFINITY)) planAt(id, atMs);
  }

  function record(id: string, state: MonitorState, config: HeartbeatConfig, result: CheckResult) {
    const nowMs = clock.wallMs();
    // It is worth as much as there is until the next signal is missed.
    const untilMs = deadlineMs(state, config, sinceMs(id)) ?? nowMs + config.period_seconds * 1000;
    return history.add(id, nowMs, result, {
      found: found(state).status,
      everyMs: Math.max(untilMs - nowMs, 1),
      covered: state.beneath !== undefined,
    });
  }

  return {
    /** Waits for the next signal from now on; whatever was due before gets a grace period. */
    await(monitor: WatchedMonitor, config: HeartbeatConfig): void {
      const { id, createdAtMs } = monitor;
      listeningSinceMs.set(id, clock.monotonicMs());
      const nowMs = clock.wallMs();
      const waiting = (state: MonitorState) => awaited(state, config, { createdAtMs, nowMs });
      if (waiting(monitor.state) !== monitor.state) {
        const settled = monitors.settle(id, (state) => unchanged(waiting(state)), { always: true });
        void stored.handOver(settled?.saved);
      }
      plan(monitor, config);
    },
    /** Another process has taken a signal. */
    signalledElsewhere: planEarlier,
    /** The time of a signal has come. */
    async due(monitor: WatchedMonitor, config: HeartbeatConfig): Promise<void> {
      const { id } = monitor;
      plannedMs.delete(id);
      // Another process may have taken a signal a moment ago.
      const caughtUp = monitors.catchUp();
      if (caughtUp && !(await isDone(caughtUp))) return planAt(id, clock.monotonicMs() + AGAIN_MS);
      const nowMs = clock.wallMs();
      const since = sinceMs(id);
      const dueMs = deadlineMs(monitor.state, config, since);
      if (dueMs === undefined) return;
      // There was a signal, or the wall clock was set meanwhile.
      if (dueMs > nowMs) return plan(monitor, config);
      onLate();
      const settled = monitors.settle(id, (state) => {
        const stillDueMs = deadlineMs(state, config, since);
        const isMissed = stillDueMs !== undefined && stillDueMs <= nowMs;
        return isMissed ? pingMissed(state, config, nowMs) : unchanged(state);
      });
      if (!settled) return;
      const { state } = settled.step;
      await stored.handOver(record(id, state, config, failure('late', state)), settled.saved);
    },
    /** A signal came. Resolves once it is durable. */
    async signal(monitor: WatchedMonitor, config: HeartbeatConfig, signal: Signal): Promise<void> {
      const { id } = monitor;
      const nowMs = clock.wallMs();
      const settled = monitors.settle(id, (state) => signalled(state, config, signal, nowMs), {
        always: true,
      });
      if (!settled) return;
      const { state } = settled.step;
      const result = resultOf(signal, state);
      // The state is what must last; the history is written with others, a moment later.
      if (result) void stored.handOver(record(id, state, config, result));
      if (state.status !== 'PAUSED') planEarlier(monitor, config);
      await settled.saved;
    },
    /** A signal was due while nobody listened, and its grace period goes on: what is shown may be out of date. */
    isStale({ id, state }: WatchedMonitor, config: HeartbeatConfig): boolean {
      const nowMs = clock.wallMs();
      if (nowMs - sinceMs(id) > config.grace_seconds * 1000) return false;
      const dueMs = deadlineMs(state, config, Number.NEGATIVE_INFINITY);
      return dueMs !== undefined && dueMs < nowMs;
    },
    forget(id: string): void {
      listeningSinceMs.delete(id);
      plannedMs.delete(id);
    },
  };
}

/** What a signal tells of its job; a start tells nothing yet. */
function resultOf(signal: Signal, state: MonitorState): CheckResult | undefined {
  if (signal.kind === 'start') return undefined;
  if (signal.kind === 'fail') return failure('failed', state);
  return { ok: true, outcome: 'ok', responseTimeMs: state.responseTimeMs ?? 0 };
}

const failure = (outcome: 'late' | 'failed', state: MonitorState): CheckResult => ({
  ok: false,
  outcome,
  ...(state.problem && { reason: state.problem.reason }),
  responseTimeMs: state.responseTimeMs ?? 0,
});
