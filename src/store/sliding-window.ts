/** Amounts of the last `windowMs`. Times come from a clock that never goes back, milliseconds. */
export type SlidingWindow = ReturnType<typeof createSlidingWindow>;

/** Expired entries are cut off when there are this many, and no fewer than others. */
const MAX_LEFT = 1_000;

/**
 * An addition counts for `windowMs` to the millisecond. Each is entered and removed once, so cost doesn't grow with their number.
 * With `stepMs`, additions of one step are one entry that counts up to a step longer, which bounds the memory.
 */
export function createSlidingWindow(
  windowMs: number,
  stepMs = 0,
  /** Initial entries, in order of time. */
  entries: ReadonlyArray<{ atMs: number; amount: number }> = [],
) {
  let times = entries.map(({ atMs }) => atMs);
  let amounts = entries.map(({ amount }) => amount);
  /** Places before the first of the arrays, and places of the arrays that have expired. */
  let gone = 0;
  let left = 0;
  let total = entries.reduce((sum, { amount }) => sum + amount, 0);

  function drop(nowMs: number) {
    while (left < times.length && ((times[left] ?? 0) <= nowMs - windowMs || amounts[left] === 0)) {
      total -= amounts[left] ?? 0;
      left += 1;
    }
    if (left === 0) return;
    if (left < times.length && (left < MAX_LEFT || left < times.length / 2)) return;
    times = times.slice(left);
    amounts = amounts.slice(left);
    gone += left;
    left = 0;
  }

  return {
    /** The amount in the window. */
    used(nowMs: number): number {
      drop(nowMs);
      return total;
    },
    /** Counts so much from now on; gives the place to take it back from. */
    add(amount: number, nowMs: number): number {
      drop(nowMs);
      const time = stepMs === 0 ? nowMs : Math.ceil(nowMs / stepMs) * stepMs;
      if (times.at(-1) !== time) {
        times.push(time);
        amounts.push(0);
      }
      const last = times.length - 1;
      amounts[last] = (amounts[last] ?? 0) + amount;
      total += amount;
      return gone + last;
    },
    /** Counts so much less of what was added there, as if it had never been; nothing once it has left the window. */
    takeBack(place: number, amount: number): void {
      const at = place - gone;
      const there = amounts[at];
      if (at < left || there === undefined) return;
      amounts[at] = there - amount;
      total -= amount;
    },
    /** Until no more than `most` of what counts now still counts, milliseconds; 0 when that is so already. */
    waitMs(most: number, nowMs: number): number {
      drop(nowMs);
      let rest = total;
      let at = left;
      while (rest > most && at < times.length) {
        rest -= amounts[at] ?? 0;
        at += 1;
      }
      return at === left ? 0 : (times[at - 1] ?? 0) + windowMs - nowMs;
    },
    /** Until the oldest of what counts leaves, milliseconds; 0 when nothing counts. */
    oldestMs(nowMs: number): number {
      drop(nowMs);
      const oldest = times[left];
      return oldest === undefined ? 0 : oldest + windowMs - nowMs;
    },
    /** Until nothing counts any more, milliseconds; 0 when nothing does. */
    emptyMs(nowMs: number): number {
      drop(nowMs);
      const newest = times.at(-1);
      return newest === undefined ? 0 : newest + windowMs - nowMs;
    },
  };
}
