import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type QuietHours,
  quietUntilMs,
  readHours,
  readZone,
} from '../../../src/bot/channels/quiet-hours.ts';
import { CLOCKS_SET_ON } from '../../helpers/bot/clocks-set.ts';
import { long } from '../../helpers/long.ts';

const MINUTE = 60_000;
const DAY = 1440 * MINUTE;

const clocks = new Map(
  CLOCKS_SET_ON.map(([timeZone]) => [
    timeZone,
    new Intl.DateTimeFormat('sv-SE', { timeZone, timeStyle: 'medium' }),
  ]),
);

/** The time of day in a zone. */
const wall = (zone: string, atMs: number) => clocks.get(zone)?.format(atMs).slice(0, 5) ?? '';

const shown = (minute: number) =>
  `${String(Math.floor(minute / 60)).padStart(2, '0')}:${String(minute % 60).padStart(2, '0')}`;

/** Looks at the clock minute by minute. */
function quietUntilByLooking({ fromMinute, toMinute, zone }: QuietHours, nowMs: number) {
  const [from, to] = [shown(fromMinute), shown(toMinute)];
  const isQuiet = (atMs: number) => {
    const time = wall(zone, atMs);
    return from < to ? time >= from && time < to : time >= from || time < to;
  };
  if (!isQuiet(nowMs)) return undefined;
  let atMs = Math.floor(nowMs / MINUTE) * MINUTE;
  while (isQuiet(atMs)) atMs += MINUTE;
  return atMs;
}

test('the end of a quiet time is the one that a check of the clock every minute finds, whenever clocks change', () => {
  const minute = fc.integer({ min: 0, max: 1439 });
  /** Times near those at which clocks are set, more often than others. */
  const time = fc.oneof(minute, fc.integer({ min: 0, max: 210 }));
  fc.assert(
    fc.property(
      fc.constantFrom(...CLOCKS_SET_ON),
      time,
      time,
      fc.integer({ min: -DAY, max: 2 * DAY }),
      ([zone, day], fromMinute, toMinute, afterMs) => {
        fc.pre(fromMinute !== toMinute);
        const hours = { fromMinute, toMinute, zone };
        const nowMs = Date.parse(day) + afterMs;
        expect(quietUntilMs(hours, nowMs)).toBe(quietUntilByLooking(hours, nowMs));
      },
    ),
    { numRuns: long ? 1_000 : 100 },
  );
});

test.each([
  // The night in which an hour is left out, and the one in which it comes twice.
  ['22:00-07:00', 'Europe/Berlin', '2026-03-28T21:30Z', '2026-03-29T05:00Z'],
  ['22:00-07:00', 'Europe/Berlin', '2026-10-24T20:30Z', '2026-10-25T06:00Z'],
  // It would end in the hour that is left out: it ends where the clock jumps over it.
  ['22:00-02:30', 'Europe/Berlin', '2026-03-29T00:59Z', '2026-03-29T01:00Z'],
  // It begins in it.
  ['02:30-05:00', 'Europe/Berlin', '2026-03-29T01:00Z', '2026-03-29T03:00Z'],
  // It ends in the hour that comes twice, and the second time begins when the first half hour is over again.
  ['22:00-02:30', 'Europe/Berlin', '2026-10-24T23:00Z', '2026-10-25T00:30Z'],
  ['22:00-02:30', 'Europe/Berlin', '2026-10-25T01:00Z', '2026-10-25T01:30Z'],
  ['12:00-13:00', 'Asia/Kolkata', '2026-06-01T06:30Z', '2026-06-01T07:30Z'],
  ['22:00-07:00', 'UTC', '2026-06-01T22:00:00.000Z', '2026-06-02T07:00Z'],
  ['22:00-07:00', 'UTC', '2026-06-01T06:59:59.999Z', '2026-06-01T07:00Z'],
])('the end of a quiet time of %s in %s at %s is %s', (text, zone, now, until) => {
  const hours = readHours(text);
  expect(hours && quietUntilMs({ ...hours, zone }, Date.parse(now))).toBe(Date.parse(until));
});

test.each([
  ['22:00-07:00', 'UTC', '2026-06-01T21:59:59.999Z'],
  ['22:00-07:00', 'UTC', '2026-06-01T07:00Z'],
  ['22:00-02:30', 'Europe/Berlin', '2026-10-25T00:30Z'],
  // That half hour is left out.
  ['02:15-02:45', 'Europe/Berlin', '2026-03-29T01:00Z'],
])('the end of a quiet time does not come while it is loud: %s in %s at %s', (text, zone, now) => {
  const hours = readHours(text);
  expect(hours).toBeDefined();
  expect(hours && quietUntilMs({ ...hours, zone }, Date.parse(now))).toBeUndefined();
});

test.each([
  ['22:00-07:00', 1320, 420],
  ['22-7', 1320, 420],
  ['9:30 – 17:45', 570, 1065],
  ['22:00 to 24:00', 1320, 0],
  ['00:00-6', 0, 360],
])('the text that people type %j is read as hours', (text, fromMinute, toMinute) => {
  expect(readHours(text)).toEqual({ fromMinute, toMinute });
});

test.each(['', '22:00', '22:00-', '25-7', '22:60-7', '24:01-7', '7-7', '0-24', 'night', '-1-7'])(
  '%j is not read as quiet hours',
  (text) => {
    expect(readHours(text)).toBeUndefined();
  },
);

test.each([
  ['Europe/Berlin', 'Europe/Berlin'],
  ['europe/berlin', 'Europe/Berlin'],
  ['utc', 'UTC'],
  ['America/Argentina/Buenos_Aires', 'America/Argentina/Buenos_Aires'],
])('the text that people type %j is read as the zone %j', (text, zone) => {
  expect(readZone(text)).toBe(zone);
});

test.each(['Berlin', 'Europe/Nowhere', '', '+02:00', '02:00', 'Mars/Crater', '<!channel>'])(
  'the text that people type %j is no zone',
  (text) => {
    expect(readZone(text)).toBeUndefined();
  },
);
