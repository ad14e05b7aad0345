import { z } from 'zod';
import { CommandError } from '../shared/errors.ts';

/** Daily quiet hours of a channel in a time zone. */
export const QuietHours = z.object({
  /** Minutes of the day, 0 to 1439. `to` is no longer quiet. If `to` is before `from`, it is on the next day. */
  fromMinute: z.int().min(0).max(1439),
  toMinute: z.int().min(0).max(1439),
  /** IANA name. */
  zone: z.string(),
});
export type QuietHours = z.infer<typeof QuietHours>;

const MINUTE_MS = 60_000;
const DAY_MINUTES = 1440;

/**
 * End of the quiet hours, or `undefined` outside of them. Hours follow the clocks of the zone: an hour that the clocks
 * repeat is quiet twice. Pure.
 */
export function quietUntilMs(hours: QuietHours, nowMs: number): number | undefined {
  const { toMinute, zone } = hours;
  let fromMs = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS;
  if (!isQuietAt(hours, fromMs)) return undefined;
  for (;;) {
    const leftMinutes = (toMinute - minuteOfDay(zone, fromMs) + DAY_MINUTES) % DAY_MINUTES;
    const untilMs = fromMs + leftMinutes * MINUTE_MS;
    if (minuteOfDay(zone, untilMs) === toMinute) return untilMs;
    // The clocks change before that.
    fromMs = setAtMs(zone, fromMs, untilMs);
    if (!isQuietAt(hours, fromMs)) return fromMs;
  }
}

/** `22:00–07:00` */
export function quietWords({ fromMinute, toMinute }: QuietHours): string {
  return `${clockWords(fromMinute)}–${clockWords(toMinute)}`;
}

const TIME_OF_DAY = /^(\d{1,2})(?::(\d{2}))?\s?(am|pm)?$/i;

/** Minute of the day for `9:00`, `09:00` or `9am`, and 1440 for `24:00`. `undefined` for other texts. Pure. */
export function readTimeOfDay(text: string): number | undefined {
  const [, hours, minutes, half] = TIME_OF_DAY.exec(text) ?? [];
  if (minutes === undefined && half === undefined) return undefined;
  const hour = Number(hours);
  if (half !== undefined && (hour < 1 || hour > 12)) return undefined;
  const inDay = half === undefined ? hour : (hour % 12) + (/pm/i.test(half) ? 12 : 0);
  const minute = inDay * 60 + Number(minutes ?? 0);
  return Number(minutes ?? 0) < 60 && minute <= DAY_MINUTES ? minute : undefined;
}

/** Minutes of the day for `22:00-07:00` or `22-7`. `undefined` for other texts and for an empty range. Pure. */
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

/** Corrects the case of a zone's name. `undefined` if there is no such zone. Pure. */
export function readZone(text: string): string | undefined {
  // Node also accepts offsets such as +02:00, which have no daylight saving.
  if (!/^[a-z][a-z0-9_+/-]*$/i.test(text)) return undefined;
  try {
    const { timeZone } = new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions();
    return timeZone.toLowerCase() === text.toLowerCase() ? timeZone : text;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Throws `CommandError` if there is no such zone. */
export function zoneIn(text: string): string {
  const zone = readZone(text);
  if (zone !== undefined) return zone;
  throw new CommandError(
    `Unknown time zone “${text}”. Use a name such as Europe/Berlin, America/New_York or UTC.`,
    { input: 'zone' },
  );
}

export const clockWords = (minute: number) =>
  [Math.floor(minute / 60), minute % 60].map((part) => String(part).padStart(2, '0')).join(':');

function isQuietAt({ fromMinute, toMinute, zone }: QuietHours, atMs: number): boolean {
  const minute = minuteOfDay(zone, atMs);
  return fromMinute < toMinute
    ? minute >= fromMinute && minute < toMinute
    : minute >= fromMinute || minute < toMinute;
}

/** The first minute after `fromMs` with the offset of `untilMs`. */
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

/** Offset from UTC within a day, enough to compare two. */
function offsetMinutes(zone: string, atMs: number): number {
  const utcMinute = Math.floor(atMs / MINUTE_MS) % DAY_MINUTES;
  return (minuteOfDay(zone, atMs) - utcMinute + DAY_MINUTES) % DAY_MINUTES;
}

/** Creating a format takes a hundred times as long as using it. */
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
