import { expect, test } from 'vitest';
import {
  chartFromMs,
  chartSpanOf,
  responseChart,
} from '../../../../src/bot/commands/monitor/response-chart.ts';
import type { Chart } from '../../../../src/bot/shared/card.ts';
import type { Incident, Rollup } from '../../../../src/contracts/monitoring-additions.ts';
import { counting, startAdditions } from '../../../helpers/bot/stepped-watch.ts';
import { cardOf, startTestBot, textOf } from '../../../helpers/bot.ts';

const HOUR_MS = 3_600_000;
const NOW = Date.parse('2026-11-22T10:20:00Z');
const DAY = chartSpanOf({}, NOW);
const iso = (ms: number) => new Date(ms).toISOString();

/** The hour that began some hours before the current one. */
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

test('a chart needs two values', () => {
  expect(
    responseChart({ span: DAY, rollups: undefined, incidents: undefined, nowMs: NOW }),
  ).toEqual([]);
  expect(chartOf([])).toBeUndefined();
  expect(chartOf([hour(0, 120)])).toBeUndefined();
  expect(chartOf(Array.from({ length: 24 }, (_, at) => hour(at, null)))).toBeUndefined();
  expect(chartOf([hour(0, 120), hour(3, 120)])?.text).toBe(`${'·'.repeat(20)}▁··▁ 120 ms`);
});

test('the chart shows the passed checks of an hour with failures', () => {
  const half = hour(1, 80, { failures: 30 });
  expect(valuesOf(chartOf([half, hour(0, 120)]))?.slice(-3)).toEqual([null, 80, 120]);
});

test('outages are cut to the chart and merged if they meet', () => {
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

/** Shows a monitor of a service with these answers to everything but its list. */
async function show(answers: Record<string, object>, given: Parameters<typeof counting>[2] = {}) {
  const monitor = counting('a', 1, { name: '<!here> *Shop* @everyone', ...given });
  const service = await startAdditions([monitor], (what) =>
    answers[what] ? { body: answers[what] } : { status: 404, body: {} },
  );
  const { say } = await startTestBot({ watched: service });
  const card = cardOf(await say('/monitor show a'));
  return { asked: service.asked, card, chart: card.parts.find(({ kind }) => kind === 'chart') };
}

const lastHours = () => {
  const nowMs = Math.floor(Date.now() / HOUR_MS) * HOUR_MS;
  // Five, in case an hour ends during the test.
  const rollups = [5, 4, 3, 2, 1].map((ago) => ({
    ...hour(0, 100 * ago),
    starts_at: iso(nowMs - ago * HOUR_MS),
  }));
  return { by: 'hour', rollups };
};

test('/monitor show draws the last hour of a young monitor', async () => {
  const nowMs = Math.floor(Date.now() / 60_000) * 60_000;
  const rollups = [9, 8, 7, 6, 5].map((ago) => ({
    ...hour(0, 100 * ago),
    starts_at: iso(nowMs - ago * 60_000),
  }));
  const created_at = iso(nowMs - 10 * 60_000);
  const { chart } = await show({ rollups: { by: 'minute', rollups } }, { created_at });
  expect(chart).toMatchObject({ title: 'Response time, last hour', stepMs: 120_000 });
  const values = valuesOf(chart as Chart)?.filter((value) => value !== null) ?? [];
  // A point has two minutes; the clock decides which ones.
  expect([
    [900, 750, 550],
    [850, 650, 500],
  ]).toContainEqual(values);
});

test('/monitor show draws the last 24 hours', async () => {
  const { card, chart } = await show({ rollups: lastHours() });
  expect(chart).toMatchObject({ unit: 'ms', title: 'Response time, last 24 hours' });
  expect(textOf(card)).toMatch(/Response time, last 24 hours: ·+█▆▅▃▁·* 100 ms to 500 ms/);
});

test('/monitor show draws nothing without rollups, or for a heartbeat', async () => {
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
