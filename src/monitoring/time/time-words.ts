import { openZone } from './zone.ts';

/** A moment as the clock of a zone shows it, such as `02:00 UTC`; with its date unless it is of today. */
export function timeInWords(ms: number, timezone: string, nowMs: number): string {
  const clock = openZone(timezone);
  const [date = '', time] = clock(ms).split(' ');
  const today = clock(nowMs).startsWith(date);
  return `${today ? '' : `${date} `}${time} ${timezone}`;
}
