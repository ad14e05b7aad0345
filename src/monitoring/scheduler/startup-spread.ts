import type { CheckedMonitor } from '../checks/check-type.ts';
import type { WatchedMonitor } from '../monitors/monitors.ts';
import { catchUpAfterMs, lastOnGrid, phaseOf } from '../time/rhythm.ts';

export interface DefinedMonitor {
  monitor: WatchedMonitor;
  definition: CheckedMonitor;
}

/** When a monitor is first checked, in milliseconds from now. */
interface FirstCheck {
  monitor: WatchedMonitor;
  afterMs: number;
}

/** Plans the first checks after a start: on time, or soon and spread if overdue, the longest overdue first. Pure. */
export function firstChecks(monitors: readonly DefinedMonitor[], nowMs: number): FirstCheck[] {
  const timed = monitors.map(({ monitor, definition }) => {
    const intervalMs = definition.config.interval_seconds * 1000;
    const lastMs = monitor.state.lastCheckedMs ?? Number.NEGATIVE_INFINITY;
    return { monitor, intervalMs, dueMs: lastMs + intervalMs };
  });
  // A due time beyond the interval comes from a wall clock that was set back.
  const isOverdue = ({ dueMs, intervalMs }: (typeof timed)[number]) =>
    dueMs <= nowMs || dueMs > nowMs + intervalMs;
  const onTime = timed
    .filter((one) => !isOverdue(one))
    .map(({ monitor, dueMs }) => ({ monitor, afterMs: dueMs - nowMs }));
  const overdue = timed.filter(isOverdue).sort((a, b) => compare(a.dueMs, b.dueMs));
  const soon = overdue.map(({ monitor, intervalMs }, index) => ({
    monitor,
    afterMs: catchUpAfterMs(index, overdue.length, intervalMs),
  }));
  return [...onTime, ...soon];
}

/**
 * The last results of a process that died may not be stored: a takeover takes some seconds. A second check is harmless, because a time
 * of the rhythm has one result.
 */
const UNSURE_MS = 12_000;

/** Pause between two checks that are made up, if there is time: this process may die before the last of them. */
const MADE_UP_EVERY_MS = 10;

/**
 * Plans the first checks of monitors from another process. A monitor without a result for the current time of its rhythm is checked
 * soon, one after another, before its next time; the others not before that (`Infinity`). Pure.
 */
export function checksToMakeUp(
  monitors: readonly DefinedMonitor[],
  nowMs: number,
  /** The other process died. */
  isUnsure: (monitor: WatchedMonitor) => boolean,
): FirstCheck[] {
  const timed = monitors.map(({ monitor, definition }) => {
    const intervalMs = definition.config.interval_seconds * 1000;
    const slotMs = lastOnGrid(nowMs, intervalMs, phaseOf(monitor.id, intervalMs));
    const lastMs = monitor.state.lastCheckedMs ?? Number.NEGATIVE_INFINITY;
    const isDone = lastMs >= slotMs && !(isUnsure(monitor) && lastMs > nowMs - UNSURE_MS);
    return { monitor, isDone, remainingMs: slotMs + intervalMs - nowMs };
  });
  const done = timed
    .filter(({ isDone }) => isDone)
    .map(({ monitor }) => ({ monitor, afterMs: Number.POSITIVE_INFINITY }));
  const missing = timed
    .filter(({ isDone }) => !isDone)
    .sort((a, b) => a.remainingMs - b.remainingMs);
  const soon = missing.map(({ monitor, remainingMs }, index) => {
    // Half of the remaining time is for the check itself.
    const spreadMs = catchUpAfterMs(index, missing.length, remainingMs / 2);
    return { monitor, afterMs: Math.min(index * MADE_UP_EVERY_MS, spreadMs) };
  });
  return [...done, ...soon];
}

/** The difference of two infinite times would be no number. */
const compare = (a: number, b: number) => (a < b ? -1 : a > b ? 1 : 0);
