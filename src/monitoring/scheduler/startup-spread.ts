import type { CheckedMonitor } from '../checks/check-type.ts';
import type { WatchedMonitor } from '../monitors/monitors.ts';
import type { MonitorState } from '../state/state.ts';
import { catchUpAfterMs } from '../time/rhythm.ts';

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

const dueMsOf = ({ lastCheckedMs }: MonitorState, intervalMs: number) =>
  (lastCheckedMs ?? Number.NEGATIVE_INFINITY) + intervalMs;

/** Two that were never checked are equal; their difference would be no number. */
const order = (a: number, b: number) => (a < b ? -1 : a > b ? 1 : 0);
