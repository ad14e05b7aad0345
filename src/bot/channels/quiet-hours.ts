import { z } from 'zod';
import { CommandError } from '../shared/errors.ts';

/** Hours of every day in which a channel is left alone, by the clocks of a time zone. */
export const QuietHours = z.object({
  /** Minutes of the day, 0 to 1439. At `to` it is loud again; `to` before `from` is on the next day. */
  fromMinute: z.int().min(0).max(1439),
  toMinute: z.int().min(0).max(1439),
  /** As IANA names it. */
  zone: z.string(),
});
export type QuietHours = z.infer<typeof QuietHours>;

const MINUTE_MS = 60_000;
const DAY_MINUTES = 1440;

/**
 * When the quiet time of this moment is over; `undefined` when it is loud. It is quiet whenever the clocks of the zone show
 * a time from `from` on and before `to`, also when they are set: an hour that is shown twice is quiet twice. Pure.
 */
export function quietUntilMs(hours: QuietHours, nowMs: number): number | undefined {
  const { toMinute, zone } = hours;
  let fromMs = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS;
  if (!isQuietAt(hours, fromMs)) return undefined;
  for (;;) {
    const leftMinutes = (toMinute - minuteOfDay(zone, fromMs) + DAY_MINUTES) % DAY_MINUTES;
    const untilMs = fromMs + leftMinutes * MINUTE_MS;
    if (minuteOfDay(zone, untilMs) === toMinute) return untilMs;
    // The clocks are set before that.
    fromMs = setAtMs(zone, fromMs, untilMs);
    if (!isQuietAt(hours, fromMs)) return fromMs;
  }
}

/** The hours as people write them: `22:00–07:00`. */
export function quietWords({ fromMinute, toMinute }: QuietHours): string {
  return `${clockWords(fromMinute)}–${clockWords(toMinute)}`;
}

const TIME_OF_DAY = /^(\d{1,2})(?::(\d{2}))?\s?(am|pm)?$/i;

/** The minute of the day of `9:00`, `09:00` or `9am`; 1440 of `24:00`, which ends a day. `undefined` for other texts. Pure. */
export function readTimeOfDay(text: string): number | undefined {
  const [, hours, minutes, half] = TIME_OF_DAY.exec(text) ?? [];
  if (minutes === undefined && half === undefined) return undefined;
  const hour = Number(hours);
  if (half !== undefined && (hour < 1 || hour > 12)) return undefined;
  const inDay = half === undefined ? hour : (hour % 12) + (/pm/i.test(half) ? 12 : 0);
  const minute = inDay * 60 + Number(minutes ?? 0);
  return Number(minutes ?? 0) < 60 && minute <= DAY_MINUTES ? minute : undefined;
}

/** The minutes of the day in a text such as `22:00-07:00` or `22-7`; `undefined` when there are none, or no time between. Pure. */
export function readHours(text: string): Omit<QuietHours, 'zone'> | undefined {
  const [from = '', to = '', ...more] = text.split(/\s*(?:-|–|—|to)\s*/i);
  if (more.length > 0) return undefined;
  const [fromMinute, toMinute] = [from, to].map((time) => {
    const minute = readTimeOfDay(/^\d+$/.test(time) ? `${time}:00` : time);
    return minute === undefined ? undefined : minute % DAY_MINUTES;
  });
  if (fromMinute === undefined || toMinute === undefined || fromMinute === toMinute) {
    return undefined;
  }
  return { fromMinute, toMinute };
}

/** A time zone in the letter case of its name; `undefined` when there is no such zone. Pure. */
export function readZone(text: string): string | undefined {
  // What Node takes besides are fixed distances such as +02:00, which know no daylight saving.
  if (!/^[a-z][a-z0-9_+/-]*$/i.test(text)) return undefined;
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions();
    return timeZone.toLowerCase() === text.toLowerCase() ? timeZone : text;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** The time zone that is meant, as IANA names it. Throws a `CommandError` if there is no such zone. */
export function zoneIn(text: string): string {
  const zone = readZone(text);
  if (zone !== undefined) return zone;
  throw new CommandError(
    `Unknown time zone “${text}”. Use a name such as Europe/Berlin, America/New_York or UTC.`,
    { input: 'zone' },
  );
}

/** `09:00`, of a minute of the day. */
export const clockWords = (minute: number) =>
  [Math.floor(minute / 60), minute % 60].map((part) => String(part).padStart(2, '0')).join(':');

function isQuietAt({ fromMinute, toMinute, zone }: QuietHours, atMs: number): boolean {
  const minute = minuteOfDay(zone, atMs);
  return fromMinute < toMinute
    ? minute >= fromMinute && minute < toMinute
    : minute >= fromMinute || minute < toMinute;
}

/** The first minute after `fromMs` with the distance from UTC that the zone has at `untilMs`. */
function setAtMs(zone: string, fromMs: number, untilMs: number): number {
  const after = offsetMinutes(zone, untilMs);
  let before = fromMs;
  let at = untilMs;
  while (at - before > MINUTE_MS) {
    const middle = before + Math.floor((at - before) / 2 / MINUTE_MS) * MINUTE_MS;
    if (offsetMinutes(zone, middle) === after) at = middle;
    else before = middle;
  }
  return at;
}

/** How far the clocks of the zone are from UTC, within a day: enough to tell two distances apart. */
function offsetMinutes(zone: string, atMs: number): number {
  const utcMinute = Math.floor(atMs / MINUTE_MS) % DAY_MINUTES;
  return (minuteOfDay(zone, atMs) - utcMinute + DAY_MINUTES) % DAY_MINUTES;
}

/** Made once for each zone: it takes a hundred times as long as its use. */
const formats = new Map<string, Intl.DateTimeFormat>();

function minuteOfDay(zone: string, atMs: number): number {
  let format = formats.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat('en-GB', {
      timeZone: zone,
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
    });
    formats.set(zone, format);
  }
  const [hour = '', minute = ''] = format.format(atMs).split(':');
  return Number(hour) * 60 + Number(minute);
}
