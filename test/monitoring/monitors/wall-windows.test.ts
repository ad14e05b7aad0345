import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  MaintenanceChange,
  MaintenanceWindow,
  WEEKDAYS,
} from '../../../src/contracts/monitoring-additions.ts';
import {
  checkWindows,
  comingSpan,
  maintenanceAt,
} from '../../../src/monitoring/monitors/maintenance.ts';
import { long } from '../../helpers/long.ts';

const MINUTE_MS = 60_000;
const DAY_MINUTES = 1440;

/** When clocks are set: days on which that happens, and what they do. */
const CHANGES = [
  { zone: 'Europe/Berlin', day: '2026-10-25', how: '02:00 to 03:00 twice' },
  { zone: 'Europe/Berlin', day: '2027-03-28', how: '02:00 to 03:00 never' },
  { zone: 'America/New_York', day: '2026-11-01', how: '01:00 to 02:00 twice' },
  { zone: 'America/New_York', day: '2027-03-14', how: '02:00 to 03:00 never' },
  { zone: 'Australia/Lord_Howe', day: '2027-04-04', how: 'half an hour twice' },
  { zone: 'Australia/Lord_Howe', day: '2027-10-03', how: 'half an hour never' },
  { zone: 'Australia/Sydney', day: '2027-04-04', how: '02:00 to 03:00 twice' },
  { zone: 'Australia/Sydney', day: '2027-10-03', how: '02:00 to 03:00 never' },
  { zone: 'America/Sao_Paulo', day: '2018-11-04', how: 'no midnight' },
  { zone: 'America/Sao_Paulo', day: '2019-02-17', how: '23:00 to 24:00 twice' },
  { zone: 'Antarctica/Troll', day: '2027-03-28', how: 'two hours never' },
  { zone: 'Pacific/Apia', day: '2011-12-30', how: 'a day that never was' },
  { zone: 'Pacific/Kiritimati', day: '1994-12-31', how: 'a day that never was' },
  { zone: 'Asia/Kathmandu', day: '2026-10-25', how: 'nothing' },
];

/** Days before and after a clock change, for windows that begin before it and after it. */
const DAYS_AROUND = 6;

/** The local time of a zone, minute by minute, such as `2026-10-25 02:30`. Slow, but only based on `Intl`. */
function shownEachMinute(zone: string, startMs: number): string[] {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    ...{ year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit' },
  });
  return Array.from({ length: 2 * DAYS_AROUND * DAY_MINUTES }, (_, minute) => {
    const parts = format.formatToParts(startMs + minute * MINUTE_MS);
    const part = (type: string) => parts.find((one) => one.type === type)?.value;
    return `${part('year')}-${part('month')}-${part('day')} ${part('hour')}:${part('minute')}`;
  });
}

/** The minutes at which a window begins: the first that shows its time, or a later one. */
function startsByClock(window: MaintenanceWindow, shown: readonly string[]): number[] {
  const firstFrom = (text: string) => shown.findIndex((one) => one >= text);
  if ('starts_at' in window) return [firstFrom(window.starts_at.replace('T', ' '))];
  if (!('weekly' in window)) throw new TypeError('It has no weekly times.');
  const { weekly, from } = window;
  const [first = ''] = shown;
  return Array.from({ length: 2 * DAYS_AROUND }, (_, days) => {
    const day = new Date(Date.parse(`${first.slice(0, 10)}T00:00Z`) + days * 86_400_000);
    const name = WEEKDAYS[(day.getUTCDay() + 6) % 7];
    if (!name || !weekly.includes(name)) return -1;
    const text = `${day.toISOString().slice(0, 10)} ${from}`;
    return text < first ? -1 : firstFrom(text);
  }).filter((minute) => minute >= 0);
}

