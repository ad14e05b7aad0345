import { describe, expect, test } from 'vitest';
import { MaintenanceWindow } from '../../../src/contracts/monitoring-additions.ts';
import { checkWindows, maintenanceAt } from '../../../src/monitoring/monitors/maintenance.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

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
