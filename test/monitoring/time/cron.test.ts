import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cronFault, parseCron } from '../../../src/monitoring/time/cron.ts';
import { long } from '../../helpers/long.ts';

const DAY_MS = 86_400_000;
const runs = long ? 400 : 20;

const ZONES = [
  'Europe/Berlin',
  'America/New_York',
  'Australia/Lord_Howe',
  'Pacific/Apia',
  'America/Santiago',
  'UTC',
  'Asia/Kathmandu',
] as const;

const zone = fc.constantFrom(...ZONES);

const at = (ms: number | undefined) => (ms === undefined ? undefined : new Date(ms).toISOString());

function times(text: string, timezone: string, from: string, count: number) {
  const cron = parseCron(text, timezone);
  const all: Array<string | undefined> = [];
  for (let ms = cron.nextAfter(Date.parse(from)); all.length < count; ) {
    all.push(at(ms)?.replace(':00.000Z', 'Z'));
    ms = ms === undefined ? undefined : cron.nextAfter(ms);
  }
  return all;
}

/** Dates by the clock of a zone, such as `2026-03-29`. */
function dateIn(timezone: string) {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: timezone, dateStyle: 'short' });
  return (ms: number) => format.format(ms);
}

test.each([
  // 02:30 does not exist: as soon as the clock has moved on.
  ['30 2 * * *', 'Europe/Berlin', '2026-03-28T02:00Z', ['2026-03-29T01:00Z', '2026-03-30T00:30Z']],
  // 02:30 exists twice: the first.
  ['30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00Z', ['2026-10-25T00:30Z', '2026-10-26T01:30Z']],
  // Asked between the first and the second.
  ['30 2 * * *', 'Europe/Berlin', '2026-10-25T00:45Z', ['2026-10-26T01:30Z']],
  ['30 2 * * *', 'Europe/Berlin', '2026-10-25T01:15Z', ['2026-10-26T01:30Z']],
  // The end of the skipped hour is a time itself: once.
  ['0 2,3 * * *', 'Europe/Berlin', '2026-03-28T12:00Z', ['2026-03-29T01:00Z', '2026-03-30T00:00Z']],
  [
    '0,30 2 * * *',
    'Europe/Berlin',
    '2026-03-28T12:00Z',
    ['2026-03-29T01:00Z', '2026-03-30T00:00Z'],
  ],
  // Hourly goes on at its pace.
  [
    '0 * * * *',
    'Europe/Berlin',
    '2026-03-28T23:30Z',
    ['2026-03-29T00:00Z', '2026-03-29T01:00Z', '2026-03-29T02:00Z'],
  ],
  [
    '0 * * * *',
    'Europe/Berlin',
    '2026-10-24T23:30Z',
    ['2026-10-25T00:00Z', '2026-10-25T01:00Z', '2026-10-25T02:00Z'],
  ],
  [
    '*/30 2 * * *',
    'Europe/Berlin',
    '2026-03-28T12:00Z',
    ['2026-03-30T00:00Z', '2026-03-30T00:30Z'],
  ],
  [
    '*/30 2 * * *',
    'Europe/Berlin',
    '2026-10-25T00:10Z',
    ['2026-10-25T00:30Z', '2026-10-25T01:00Z', '2026-10-25T01:30Z', '2026-10-26T01:00Z'],
  ],
  // Half an hour.
  [
    '15 2 * * *',
    'Australia/Lord_Howe',
    '2026-10-03T00:00Z',
    ['2026-10-03T15:30Z', '2026-10-04T15:15Z'],
  ],
  [
    '45 1 * * *',
    'Australia/Lord_Howe',
    '2026-04-04T00:00Z',
    ['2026-04-04T14:45Z', '2026-04-05T15:15Z'],
  ],
  // Midnight does not exist.
  [
    '0 0 * * *',
    'America/Santiago',
    '2026-09-05T12:00Z',
    ['2026-09-06T04:00Z', '2026-09-07T03:00Z'],
  ],
  // A whole day that does not exist, 30 December, is left out and not made up for.
  ['0 12 * * *', 'Pacific/Apia', '2011-12-29T00:00Z', ['2011-12-29T22:00Z', '2011-12-30T22:00Z']],
  ['0 12 30 12 *', 'Pacific/Apia', '2011-01-01T00:00Z', ['2012-12-29T22:00Z']],
])('a job at %s in %s comes at the right times after %s', (text, timezone, from, wanted) => {
  expect(times(text, timezone, from, wanted.length)).toEqual(wanted);
});

test('a daily job comes exactly once on every calendar day', () => {
  const year = fc.integer({ min: 2013, max: 2036 });
  const hour = fc.integer({ min: 0, max: 23 });
  const minute = fc.integer({ min: 0, max: 59 });
  fc.assert(
    fc.property(
      zone,
      year,
      fc.oneof(fc.integer({ min: 0, max: 3 }), hour),
      minute,
      (timezone, inYear, h, m) => {
        const cron = parseCron(`${m} ${h} * * *`, timezone);
        const dateAt = dateIn(timezone);
        const dates: string[] = [];
        for (
          let ms = cron.nextAfter(Date.UTC(inYear, 0, 3));
          ms !== undefined && ms < Date.UTC(inYear, 11, 30);
        ) {
          dates.push(dateAt(ms));
          ms = cron.nextAfter(ms);
        }
        const [first = ''] = dates;
        expect(dates).toEqual(
          dates.map((_, index) =>
            new Date(Date.parse(first) + index * DAY_MS).toISOString().slice(0, 10),
          ),
        );
        expect(dates.length).toBeGreaterThan(359);
      },
    ),
    { numRuns: runs },
  );
});

