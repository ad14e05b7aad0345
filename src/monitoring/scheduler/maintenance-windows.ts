import { beginTurn } from '../../contracts/event-loop.ts';
import { maintenanceAt } from '../monitors/maintenance.ts';
import type { Monitors, WatchedMonitor } from '../monitors/monitors.ts';
import type { Happening } from '../monitors/state-store.ts';
import { cover, unchanged, uncover } from '../state/state.ts';
import type { Clock } from '../time/clock.ts';
import type { Schedule } from './schedule.ts';
import type { StoreReport } from './store-report.ts';

/** Whether a monitor is in maintenance for this process, or for those who ask it. */
const saysMaintenance = ({ state, published }: WatchedMonitor) =>
  state.status === 'MAINTENANCE' || published.status === 'MAINTENANCE';

/** A time that has nothing in it. */
const NEVER = { fromMs: Number.POSITIVE_INFINITY, untilMs: Number.NEGATIVE_INFINITY };

const PREFIX = 'windows of ';

/**
 * The maintenance windows of monitors. Their begins and ends are jobs of the schedule, apart from the checks; but no answer
 * waits for a job: whoever tells of monitors has the clock judge first.
 */
export function createMaintenanceWindows(tools: {
  monitors: Monitors;
  /** Whether this process is the one that watches over a monitor. */
  owns: (id: string) => boolean;
  schedule: Schedule;
  clock: Clock;
  stored: StoreReport;
}) {
  const { monitors, owns, schedule, clock, stored } = tools;

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

  /** When no window of any monitor begins or ends: what is shown holds from the one to the other. */
  let holds = NEVER;
  /** Windows that were set. */
  let edits = 0;
  let showing: Promise<void> | undefined;

  const isShown = () => {
    const nowMs = clock.wallMs();
    return holds.fromMs <= nowMs && nowMs < holds.untilMs;
  };

  async function showAll() {
    const before = edits;
    const fromMs = clock.wallMs();
    let untilMs = Number.POSITIVE_INFINITY;
    const written: Array<Promise<void>> = [];
    const turn = beginTurn();
    for (const monitor of monitors.all()) {
      const { id, maintenance } = monitor;
      if (maintenance.length === 0 && !saysMaintenance(monitor)) continue;
      untilMs = Math.min(
        untilMs,
        maintenanceAt(maintenance, clock.wallMs()).changesMs ?? Number.POSITIVE_INFINITY,
      );
      void stored.handOver(apply(monitor));
      if (monitor.published.status !== monitor.state.status) written.push(monitors.written(id));
      if (turn.isOver()) await turn.next();
    }
    await Promise.all(written);
    if (edits === before) holds = { fromMs, untilMs };
  }

  function apply(monitor: WatchedMonitor): Promise<void> | undefined {
    const { status } = monitor.state;
    if (status === 'PAUSED') return undefined;
    if (monitor.maintenance.length === 0 && status !== 'MAINTENANCE') return undefined;
    plan(monitor);
    const shown = shownBy(monitor);
    if (!shown(monitor.state).change) return undefined;
    return monitors.settle(monitor.id, (state) =>
      state.status === 'PAUSED' ? unchanged(state) : shown(state),
    )?.saved;
  }

  return {
    /**
     * Shows what the windows say now, at once in memory, and plans when that changes next. Resolves when it is durable;
     * `undefined` when nothing changes. A paused monitor stays paused.
     */
    apply,
    /** Windows were set: whoever asks next has all of them judged. */
    edited(): void {
      edits += 1;
      holds = NEVER;
    },
    /** Resolves when all that tells of monitors says what their windows say now, in any process; `undefined` when it does. */
    show(): Promise<void> | undefined {
      if (!showing && isShown()) return undefined;
      // What is under way may have judged before a window began that is open now.
      const shown = (showing ?? Promise.resolve()).then(() => (isShown() ? undefined : showAll()));
      const last = shown.finally(() => {
        if (showing === last) showing = undefined;
      });
      showing = last;
      return last;
    },
    /** What becomes of a monitor that is not paused any more. */
    afterPause: shownBy,
    /** The monitor whose windows a job of the schedule is for. */
    monitorOf: (job: string) => (job.startsWith(PREFIX) ? job.slice(PREFIX.length) : undefined),
    forget: (id: string) => schedule.remove(PREFIX + id),
  };
}
