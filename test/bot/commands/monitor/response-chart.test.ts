import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  chartFromMs,
  chartSpanOf,
  responseChart,
} from '../../../../src/bot/commands/monitor/response-chart.ts';
import type { Chart } from '../../../../src/bot/shared/card.ts';
import type { Incident, Rollup } from '../../../../src/contracts/monitoring-additions.ts';
import { counting, startAdditions } from '../../../helpers/bot/stepped-watch.ts';
import { CHANNEL, cardOf, startTestBot, textOf } from '../../../helpers/bot.ts';
import { long } from '../../../helpers/long.ts';

const HOUR_MS = 3_600_000;
const NOW = Date.parse('2026-11-22T10:20:00Z');
const DAY = chartSpanOf({}, NOW);
const iso = (ms: number) => new Date(ms).toISOString();

/** An hour that began so many hours before the one that goes on now. */
function hour(hoursAgo: number, mean: number | null, given: Partial<Rollup> = {}): Rollup {
  const startMs = Date.parse('2026-11-22T10:00:00Z') - hoursAgo * HOUR_MS;
  return {
    starts_at: iso(startMs),
    checks: 60,
    failures: mean === null ? 60 : 0,
    response_time_ms: mean === null ? null : { min: mean / 2, mean, max: mean * 2 },
    up_ms: mean === null ? 0 : HOUR_MS,
    down_ms: mean === null ? HOUR_MS : 0,
    ...given,
  };
}

function outage(fromMs: number, toMs: number | null): Incident {
  const ended_at = toMs === null ? null : iso(toMs);
  const more = { id: `${fromMs}`, change: 1, cause: 'It was silent.', outcome: 'timeout' };
  return { ...more, started_at: iso(fromMs), ended_at, ended_as: ended_at && 'UP' };
}

const chartOf = (rollups?: Rollup[], incidents?: Incident[]) =>
  responseChart({ span: DAY, rollups, incidents, nowMs: NOW })[0];
const valuesOf = (chart: Chart | undefined) => chart?.points.map(({ value }) => value);

test('a day with an outage in its middle has a gap there, and says when it was', () => {
  const rollups = Array.from({ length: 24 }, (_, at) => hour(23 - at, at < 12 ? 100 : 300));
  rollups.splice(10, 3, hour(13, null), hour(12, null), hour(11, null));
  const fromMs = Date.parse(rollups[10]?.starts_at ?? '');
  const chart = chartOf(rollups, [outage(fromMs, fromMs + 3 * HOUR_MS)]);
  expect(valuesOf(chart)).toEqual([
    ...Array(10).fill(100),
    ...[null, null, null],
    ...Array(11).fill(300),
  ]);
  expect(chart?.outages).toEqual([{ fromMs, toMs: fromMs + 3 * HOUR_MS }]);
  expect(chart?.text).toBe(`${'▁'.repeat(10)}···${'█'.repeat(11)} 100 ms to 300 ms`);
  expect(chart?.points[0]?.atMs).toBe(Date.parse('2026-11-21T11:00:00Z'));
  expect(chart?.points.at(-1)?.atMs).toBe(Date.parse('2026-11-22T10:00:00Z'));
});

test('there is no chart of nothing, of one value, and of nothing but failures', () => {
  expect(
    responseChart({ span: DAY, rollups: undefined, incidents: undefined, nowMs: NOW }),
  ).toEqual([]);
  expect(chartOf([])).toBeUndefined();
  expect(chartOf([hour(0, 120)])).toBeUndefined();
  expect(chartOf(Array.from({ length: 24 }, (_, at) => hour(at, null)))).toBeUndefined();
  expect(chartOf([hour(0, 120), hour(3, 120)])?.text).toBe(`${'·'.repeat(20)}▁··▁ 120 ms`);
});

test('of an hour with failures and passes, the checks that passed are shown', () => {
  const half = hour(1, 80, { failures: 30 });
  expect(valuesOf(chartOf([half, hour(0, 120)]))?.slice(-3)).toEqual([null, 80, 120]);
});

test('an outage that goes on ends now, one from before begins with the chart, those that meet are one', () => {
  const rollups = [hour(0, 100), hour(1, 100)];
  const startMs = chartFromMs(DAY, NOW);
  const chart = chartOf(rollups, [
    outage(NOW - 60_000, null),
    outage(NOW - 120_000, NOW - 60_000),
    outage(startMs - HOUR_MS, startMs + 1000),
    outage(startMs - HOUR_MS, startMs - 1),
    outage(NOW + 1000, null),
  ]);
  expect(chart?.outages).toEqual([
    { fromMs: startMs, toMs: startMs + 1000 },
    { fromMs: NOW - 120_000, toMs: NOW },
  ]);
});

