import type {
  ComingWindow,
  MaintenanceWindow,
  PlannedWindow,
} from '../../contracts/monitoring-additions.ts';
import { firstAtMs, wallMs } from '../../contracts/wall-time.ts';
import { inWords } from './text-format.ts';

const MINUTE_MS = 60_000;

/** End of a window, Unix milliseconds; `undefined` if it repeats or its zone is unknown. Pure. */
export function windowEndMs(window: MaintenanceWindow): number | undefined {
  if ('ends_at' in window) return Date.parse(window.ends_at);
  if (!('starts_at' in window)) return undefined;
  const { starts_at, timezone, duration_minutes } = window;
  if (!isZone(timezone)) return undefined;
  return firstAtMs(timezone, Date.parse(`${starts_at}Z`)) + duration_minutes * MINUTE_MS;
}

/** `Every Mon, Wed from 02:00 (Europe/Berlin), for 2 hours`. Pure. */
export function windowWords(window: MaintenanceWindow): string {
  if ('ends_at' in window) {
    return `From ${minuteWords(window.starts_at)} UTC to ${minuteWords(window.ends_at)} UTC`;
  }
  const { timezone, duration_minutes } = window;
  const lasts = `for ${inWords(duration_minutes * MINUTE_MS)}`;
  if ('cron' in window) return `At ${window.cron} (crontab, ${timezone}), ${lasts}`;
  if ('starts_at' in window) {
    return `From ${minuteWords(window.starts_at)} (${timezone}), ${lasts}`;
  }
  return `${daysWords(window.weekly)} from ${window.from} (${timezone}), ${lasts}`;
}

/** The ongoing or next window of one or several monitors. */
export type PlannedTogether = Omit<PlannedWindow, 'monitor' | 'name'> & {
  monitors: Array<{ id: string; name: string }>;
};

/** Merges windows of several monitors with equal time and reason. Pure. */
export function plannedTogether(windows: readonly PlannedWindow[]): PlannedTogether[] {
  const together = new Map<string, PlannedTogether>();
  for (const { monitor: id, name, ...window } of windows) {
    const { starts_at, ends_at, timezone, repeats, reason } = window;
    const key = JSON.stringify([starts_at, ends_at, timezone, repeats, reason]);
    const known = together.get(key);
    if (known) known.monitors.push({ id, name });
    else together.set(key, { ...window, monitors: [{ id, name }] });
  }
  return [...together.values()];
}

/** `Shop, Cart and 5 more`. Pure. */
export function monitorNames({
  monitors,
  more = 0,
}: {
  monitors: ReadonlyArray<{ name: string }>;
  more?: number;
}): string {
  const names = monitors.map(({ name }) => name).join(', ');
  return more > 0 ? `${names} and ${more} more` : names;
}

/** `Sat 5 Dec 02:00–04:00 (Europe/Berlin)` in its zone, or `until …` if it is ongoing. Pure. */
export function comingWords(
  { starts_at, ends_at, timezone }: Pick<ComingWindow, 'starts_at' | 'ends_at' | 'timezone'>,
  nowMs: number,
): string {
  const zone = isZone(timezone) ? timezone : 'UTC';
  const start = wallParts(zone, Date.parse(starts_at));
  const end = wallParts(zone, Date.parse(ends_at));
  if (Date.parse(starts_at) <= nowMs) {
    const today = wallParts(zone, nowMs).day;
    return `until ${today === end.day ? '' : `${end.day} `}${end.time} (${zone})`;
  }
  const until = start.day === end.day ? end.time : `${end.day} ${end.time}`;
  return `${start.day} ${start.time}–${until} (${zone})`;
}

function wallParts(zone: string, atMs: number): { day: string; time: string } {
  // `Sat, 05 Dec 2026 02:00:00 GMT`.
  const [weekday = '', day = '', month = '', , time = ''] = new Date(wallMs(zone, atMs))
    .toUTCString()
    .split(' ');
  return { day: `${weekday.slice(0, 3)} ${Number(day)} ${month}`, time: time.slice(0, 5) };
}

/** Another service may know other zones. */
function isZone(timezone: string): boolean {
  try {
    wallMs(timezone, 0);
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

const minuteWords = (time: string) => time.slice(0, 16).replace('T', ' ');

const daysWords = (days: readonly string[]) =>
  days.length === 7
    ? 'Every day'
    : `Every ${days.map((day) => day.charAt(0).toUpperCase() + day.slice(1)).join(', ')}`;
