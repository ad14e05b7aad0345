import type { ArrivalTimes, Gridded } from '../monitoring/arrivals.ts';

/** Counts of the scheduled checks in a window. */
export interface SlotCounts {
  expected: number;
  missed: number;
  /** More than one check, for example after a failure or by two processes. */
  doubled: number;
}

/** A check that comes so shortly before its time is early by the fraction that clocks differ. */
const EARLY_MS = 20;

/** Counts the times of each monitor's grid, by when somebody came. */
export function countSlots(
  monitors: readonly Gridded[],
  times: ArrivalTimes,
  { fromMs, toMs }: { fromMs: number; toMs: number },
): SlotCounts {
  const counts = { expected: 0, missed: 0, doubled: 0 };
  for (const { number, intervalMs, phaseMs } of monitors) {
    const slotOf = (ms: number) => Math.floor((ms + EARLY_MS - phaseMs) / intervalMs);
    const first = slotOf(fromMs) + 1;
    const end = slotOf(toMs);
    const seen = new Map<number, number>();
    for (const ms of times[number] ?? []) seen.set(slotOf(ms), (seen.get(slotOf(ms)) ?? 0) + 1);
    for (let slot = first; slot < end; slot += 1) {
      const count = seen.get(slot) ?? 0;
      counts.expected += 1;
      if (count === 0) counts.missed += 1;
      if (count > 1) counts.doubled += 1;
    }
  }
  return counts;
}
