import { openZone } from './zone.ts';

const UNITS = [
  [86_400, 'day'],
  [3_600, 'hour'],
  [60, 'minute'],
] as const;

/** A length of time in the largest unit that says it without a rest, such as `90 minutes`. */
export function inWords(seconds: number): string {
  for (const [size, unit] of UNITS) {
    if (seconds % size === 0) return counted(seconds / size, unit);
  }
  return counted(seconds, 'second');
}

/** A moment as the clock of a zone shows it, such as `02:00 UTC`; with its date unless it is of today. */
export function timeInWords(ms: number, timezone: string, nowMs: number): string {
  const clock = openZone(timezone);
  const [date = '', time] = clock(ms).split(' ');
  const today = clock(nowMs).startsWith(date);
  return `${today ? '' : `${date} `}${time} ${timezone}`;
}

const counted = (count: number, unit: string) => `${count} ${unit}${count === 1 ? '' : 's'}`;
