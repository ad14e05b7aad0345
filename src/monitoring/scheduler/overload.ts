import type { Clock } from '../time/clock.ts';

/** A head of the queue that waits longer means that the service cannot keep up. */
const LATE_MS = 1_000;

/** It keeps up again when nothing has waited so long for this time. */
const CALM_MS = 60_000;

/** Tells once that checks start late, and once that they start on time again. */
export function createOverload(
  clock: Clock,
  tell: { onLate: (lateMs: number) => void; onTimely: () => void },
) {
  let lastLateMs: number | undefined;
  return {
    /** How long what stands first in the queue has waited, milliseconds; negative when it is not due. */
    see(waitedMs: number) {
      const nowMs = clock.monotonicMs();
      if (waitedMs > LATE_MS) {
        if (lastLateMs === undefined) tell.onLate(waitedMs);
        lastLateMs = nowMs;
      } else if (lastLateMs !== undefined && nowMs - lastLateMs >= CALM_MS) {
        lastLateMs = undefined;
        tell.onTimely();
      }
    },
    is: () => lastLateMs !== undefined,
  };
}
