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

/** What is wanted of the windows of monitors: one more, or none any more. */
export type When = { window: MaintenanceWindow } | 'off';

/** When it is read, and by whose clocks where no zone is named. */
interface Now {
  nowMs: number;
  zone: string;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const DAY_MINUTES = 1440;
const MAX_DAYS = 366;

/** How it is written, for whoever wrote it otherwise. */
export const WHEN_EXAMPLES =
  'sat 02:00 for 2h Europe/Berlin, next sun 02:00-04:00, 2026-12-01 22:00 for 90m, now for 30m, or off';

const SAY_HOW_LONG = 'Say how long: for 2h, or 02:00-04:00.';

/** Words that say nothing. */
const FILLERS = new Set(['at', 'on', 'from', 'and', 'starting']);

/** Words that a time can begin with, besides days, dates and times of day. */
const BEGINS = new Set(['now', 'off', 'every', 'each', 'next', 'daily', 'today', 'tomorrow']);

/** What words have said so far. */
interface Said {
  days?: Weekday[];
  /** `next sat` is once, `sat` is every week. */
  isNext?: boolean;
  /** As `2026-12-01`; or so many days from today. */
  date?: string | number;
  isNow?: boolean;
  minute?: number;
  /** It begins at 24:00, so on the day after. */
  isDayAfter?: boolean;
  lastsMinutes?: number;
  zone?: string;
}

/**
 * What a text such as `sat 02:00 for 2h Europe/Berlin` wants: a day of the week comes back every week, a date is once. Throws a
 * `CommandError` that says what is missing, or what cannot be read. Pure.
 */
export function readWhen(text: string, now: Now): When {
  const words = text
    .trim()
    .replace(/(\d)\s+(am|pm)\b/gi, '$1$2')
    .split(/\s+/);
  if (words.length === 1 && words[0]?.toLowerCase() === 'off') return 'off';
  const said: Said = {};
  for (let at = 0; at < words.length; ) at += readWord(words, at, said);
  const window = windowOf(said, now);
  const endMs = windowEndMs(window);
  if (endMs !== undefined && endMs <= now.nowMs) throw wrong('That time has already passed.');
  return { window };
}

/**
 * A line with a monitor and a time behind it, such as `Shop sat 02:00 for 2h`, as the two; without `when` where it names none.
 * Throws what `readWhen` throws where a time begins and cannot be read. Pure.
 */
export function splitWhen(line: string, now: Now): { monitor: string; when?: string } {
  const words = line.trim().split(/\s+/);
  let fault: unknown;
  for (let at = 1; at < words.length; at += 1) {
    if (!beginsTime(words[at] ?? '')) continue;
    const when = words.slice(at).join(' ');
    try {
      readWhen(when, now);
      return { monitor: words.slice(0, at).join(' '), when };
    } catch (error) {
      if (!(error instanceof CommandError)) throw error;
      fault ??= error;
    }
  }
  // A name may have a weekday in it; only a time has a length, a clock or a date.
  if (fault && /\sfor\s|\d:\d\d|\s\d{4}-\d\d-\d\d/.test(line)) throw fault;
  return { monitor: line.trim() };
}

function beginsTime(word: string): boolean {
  const lower = word.toLowerCase();
  return (
    BEGINS.has(lower) ||
    daysIn(lower) !== undefined ||
    /^\d{4}-\d\d-\d\d/.test(word) ||
    /^\d{1,2}(:\d\d|[ap]m)/i.test(word)
  );
}

/** Reads what begins at a word, and tells how many words that are. */
function readWord(words: readonly string[], at: number, said: Said): number {
  const word = (words[at] ?? '').replace(/,$/, '');
  const lower = word.toLowerCase();
  if (FILLERS.has(lower)) return 1;
  if (lower === 'every' || lower === 'each') {
    if (/^days?$/i.test(words[at + 1] ?? '')) return set(said, { days: [...WEEKDAYS] }, 2);
    return 1;
  }
  if (lower === 'daily') return set(said, { days: [...WEEKDAYS] });
  if (lower === 'next') return set(said, { isNext: true });
  if (lower === 'now') return set(said, { isNow: true });
  if (lower === 'today') return set(said, { date: 0 });
  if (lower === 'tomorrow') return set(said, { date: 1 });
  const days = daysIn(lower);
  if (days) {
    const all = WEEKDAYS.filter((day) => days.includes(day) || said.days?.includes(day));
    said.days = all;
    return 1;
  }
  const [, date, , time] = /^(\d{4}-\d\d-\d\d)(T(\d{1,2}:\d\d))?$/i.exec(word) ?? [];
  if (date !== undefined) {
    requireDay(date, 'UTC');
    return set(said, { date, ...(time !== undefined && beginAt(time)) });
  }
  if (lower === 'for') {
    const { minutes, count } = lengthAt(words, at + 1);
    return set(said, { lastsMinutes: minutes }, count + 1);
  }
  if (lower === 'to' || lower === 'until') {
    if (said.minute === undefined) throw wrong(`Put a start time before “${word}”.`);
    const toMinute = minuteIn(words[at + 1] ?? '');
    return set(said, { lastsMinutes: minutesBetween(said.minute, toMinute) }, 2);
  }
  const [, from, to] = /^(\d[^-–—]*)[-–—](.+)$/.exec(word) ?? [];
  if (from !== undefined && to !== undefined) {
    const begin = beginAt(from);
    const toMinute = minuteIn(/^\d+$/.test(to) ? `${to}:00` : to);
    if (begin.minute === toMinute) throw wrong('That begins and ends at the same time.');
    return set(said, { ...begin, lastsMinutes: minutesBetween(begin.minute, toMinute) });
  }
  if (/^\d/.test(word)) return set(said, beginAt(word));
  const zone = readZone(word);
  if (zone !== undefined) return set(said, { zone });
  throw wrong(
    word.includes('/')
      ? `Unknown time zone “${word}”. Use a name such as Europe/Berlin.`
      : `I didn't understand “${word}”. Use a day, a 24-hour time such as 03:00, or a time zone.`,
  );
}

/** Notes what words say; throws when they say it a second time. */
function set(said: Said, more: Said, count = 1): number {
  const twice = Object.keys(more).find((key) => said[key as keyof Said] !== undefined);
  if (twice !== undefined) throw wrong('That says the same thing twice.');
  Object.assign(said, more);
  return count;
}

function windowOf(said: Said, now: Now): MaintenanceWindow {
  const { days, isNext, date, isNow, minute, isDayAfter, lastsMinutes } = said;
  const { zone: timezone = now.zone } = said;
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
  const named = dayOf(said, { ...now, zone: timezone });
  const day = isDayAfter ? wallDay('UTC', Date.parse(`${named}T00:00:00Z`) + DAY_MS) : named;
  return { starts_at: `${day}T${clockWords(minute)}`, timezone, duration_minutes };
}

/** The one day that is meant, as `2026-12-01`; the next one on which its time is still to come where none is said. */
function dayOf({ days, isNext, date, minute = 0, isDayAfter }: Said, { nowMs, zone }: Now): string {
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

/** Throws a `CommandError` for a date that no calendar has, or that the clocks of a zone left out. */
function requireDay(date: string, zone: string): void {
  const noonMs = Date.parse(`${date}T12:00:00Z`);
  if (Number.isNaN(noonMs) || wallDay('UTC', noonMs) !== date) {
    throw wrong(`The date ${date} doesn't exist.`);
  }
  if (wallDay(zone, firstAtMs(zone, noonMs)) !== date) {
    throw wrong(`The date ${date} doesn't exist in ${zone}, where the clocks skipped it.`);
  }
}

const SPANS: Record<string, readonly Weekday[]> = {
  weekdays: WEEKDAYS.slice(0, 5),
  weekends: WEEKDAYS.slice(5),
};

/** The days in `sat`, `saturdays`, `mon,wed` or `mon-fri`; `undefined` when it is anything else. */
function daysIn(word: string): Weekday[] | undefined {
  const parts = word.split(',').filter((part) => part !== '');
  const found = parts.map((part) => {
    if (SPANS[part]) return SPANS[part];
    const [from, to, ...more] = part.split(/[-–]/).map(dayIn);
    if (more.length > 0 || from === undefined) return undefined;
    if (!/[-–]/.test(part)) return [from];
    if (to === undefined) return undefined;
    const count = (WEEKDAYS.indexOf(to) - WEEKDAYS.indexOf(from) + 7) % 7;
    return WEEKDAYS.map((_, at) => at)
      .filter((at) => at <= count)
      .map((at) => WEEKDAYS[(WEEKDAYS.indexOf(from) + at) % 7] as Weekday);
  });
  if (parts.length === 0 || found.includes(undefined)) return undefined;
  return found.flatMap((days) => days ?? []);
}

const DAY_NAMES = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];

function dayIn(word: string): Weekday | undefined {
  const singular = word.replace(/s$/, '');
  const short = word.slice(0, 3) as Weekday;
  const isDay = word === short || word === 'tues' || word === 'thurs';
  return WEEKDAYS.includes(short) && (isDay || DAY_NAMES.includes(singular)) ? short : undefined;
}

/** How long it lasts, from a word on: `2h`, `2 hours 30 minutes`; in minutes, and how many words say it. */
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

/** When it begins: 24:00 is 00:00 of the day after. */
function beginAt(text: string) {
  const minute = minuteIn(text);
  return minute === DAY_MINUTES ? { minute: 0, isDayAfter: true } : { minute };
}

/** Over midnight where it has to be. */
const minutesBetween = (from: number, to: number) =>
  ((to - from + DAY_MINUTES - 1) % DAY_MINUTES) + 1;

const wrong = (sentence: string) =>
  new CommandError(`${sentence} Examples: ${WHEN_EXAMPLES}.`, { input: 'when' });
