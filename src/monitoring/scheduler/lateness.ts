import { createHistogram } from 'node:perf_hooks';
import type { ServiceClock } from '../time/clock.ts';

/** If the first job of the queue waits longer, the service can't keep up. */
const OVERLOADED_MS = 1_000;

/** The service keeps up again after so long without a late job. */
const RECOVERED_MS = 60_000;

/** Reports once that checks start late, and once that they start on time again. */
export function createOverload(
  clock: ServiceClock,
  tell: { onLate?: (lateMs: number) => void; onTimely?: () => void },
) {
  let lastLateMs: number | undefined;
  return {
    /** Takes the waiting time of the queue's first job; negative if it isn't due. */
    see(waitedMs: number) {
      const nowMs = clock.monotonicMs();
      if (waitedMs > OVERLOADED_MS) {
        if (lastLateMs === undefined) tell.onLate?.(waitedMs);
        lastLateMs = nowMs;
      } else if (lastLateMs !== undefined && nowMs - lastLateMs >= RECOVERED_MS) {
        lastLateMs = undefined;
        tell.onTimely?.();
      }
    },
    is: () => lastLateMs !== undefined,
  };
}

/** Figures cover the current window and the one before it. */
const LAG_WINDOW_MS = 60_000;

/** Largest lag that is measured: an hour, in microseconds. */
const MAX_LAG_US = 3_600_000_000;

/** Delays of starts in the last one to two minutes, milliseconds. */
export function createLagWindow(clock: ServiceClock) {
  let windowEndMs = clock.monotonicMs() + LAG_WINDOW_MS;
  let current = newLags();
  let previous = newLags();

  function turn() {
    const nowMs = clock.monotonicMs();
    if (nowMs < windowEndMs) return;
    previous = nowMs < windowEndMs + LAG_WINDOW_MS ? current : newLags();
    current = newLags();
    windowEndMs = nowMs + LAG_WINDOW_MS;
  }

  return {
    add(lagMs: number): void {
      turn();
      // A histogram takes whole numbers from 1.
      current.lags.record(Math.min(Math.max(Math.round(lagMs * 1000), 1), MAX_LAG_US));
      current.worst = Math.max(current.worst, lagMs);
    },
    worst(): number {
      turn();
      return Math.max(current.worst, previous.worst);
    },
    /** The lag that a share of the starts (such as 0.99) did not exceed, within 1 %; 0 without starts. */
    percentile(share: number): number {
      turn();
      const both = newLags().lags;
      both.add(current.lags);
      both.add(previous.lags);
      return both.count === 0 ? 0 : both.percentile(share * 100) / 1000;
    },
  };
}

const newLags = () => ({ lags: createHistogram({ highest: MAX_LAG_US, figures: 2 }), worst: 0 });
