import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MaintenanceWindow } from '../../../src/contracts/monitoring-additions.ts';
import { checkWindows, maintenanceAt } from '../../../src/monitoring/monitors/maintenance.ts';
import { parseCron } from '../../../src/monitoring/time/cron.ts';
import { long } from '../../helpers/long.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const once = (startsAt: string, endsAt: string, reason?: string) =>
  MaintenanceWindow.parse({ starts_at: startsAt, ends_at: endsAt, ...(reason && { reason }) });
const each = (cron: string, minutes: number, timezone = 'UTC') =>
  MaintenanceWindow.parse({ cron, duration_minutes: minutes, timezone });

/** The covering at a time, and the next change as text. */
function at(windows: readonly MaintenanceWindow[], time: string) {
  const { window, changesMs } = maintenanceAt(windows, Date.parse(time));
  const next = changesMs === undefined ? 'never' : new Date(changesMs).toISOString().slice(0, 16);
  return `${window ? 'in' : 'out'} until ${next}`;
}

test.each([
  { name: 'no window', windows: [], time: '2026-05-01T00:00Z', is: 'out until never' },
  {
    name: 'before a window',
    windows: [once('2026-05-01T10:00', '2026-05-01T12:00')],
    time: '2026-05-01T09:59:59.999Z',
    is: 'out until 2026-05-01T10:00',
  },
  {
    name: 'its first moment',
    windows: [once('2026-05-01T10:00', '2026-05-01T12:00')],
    time: '2026-05-01T10:00Z',
    is: 'in until 2026-05-01T12:00',
  },
  {
    name: 'its end, which is no longer in it',
    windows: [once('2026-05-01T10:00', '2026-05-01T12:00')],
    time: '2026-05-01T12:00Z',
    is: 'out until never',
  },
  {
    name: 'a window given with an offset',
    windows: [once('2026-05-01T12:00:00+02:00', '2026-05-01T12:00:00Z')],
    time: '2026-05-01T10:30Z',
    is: 'in until 2026-05-01T12:00',
  },
  {
    name: 'a nightly window that is open',
    windows: [each('0 23 * * *', 120)],
    time: '2026-05-02T00:30Z',
    is: 'in until 2026-05-02T01:00',
  },
  {
    name: 'a nightly window that is over',
    windows: [each('0 23 * * *', 120)],
    time: '2026-05-02T01:00Z',
    is: 'out until 2026-05-02T23:00',
  },
  {
    name: 'a window that begins again when it ends',
    windows: [each('0 8-11 * * *', 60)],
    time: '2026-05-02T08:10Z',
    is: 'in until 2026-05-02T12:00',
  },
  {
    name: 'a window that begins again before it ends',
    windows: [each('*/10 8-9 * * *', 45)],
    time: '2026-05-02T08:10Z',
    is: 'in until 2026-05-02T10:35',
  },
  {
    name: 'a window in its own zone',
    windows: [each('0 2 * * *', 30, 'Asia/Kolkata')],
    time: '2026-05-01T20:00Z',
    is: 'out until 2026-05-01T20:30',
  },
  {
    name: 'the night in spring when 02:30 does not exist: it begins at 03:00',
    windows: [each('30 2 * * *', 60, 'Europe/Berlin')],
    time: '2026-03-29T01:10Z',
    is: 'in until 2026-03-29T02:00',
  },
  {
    name: 'the night in autumn when 02:30 comes twice: it begins once, and lasts real minutes',
    windows: [each('30 2 * * *', 90, 'Europe/Berlin')],
    time: '2026-10-25T00:45Z',
    is: 'in until 2026-10-25T02:00',
  },
  {
    name: 'a window of a local day, which is 25 hours long in autumn',
    windows: [each('0 0 * * *', 24 * 60, 'Europe/Berlin')],
    time: '2026-10-24T23:00Z',
    is: 'in until 2026-10-25T22:00',
  },
  {
    name: 'a leap day',
    windows: [each('0 0 29 2 *', 60)],
    time: '2026-05-01T00:00Z',
    is: 'out until 2028-02-29T00:00',
  },
])('$name', ({ windows, time, is }) => {
  expect(at(windows, time)).toBe(is);
});

