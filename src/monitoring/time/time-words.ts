import { openZone } from './zone.ts';

/** A moment by the clock of a zone, such as `02:00 UTC`; with its date unless it is today. */
export function timeInWords(ms: number, timezone: string, nowMs: number): string {
  const clock = openZone(timezone);
  const [date = '', time] = clock(ms).split(' ');
  const today = clock(nowMs).startsWith(date);
  return `${today ? '' : `${date} `}${time} ${timezone}`;
}
