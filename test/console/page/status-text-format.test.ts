import { describe, expect, test } from 'vitest';
import { needSeconds } from '../../../src/console/page/shared/is-short.ts';
import { DAYS, daysOf, kindOf } from '../../../src/console/page/status/days.ts';
import {
  daysText,
  headlineOf,
  uptimeFigures,
  watchedText,
} from '../../../src/console/page/status/text-format.ts';
import {
  STATUS_DAYS,
  type StatusMonitor,
  type StatusReport,
} from '../../../src/console/status/api-types.ts';

const DAY_MS = 86_400_000;

const monitor = (id: string, status: string, more: Partial<StatusMonitor> = {}): StatusMonitor => ({
  ...{ id, name: `Monitor ${id}`, check_type: 'HTTP', status },
  ...more,
});

function report(overall: StatusReport['overall'], statuses: readonly string[]): StatusReport {
  const monitors = statuses.map((status, at) => monitor(`${at}`, status));
  return { generated_at: '2026-11-22T10:00:00.000Z', public: false, overall, monitors };
}

describe('the headline', () => {
  test.each([
    ['up', ['UP', 'UP', 'UP'], 'All 3 monitors are up'],
    ['up', ['UP'], 'The monitor is up'],
    ['up', ['UP', 'PAUSED', 'MAINTENANCE'], '1 of 2 is up, none are down'],
    ['up', ['UP', 'UP', 'PAUSED'], 'All 2 monitors are up'],
    ['up', ['PAUSED'], 'The monitor is paused'],
    ['down', ['DOWN', 'down', 'UP'], '2 of 3 are down'],
    ['down', ['DOWN'], 'The monitor is down'],
    ['degraded', ['DEGRADED', 'UP'], '1 of 2 is degraded'],
    ['unknown', ['UP', 'UP'], 'Current status unknown'],
    ['unknown', [], 'No data yet'],
    ['up', [], 'No monitors yet'],
  ] as const)('the headline for %s of %j', (overall, statuses, words) => {
    expect(headlineOf(report(overall, statuses))).toBe(words);
  });

  test('the headline names what is unwell if nothing is down', () => {
    const flapping = report('degraded', ['UP', 'UP']);
    flapping.monitors[0] = monitor('0', 'UP', { flapping: true });
    expect(headlineOf(flapping)).toBe('1 of 2 is flapping');
    expect(headlineOf(report('degraded', ['Slow', 'UP']))).toBe('1 of 2 is degraded');
  });
});

describe('the days of a monitor', () => {
  test('the bars cover all days of a report, and earlier days are unobserved', () => {
    const days = daysOf({ last: '2026-11-22', up_ms: [1_000, DAY_MS], down_ms: [3_000, 0] });
    expect(days).toHaveLength(STATUS_DAYS);
    expect(new Date(days.at(-1)?.atMs ?? 0).toISOString()).toBe('2026-11-22T00:00:00.000Z');
    expect(new Date(days[0]?.atMs ?? 0).toISOString()).toBe('2026-08-25T00:00:00.000Z');
    expect(days.slice(-3).map(kindOf)).toEqual(['unseen-day', 'mostly', 'up']);
    expect(days.slice(-3).map(({ upMs, downMs }) => [upMs, downMs])).toEqual([
      [0, 0],
      [1_000, 3_000],
      [DAY_MS, 0],
    ]);
    expect(daysText(days)).toMatch(
      /^Data for 2 of 90 days, down on 1\. Last: .*25 % up, down for 3 seconds\.$/,
    );
    expect(DAYS).toBe(STATUS_DAYS);
  });
});

describe('an uptime', () => {
  const told = (seen: readonly number[]) =>
    [1, 7, 30, 90].map((days, at) => ({ days, uptime: 0.486_34, seen_ms: seen[at] ?? 0 }));

  test('an uptime names the observed time if that was not most of the span', () => {
    const minutes = told([120_000, 120_000, 120_000, 120_000]);
    expect(uptimeFigures(minutes)).toEqual([
      { label: '24 hours', text: '48.63 % (watched for 2 minutes)' },
    ]);
    const days = uptimeFigures(told([DAY_MS, 7 * DAY_MS, 29 * DAY_MS, 40 * DAY_MS]));
    expect(days.map(({ label }) => label)).toEqual(['24 hours', '7 days', '30 days', '90 days']);
    expect(days.at(-1)?.text).toBe('48.63 % (watched for 40 days)');
    const last = '2026-11-22';
    expect(watchedText({ last, up_ms: [58_000], down_ms: [62_000] })).toBe('watched for 2 minutes');
    expect(watchedText({ last, up_ms: [DAY_MS, DAY_MS], down_ms: [0, 0] })).toBeUndefined();
  });
});

describe('moments', () => {
  test.each([
    [[], false],
    [[5], false],
    [[0, 119_999], true],
    [[0, 120_000], false],
  ] as const)('%j need seconds to be told apart: %s', (moments, seconds) => {
    expect(needSeconds(moments)).toBe(seconds);
  });
});