test('the first listed of overlapping windows counts, and a change between them is a change', () => {
  const long = once('2026-05-01T10:00', '2026-05-01T14:00', 'move');
  const short = once('2026-05-01T11:00', '2026-05-01T12:00', 'reboot');
  const told = (windows: MaintenanceWindow[]) =>
    ['10:30', '11:30', '12:30', '14:30'].map((time) => {
      const nowMs = Date.parse(`2026-05-01T${time}Z`);
      const { window, changesMs } = maintenanceAt(windows, nowMs);
      const hours = changesMs === undefined ? 'never' : new Date(changesMs).getUTCHours();
      return `${window?.reason} until ${hours}`;
    });
  expect(told([long, short])).toEqual([
    'move until 14',
    'move until 14',
    'move until 14',
    'undefined until never',
  ]);
  expect(told([short, long])).toEqual([
    'move until 11',
    'reboot until 12',
    'move until 14',
    'undefined until never',
  ]);
});

test('gives the next time to judge a window without a gap, which covers all the while', () => {
  const window = each('* * * * *', 1);
  let nowMs = Date.parse('2026-05-01T10:00:30Z');
  for (let asked = 0; asked < 5; asked += 1) {
    const answer = maintenanceAt([window], nowMs);
    expect(answer.window).toBe(window);
    expect(answer.changesMs).toBeGreaterThan(nowMs + HOUR_MS);
    nowMs = answer.changesMs ?? Number.NaN;
  }
});

test('finds the end of a long window that begins again each minute', () => {
  const windows = [each('* 0-11 * * 1-5', 2)];
  expect(at(windows, '2026-05-01T11:00Z')).toBe('in until 2026-05-01T12:01');
  expect(at([each('*/5 * * 1-4 *', 7 * 1440)], '2026-04-28T00:00Z')).toBe(
    'in until 2026-05-07T23:55',
  );
});

test('windows are judged anew when the clock was set back', () => {
  const windows = [each('0 23 * * *', 60), once('2026-05-01T10:00', '2026-05-01T12:00')];
  expect(at(windows, '2026-05-03T23:10Z')).toBe('in until 2026-05-04T00:00');
  expect(at(windows, '2026-05-01T09:00Z')).toBe('out until 2026-05-01T10:00');
  expect(at(windows, '2026-04-30T23:10Z')).toBe('in until 2026-05-01T00:00');
  expect(at(windows, '2026-05-01T11:00Z')).toBe('in until 2026-05-01T12:00');
});

