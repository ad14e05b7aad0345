import type { MaintenanceWindow } from '../../contracts/monitoring-additions.ts';
import { firstAtMs } from '../../contracts/wall-time.ts';
import { inWords } from './text-format.ts';

const MINUTE_MS = 60_000;

/** When a window is over for good, Unix milliseconds; `undefined` of one that comes back, or in a zone that is none. Pure. */
export function windowEndMs(window: MaintenanceWindow): number | undefined {
  if ('ends_at' in window) return Date.parse(window.ends_at);
  if (!('starts_at' in window)) return undefined;
  const { starts_at, timezone, duration_minutes } = window;
  try {
    return firstAtMs(timezone, Date.parse(`${starts_at}Z`)) + duration_minutes * MINUTE_MS;
  } catch (error) {
    // Another service may name zones that are not known here.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** When a window is, as it was set: `On Mon, Wed from 02:00 (Europe/Berlin), for 2 hours`. Pure. */
export function windowWords(window: MaintenanceWindow): string {
  if ('ends_at' in window) {
    return `From ${minuteWords(window.starts_at)} to ${minuteWords(window.ends_at)} UTC`;
  }
  const { timezone, duration_minutes } = window;
  const lasts = `for ${inWords(duration_minutes * MINUTE_MS)}`;
  if ('cron' in window) return `At ${window.cron} (crontab, ${timezone}), ${lasts}`;
  if ('starts_at' in window) {
    return `From ${minuteWords(window.starts_at)} (${timezone}), ${lasts}`;
  }
  return `${daysWords(window.weekly)} from ${window.from} (${timezone}), ${lasts}`;
}

const minuteWords = (time: string) => time.slice(0, 16).replace('T', ' ');

const daysWords = (days: readonly string[]) =>
  days.length === 7
    ? 'Every day'
    : `On ${days.map((day) => day.charAt(0).toUpperCase() + day.slice(1)).join(', ')}`;
