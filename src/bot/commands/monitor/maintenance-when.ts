import { durationProblem, notADuration, readDurationAt } from '../../../contracts/duration.ts';
import {
  type MaintenanceWindow,
  WEEKDAYS,
  type Weekday,
} from '../../../contracts/monitoring-additions.ts';
import { firstAtMs, wallDay, wallMs } from '../../../contracts/wall-time.ts';
import { clockWords, readTimeOfDay, readZone } from '../../channels/quiet-hours.ts';
import { CommandError } from '../../shared/errors.ts';
import { windowEndMs } from '../../shared/maintenance-words.ts';

/** One more window, or `off` for none. */
export type When = { window: MaintenanceWindow } | 'off';

/** The time of reading, and the time zone if the text names none. */
interface ReadAt {
  nowMs: number;
  zone: string;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const DAY_MINUTES = 1440;
const MAX_DAYS = 366;

export const WHEN_EXAMPLES =
  'sat 02:00 for 2h Europe/Berlin, next sun 02:00-04:00, 2026-12-01 22:00 for 90m, now for 30m, or off';

const SAY_HOW_LONG = 'Say how long: for 2h, or 02:00-04:00.';

/** The words so far. */
interface WhenParts {
  days?: Weekday[];
  /** `next sat` is once, `sat` is every week. */
  isNext?: boolean;
  /** `2026-12-01`, or a number of days from today. */
  date?: string | number;
  isNow?: boolean;
  minute?: number;
  /** It begins at 24:00, so on the next day. */
  isDayAfter?: boolean;
  lastsMinutes?: number;
  zone?: string;
}

/** Words without a meaning of their own. */
const FILLERS = new Set(['at', 'on', 'from', 'and', 'starting', 'every', 'each']);

const WORDS = new Map<string, WhenParts>([
  ['daily', { days: [...WEEKDAYS] }],
  ['next', { isNext: true }],
  ['now', { isNow: true }],
  ['today', { date: 0 }],
  ['tomorrow', { date: 1 }],
]);

/**
 * Reads a time such as `sat 02:00 for 2h Europe/Berlin`: a weekday repeats every week, a date is once. Throws a `CommandError`
 * that names the problem. Pure.
 */
export function readWhen(text: string, now: ReadAt): When {
  const words = text
    .trim()
    .replace(/(\d)\s+(am|pm)\b/gi, '$1$2')
    .replace(/\b(?:every|each)\s+days?\b/gi, 'daily')
    .split(/\s+/);
  if (words.length === 1 && words[0]?.toLowerCase() === 'off') return 'off';
  const parts: WhenParts = {};
  for (let at = 0; at < words.length; ) at += readWord(words, at, parts);
  const window = windowOf(parts, now);
  const endMs = windowEndMs(window);
  if (endMs !== undefined && endMs <= now.nowMs) throw wrong('That time has already passed.');
  return { window };
}

/**
 * Splits a line such as `Shop sat 02:00 for 2h` into a monitor and a time; `when` is absent if it has none. Throws like
 * `readWhen` if a time begins and can't be read. Pure.
 */
export function splitWhen(line: string, now: ReadAt): { monitor: string; when?: string } {
  const words = line.trim().split(/\s+/);
  let problem: unknown;
  for (let at = 1; at < words.length; at += 1) {
    if (!beginsTime(words[at] ?? '')) continue;
    const when = words.slice(at).join(' ');
    try {
      readWhen(when, now);
      return { monitor: words.slice(0, at).join(' '), when };
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      problem ??= error;
    }
  }
  // A name may contain a weekday; only a time has a length, a clock or a date.
  if (problem && /\sfor\s|\d:\d\d|\s\d{4}-\d\d-\d\d/.test(line)) throw problem;
  return { monitor: line.trim() };
}

function beginsTime(word: string): boolean {
  const lower = word.toLowerCase();
  return (
    WORDS.has(lower) ||
    ['off', 'every', 'each'].includes(lower) ||
    daysIn(lower) !== undefined ||
    /^(\d{4}-\d\d-\d\d|\d{1,2}(:\d\d|[ap]m))/i.test(word)
  );
}

/** Reads what begins at a word, and returns the number of words. */
function readWord(words: readonly string[], at: number, parts: WhenParts): number {
  const word = (words[at] ?? '').replace(/,$/, '');
  const lower = word.toLowerCase();
  if (FILLERS.has(lower)) return 1;
  const meaning = WORDS.get(lower);
  if (meaning) return set(parts, meaning);
  const days = daysIn(lower);
  if (days) {
    parts.days = WEEKDAYS.filter((day) => days.includes(day) || parts.days?.includes(day));
    return 1;
  }
  const [, date, , time] = /^(\d{4}-\d\d-\d\d)(T(\d{1,2}:\d\d))?$/i.exec(word) ?? [];
  if (date !== undefined) {
    requireDay(date, 'UTC');
    return set(parts, { date, ...(time !== undefined && startAt(time)) });
  }
  if (lower === 'for') {
    const { minutes, count } = lengthAt(words, at + 1);
    return set(parts, { lastsMinutes: minutes }, count + 1);
  }
  if (lower === 'to' || lower === 'until') {
    if (parts.minute === undefined) throw wrong(`Put a start time before “${word}”.`);
    const toMinute = minuteIn(words[at + 1] ?? '');
    return set(parts, { lastsMinutes: minutesBetween(parts.minute, toMinute) }, 2);
  }
  const [, from, to] = /^(\d[^-–—]*)[-–—](.+)$/.exec(word) ?? [];
  if (from !== undefined && to !== undefined) {
    const start = startAt(from);
    const toMinute = minuteIn(/^\d+$/.test(to) ? `${to}:00` : to);
    if (start.minute === toMinute) throw wrong('That begins and ends at the same time.');
    return set(parts, { ...start, lastsMinutes: minutesBetween(start.minute, toMinute) });
  }
  if (/^\d/.test(word)) return set(parts, startAt(word));
  const zone = readZone(word);
  if (zone !== undefined) return set(parts, { zone });
  throw wrong(
    word.includes('/')
      ? `Unknown time zone “${word}”. Use a name such as Europe/Berlin.`
      : `I didn't understand “${word}”. Use a day, a 24-hour time such as 03:00, or a time zone.`,
  );
}

/** Adds what words mean. Throws if they repeat something. */
function set(parts: WhenParts, more: WhenParts, count = 1): number {
  const isRepeated = Object.keys(more).some((key) => parts[key as keyof WhenParts] !== undefined);
  if (isRepeated) throw wrong('That says the same thing twice.');
  Object.assign(parts, more);
  return count;
}

function windowOf(parts: WhenParts, now: ReadAt): MaintenanceWindow {
  const { days, isNext, date, isNow, minute, isDayAfter, lastsMinutes } = parts;
  const { zone: timezone = now.zone } = parts;
  if (lastsMinutes === undefined) throw wrong(SAY_HOW_LONG);
  if (isNow) {
    if (days || isNext || date !== undefined || minute !== undefined) {
      throw wrong('Use either now or a time, not both.');
    }
    const utc = (ms: number) => new Date(ms).toISOString();
    return { starts_at: utc(now.nowMs), ends_at: utc(now.nowMs + lastsMinutes * MINUTE_MS) };
  }
  if (minute === undefined) throw wrong('Add a start time, such as 02:00.');
  if (days && date !== undefined) throw wrong('Use either weekdays or a date, not both.');
  const duration_minutes = lastsMinutes;
  if (days && !isNext) {
    if (lastsMinutes > 7 * DAY_MINUTES) throw wrong('Weekly maintenance can last a week at most.');
    const weekly = isDayAfter
      ? WEEKDAYS.filter((_, at) => days.includes(WEEKDAYS[(at + 6) % 7] as Weekday))
      : days;
    return { weekly, from: clockWords(minute), timezone, duration_minutes };
  }
  const day = dayOf(parts, { ...now, zone: timezone });
  const startDay = isDayAfter ? wallDay('UTC', Date.parse(`${day}T00:00:00Z`) + DAY_MS) : day;
  return { starts_at: `${startDay}T${clockWords(minute)}`, timezone, duration_minutes };
}

/** The day of a window that is once, such as `2026-12-01`. Without a day, the next one on which its time is still to come. */
function dayOf(
  { days, isNext, date, minute = 0, isDayAfter }: WhenParts,
  { nowMs, zone }: ReadAt,
): string {
  const inDays = (count: number) => wallDay('UTC', wallMs(zone, nowMs) + count * DAY_MS);
  if (typeof date === 'string') {
    requireDay(date, zone);
    return date;
  }
  if (date !== undefined) return inDays(date);
  if (isNext) {
    const [day, ...others] = days ?? [];
    if (!day || others.length > 0) throw wrong('Put one day after “next”, such as next sat.');
    const today = (new Date(wallMs(zone, nowMs)).getUTCDay() + 6) % 7;
    return inDays(((WEEKDAYS.indexOf(day) - today + 6) % 7) + 1);
  }
  const isToCome = isDayAfter || (wallMs(zone, nowMs) % DAY_MS) / MINUTE_MS <= minute;
  return inDays(isToCome ? 0 : 1);
}

/** Throws a `CommandError` for a date that doesn't exist, or that clocks of the zone skipped. */
function requireDay(date: string, zone: string): void {
  const noonMs = Date.parse(`${date}T12:00:00Z`);
  if (Number.isNaN(noonMs) || wallDay('UTC', noonMs) !== date) {
    throw wrong(`The date ${date} doesn't exist.`);
  }
  if (wallDay(zone, firstAtMs(zone, noonMs)) !== date) {
    throw wrong(`The date ${date} doesn't exist in ${zone}, where the clocks skipped it.`);
  }
}

/** The days in `sat`, `saturdays`, `mon,wed`, `mon-fri` or `weekdays`. */
function daysIn(word: string): Weekday[] | undefined {
  const parts = word.split(',').filter((part) => part !== '');
  const days = parts.map(dayRange);
  return parts.length > 0 && days.every((range) => range !== undefined) ? days.flat() : undefined;
}

function dayRange(text: string): Weekday[] | undefined {
  if (text === 'weekdays') return WEEKDAYS.slice(0, 5);
  if (text === 'weekends') return WEEKDAYS.slice(5);
  const [from = -1, to = from, ...more] = text.split(/[-–]/).map(dayIn);
  if (from < 0 || to < 0 || more.length > 0) return undefined;
  return [...WEEKDAYS, ...WEEKDAYS].slice(from, from + ((to - from + 7) % 7) + 1);
}

const DAY_NAMES = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];