describe('minute by minute', () => {
  /** Starts of days in spring and autumn in several zones, and a leap day. */
  const starts = [
    '2026-03-28T00:00Z',
    '2026-10-24T00:00Z',
    '2026-11-01T00:00Z',
    '2026-04-04T00:00Z',
    '2026-10-03T00:00Z',
    '2028-02-28T00:00Z',
  ].map((time) => Date.parse(time));
  const DAYS = 3;

  const zone = fc.constantFrom(
    'UTC',
    'Europe/Berlin',
    'America/New_York',
    'Australia/Lord_Howe',
    'Asia/Kathmandu',
  );
  const cron = fc.oneof(
    fc.constantFrom(
      '30 2 * * *',
      '0 */3 * * *',
      '15,45 1-4 * * *',
      '0 0 29 2 *',
      '*/20 22-23 * * 6',
    ),
    fc
      .tuple(fc.integer({ min: 0, max: 59 }), fc.integer({ min: 0, max: 23 }))
      .map(([minute, hour]) => `${minute} ${hour} * * *`),
  );
  const recurring = fc
    .tuple(
      cron,
      zone,
      fc.oneof(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: 1500 })),
    )
    .map(([expression, timezone, minutes]) => each(expression, minutes, timezone));
  const oneOff = (startMs: number) =>
    fc
      .tuple(fc.integer({ min: -600, max: DAYS * 1440 }), fc.integer({ min: 1, max: 2000 }))
      .map(([from, minutes]) =>
        once(
          new Date(startMs + from * MINUTE_MS).toISOString(),
          new Date(startMs + (from + minutes) * MINUTE_MS).toISOString(),
        ),
      );

  /** For each minute the place of the first window that covers it, or -1. */
  function byMinute(windows: readonly MaintenanceWindow[], startMs: number): number[] {
    const first = new Array<number>(DAYS * 1440).fill(-1);
    const cover = (index: number, fromMs: number, toMs: number) => {
      for (let ms = Math.max(fromMs, startMs); ms < toMs; ms += MINUTE_MS) {
        const minute = (ms - startMs) / MINUTE_MS;
        if (minute >= first.length) return;
        if (first[minute] === -1) first[minute] = index;
      }
    };
    for (const [index, window] of windows.entries()) {
      if ('ends_at' in window) {
        cover(index, Date.parse(window.starts_at), Date.parse(window.ends_at));
        continue;
      }
      if (!('cron' in window)) throw new TypeError('It has no crontab.');
      const times = parseCron(window.cron, window.timezone);
      const durationMs = window.duration_minutes * MINUTE_MS;
      let ms = times.nextAfter(startMs - durationMs);
      while (ms !== undefined && ms < startMs + DAYS * DAY_MS) {
        cover(index, ms, ms + durationMs);
        ms = times.nextAfter(ms);
      }
    }
    return first;
  }

  test('is the window that covers each moment, and the next change of it', () => {
    const days = fc.constantFrom(...starts).chain((startMs) =>
      fc.record({
        startMs: fc.constant(startMs),
        windows: fc.array(fc.oneof(recurring, oneOff(startMs)), { maxLength: 6 }),
        moments: fc.array(fc.integer({ min: 0, max: DAYS * DAY_MS - 1 }), {
          minLength: 5,
          maxLength: 20,
        }),
      }),
    );
    fc.assert(
      fc.property(days, ({ startMs, windows, moments }) => {
        const first = byMinute(windows, startMs);
        for (const moment of moments) {
          const minute = Math.floor(moment / MINUTE_MS);
          const answer = maintenanceAt(windows, startMs + moment);
          expect(answer.window).toBe(windows[first[minute] ?? -1]);
          const change = first.findIndex((index, at) => at > minute && index !== first[minute]);
          if (change === -1) {
            expect(answer.changesMs ?? Infinity).toBeGreaterThanOrEqual(startMs + DAYS * DAY_MS);
          } else {
            expect(answer.changesMs).toBe(startMs + change * MINUTE_MS);
          }
        }
      }),
      { numRuns: long ? 1_500 : 75 },
    );
  });
});

test('finds every change of twenty windows one after the other', () => {
  const windows = Array.from({ length: 20 }, (_, index) => each(`${index} 3 * * *`, 15));
  const startMs = Date.parse('2026-05-01T00:00Z');
  let changes = 0;
  let nextMs: number | undefined = startMs;
  for (let nowMs = startMs; nowMs < startMs + DAY_MS; nowMs += 5_000) {
    const { changesMs } = maintenanceAt(windows, nowMs);
    if (changesMs !== nextMs) changes += 1;
    nextMs = changesMs;
  }
  // Into the first, then from each to the next as the first listed ends, and out.
  expect(changes).toBe(22);
});

describe('checking windows', () => {
  test('accepts valid windows', () => {
    expect(checkWindows([])).toBeUndefined();
    expect(
      checkWindows([
        once('2026-05-01T10:00', '2026-05-01T12:00'),
        each('0 3 * * 0', 60, 'Europe/Berlin'),
      ]),
    ).toBeUndefined();
  });

  test.each([
    { window: { cron: '61 3 * * *', timezone: 'UTC' }, param: 'windows.1.cron', says: '61' },
    { window: { cron: 'every night', timezone: 'UTC' }, param: 'windows.1.cron', says: 'five' },
    { window: { cron: '0 0 30 2 *', timezone: 'UTC' }, param: 'windows.1.cron', says: 'never' },
    {
      window: { cron: '0 3 * * *', timezone: 'Europe/Berlim' },
      param: 'windows.1.timezone',
      says: 'Europe/Berlim',
    },
  ])('names $param of $window.cron in $window.timezone', ({ window, param, says }) => {
    const fault = checkWindows([
      each('0 3 * * *', 60),
      each(window.cron, 60, window.timezone),
      each('bad crontab here', 60),
    ]);
    expect(fault?.param).toBe(param);
    expect(fault?.message).toContain(says);
    expect(fault?.message).not.toMatch(/\.$/);
  });
});
