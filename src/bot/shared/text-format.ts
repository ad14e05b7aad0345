const UNITS = [
  { name: 'day', ms: 86_400_000 },
  { name: 'hour', ms: 3_600_000 },
  { name: 'minute', ms: 60_000 },
  { name: 'second', ms: 1000 },
] as const;

/** A length of time in its two largest units: `1 hour 5 minutes`, `45 seconds`; at least a second. */
export function inWords(ms: number): string {
  let left = Math.max(1000, Math.round(ms / 1000) * 1000);
  const parts: string[] = [];
  for (const { name, ms: unitMs } of UNITS) {
    const count = Math.floor(left / unitMs);
    if (count > 0) parts.push(counted(count, name));
    // The second unit follows the first or is left out: "1 day 5 seconds" says more than anyone asks.
    if (parts.length > 0 && (count === 0 || parts.length === 2)) break;
    left -= count * unitMs;
  }
  return parts.join(' ');
}

/** `1 monitor`, `2 monitors`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** A text of at most `max` characters; `…` stands for what is left out. */
export function shortened(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max - 1)}…` : text;
}

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
