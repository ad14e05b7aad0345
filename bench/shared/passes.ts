/** The middle value; of an even number, the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)];
  const lower = sorted[Math.ceil(sorted.length / 2) - 1];
  return upper === undefined || lower === undefined ? Number.NaN : (upper + lower) / 2;
}

/** Returns the subjects in this pass's order, which is reversed each time. */
export function inTurn<T>(pass: number, subjects: readonly T[]): T[] {
  return pass % 2 === 0 ? [...subjects] : [...subjects].reverse();
}

/** Remaining time for repeated measurements. */
export interface Patience {
  /** For each reading. */
  repeats: number;
  /** For the whole run, milliseconds. */
  leftMs: number;
}

/** Measures again while others disturb it, as long as patience lasts; gives the least disturbed reading. */
export async function quietest<T>(
  measure: () => Promise<T>,
  noiseOf: (reading: T) => number,
  options: { bearable: number; patience: Patience },
): Promise<T> {
  const { bearable, patience } = options;
  let best = await measure();
  for (let left = patience.repeats; left > 0 && noiseOf(best) > bearable; left -= 1) {
    if (patience.leftMs <= 0) return best;
    const startMs = performance.now();
    const next = await measure();
    patience.leftMs -= performance.now() - startMs;
    if (noiseOf(next) < noiseOf(best)) best = next;
  }
  return best;
}
