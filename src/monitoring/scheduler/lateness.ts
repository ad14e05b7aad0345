import { createHistogram } from 'node:perf_hooks';
import type { Clock } from '../time/clock.ts';

/** A head of the queue that waits longer means that the service cannot keep up. */
const OVERLOADED_MS = 1_000;

/** It keeps up again when nothing has waited so long for this time. */
const RECOVERED_MS = 60_000;

/** Tells once that checks start late, and once that they start on time again. */
export function createOverload(
  clock: Clock,
  tell: { onLate?: (lateMs: number) => void; onTimely?: () => void },
) {
  let lastLateMs: number | undefined;
  return {
    /** How long what stands first in the queue has waited, milliseconds; negative when it is not due. */
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

/** Figures are of this time and of the same time before it. */
const LAG_WINDOW_MS = 60_000;

/** As far as it is measured: an hour, in microseconds. */
const MAX_LAG_US = 3_600_000_000;

/** How late things started in the last one to two minutes, milliseconds. */
export function createLagWindow(clock: Clock) {
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
      // It takes whole numbers from 1.
      current.lags.record(Math.min(Math.max(Math.round(lagMs * 1000), 1), MAX_LAG_US));
      current.worst = Math.max(current.worst, lagMs);
    },
    worst(): number {
      turn();
      return Math.max(current.worst, previous.worst);
    },
    /** The lag that a share of them did not exceed, such as 0.99, within 1 %; 0 when there were none. */
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
