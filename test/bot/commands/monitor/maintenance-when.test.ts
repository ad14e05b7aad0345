import { expect, test } from 'vitest';
import { readWhen, splitWhen } from '../../../../src/bot/commands/monitor/maintenance-when.ts';

/** A Friday, 12:30 in Berlin. */
const NOW = { nowMs: Date.parse('2026-11-27T11:30:00Z'), zone: 'Europe/Berlin' };
const zone = { timezone: 'Europe/Berlin' };

test.each([
  [
    'sat 02:00 for 2h America/New_York',
    { weekly: ['sat'], from: '02:00', timezone: 'America/New_York', duration_minutes: 120 },
  ],
  [
    'every Saturday at 2:00 for 2h',
    { weekly: ['sat'], from: '02:00', ...zone, duration_minutes: 120 },
  ],
  [
    'mon, wed and fri 22:00 to 01:00',
    { weekly: ['mon', 'wed', 'fri'], from: '22:00', ...zone, duration_minutes: 180 },
  ],
  [
    'fri-mon 00:00 for 24h',
    { weekly: ['mon', 'fri', 'sat', 'sun'], from: '00:00', ...zone, duration_minutes: 1440 },
  ],
  [
    'weekdays 03:00 for 15 min',
    { weekly: ['mon', 'tue', 'wed', 'thu', 'fri'], from: '03:00', ...zone, duration_minutes: 15 },
  ],
  [
    'daily 03:00 for 1h30m UTC',
    {
      weekly: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'],
      from: '03:00',
      timezone: 'UTC',
      duration_minutes: 90,
    },
  ],
  ['2026-12-01 22:00 for 90m', { starts_at: '2026-12-01T22:00', ...zone, duration_minutes: 90 }],
  [
    '2026-12-01T22:00 for 1 hour 30 minutes europe/london',
    { starts_at: '2026-12-01T22:00', timezone: 'Europe/London', duration_minutes: 90 },
  ],
  ['next fri 12:00 for 1d', { starts_at: '2026-12-04T12:00', ...zone, duration_minutes: 1440 }],
  ['tomorrow 02:00 for 2h', { starts_at: '2026-11-28T02:00', ...zone, duration_minutes: 120 }],
  // An ongoing time counts as today's.
  ['today 12:00 for 2h', { starts_at: '2026-11-27T12:00', ...zone, duration_minutes: 120 }],
  ['12:30 for 2h', { starts_at: '2026-11-27T12:30', ...zone, duration_minutes: 120 }],
  ['12:29 for 2h', { starts_at: '2026-11-28T12:29', ...zone, duration_minutes: 120 }],
  ['sat 24:00-02:00', { weekly: ['sun'], from: '00:00', ...zone, duration_minutes: 120 }],
  ['2026-12-31 24:00 for 2h', { starts_at: '2027-01-01T00:00', ...zone, duration_minutes: 120 }],
  ['24:00 for 2h', { starts_at: '2026-11-28T00:00', ...zone, duration_minutes: 120 }],
  ['sat 00:00-24:00', { weekly: ['sat'], from: '00:00', ...zone, duration_minutes: 1440 }],
  ['sat 10pm-2am', { weekly: ['sat'], from: '22:00', ...zone, duration_minutes: 240 }],
  ['now for 30m', { starts_at: '2026-11-27T11:30:00.000Z', ends_at: '2026-11-27T12:00:00.000Z' }],
])('%s', (text, window) => {
  expect(readWhen(text, NOW)).toEqual({ window });
});

test('off takes all away', () => {
  expect(readWhen('Off', NOW)).toBe('off');
});

test.each([
  ['sat 02:00', 'Say how long: for 2h'],
  ['sat for 2h', 'Add a start time'],
  ['sat 02:00 for ages', "I didn't understand “ages”. Use 30s, 5m, 2h or 1d"],
  ['sat 02:00 for', 'Say how long'],
  ['sat 25:00 for 2h', "I didn't understand “25:00”. Use a 24-hour time such as 03:00."],
  ['sat 2 for 2h', "I didn't understand “2”"],
  ['sat 02:00-02:00', 'begins and ends at the same time'],
  ['sat 02:00 for 2h Europe/Berlim', 'Unknown time zone “Europe/Berlim”'],
  ['sat 02:00 for 2h please', "I didn't understand “please”"],
  ['sat 02:00 for 2h for 3h', 'the same thing twice'],
  ['now sat 02:00 for 2h', 'either now or a time'],
  ['sat 2026-12-01 02:00 for 2h', 'either weekdays or a date'],
  ['next sat,sun 02:00 for 2h', 'Put one day after “next”'],
  ['sat 02:00 for 8d', 'a week at most'],
  ['2026-12-01 02:00 for 9999d', 'Choose 1 minute to 366 days'],
  ['2026-02-30 02:00 for 2h', "The date 2026-02-30 doesn't exist."],
  ['2011-12-30 02:00 for 2h Pacific/Apia', "The date 2011-12-30 doesn't exist in Pacific/Apia"],
  ['2026-11-27 10:00 for 2h', 'already passed'],
  ['off sat', "I didn't understand “off”"],
  ['until 04:00', 'Put a start time before'],
])('%s is refused: %s', (text, says) => {
  expect(() => readWhen(text, NOW)).toThrow(says);
  expect(() => readWhen(text, NOW)).toThrow('Examples: sat 02:00 for 2h Europe/Berlin');
});

test.each([
  ['Shop', 'Shop', undefined],
  ['Shop off', 'Shop', 'off'],
  ['Shop sat 02:00 for 2h', 'Shop', 'sat 02:00 for 2h'],
  ['all with eu now for 30m', 'all with eu', 'now for 30m'],
  ['Report every day 02:00 for 2h', 'Report', 'every day 02:00 for 2h'],
  ['Wait for it', 'Wait for it', undefined],
  ['The Friday report', 'The Friday report', undefined],
  ['Load on Sun now for 5m', 'Load on Sun', 'now for 5m'],
])('%s', (line, monitor, when) => {
  expect(splitWhen(line, NOW)).toEqual({ monitor, when });
});

test('a time that cannot be read is told, and is no part of a name', () => {
  expect(() => splitWhen('Shop sat 02:00 for ages', NOW)).toThrow("I didn't understand “ages”");
  expect(() => splitWhen('Shop sat 02:00', NOW)).toThrow('Say how long');
  expect(() => splitWhen('Shop 2026-02-30', NOW)).toThrow("The date 2026-02-30 doesn't exist.");
});
