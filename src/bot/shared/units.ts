/**
 * One bar for each value, from the lowest value up. The scale reaches at least to its double, so that a jitter is no
 * mountain, and at most to ten times the median, so that one huge value does not flatten all others. Pure.
 */
export function sparkline(values: readonly number[]): string {
  const inOrder = [...values].sort((a, b) => a - b);
  const lowest = inOrder[0] ?? 0;
  const median = inOrder[Math.floor(inOrder.length / 2)] ?? 0;
  const highest = Math.max(Math.min(inOrder.at(-1) ?? 0, 10 * median), 2 * lowest);
  const span = highest - lowest || 1;
  return values
    .map((value) => {
      const height = Math.min(1, (value - lowest) / span);
      return BARS[Math.round(height * (BARS.length - 1))];
    })
    .join('');
}

/** A response time as people say it: `<1 ms`, `120 ms`, `2.4 s`, `12 s`. Pure. */
export function inUnits(ms: number): string {
  if (ms < 0.5) return '<1 ms';
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  return ms < 9_950 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`;
}

const BARS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
