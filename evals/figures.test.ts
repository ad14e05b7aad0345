import { describe, expect, test } from 'vitest';
import { plainOf, saysCount, saysDuration, saysMoment, saysPercent } from './criteria/figures.ts';
import { NOW_MS, november } from './week/planned-monitor.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

describe('a share of the time', () => {
  test.each([
    ['Video was up 98.946 % of the time.', 98.94578],
    ['Uptime: **98.95%**', 98.94578],
    ['98.94 percent', 98.94578],
    ['98.9 %', 98.94578],
    ['about 99 % of the time', 98.94578],
    ['98,95 %', 98.94578],
    ['98,95 Prozent', 98.94578],
    ['el 44,1 por ciento', 44.09722],
    ['It was 100 % up.', 100],
    ['| EU | 99.618% |', 99.61847],
    ['99.39 % (the service counts minutes)', 99.38827],
  ])('“%s” states it', (text, percent) => {
    expect(saysPercent(text, percent)).toBe(true);
  });

  test.each([
    ['99.95 %', 98.94578],
    ['98.5 %', 98.94578],
    ['98.9', 98.94578],
    ['1.05 % downtime', 98.94578],
    ['100 %', 99.97],
    ['100.0 %', 99.97],
    ['44 %', 44.5],
    ['It was fine.', 98.94578],
  ])('is not told by “%s”', (text, percent) => {
    expect(saysPercent(text, percent)).toBe(false);
  });
});

describe('a length of time', () => {
  test.each([
    ['for 15 hours 30 minutes', 15.5 * HOUR_MS],
    ['15.5 hours', 15.5 * HOUR_MS],
    ['15,5 Stunden', 15.5 * HOUR_MS],
    ['15 h 30 min', 15.5 * HOUR_MS],
    ['15h30m', 15.5 * HOUR_MS],
    ['930 minutes', 15.5 * HOUR_MS],
    ['55,800 seconds', 15.5 * HOUR_MS],
    ['3 days and 20 minutes', 3 * DAY_MS + 20 * MINUTE_MS],
    ['three days', 3 * DAY_MS + 20 * MINUTE_MS],
    ['3 Tage und 20 Minuten', 3 * DAY_MS + 20 * MINUTE_MS],
    ['3 días y 20 minutos', 3 * DAY_MS + 20 * MINUTE_MS],
    ['72 hours', 3 * DAY_MS + 20 * MINUTE_MS],
    ['a 21-minute outage', 21 * MINUTE_MS],
    ['zwölf Minuten', 12 * MINUTE_MS],
    ['an hour', HOUR_MS],
    ['6,038 ms', 6037.7],
    ['6.04 s', 6037.7],
    ['6,0 Sekunden', 6037.7],
    ['about 6 seconds', 6037.7],
    ['**22 minutes**', 22 * MINUTE_MS],
  ])('“%s” states it', (text, ms) => {
    expect(saysDuration(text, ms)).toBe(true);
  });

  test.each([
    ['15 hours 20 minutes', 15.5 * HOUR_MS],
    ['3 hours 20 minutes', 20 * MINUTE_MS],
    ['16 minutes', 15.5 * HOUR_MS],
    ['6.6 s', 6037.7],
    ['1 minute', 30_000],
    ['4 days', 3 * DAY_MS + 20 * MINUTE_MS],
    ['at 15:30 UTC', 15.5 * HOUR_MS],
    ['it took long', 6037.7],
  ])('is not told by “%s”', (text, ms) => {
    expect(saysDuration(text, ms)).toBe(false);
  });
});

describe('a moment', () => {
  test.each([
    ['since 11:48 UTC', '26 11:48'],
    ['since 2026-11-26T11:48:00Z', '26 11:48'],
    ['seit 11.48 Uhr', '26 11:48'],
    ['since 11:48 AM', '26 11:48'],
    ['at 2:20 pm on 24 November', '24 14:20'],
    ['24 Nov, 14:20 UTC', '24 14:20'],
    ['on November 24th at 14:20:00', '24 14:20'],
    ['am 24.11. um 14:20 Uhr', '24 14:20'],
    ['el 24 de noviembre a las 14:20', '24 14:20'],
    ['2026-11-24 14:20', '24 14:20'],
    ['on Tuesday at 14:20', '24 14:20'],
    ['yesterday at 09:05', '25 09:05'],
    ['gestern um 9:05 Uhr', '25 09:05'],
    ['11:58 UTC', '26 11:58:30'],
    ['11:59 UTC', '26 11:58:30'],
    ['11:58:30', '26 11:58:30'],
  ])('“%s” states it', (text, at) => {
    expect(saysMoment(text, november(at), NOW_MS)).toBe(true);
  });

  test.each([
    ['since 10:48 UTC', '26 11:48'],
    ['since 11:48 pm', '26 11:48'],
    ['at 14:20', '24 14:20'],
    ['on 23 November at 14:20', '24 14:20'],
    ['on 24 November', '24 14:20'],
    ['11:57:30', '26 11:58:30'],
    ['11.48 %', '26 11:48'],
    ['1 November 2024 14:20', '24 14:20'],
  ])('is not told by “%s”', (text, at) => {
    expect(saysMoment(text, november(at), NOW_MS)).toBe(false);
  });
});

describe('a number of something', () => {
  const incidents = 'incidents?|outages?|Vorfälle';

  test.each([
    ['There were 60 incidents.', 60],
    ['**60** incidents in 7 days', 60],
    ['Incidents: 60', 60],
    ['| Incidents | 60 |', 60],
    ['60 of 70 incidents', 60],
    ['Es gab 13 Vorfälle.', 13],
    ['seven short outages', 7],
    ['The incidents were 60 in all.', 60],
    ['There were no incidents.', 0],
    ['keine Vorfälle', 0],
  ])('“%s” states it', (text, number) => {
    expect(saysCount(text, number, incidents)).toBe(true);
  });

  test.each([
    ['There were 61 incidents.', 60],
    ['There were 160 incidents.', 60],
    ['60 minutes of incidents', 60],
    ['60 % of incidents', 60],
    ['incidents at 12:60', 60],
    ['It took 60. There were incidents.', 60],
    ['There were incidents.', 0],
    ['There were 3.60 incidents', 60],
  ])('is not told by “%s”', (text, number) => {
    expect(saysCount(text, number, incidents)).toBe(false);
  });
});

test('marks of Markdown are left out, and what is escaped stays', () => {
  expect(plainOf('**Shop \\*EU\\*** is `DOWN` ([page](https://example.com/a_b)), _now_')).toBe(
    'Shop *EU* is DOWN (page), now',
  );
  expect(plainOf('snake_case and 2 * 3')).toBe('snake_case and 2 * 3');
});
