const SHORT_MS = 2 * 60_000;

/** Whether what happened between these would have the same minutes, so that only seconds tell them apart. Pure. */
export function needSeconds(moments: readonly number[]): boolean {
  return moments.length > 1 && Math.max(...moments) - Math.min(...moments) < SHORT_MS;
}
