import { describe, expect, onTestFinished, test } from 'vitest';
import { reportCard } from '../../src/bot/reports/report-card.ts';
import { factsOf, type ReportFacts, readSpan } from '../../src/bot/reports/report-facts.ts';
import {
  dueReport,
  fromMsOf,
  type ReportSpan,
  spanSoFar,
  toMsOf,
} from '../../src/bot/reports/schedule.ts';
import { counted, inWords } from '../../src/bot/shared/text-format.ts';
import { createMonitoringClient } from '../../src/clients/monitoring.ts';
import { textOf } from '../../test/helpers/bot.ts';
import {
  incidentsDuring,
  meanResponseTime,
  monitorNamed,
  uptimeOf,
  uptimeOfAll,
  withStatus,
} from './facts.ts';
import { MONITORS } from './plan.ts';
import { NOW_MS, november, type PlannedMonitor, type Span } from './planned-monitor.ts';
import { startRecordedWeek } from './recorded-week.ts';

const HOUR = 3_600_000;

/** The service's facts about a span, for monitors whose names match. */
async function toldOf(span: ReportSpan, takes: (name: string) => boolean = () => true) {
  const { url, key } = await startRecordedWeek();
  const monitoring = createMonitoringClient({ baseUrl: url, apiKey: key });
  onTestFinished(() => monitoring.close());
  const { signal } = new AbortController();
  return await factsOf(await readSpan(monitoring, span, signal), ({ name }) => takes(name));
}

const span = (one: ReportSpan): Span => ({ fromMs: fromMsOf(one), toMs: toMsOf(one) });
const spanBefore = (one: ReportSpan): Span => ({ fromMs: one.beforeMs, toMs: fromMsOf(one) });
const rounded = (share: number | null) => {
  const percent = Math.round((share ?? 0) * 10_000) / 100;
  return share !== null && share < 1 ? Math.min(99.99, percent) : percent;
};

/** The correct facts about a span, from the plan. */
function rightFacts(one: ReportSpan, monitors: readonly PlannedMonitor[] = MONITORS) {
  const [now, before] = [uptimeOfAll(span(one), monitors), uptimeOfAll(spanBefore(one), monitors)];
  const lengthWithin = ({ fromMs, toMs }: { fromMs: number; toMs: number | null }) =>
    Math.min(toMs ?? NOW_MS, toMsOf(one)) - fromMs;
  const incidents = incidentsDuring(span(one), monitors);
  const [longest] = [...incidents].sort((a, b) => lengthWithin(b) - lengthWithin(a));
  const slowest = monitors
    .filter(({ type }) => type !== 'HEARTBEAT')
    .map((monitor) => ({ name: monitor.name, ms: meanResponseTime(monitor, span(one)) ?? 0 }))
    .sort((a, b) => b.ms - a.ms);
  return {
    now,
    before,
    incidents,
    incidentsBefore: incidentsDuring(spanBefore(one), monitors),
    longest: longest && { ...longest, lastedMs: lengthWithin(longest) },
    down: monitors
      .map((monitor) => ({ monitor, ...uptimeOf(monitor, span(one)) }))
      .filter(({ downMs }) => downMs > 0)
      .sort(
        (a, b) =>
          (a.uptime ?? 0) - (b.uptime ?? 0) ||
          b.downMs - a.downMs ||
          (a.monitor.name < b.monitor.name ? -1 : 1),
      ),
    slowest,
  };
}

