import { Cron as Croner } from 'croner';
import { memoize } from './memoize.ts';
import { openZone } from './zone.ts';

/** The times of a crontab, Unix milliseconds. */
export interface Cron {
  /** The first time strictly after a moment; `undefined` when there is none. */
  nextAfter(ms: number): number | undefined;
  /** The last time at or before a moment; `undefined` when there is none. */
  lastUpTo(ms: number): number | undefined;
}

/** Expressions kept parsed; croner takes about 70 kB for each. */
const MAX_KEPT = 500;

/**
 * Times of a crontab of five fields in a zone, daylight-saving safe.
 *
 * Clock changes are handled as by Debian's cron. A job at set times (neither minute nor hour begins with `*`) runs once a day: if
 * 02:30 doesn't exist, it runs at 03:00, and if 02:30 exists twice, at the first. A job that runs all the time, such as hourly,
 * keeps its pace: missing times are left out, and repeated times count twice.
 *
 * Throws a RangeError whose message says what to write if expression or zone is not valid, or the time never comes.
 * Source: cron(8) of Debian.
 */
export function parseCron(expression: string, timezone: string): Cron {
  return kept(JSON.stringify([expression, timezone]));
}

/** The fault of a crontab or its zone, with a sentence without a full stop; `undefined` if both are valid. */
export function cronFault(
  expression: string | undefined,
  timezone: string,
): { key: 'cron' | 'timezone'; message: string } | undefined {
  const refusalOf = (key: 'cron' | 'timezone', parse: () => unknown) => {
    try {
      parse();
      return undefined;
    } catch (error) {
      if (error instanceof RangeError) return { key, message: error.message };
      throw error;
    }
  };
  const zoneFault = refusalOf('timezone', () => openZone(timezone));
  if (zoneFault || expression === undefined) return zoneFault;
  return refusalOf('cron', () => parseCron(expression, timezone));
}

const kept = memoize(MAX_KEPT, (key: string): Cron => {
  const [expression, timezone]: [string, string] = JSON.parse(key);
  const { pattern, bothDays } = parseCronFields(expression);
  openZone(timezone);
  const croner = new Croner(pattern, {
    mode: '5-part',
    timezone,
    domAndDow: bothDays,
    // A list of hours is a job at set times too, as in Debian.
    fixedTimeRule: 'no-wildcard',
  });
  return {
    nextAfter: (ms) => croner.nextRun(new Date(ms))?.getTime(),
    lastUpTo: (ms) => croner.previousRuns(1, new Date(ms + 1))[0]?.getTime(),
  };
});

/** A crontab as croner reads it. */
interface CronFields {
  /** Five fields in numbers. Minute and hour keep a star that they begin with; everything else is a list of values. */
  pattern: string;
  /** A day must fit both day fields; otherwise either of them. */
  bothDays: boolean;
}

interface CronField {
  name: string;
  min: number;
  max: number;
  /** Names for `min` and the values after it. */
  names?: readonly string[];
}

const MINUTE: CronField = { name: 'minute', min: 0, max: 59 };

const HOUR: CronField = { name: 'hour', min: 0, max: 23 };

const DAY_OF_MONTH: CronField = { name: 'day of the month', min: 1, max: 31 };

const MONTH: CronField = {
  name: 'month',
  min: 1,
  max: 12,
  names: ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'],
};

/** Sunday is 0 and 7. */
const DAY_OF_WEEK: CronField = {
  name: 'day of the week',
  min: 0,
  max: 7,
  names: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'],
};

const DAYS_IN_MONTH = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/**
 * Reads the five fields of a crontab: numbers, lists, ranges, steps, and names of months and days.
 * Throws a RangeError with a sentence that says what to write. Source: crontab(5) of Debian.
 */
function parseCronFields(expression: string): CronFields {
  const words = expression.trim().split(/\s+/);
  const [minute = '', hour = '', day = '', month = '', weekday = ''] = words;
  if (words.length !== 5) {
    throw new RangeError(
      'must have five fields: minute, hour, day of the month, month and day of the week, such as 30 2 * * *',
    );
  }
  const minutes = parseField(minute, MINUTE);
  const hours = parseField(hour, HOUR);
  const daysOfMonth = parseField(day, DAY_OF_MONTH);
  const months = parseField(month, MONTH);
  const daysOfWeek = rising(parseField(weekday, DAY_OF_WEEK).map((value) => value % 7));
  // Also for steps such as */2: a crontab reads only the first character.
  const bothDays = day.startsWith('*') || weekday.startsWith('*');
  if (bothDays && !haveDay(months, daysOfMonth)) {
    throw new RangeError(
      'this never occurs, because none of its months has that day; use another day or month',
    );
  }
  // A star or a step tells croner that the job runs all the time; a crontab reads only the first character.
  const pattern = [
    minute.startsWith('*') ? minute : minutes,
    hour.startsWith('*') ? hour : hours,
    daysOfMonth,
    months,
    daysOfWeek,
  ];
  return { pattern: pattern.join(' '), bothDays };
}

function parseField(text: string, field: CronField): number[] {
  return rising(text.split(',').flatMap((part) => parsePart(part, field)));
}

function parsePart(part: string, field: CronField): number[] {
  const match = /^(?:(\*)|(\w+)(?:-(\w+))?)(?:\/(\d{1,2}))?$/.exec(part);
  if (!match) throw unreadable(part, field);
  const [, star, first, last, step] = match;
  if (step !== undefined && star === undefined && last === undefined) {
    throw new RangeError(
      `the ${field.name} '${part}' has a step without a range; use ${first}-${field.max}/${step}`,
    );
  }
  const from = first === undefined ? field.min : parseValue(first, part, field);
  const to = last === undefined ? (star ? field.max : from) : parseValue(last, part, field);
  if (to < from) {
    throw new RangeError(
      `the ${field.name} '${part}' ends before it begins; use two ranges with a comma between them`,
    );
  }
  // Seven is a second name of Sunday, and no eighth day to step to.
  const end = star && field === DAY_OF_WEEK ? 6 : to;
  const by = step === undefined ? 1 : Number(step);
  if (by === 0 || (step !== undefined && by > end - from)) {
    throw new RangeError(
      `the ${field.name} '${part}' has a step that is out of range; ${end > from ? `use one from 1 to ${end - from}` : 'leave it out'}`,
    );
  }
  return Array.from({ length: Math.floor((end - from) / by) + 1 }, (_, index) => from + index * by);
}

function parseValue(text: string, part: string, field: CronField): number {
  const named = field.names?.indexOf(text.toLowerCase()) ?? -1;
  if (named !== -1) return field.min + named;
  if (!/^\d{1,4}$/.test(text)) throw unreadable(part, field);
  const value = Number(text);
  if (value < field.min || value > field.max) {
    throw new RangeError(
      `the ${field.name} ${text} is out of range; use ${field.min} to ${field.max}`,
    );
  }
  return value;
}

function unreadable(part: string, field: CronField): RangeError {
  const names = field.names ? ` or names such as ${field.names[1]}` : '';
  return new RangeError(
    `the ${field.name} '${part}' is not valid; use numbers from ${field.min} to ${field.max}${names}, ` +
      'with , - * and / as in a crontab',
  );
}

/** Days of the week come in every month, and every date falls on each of them in time; dates need a month that has them. */
function haveDay(months: number[], daysOfMonth: number[]): boolean {
  const [firstDay = 1] = daysOfMonth;
  return months.some((month) => firstDay <= (DAYS_IN_MONTH[month - 1] ?? 0));
}

const rising = (values: number[]) => [...new Set(values)].sort((a, b) => a - b);
