const SHORT_MS = 2 * 60_000;

/** Returns true if the moments are so close that only their seconds differ. Pure. */
export function needSeconds(moments: readonly number[]): boolean {
  return moments.length > 1 && Math.max(...moments) - Math.min(...moments) < SHORT_MS;
}