/** Holds facts to what is right of their time; hours that are cut count in proportion, so `offMs` of each monitor may differ. */
function expectRight(
  facts: ReportFacts,
  monitors: readonly PlannedMonitor[] = MONITORS,
  offMs = 0,
) {
  const right = rightFacts(facts.span, monitors);
  expect(facts.monitors).toBe(monitors.length);
  if (offMs === 0) {
    expect(facts.percent).toBe(rounded(right.now.uptime));
    expect(facts.percentBefore).toBe(rounded(right.before.uptime));
    expect(facts.downMs).toBe(right.now.downMs);
    expect(facts.down.map(({ name, downMs }) => ({ name, downMs }))).toEqual(
      right.down.map(({ monitor: { name }, downMs }) => ({ name, downMs })),
    );
    expect(facts.down.map(({ percent }) => percent)).toEqual(
      right.down.map(({ uptime }) => rounded(uptime)),
    );
  } else {
    expect(Math.abs((facts.percent ?? 0) - rounded(right.now.uptime))).toBeLessThan(0.01);
    expect(Math.abs(facts.downMs - right.now.downMs)).toBeLessThan(offMs);
  }
  expect(facts.outages).toEqual({ count: right.incidents.length, isLeast: false });
  expect(facts.outagesBefore).toEqual({ count: right.incidentsBefore.length, isLeast: false });
  expect(facts.longest).toEqual({
    name: right.longest?.monitor.name,
    fromMs: right.longest?.fromMs,
    lastedMs: right.longest?.lastedMs,
    isOngoing: right.longest?.toMs === null || (right.longest?.toMs ?? 0) > toMsOf(facts.span),
    cause: right.longest?.cause,
  });
  const [slow] = facts.slowest;
  expect(slow?.name).toBe(right.slowest[0]?.name);
  expect(Math.abs((slow?.meanMs ?? 0) - (right.slowest[0]?.ms ?? 0))).toBeLessThan(
    0.05 * (slow?.meanMs ?? 0),
  );
  expect(facts.downNow.sort()).toEqual(
    withStatus('DOWN')
      .filter((one) => monitors.includes(one))
      .map(({ name }) => name)
      .sort(),
  );
}

