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
