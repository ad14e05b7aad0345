/** When each monitor was checked, by its number; Unix milliseconds with fractions. */
export type ArrivalTimes = Record<string, number[]>;

/** Progress of the checks. */
export interface Seen {
  monitors: number;
  /** When the last of them was first checked. */
  lastFirstMs: number;
}

/** A monotonic clock that all processes share, except for fractions of a millisecond. */
export const nowMs = () => performance.timeOrigin + performance.now();

/** Writes down who came when. */
export function createArrivals() {
  const times = new Map<number, number[]>();
  let lastFirstMs = 0;
  return {
    add(monitor: number): void {
      const known = times.get(monitor);
      if (known) return void known.push(nowMs());
      lastFirstMs = nowMs();
      times.set(monitor, [lastFirstMs]);
    },
    seen: (): Seen => ({ monitors: times.size, lastFirstMs }),
    all: (): ArrivalTimes => Object.fromEntries(times),
    forget(): void {
      times.clear();
      lastFirstMs = 0;
    },
  };
}

/** Statistics about a rhythm of checks. */
export interface Rhythm {
  looks: number;
  lagP99Ms: number;
  /** Median difference between the delays of a monitor's last check and its first. */
  driftMs: number;
  /** Looks that should have been in the window, and were not. */
  missing: number;
}

/** A monitor whose looks lie on a grid: at `phaseMs` in every interval. */
export interface Gridded {
  id: string;
  number: number;
  intervalMs: number;
  phaseMs: number;
}

/** A check that comes so shortly before its time is early by the fraction that clocks differ, not late by an interval. */
const EARLY_SHARE = 0.1;

/** In intervals: after its first check a monitor comes into its rhythm within this time. */
const SETTLE_INTERVALS = 1.5;

/** Reads lag and drift from what came in a window, of each monitor from when it is in its rhythm. */
export function rhythmOf(
  monitors: readonly Gridded[],
  times: ArrivalTimes,
  window: { fromMs: number; toMs: number },
): Rhythm {
  const lags: number[] = [];
  const drifts: number[] = [];
  let missing = 0;
  for (const { number, intervalMs, phaseMs } of monitors) {
    const seen = times[number] ?? [];
    const inRhythmMs = (seen[0] ?? window.fromMs) + SETTLE_INTERVALS * intervalMs;
    const fromMs = Math.max(window.fromMs, inRhythmMs);
    const own = seen
      .filter((ms) => ms >= fromMs && ms < window.toMs)
      .map((ms) => lagMs(ms, intervalMs, phaseMs));
    lags.push(...own);
    // One at the edge of the window may lie on either side.
    const least = Math.floor((window.toMs - fromMs) / intervalMs) - 1;
    missing += Math.max(0, least - own.length);
    const [first] = own;
    const last = own.at(-1);
    if (own.length > 1 && first !== undefined && last !== undefined) drifts.push(last - first);
  }
  return {
    looks: lags.length,
    lagP99Ms: quantile(lags, 0.99),
    driftMs: quantile(drifts, 0.5),
    missing,
  };
}

function lagMs(arrivalMs: number, intervalMs: number, phaseMs: number): number {
  const after = (((arrivalMs - phaseMs) % intervalMs) + intervalMs) % intervalMs;
  return after > intervalMs * (1 - EARLY_SHARE) ? after - intervalMs : after;
}

/** The smallest value that is not under so large a share of all. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}
