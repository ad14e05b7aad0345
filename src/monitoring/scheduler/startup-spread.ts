import type { CheckedMonitor } from '../checks/check-type.ts';
import type { WatchedMonitor } from '../monitors/monitors.ts';
import type { MonitorState } from '../state/state.ts';
import { catchUpAfterMs, lastOnGrid, phaseOf } from '../time/rhythm.ts';

/**
 * When each monitor is first checked after a start, as milliseconds from then: in its time, or, when that has passed,
 * soon: the longest overdue first, spread. Pure.
 */
export function firstChecks(
  monitors: ReadonlyArray<{ monitor: WatchedMonitor; definition: CheckedMonitor }>,
  nowMs: number,
): Array<{ monitor: WatchedMonitor; afterMs: number }> {
  const timed = monitors.map(({ monitor, definition }) => {
    const intervalMs = definition.config.interval_seconds * 1000;
    return { monitor, intervalMs, dueMs: dueMsOf(monitor.state, intervalMs) };
  });
  // A time in the future beyond the interval is a wall clock that was set back.
  const isOverdue = ({ dueMs, intervalMs }: (typeof timed)[number]) =>
    dueMs <= nowMs || dueMs > nowMs + intervalMs;
  const overdue = timed.filter(isOverdue).sort((a, b) => order(a.dueMs, b.dueMs));
  return [
    ...timed
      .filter((one) => !isOverdue(one))
      .map(({ monitor, dueMs }) => ({ monitor, afterMs: dueMs - nowMs })),
    ...overdue.map(({ monitor, intervalMs }, index) => ({
      monitor,
      afterMs: catchUpAfterMs(index, overdue.length, intervalMs),
    })),
  ];
}

/**
 * A check that ended so shortly before its process died may not be stored, though it was: it takes up to some seconds until
 * others take over. Checked twice, a time of the rhythm has one result.
 */
const UNSURE_MS = 12_000;

/** Between two checks that are made up, where there is time for that: the next process may die before the last of them. */
const MADE_UP_EVERY_MS = 10;

/**
 * When each monitor is first checked that another process has watched over until now, as milliseconds from then: soon when
 * nothing was found for the time of its rhythm that is now, one after another and before the next one; else not before that.
 */
export function checksToMakeUp(
  monitors: ReadonlyArray<{ monitor: WatchedMonitor; definition: CheckedMonitor }>,
  nowMs: number,
  /** Whether the process that has watched over it died. */
  isUnsure: (monitor: WatchedMonitor) => boolean,
): Array<{ monitor: WatchedMonitor; afterMs: number }> {
  const timed = monitors.map(({ monitor, definition }) => {
    const intervalMs = definition.config.interval_seconds * 1000;
    const slotMs = lastOnGrid(nowMs, intervalMs, phaseOf(monitor.id, intervalMs));
    const lastMs = monitor.state.lastCheckedMs ?? Number.NEGATIVE_INFINITY;
    const isDone = lastMs >= slotMs && !(isUnsure(monitor) && lastMs > nowMs - UNSURE_MS);
    return { monitor, isDone, leftMs: slotMs + intervalMs - nowMs };
  });
  const missing = timed.filter(({ isDone }) => !isDone).sort((a, b) => a.leftMs - b.leftMs);
  return [
    ...timed
      .filter(({ isDone }) => isDone)
      .map(({ monitor }) => ({ monitor, afterMs: Number.POSITIVE_INFINITY })),
    ...missing.map(({ monitor, leftMs }, index) => ({
      monitor,
      // Half of what is left is for the check itself.
      afterMs: Math.min(
        index * MADE_UP_EVERY_MS,
        catchUpAfterMs(index, missing.length, leftMs / 2),
      ),
    })),
  ];
}

const dueMsOf = ({ lastCheckedMs }: MonitorState, intervalMs: number) =>
  (lastCheckedMs ?? Number.NEGATIVE_INFINITY) + intervalMs;

/** Two that were never checked are equal; their difference would be no number. */
const order = (a: number, b: number) => (a < b ? -1 : a > b ? 1 : 0);
