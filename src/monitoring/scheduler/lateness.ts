import type { Clock } from '../time/clock.ts';

/** A head of the queue that waits longer means that the service cannot keep up. */
const OVERLOADED_MS = 1_000;

/** It keeps up again when nothing has waited so long for this time. */
const RECOVERED_MS = 60_000;

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
      if (waitedMs > OVERLOADED_MS) {
        if (lastLateMs === undefined) tell.onLate(waitedMs);
        lastLateMs = nowMs;
      } else if (lastLateMs !== undefined && nowMs - lastLateMs >= RECOVERED_MS) {
        lastLateMs = undefined;
        tell.onTimely();
      }
    },
    is: () => lastLateMs !== undefined,
  };
}

/** Figures are of this time and of the same time before it. */
const LAG_WINDOW_MS = 60_000;

/** Buckets to the doubling: a percentile is right within about 4 %. */
const BUCKETS_PER_DOUBLING = 16;

/** As far as 2^22 ms, more than an hour; what is longer is counted as that. */
const BUCKETS = 22 * BUCKETS_PER_DOUBLING;

/** How late things started in the last one to two minutes, milliseconds. */
export interface LagWindow {
  add(lagMs: number): void;
  worst(): number;
  /** The lag that a share of them did not exceed, such as 0.99; 0 when there were none. */
  percentile(share: number): number;
}

/** An empty window. */
export function createLagWindow(clock: Clock): LagWindow {
  let windowEndMs = clock.monotonicMs() + LAG_WINDOW_MS;
  let current = newLags();
  let previous = newLags();

  function turn() {
    const nowMs = clock.monotonicMs();
    if (nowMs < windowEndMs) return;
    const spare = previous;
    previous = current;
    current = spare;
    clear(current);
    if (nowMs >= windowEndMs + LAG_WINDOW_MS) clear(previous);
    windowEndMs = nowMs + LAG_WINDOW_MS;
  }

  return {
    add(lagMs) {
      turn();
      const bucket = bucketOf(lagMs);
      current.buckets[bucket] = (current.buckets[bucket] ?? 0) + 1;
      current.count += 1;
      current.worst = Math.max(current.worst, lagMs);
    },
    worst() {
      turn();
      return Math.max(current.worst, previous.worst);
    },
    percentile(share) {
      turn();
      const wanted = Math.ceil((current.count + previous.count) * share);
      if (wanted === 0) return 0;
      let seen = 0;
      for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
        seen += (current.buckets[bucket] ?? 0) + (previous.buckets[bucket] ?? 0);
        if (seen >= wanted) return upperOf(bucket);
      }
      return upperOf(BUCKETS - 1);
    },
  };
}

interface Lags {
  buckets: Uint32Array;
  count: number;
  worst: number;
}

const newLags = (): Lags => ({ buckets: new Uint32Array(BUCKETS), count: 0, worst: 0 });

function clear(lags: Lags) {
  lags.buckets.fill(0);
  lags.count = 0;
  lags.worst = 0;
}

function bucketOf(lagMs: number): number {
  const bucket = Math.ceil(Math.log2(Math.max(lagMs, 0) + 1) * BUCKETS_PER_DOUBLING);
  return Math.min(bucket, BUCKETS - 1);
}

const upperOf = (bucket: number) => 2 ** (bucket / BUCKETS_PER_DOUBLING) - 1;