describe('reads a crontab', () => {
  test.each([
    ['0 0 * * 7', '0 0 * * 0'],
    ['0 0 * * SUN', '0 0 * * 0'],
    ['0 0 * * fri-7', '0 0 * * 0,5,6'],
    ['0 0 * * */3', '0 0 * * 0,3,6'],
    ['0 0 1 jan,Dec *', '0 0 1 1,12 *'],
    ['  0   0\t1-5/2 * * ', '0 0 1,3,5 * *'],
    ['*/20 * * * *', '0,20,40 * * * *'],
    ['05 00 * * *', '5 0 * * *'],
  ])('%s is %s', (text, plain) => {
    expect(times(text, 'UTC', '2026-01-01T00:00Z', 10)).toEqual(
      times(plain, 'UTC', '2026-01-01T00:00Z', 10),
    );
  });

  test('takes a day that fits either day field, and both of them beside a star', () => {
    expect(times('0 0 13 * fri', 'UTC', '2026-02-01T00:00Z', 3)).toEqual([
      '2026-02-06T00:00Z',
      '2026-02-13T00:00Z',
      '2026-02-20T00:00Z',
    ]);
    expect(times('0 0 */2 * mon', 'UTC', '2026-01-01T00:00Z', 2)).toEqual([
      '2026-01-05T00:00Z',
      '2026-01-19T00:00Z',
    ]);
  });

  test('takes a date that never comes beside a day of the week that does', () => {
    expect(times('0 0 31 2,4 mon', 'UTC', '2026-01-01T00:00Z', 1)).toEqual(['2026-02-02T00:00Z']);
  });

  test('finds what comes once in decades', () => {
    expect(times('0 0 29 2 *', 'UTC', '2096-03-01T00:00Z', 1)).toEqual(['2104-02-29T00:00Z']);
    expect(times('0 0 29 2 */6', 'UTC', '2026-01-01T00:00Z', 1)).toEqual(['2032-02-29T00:00Z']);
  });

  const FIVE =
    'must have five fields: minute, hour, day of the month, month and day of the week, such as 30 2 * * *';
  const NEVER =
    'this never occurs, because none of its months has that day; use another day or month';
  test.each([
    ['', FIVE],
    ['0 0 * *', FIVE],
    ['@daily', FIVE],
    ['0 0 30 2 *', NEVER],
    ['0 0 30 2 */2', NEVER],
    ['60 * * * *', 'the minute 60 is out of range; use 0 to 59'],
    ['0 24 * * *', 'the hour 24 is out of range; use 0 to 23'],
    ['0 0 0 * *', 'the day of the month 0 is out of range; use 1 to 31'],
    ['0 0 * 13 *', 'the month 13 is out of range; use 1 to 12'],
    ['0 0 * * 8', 'the day of the week 8 is out of range; use 0 to 7'],
    ['5/15 * * * *', "the minute '5/15' has a step without a range; use 5-59/15"],
    ['*/0 * * * *', "the minute '*/0' has a step that is out of range; use one from 1 to 59"],
    [
      '0 0 * * */7',
      "the day of the week '*/7' has a step that is out of range; use one from 1 to 6",
    ],
    ['5-5/2 * * * *', "the minute '5-5/2' has a step that is out of range; leave it out"],
    [
      '0 22-2 * * *',
      "the hour '22-2' ends before it begins; use two ranges with a comma between them",
    ],
    [
      '0 0 L * *',
      "the day of the month 'L' is not valid; use numbers from 1 to 31, with , - * and / as in a crontab",
    ],
    [
      '0 0 * * monday',
      "the day of the week 'monday' is not valid; use numbers from 0 to 7 or names such as mon, with , - * and / as in a crontab",
    ],
  ])("refuses '%s'", (text, sentence) => {
    expect(() => parseCron(text, 'UTC')).toThrow(new RangeError(sentence));
  });

  test.each(['1-', ',', '1.5', '0x1', '**', '*-5', '1-2-3', '?', '1//2'])(
    'refuses the minute %s',
    (minute) => {
      expect(() => parseCron(`${minute} * * * *`, 'UTC')).toThrow(RangeError);
    },
  );

  test('returns times or a sentence for any text', () => {
    const characters = fc.constantFrom(...'0123456789*/,-# @LWabjn?');
    const word = fc.array(characters, { maxLength: 8 }).map((letters) => letters.join(''));
    fc.assert(
      fc.property(fc.array(word, { minLength: 4, maxLength: 6 }), (words) => {
        try {
          expect(parseCron(words.join(' '), 'UTC').nextAfter(0)).toBeGreaterThan(0);
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
          expect((error as Error).message).toMatch(/^(must|this|the) /);
        }
      }),
      { numRuns: runs * 5 },
    );
  });
});

test.each(['', 'Nowhere/Land', '+01:00', 'Europe/Berlin\n', 'UTC+1', '../etc'])(
  "refuses the zone '%s' with a sentence",
  (timezone) => {
    expect(() => parseCron('0 0 * * *', timezone)).toThrow(
      new RangeError(
        `unknown time zone '${timezone}'; use a name from the time zone database, such as Europe/Berlin or UTC`,
      ),
    );
  },
);

test('names which of a crontab and its zone is wrong, and what to write', () => {
  expect(cronFault(undefined, 'UTC')).toBeUndefined();
  expect(cronFault('0 3 * * *', 'Asia/Kathmandu')).toBeUndefined();
  expect(cronFault('0 25 * * *', 'UTC')).toEqual({
    key: 'cron',
    message: 'the hour 25 is out of range; use 0 to 23',
  });
  expect(cronFault(undefined, 'Berlin')).toEqual({
    key: 'timezone',
    message:
      "unknown time zone 'Berlin'; use a name from the time zone database, such as Europe/Berlin or UTC",
  });
});