/** The index of a weekday, or -1. */
function dayIn(word: string): number {
  const isShort = /^(...|tues|thurs)$/.test(word);
  return isShort
    ? WEEKDAYS.indexOf(word.slice(0, 3) as Weekday)
    : DAY_NAMES.indexOf(word.replace(/s$/, ''));
}

/** The length that begins at a word: `2h`, `2 hours 30 minutes`. */
function lengthAt(words: readonly string[], at: number): { minutes: number; count: number } {
  const length = readDurationAt(words, at);
  if (!length) {
    const word = words[at];
    throw wrong(word === undefined ? SAY_HOW_LONG : `${notADuration(word)}.`);
  }
  const text = words.slice(at, at + length.count).join(' ');
  const problem = durationProblem(text, { minMs: MINUTE_MS, maxMs: MAX_DAYS * DAY_MS });
  if (problem !== undefined) throw wrong(`${problem}.`);
  return { minutes: Math.round(length.ms / MINUTE_MS), count: length.count };
}

function minuteIn(text: string): number {
  const minute = readTimeOfDay(text);
  if (minute !== undefined) return minute;
  throw wrong(`I didn't understand “${text}”. Use a 24-hour time such as 03:00.`);
}

/** A start time. 24:00 is 00:00 of the next day. */
function startAt(text: string) {
  const minute = minuteIn(text);
  return minute === DAY_MINUTES ? { minute: 0, isDayAfter: true } : { minute };
}

/** Across midnight if necessary. */
const minutesBetween = (from: number, to: number) =>
  ((to - from + DAY_MINUTES - 1) % DAY_MINUTES) + 1;

const wrong = (sentence: string) =>
  new CommandError(`${sentence} Examples: ${WHEN_EXAMPLES}.`, { input: 'when' });
