import { maintenanceAt } from '../monitors/maintenance.ts';
import type { Monitors, WatchedMonitor } from '../monitors/monitors.ts';
import type { Happening } from '../monitors/state-store.ts';
import { cover, unchanged, uncover } from '../state/state.ts';
import type { Clock } from '../time/clock.ts';
import type { Schedule } from './schedule.ts';

const PREFIX = 'windows of ';

/** The maintenance windows of monitors: their begins and ends are jobs of the schedule, apart from the checks. */
export function createMaintenanceWindows(tools: {
  monitors: Monitors;
  /** Whether this process is the one that watches over a monitor. */
  owns: (id: string) => boolean;
  schedule: Schedule;
  clock: Clock;
}) {
  const { monitors, owns, schedule, clock } = tools;

  function shownBy({ maintenance }: WatchedMonitor): Happening {
    const nowMs = clock.wallMs();
    const { window } = maintenanceAt(maintenance, nowMs);
    return (state) => (window ? cover(state, 'MAINTENANCE', nowMs) : uncover(state, nowMs));
  }

  function plan({ id, maintenance }: WatchedMonitor) {
    if (!owns(id)) return;
    const nowMs = clock.wallMs();
    const { changesMs } = maintenanceAt(maintenance, nowMs);
    if (changesMs === undefined) schedule.remove(PREFIX + id);
    else schedule.at(PREFIX + id, clock.monotonicMs() + changesMs - nowMs);
  }

  return {
    /**
     * Shows what the windows say now, at once in memory, and plans when that changes next. Resolves when it is durable;
     * `undefined` when nothing changes. A paused monitor stays paused.
     */
    apply(monitor: WatchedMonitor): Promise<void> | undefined {
      const { status } = monitor.state;
      if (status === 'PAUSED') return undefined;
      if (monitor.maintenance.length === 0 && status !== 'MAINTENANCE') return undefined;
      plan(monitor);
      const shown = shownBy(monitor);
      if (!shown(monitor.state).change) return undefined;
      return monitors.settle(monitor.id, (state) =>
        state.status === 'PAUSED' ? unchanged(state) : shown(state),
      )?.saved;
    },
    /** What becomes of a monitor that is not paused any more. */
    afterPause: shownBy,
    /** The monitor whose windows a job of the schedule is for. */
    monitorOf: (job: string) => (job.startsWith(PREFIX) ? job.slice(PREFIX.length) : undefined),
    forget: (id: string) => schedule.remove(PREFIX + id),
  };
}