describe.each(CHANGES)('minute by minute in $zone around $day ($how)', ({ zone, day }) => {
  const startMs = Date.parse(`${day}T00:00Z`) - DAYS_AROUND * DAY_MINUTES * MINUTE_MS;
  const shown = shownEachMinute(zone, startMs);

  const clock = fc.oneof(
    fc.constantFrom('00:00', '00:30', '01:45', '02:00', '02:15', '02:30', '03:00', '23:30'),
    fc
      .tuple(fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 59 }))
      .map((parts) => parts.map((part) => String(part).padStart(2, '0')).join(':')),
  );
  const minutes = fc.oneof(
    fc.constantFrom(1, 30, 60, 90, 120, DAY_MINUTES),
    fc.integer({ min: 1, max: 2000 }),
  );
  const weekly = fc
    .record({ weekly: fc.subarray([...WEEKDAYS], { minLength: 1 }), from: clock, minutes })
    .map(({ minutes: duration_minutes, ...rest }) => ({
      ...rest,
      timezone: zone,
      duration_minutes,
    }));
  const once = fc
    .record({ away: fc.integer({ min: -2, max: 2 }), from: clock, minutes })
    .map(({ away, from, minutes: duration_minutes }) => ({
      starts_at: `${new Date(Date.parse(`${day}T00:00Z`) + away * 86_400_000).toISOString().slice(0, 10)}T${from}`,
      timezone: zone,
      duration_minutes,
    }));

  test('a window begins when the clocks show its time, and lasts its minutes', () => {
    const property = fc.property(fc.oneof(weekly, once), (given) => {
      const window = MaintenanceWindow.parse(given);
      const starts = startsByClock(window, shown);
      const covered = (minute: number) =>
        starts.some((start) => start <= minute && minute < start + given.duration_minutes);
      const last = (DAYS_AROUND + 4) * DAY_MINUTES;
      let change = 0;
      // Windows that began before the first minute are unknown.
      for (let minute = 2 * DAY_MINUTES; minute < last; minute += 1) {
        const answer = maintenanceAt([window], startMs + minute * MINUTE_MS);
        if ((answer.window !== undefined) !== covered(minute)) {
          expect.fail(
            `${shown[minute]}: ${answer.window ? 'in' : 'out'} of ${JSON.stringify(window)}`,
          );
        }
        const next = ((answer.changesMs ?? Infinity) - startMs) / MINUTE_MS;
        if (next === change || next >= last) continue;
        change = next;
        expect(covered(change)).not.toBe(covered(change - 1));
      }
    });
    fc.assert(property, { numRuns: long ? 400 : 25 });
  });
});

const window = (given: Record<string, unknown>) => MaintenanceWindow.parse(given);

const span = (given: Record<string, unknown>, time: string) => {
  const found = comingSpan(window(given), Date.parse(time));
  return (
    found && [found.startsMs, found.endsMs].map((ms) => new Date(ms).toISOString().slice(0, 16))
  );
};

test.each([
  {
    name: 'one window at a time that never was',
    given: { starts_at: '2027-03-28T02:30', timezone: 'Europe/Berlin', duration_minutes: 60 },
    time: '2027-03-01T00:00Z',
    is: ['2027-03-28T01:00', '2027-03-28T02:00'],
  },
  {
    name: 'one that goes on',
    given: { starts_at: '2026-12-01T22:00', timezone: 'America/New_York', duration_minutes: 90 },
    time: '2026-12-02T04:29:59.999Z',
    is: ['2026-12-02T03:00', '2026-12-02T04:30'],
  },
  {
    name: 'one that is over',
    given: { starts_at: '2026-12-01T22:00', timezone: 'America/New_York', duration_minutes: 90 },
    time: '2026-12-02T04:30Z',
    is: undefined,
  },
  {
    name: 'a crontab',
    given: { cron: '0 3 * * 1', duration_minutes: 10 },
    time: '2026-11-27T00:00Z',
    is: ['2026-11-30T03:00', '2026-11-30T03:10'],
  },
])('$name', ({ given, time, is }) => {
  expect(span(given, time)).toEqual(is);
});

test('days of a week are kept once and in its order', () => {
  const given = { weekly: ['sun', 'mon', 'sun'], from: '02:00', duration_minutes: 5 };
  expect(window(given)).toEqual({ ...given, weekly: ['mon', 'sun'], timezone: 'UTC' });
});

test.each([
  {
    given: { starts_at: '2026-02-30T22:00', timezone: 'UTC', duration_minutes: 9 },
    says: 'no such',
  },
  {
    given: { starts_at: '2026-12-01T22:00Z', timezone: 'UTC', duration_minutes: 9 },
    says: 'without Z',
  },
  {
    given: { starts_at: '9999-12-31T24:00', timezone: 'UTC', duration_minutes: 9 },
    says: 'no such',
  },
  { given: { weekly: ['sat'], from: '24:00', duration_minutes: 9 }, says: '24-hour time' },
  { given: { weekly: [], from: '02:00', duration_minutes: 9 }, says: '>=1' },
  { given: { weekly: ['sat'], from: '02:00', duration_minutes: 10_081 }, says: '<=10080' },
])('refuses $given', ({ given, says }) => {
  const found = MaintenanceChange.safeParse({ windows: [given] });
  expect(JSON.stringify(found.error?.issues)).toContain(says);
});

test.each([
  { weekly: ['sat'], from: '02:00', timezone: 'Europe/Berlim', duration_minutes: 9 },
  { starts_at: '2026-12-01T22:00', timezone: '+01:00', duration_minutes: 9 },
])('names the zone of %o, which is none', (given) => {
  expect(checkWindows([window(given)])).toMatchObject({ param: 'windows.0.timezone' });
});

test('the zone of a window may be written in any letters without being remembered for each', () => {
  const given = { weekly: ['sat'], from: '02:00', timezone: 'eUROPE/berlin', duration_minutes: 9 };
  expect(checkWindows([window(given)])).toBeUndefined();
  expect(span(given, '2026-12-01T00:00Z')).toEqual(['2026-12-05T01:00', '2026-12-05T01:09']);
});
