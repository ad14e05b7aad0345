import type { CronFields } from './cron-fields.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** The calendar repeats itself after so many months: what does not come within them never comes. */
const MONTHS_IN_CYCLE = 400 * 12;

/** The first local time strictly after another, both in milliseconds as if local time were UTC. Pure. */
export function nextLocalMs(fields: CronFields, localMs: number): number | undefined {
  const fromDay = Math.floor(localMs / DAY_MS);
  const fromMinute = Math.floor((localMs - fromDay * DAY_MS) / MINUTE_MS) + 1;
  for (const day of daysFrom(fields, fromDay)) {
    const minute = firstMinute(fields, day === fromDay ? fromMinute : 0);
    if (minute !== undefined) return day * DAY_MS + minute * MINUTE_MS;
  }
  return undefined;
}

/** The days that fit, from one on; days are counted from 1970-01-01. */
function* daysFrom(fields: CronFields, fromDay: number): Generator<number> {
  const from = new Date(fromDay * DAY_MS);
  const year = from.getUTCFullYear();
  const fromMonth = from.getUTCMonth();
  for (let month = fromMonth; month <= fromMonth + MONTHS_IN_CYCLE; month++) {
    if (!fields.months.includes((month % 12) + 1)) continue;
    const firstDay = Date.UTC(year, month) / DAY_MS;
    const endDay = Date.UTC(year, month + 1) / DAY_MS;
    for (let day = Math.max(firstDay, fromDay); day < endDay; day++) {
      if (fits(fields, day - firstDay + 1, day)) yield day;
    }
  }
}

function fits(fields: CronFields, dayOfMonth: number, day: number): boolean {
  const byMonth = fields.daysOfMonth.includes(dayOfMonth);
  // 1970-01-01 was a Thursday; the second % is for days before it.
  const byWeek = fields.daysOfWeek.includes((((day + 4) % 7) + 7) % 7);
  return fields.bothDays ? byMonth && byWeek : byMonth || byWeek;
}

/** The first minute of the day that fits, from one on. */
function firstMinute({ hours, minutes }: CronFields, fromMinute: number): number | undefined {
  for (const hour of hours) {
    const minute = minutes.find((value) => hour * 60 + value >= fromMinute);
    if (minute !== undefined) return hour * 60 + minute;
  }
  return undefined;
}
