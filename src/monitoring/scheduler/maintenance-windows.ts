import { beginTurn } from '../../contracts/event-loop.ts';
import { maintenanceAt } from '../monitors/maintenance.ts';
import type { Monitors, WatchedMonitor } from '../monitors/monitors.ts';
import type { StateTransition } from '../monitors/state-store.ts';
import { coverStatus, keepStatus, uncoverStatus } from '../state/state.ts';
import type { ServiceClock } from '../time/clock.ts';
import type { Schedule } from './schedule.ts';
import type { StoreReport } from './store-report.ts';

/** A time span that contains nothing. */
const NEVER = { fromMs: Number.POSITIVE_INFINITY, untilMs: Number.NEGATIVE_INFINITY };

/** Prefix of the schedule's jobs for windows, which are separate from the checks. */
const JOB_PREFIX = 'windows of ';

/**
 * Shows maintenance windows as the status MAINTENANCE. Their begins and ends are jobs of the schedule, but no answer of the API waits
 * for a job: it calls `show` first.
 */
export function createMaintenanceWindows(tools: {
  monitors: Monitors;
  owns: (id: string) => boolean;
  schedule: Schedule;
  clock: ServiceClock;
  stored: StoreReport;
}) {
  const { monitors, owns, schedule, clock, stored } = tools;
  /** No window of any monitor begins or ends within this span. */
  let shownSpan = NEVER;
  let editCount = 0;
  let showing: Promise<void> | undefined;

  function changeFor({ maintenance }: WatchedMonitor): StateTransition {
    const nowMs = clock.wallMs();
    const { window } = maintenanceAt(maintenance, nowMs);
    return (state) =>
      window ? coverStatus(state, 'MAINTENANCE', nowMs) : uncoverStatus(state, nowMs);
  }

  function plan({ id, maintenance }: WatchedMonitor): void {
    if (!owns(id)) return;
    const nowMs = clock.wallMs();
    const { changesMs } = maintenanceAt(maintenance, nowMs);
    if (changesMs === undefined) schedule.remove(JOB_PREFIX + id);
    else schedule.at(JOB_PREFIX + id, clock.monotonicMs() + changesMs - nowMs);
  }

  /**
   * Applies the windows at once in memory, and plans the next change. Resolves when the state is durable; `undefined` if nothing
   * changes. A paused monitor stays paused.
   */
  function apply(monitor: WatchedMonitor): Promise<void> | undefined {
    const { status } = monitor.state;
    if (status === 'PAUSED') return undefined;
    if (monitor.maintenance.length === 0 && status !== 'MAINTENANCE') return undefined;
    plan(monitor);
    const change = changeFor(monitor);
    if (!change(monitor.state).change) return undefined;
    return monitors.settle(monitor.id, (state) =>
      state.status === 'PAUSED' ? keepStatus(state) : change(state),
    )?.saved;
  }

  async function showAll(): Promise<void> {
    const editsBefore = editCount;
    const fromMs = clock.wallMs();
    let untilMs = Number.POSITIVE_INFINITY;
    const written: Array<Promise<void>> = [];
    const turn = beginTurn();
    for (const monitor of monitors.all()) {
      const { id, maintenance, state, published } = monitor;
      const isShown = state.status === 'MAINTENANCE' || published.status === 'MAINTENANCE';
      if (maintenance.length === 0 && !isShown) continue;
      const { changesMs = Number.POSITIVE_INFINITY } = maintenanceAt(maintenance, clock.wallMs());
      untilMs = Math.min(untilMs, changesMs);
      void stored.handOver(apply(monitor));
      if (monitor.published.status !== monitor.state.status) written.push(monitors.written(id));
      if (turn.isOver()) await turn.next();
    }
    await Promise.all(written);
    if (editCount === editsBefore) shownSpan = { fromMs, untilMs };
  }

  function isUpToDate(): boolean {
    const nowMs = clock.wallMs();
    return shownSpan.fromMs <= nowMs && nowMs < shownSpan.untilMs;
  }

  return {
    apply,
    /** Windows were edited, so the next `show` judges all of them. */
    edited(): void {
      editCount += 1;
      shownSpan = NEVER;
    },
    /** Resolves when every published status matches the windows; `undefined` if it does already. */
    show(): Promise<void> | undefined {
      if (!showing && isUpToDate()) return undefined;
      // A pass that has begun may have judged before a window began that is open now.
      const current = (showing ?? Promise.resolve()).then(() =>
        isUpToDate() ? undefined : showAll(),
      );
      const last = current.finally(() => {
        if (showing === last) showing = undefined;
      });
      showing = last;
      return last;
    },
    afterPause: changeFor,
    /** The monitor of a job of the schedule, if the job is for windows. */
    monitorOf: (job: string) =>
      job.startsWith(JOB_PREFIX) ? job.slice(JOB_PREFIX.length) : undefined,
    forget: (id: string) => schedule.remove(JOB_PREFIX + id),
  };
}
