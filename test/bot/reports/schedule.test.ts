import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ReportSchedule } from '../../../src/bot/channels/channel-settings.ts';
import {
  dueReport,
  fromMsOf,
  MAX_LATE_MS,
  nextDueMs,
  type ReportSpan,
  spanSoFar,
  toMsOf,
} from '../../../src/bot/reports/schedule.ts';
import { firstAtMs } from '../../../src/contracts/wall-time.ts';
import { CLOCKS_SET_ON } from '../../helpers/bot/clocks-set.ts';
import { long } from '../../helpers/long.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const clocks = new Map(
  CLOCKS_SET_ON.map(([timeZone]) => [
    timeZone,
    new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' }),
  ]),
);

/** `2026-03-29 09:00`, as the clocks of a zone show it. */
const shown = (zone: string, atMs: number) => clocks.get(zone)?.format(atMs) ?? '';

/** Looks at the clock minute by minute for the first that shows a time, or a later one. */
function firstByLooking(zone: string, wall: string): number {
  let atMs = Date.parse(`${wall.replace(' ', 'T')}Z`) - 16 * HOUR;
  while (shown(zone, atMs) < wall) atMs += MINUTE;
  return atMs;
}

const wallOf = (ms: number) => new Date(ms).toISOString().slice(0, 16).replace('T', ' ');

const minute = fc.oneof(fc.integer({ min: 0, max: 1439 }), fc.integer({ min: 0, max: 210 }));

/** A schedule that was set long ago, and a moment near one at which its clocks are set. */
const around = fc.record({
  zoneAndDay: fc.constantFrom(...CLOCKS_SET_ON),
  every: fc.constantFrom<ReportSchedule['every']>('daily', 'weekly', 'monthly'),
  minute,
  afterMs: fc.integer({ min: -3 * DAY, max: 5 * DAY }),
});

/** The day of a report as the calendar has it, from the day that the clocks show. */
function isReportDay(every: ReportSchedule['every'], day: string): boolean {
  if (every === 'daily') return true;
  if (every === 'monthly') return day.endsWith('-01');
  return new Date(`${day}T00:00Z`).getUTCDay() === 1;
}

test('a wall time is the first minute at which the clocks show it, whenever they are set', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...CLOCKS_SET_ON),
      minute,
      fc.integer({ min: -1, max: 2 }),
      ([zone, day], at, days) => {
        const wall = Date.parse(day) + days * DAY + at * MINUTE;
        expect(firstAtMs(zone, wall)).toBe(firstByLooking(zone, wallOf(wall)));
      },
    ),
    { numRuns: long ? 2_000 : 150 },
  );
});

test('a schedule has one report at its time on each of its days, whenever clocks are set', () => {
  fc.assert(
    fc.property(around, ({ zoneAndDay: [zone, day], every, minute: at, afterMs }) => {
      const schedule = { every, minute: at, zone, setAtMs: 0 };
      const nowMs = Date.parse(day) + afterMs;
      const next = nextDueMs(schedule, nowMs);
      // All days that there are in the zone, long enough to have two reports of a month.
      const dues: number[] = [];
      for (let one = Date.parse(day) - 40 * DAY; one < Date.parse(day) + 70 * DAY; one += DAY) {
        const name = wallOf(one).slice(0, 10);
        const isThere = firstAtMs(zone, one) < firstAtMs(zone, one + DAY);
        if (isThere && isReportDay(every, name)) dues.push(firstAtMs(zone, one + at * MINUTE));
      }
      expect(next).toBe(dues.find((dueMs) => dueMs > nowMs));
      // At each moment it is the same report that was due last, and then the next.
      const last = dues.findLast((dueMs) => dueMs <= nowMs);
      const due = dueReport(schedule, nowMs);
      expect(due?.dueMs).toBe(last !== undefined && nowMs - last < MAX_LATE_MS ? last : undefined);
      expect(dueReport(schedule, next)?.dueMs).toBe(next);
      expect(dueReport(schedule, next - 1)?.dueMs).not.toBe(next);
    }),
    { numRuns: long ? 1_000 : 100 },
  );
});