test('whatever a service sends, a chart is a bounded row of equal steps with what was measured in each', () => {
  const mean = fc.oneof(
    fc.constant(null),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.nat(5_000),
  );
  const anyHour = fc.oneof(
    fc.record({ ago: fc.integer({ min: -3, max: 40 }), mean }),
    fc.record({ ago: fc.double({ min: -3, max: 40, noNaN: true }), mean }),
  );
  const anyOutage = fc.tuple(
    fc.integer({ min: -30 * HOUR_MS, max: 2 * HOUR_MS }),
    fc.option(fc.integer({ min: -30 * HOUR_MS, max: 2 * HOUR_MS })),
  );
  fc.assert(
    fc.property(
      fc.array(anyHour, { maxLength: 80 }),
      fc.array(anyOutage, { maxLength: 20 }),
      (hours, times) => {
        const rollups = hours.map(({ ago, mean: value }) => hour(ago, value));
        const incidents = times.map(([from, to]) =>
          outage(NOW + from, to === null ? null : NOW + to),
        );
        const chart = chartOf(rollups, incidents);
        if (!chart) return;
        const { points, outages, stepMs } = chart;
        expect(points).toHaveLength(24);
        expect([...(chart.text.split(' ')[0] ?? '')]).toHaveLength(24);
        const endMs = (points.at(-1)?.atMs ?? 0) + stepMs;
        expect(endMs - NOW).toBeLessThanOrEqual(HOUR_MS);
        expect(points.map(({ atMs }) => atMs)).toEqual(
          points.map((_, index) => endMs - (24 - index) * stepMs),
        );
        const wrong: unknown[] = [];
        for (const { atMs, value } of points) {
          const sent = rollups.filter(({ starts_at }) => {
            const sinceMs = Date.parse(starts_at) - atMs;
            return sinceMs >= 0 && sinceMs < stepMs;
          });
          const means = sent.map(({ response_time_ms: times }) => times?.mean ?? -1);
          const measured = means.filter(isResponseTime);
          const mean = measured.reduce((sum, ms) => sum + ms, 0) / measured.length;
          const isRight = value === null ? measured.length === 0 : Math.abs(mean - value) < 0.5;
          if (!isRight) wrong.push({ atMs, value, measured });
        }
        expect(wrong).toEqual([]);
        let lastMs = (points[0]?.atMs ?? 0) - 1;
        for (const { fromMs, toMs } of outages) {
          expect(fromMs).toBeGreaterThan(lastMs);
          expect(toMs).toBeGreaterThan(fromMs);
          lastMs = toMs;
        }
        expect(lastMs).toBeLessThanOrEqual(NOW);
      },
    ),
    { numRuns: long ? 5_000 : 150 },
  );
});

const isResponseTime = (mean: number) => mean >= 0 && mean <= HOUR_MS;

/** What `/monitor show` makes of a service that answers so to everything but its list. */
async function show(answers: Record<string, object>, given: Parameters<typeof counting>[2] = {}) {
  const monitor = counting('a', 1, { name: '<!here> *Shop* @everyone', ...given });
  const service = await startAdditions([monitor], (what) =>
    answers[what] ? { body: answers[what] } : { status: 404, body: {} },
  );
  const { bot } = await startTestBot({ watched: service });
  const person = { id: 'U1', name: 'Ada' };
  const reply = await bot.dispatch({
    ...{ id: 'show:1', request: { line: '/monitor show a' }, place: CHANNEL, person },
  });
  const card = cardOf(reply);
  return { asked: service.asked, card, chart: card.parts.find(({ kind }) => kind === 'chart') };
}

const lastHours = () => {
  const nowMs = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
  // Five, so that it does not matter when an hour ends during the test.
  const rollups = [5, 4, 3, 2, 1].map((ago) => ({
    ...hour(0, 100 * ago),
    starts_at: iso(nowMs - ago * HOUR_MS),
  }));
  return { by: 'hour', rollups };
};

test('/monitor show has the last hour of a monitor that is younger than some hours', async () => {
  const nowMs = Math.floor(Date.now() / 60_000) * 60_000;
  const rollups = [9, 8, 7, 6, 5].map((ago) => ({
    ...hour(0, 100 * ago),
    starts_at: iso(nowMs - ago * 60_000),
  }));
  const created_at = iso(nowMs - 10 * 60_000);
  const { chart } = await show({ rollups: { by: 'minute', rollups } }, { created_at });
  expect(chart).toMatchObject({ title: 'Response time, last hour', stepMs: 120_000 });
  const values = valuesOf(chart as Chart)?.filter((value) => value !== null) ?? [];
  // Two minutes a point: which two, the clock says.
  expect([
    [900, 750, 550],
    [850, 650, 500],
  ]).toContainEqual(values);
});

test('/monitor show has the chart of a service that sums hours up', async () => {
  const { card, chart } = await show({ rollups: lastHours() });
  expect(chart).toMatchObject({ unit: 'ms', title: 'Response time, last 24 hours' });
  expect(textOf(card)).toMatch(/Response time, last 24 hours: ·+█▆▅▃▁·* 100 ms to 500 ms/);
});

test('/monitor show has none of a service that tells no hours, and of a job', async () => {
  const without = await show({});
  expect(without.asked).toContain('rollups a');
  expect(without.chart).toBeUndefined();
  const nonsense = await show({ rollups: { by: 'hour', rollups: 'yes' } });
  expect(nonsense.chart).toBeUndefined();
  const job = await show({ rollups: lastHours() }, { check_type: 'HEARTBEAT' });
  expect(job.asked).not.toContain('rollups a');
  expect(job.chart).toBeUndefined();
});

test('the table below names five outages, however many the chart knows', async () => {
  const incidents = Array.from({ length: 9 }, (_, at) =>
    outage(Date.now() - (at + 2) * HOUR_MS, Date.now() - (at + 1.5) * HOUR_MS),
  );
  const { card, chart } = await show({ rollups: lastHours(), incidents: { incidents } });
  expect(chart?.kind === 'chart' && chart.outages).toHaveLength(9);
  const table = card.parts.find((part) => part.kind === 'table');
  expect(table?.kind === 'table' && table.rows).toHaveLength(5);
});