describe('a report of the recorded week', () => {
  test('reports the right facts about 200 monitors over the last seven days', async () => {
    const facts = await toldOf(spanSoFar('weekly', 'UTC', NOW_MS));
    expectRight(facts);
    const card = reportCard(facts);
    const text = textOf(card);
    const right = rightFacts(facts.span);
    expect(card.title).toBe(`Weekly report: ${rounded(right.now.uptime)} % up`);
    expect(text).toContain('Time: 2026-11-19 12:00 to 2026-11-26 12:00 (UTC)');
    expect(text).toContain(`(the 7 days before: ${right.incidentsBefore.length})`);
    expect(text).toContain(`${inWords(right.now.downMs)} of downtime in total`);
    const more = right.down.length - 8;
    expect(text).toContain(`${counted(more, 'more monitor')} were down`);
    const chart = card.parts.find((part) => part.kind === 'chart');
    // More than ten hours on one of these days: five days in all.
    expect(chart).toMatchObject({ unit: 'h', title: 'Total downtime by day' });
    const hours = chart?.kind === 'chart' ? chart.points.map(({ value }) => value ?? 0) : [];
    expect(hours.reduce((sum, value) => sum + value, 0)).toBeCloseTo(right.now.downMs / HOUR, 0);
    const rows = card.parts.flatMap((part) => (part.kind === 'table' ? part.rows : []));
    expect(rows).toHaveLength(8);
    expect(rows.map(([name]) => name)).toEqual(
      right.down.slice(0, 8).map(({ monitor }) => monitor.name),
    );
    expect(rows.every(([, percent]) => percent !== '100 %')).toBe(true);
    const paused = withStatus('PAUSED').length;
    expect(facts.pausedNow).toHaveLength(paused);
    // A stop of the service of two hours, what was paused, and maintenance.
    const there = MONITORS.reduce(
      (sum, { createdMs }) => sum + NOW_MS - Math.max(createdMs, fromMsOf(facts.span)),
      0,
    );
    const seen = right.now.upMs + right.now.downMs;
    expect(facts.unseenPercent).toBe(rounded(1 - seen / there));
    expect(text).toMatch(/Not monitored: [\d.]+ % of the monitors’ time/);
  });

  test('reports a calendar week, and a day by hours, in Berlin time', async () => {
    const schedule = { minute: 540, zone: 'Europe/Berlin', setAtMs: 0 };
    const week = dueReport({ ...schedule, every: 'weekly' }, november('23 08:00'))?.span;
    const day = dueReport({ ...schedule, every: 'daily' }, november('25 08:00'))?.span;
    if (!week || !day) throw new Error('Nothing is due.');
    expect(span(week)).toEqual({ fromMs: november('15 23:00'), toMs: november('22 23:00') });
    expect(span(day)).toEqual({ fromMs: november('23 23:00'), toMs: november('24 23:00') });
    const facts = await toldOf(week);
    expectRight(facts);
    expect(textOf(reportCard(facts))).toContain('Time: 2026-11-16 to 2026-11-22 (Europe/Berlin)');
    expect(facts.steps).toHaveLength(7);
    for (const { fromMs, toMs, downMs, seenMs } of facts.steps) {
      const right = uptimeOfAll({ fromMs, toMs });
      expect({ downMs, seenMs }).toEqual({
        downMs: right.downMs,
        seenMs: right.upMs + right.downMs,
      });
    }
    const ofDay = await toldOf(day);
    expectRight(ofDay);
    expect(ofDay.steps).toHaveLength(24);
    const [chart] = reportCard(ofDay).parts.filter((part) => part.kind === 'chart');
    expect(chart).toMatchObject({ unit: 'min', zone: 'Europe/Berlin', stepMs: HOUR });
    for (const { atMs, value } of chart?.kind === 'chart' ? chart.points : []) {
      const { downMs } = uptimeOfAll({ fromMs: atMs, toMs: atMs + HOUR });
      expect(value).toBeCloseTo(downMs / 60_000, 0);
      expect(value === 0).toBe(downMs === 0);
    }
  });

  test('is right where the days of a zone cut hours', async () => {
    const schedule = { minute: 540, zone: 'Asia/Kolkata', setAtMs: 0, every: 'weekly' } as const;
    const week = dueReport(schedule, november('23 08:00'))?.span;
    if (!week) throw new Error('Nothing is due.');
    expect(fromMsOf(week)).toBe(november('15 18:30'));
    expectRight(await toldOf(week), MONITORS, 200 * HOUR);
  });

  test('is about the monitors that the channel hears, and those alone', async () => {
    const shops = MONITORS.filter(({ name }) => name.toLowerCase().includes('shop'));
    const facts = await toldOf(spanSoFar('weekly', 'UTC', NOW_MS), (name) =>
      name.toLowerCase().includes('shop'),
    );
    expectRight(facts, shops);
    expect(shops.length).toBeLessThan(MONITORS.length);
  });

  test('of one monitor that was never down says so, with a chart of how long it took', async () => {
    const calm = MONITORS.find(
      (one) =>
        one.type === 'HTTP' && one.periods.length === 0 && one.createdMs < november('12 00:00'),
    );
    if (!calm) throw new Error('Every monitor was down.');
    const card = reportCard(
      await toldOf(spanSoFar('daily', 'UTC', NOW_MS), (name) => name === calm.name),
    );
    expect(card).toMatchObject({ tone: 'good', title: 'Daily report: 100 % up' });
    expect(textOf(card)).toContain('Outages: none (the 24 hours before: none)');
    expect(card.parts.map(({ kind }) => kind)).toEqual(['facts', 'chart']);
    expect(card.parts.at(-1)).toMatchObject({ title: 'Response time by hour', unit: 'ms' });
  });

  test('of a monitor that was made in that time says what is not known', async () => {
    const young = MONITORS.find(({ createdMs }) => createdMs >= NOW_MS - 7 * 24 * HOUR);
    if (!young) throw new Error('No monitor is new.');
    const facts = await toldOf(
      spanSoFar('weekly', 'UTC', NOW_MS),
      (name) => name === monitorNamed(young.name).name,
    );
    expect(facts.percentBefore).toBeUndefined();
    const text = textOf(reportCard(facts));
    expect(text).toContain('no data for the 7 days before');
    expect(text).toContain(`New: ${young.name}`);
  });

  test('of a channel that hears nothing says how it can', async () => {
    const card = reportCard(await toldOf(spanSoFar('weekly', 'UTC', NOW_MS), () => false));
    expect(card.title).toBe('Weekly report: nothing to report');
    expect(textOf(card)).toContain('/monitor alerts on');
  });
});