test('the spans of a schedule are whole days without gaps', () => {
  fc.assert(
    fc.property(around, ({ zoneAndDay: [zone, day], every, minute: at, afterMs }) => {
      const schedule = { every, minute: at, zone, setAtMs: 0 };
      const nowMs = nextDueMs(schedule, Date.parse(day) + afterMs);
      const { span } = dueReport(schedule, nowMs) ?? {};
      if (!span) throw new Error('Nothing is due when it is due.');
      const [fromMs, toMs] = [fromMsOf(span), toMsOf(span)];
      expect(toMs).toBeLessThanOrEqual(nowMs);
      expect([...span.cuts].sort((a, b) => a - b)).toEqual([...new Set(span.cuts)]);
      const bounds =
        every === 'daily' ? [span.beforeMs, fromMs, toMs] : [span.beforeMs, ...span.cuts];
      for (const atMs of bounds) {
        // The minute before it is another day.
        expect(shown(zone, atMs).slice(0, 10)).not.toBe(shown(zone, atMs - MINUTE).slice(0, 10));
      }
      const [before, from, to] = [span.beforeMs, fromMs, toMs].map((atMs) =>
        shown(zone, atMs).slice(0, 10),
      );
      const days = (Date.parse(to ?? '') - Date.parse(from ?? '')) / DAY;
      if (every === 'monthly')
        expect([before, from, to].every((one) => one?.endsWith('-01'))).toBe(true);
      else expect(days).toBe(every === 'weekly' ? 7 : 1);
      // The next report begins where this one ends.
      const after = nextDueMs(schedule, nowMs);
      expect(fromMsOf(dueReport(schedule, after)?.span as ReportSpan)).toBe(toMs);
    }),
    { numRuns: long ? 1_000 : 100 },
  );
});

test('a weekly report covers the calendar week before, in which Berlin sets its clocks', () => {
  const schedule = { every: 'weekly', minute: 540, zone: 'Europe/Berlin', setAtMs: 0 } as const;
  const due = dueReport(schedule, Date.parse('2026-10-26T08:00:00Z'));
  expect(due).toEqual({
    dueMs: Date.parse('2026-10-26T08:00:00Z'),
    span: {
      every: 'weekly',
      zone: 'Europe/Berlin',
      beforeMs: Date.parse('2026-10-11T22:00:00Z'),
      cuts: [19, 20, 21, 22, 23, 24, 25]
        .map((day) => Date.parse(`2026-10-${day - 1}T22:00:00Z`))
        .concat(Date.parse('2026-10-25T23:00:00Z')),
    },
  });
  expect(dueReport(schedule, Date.parse('2026-10-26T07:59:59Z'))).toBeUndefined();
  expect(nextDueMs(schedule, Date.parse('2026-10-26T08:00:00Z'))).toBe(
    Date.parse('2026-11-02T08:00:00Z'),
  );
});

test('a schedule has no due report from before it was set, nor after a day', () => {
  const schedule = { every: 'daily', minute: 540, zone: 'UTC' } as const;
  const dueMs = Date.parse('2026-11-20T09:00:00Z');
  const isDue = (setAtMs: number, nowMs: number) =>
    dueReport({ ...schedule, setAtMs }, nowMs)?.dueMs === dueMs;
  expect(isDue(dueMs - 1, dueMs)).toBe(true);
  expect(isDue(dueMs, dueMs)).toBe(false);
  expect(isDue(0, dueMs + DAY - 1)).toBe(true);
  const weekly = { every: 'weekly', minute: 540, zone: 'UTC', setAtMs: 0 } as const;
  const monday = Date.parse('2026-11-23T09:00:00Z');
  expect(dueReport(weekly, monday + DAY - 1)?.dueMs).toBe(monday);
  expect(dueReport(weekly, monday + DAY)).toBeUndefined();
});

test('the span so far has hours for a day, and days for a week or month', () => {
  const nowMs = Date.parse('2026-11-20T12:34:56Z');
  for (const [every, count, stepMs] of [
    ['daily', 24, HOUR],
    ['weekly', 7, DAY],
    ['monthly', 30, DAY],
  ] as const) {
    const span = spanSoFar(every, 'UTC', nowMs);
    expect(span.cuts).toEqual(
      Array.from({ length: count + 1 }, (_, at) => nowMs - (count - at) * stepMs),
    );
    expect(span.beforeMs).toBe(nowMs - 2 * count * stepMs);
  }
});
