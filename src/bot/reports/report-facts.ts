import type { MonitoringClient } from '../../clients/monitoring.ts';
import { beginTurn } from '../../contracts/event-loop.ts';
import type { Monitor } from '../../contracts/monitoring.ts';
import type { MonitorParts } from '../../contracts/monitoring-additions.ts';
import type { MonitorRef } from '../channels/channels.ts';
import { matches } from '../channels/monitor-filter.ts';
import { groupBy } from '../incidents/watch-state.ts';
import { isDown } from '../shared/status.ts';
import { percentOf } from '../shared/text-format.ts';
import { offered } from '../tools/monitors.ts';
import { incidentTimes } from '../tools/read-model.ts';
import { isoTime } from '../tools/tool.ts';
import { fromMsOf, type ReportSpan, toMsOf } from './schedule.ts';

/** One hour or day of a report, all monitors together. */
export interface ReportStep {
  fromMs: number;
  toMs: number;
  seenMs: number;
  downMs: number;
  /** Mean time of passed checks; `null` if none passed. */
  meanMs: number | null;
}

/** A monitor that was down. Percentages are of the checked time; `percentBefore` is absent if there was none. */
export interface DownMonitor {
  name: string;
  percent: number;
  downMs: number;
  percentBefore?: number;
  outages: number;
}

/** `isLeast`: older outages may be missing. */
export interface OutageCount {
  count: number;
  isLeast: boolean;
}

/** The figures of a report. Names and causes are hostile until rendered. */
export interface ReportFacts {
  span: ReportSpan;
  /** Monitors whose alerts the channel receives, paused ones included, and the ones with checked time. */
  monitors: number;
  seen: number;
  /** Uptime of the checked time; absent if there was none. */
  percent?: number;
  percentBefore?: number;
  /** Share of the monitors' time since their creation that was not checked. */
  unseenPercent: number;
  downMs: number;
  outages: OutageCount;
  outagesBefore: OutageCount;
  longest?: { name: string; fromMs: number; lastedMs: number; isOngoing: boolean; cause: string };
  /** Lowest uptime first. */
  down: DownMonitor[];
  /** Longest mean response time first. Heartbeats have none. */
  slowest: Array<{ name: string; meanMs: number; beforeMs?: number }>;
  downNow: string[];
  pausedNow: string[];
  /** Created in the span. */
  added: string[];
  steps: ReportStep[];
}

/** Difference of the shown uptimes in percentage points; `undefined` if one is unknown. Pure. */
export const pointsMore = ({ percent, percentBefore }: ReportFacts): number | undefined =>
  percent === undefined || percentBefore === undefined
    ? undefined
    : Math.round((percent - percentBefore) * 100) / 100;

/** More than a report shows. */
const SLOWEST_COUNT = 10;

/** Reading all monitors of a large service takes longer than people's requests may. */
const READ_MS = 60_000;

/** The service's limit for one list. */
const MAX_INCIDENTS = 1_000;

/** Data of the service for a span and the one before, of all monitors. */
export interface SpanRecord {
  span: ReportSpan;
  monitors: readonly Monitor[];
  rows: readonly MonitorParts[];
  incidents: SpanIncidents;
  incidentsBefore: SpanIncidents;
}

type SpanIncidents = Awaited<ReturnType<MonitoringClient['incidentList']>>;

/** Reads everything that reports of a span need. Throws like the client, and a `CommandError` if the service keeps no history. */
export async function readSpan(
  monitoring: MonitoringClient,
  span: ReportSpan,
  signal: AbortSignal,
): Promise<SpanRecord> {
  const incidentsOf = (from: number, to: number) => {
    const range = { from: isoTime(from), to: isoTime(to), limit: MAX_INCIDENTS };
    return offered('incidents', monitoring.incidentList({ ...range, signal }));
  };
  const [fromMs, toMs] = [fromMsOf(span), toMsOf(span)];
  const [monitors, rows, incidents, incidentsBefore] = await Promise.all([
    monitoring.list({ signal }),
    readParts(monitoring, [span.beforeMs, ...span.cuts], signal),
    incidentsOf(fromMs, toMs),
    incidentsOf(span.beforeMs, fromMs),
  ]);
  return { span, monitors, rows, incidents, incidentsBefore };
}

async function readParts(
  monitoring: MonitoringClient,
  moments: readonly number[],
  signal: AbortSignal,
): Promise<MonitorParts[]> {
  const rows: MonitorParts[] = [];
  const range = { moments: moments.map(isoTime), timeoutMs: READ_MS, signal };
  let after: string | undefined;
  do {
    const page = await offered('uptime by hour and day', monitoring.parts({ ...range, after }));
    rows.push(...page.monitors);
    after = page.next ?? undefined;
  } while (after !== undefined);
  return rows;
}

/** The facts of the monitors whose alerts a channel `hears`. Yields to the event loop: there may be ten thousand. */
export async function factsOf(
  record: SpanRecord,
  hears: (monitor: MonitorRef) => boolean,
): Promise<ReportFacts> {
  const { span, rows } = record;
  const { tags } = span;
  const monitors = record.monitors.filter((one) => hears(one) && matches(one, { tags }));
  const byId = new Map(monitors.map((monitor) => [monitor.id, monitor]));
  const { measured, steps } = await measure(rows, byId, span);
  const total = sumOf(measured.map((one) => one.total));
  const totalBefore = sumOf(measured.map(({ before }) => before));
  const incidents = incidentsOf(record.incidents, byId);
  return {
    span,
    monitors: monitors.length,
    seen: measured.filter((one) => seenMs(one.total) > 0).length,
    percent: uptimePercent(total),
    percentBefore: uptimePercent(totalBefore),
    unseenPercent: unseenPercent(measured, span),
    downMs: total.downMs,
    outages: countOf(record.incidents, byId),
    outagesBefore: countOf(record.incidentsBefore, byId),
    longest: longestOf(incidents, { byId, toMs: toMsOf(span) }),
    down: downMonitors(measured, incidents),
    slowest: slowestMonitors(measured),
    downNow: namesOf(monitors.filter(isDown)),
    pausedNow: namesOf(monitors.filter(({ status }) => status.toUpperCase() === 'PAUSED')),
    added: namesOf(measured.filter((one) => isAddedIn(one, span)).map(({ monitor }) => monitor)),
    steps,
  };
}

/** Sums over one or more monitors. */
interface CheckedTime {
  upMs: number;
  downMs: number;
  passed: number;
  tookMs: number;
}

const NOTHING: CheckedTime = { upMs: 0, downMs: 0, passed: 0, tookMs: 0 };

/** One monitor in the span and in the one before. */
interface MeasuredMonitor {
  row: MonitorParts;
  monitor: Monitor;
  before: CheckedTime;
  total: CheckedTime;
}

/** Sums up the parts by monitor and by step. Plain loops: ten thousand monitors have a million numbers. */
async function measure(
  rows: readonly MonitorParts[],
  byId: ReadonlyMap<string, Monitor>,
  { cuts }: ReportSpan,
): Promise<{ measured: MeasuredMonitor[]; steps: ReportStep[] }> {
  const measured: MeasuredMonitor[] = [];
  const steps = cuts.slice(1).map(() => ({ ...NOTHING }));
  const turn = beginTurn();
  for (const row of rows) {
    if (turn.isOver()) await turn.next();
    const monitor = byId.get(row.id);
    if (!monitor) continue;
    const before = { ...NOTHING };
    const total = { ...NOTHING };
    const isTimed = monitor.check_type !== 'HEARTBEAT';
    addPart(before, row, 0, isTimed);
    for (const [at, step] of steps.entries()) {
      addPart(total, row, at + 1, isTimed);
      addPart(step, row, at + 1, isTimed);
    }
    measured.push({ row, monitor, before, total });
  }
  return {
    measured,
    steps: steps.map((step, at) => ({
      fromMs: cuts[at] ?? cuts[0],
      toMs: cuts[at + 1] ?? cuts[0],
      seenMs: seenMs(step),
      downMs: step.downMs,
      meanMs: step.passed > 0 ? meanOf(step) : null,
    })),
  };
}

function addPart(sum: CheckedTime, row: MonitorParts, at: number, isTimed: boolean) {
  sum.upMs += row.up_ms[at] ?? 0;
  sum.downMs += row.down_ms[at] ?? 0;
  const passed = isTimed ? (row.passed[at] ?? 0) : 0;
  sum.passed += passed;
  sum.tookMs += passed * (row.mean_ms[at] ?? 0);
}

const sumOf = (all: readonly CheckedTime[]): CheckedTime =>
  all.reduce(
    (sum, one) => ({
      upMs: sum.upMs + one.upMs,
      downMs: sum.downMs + one.downMs,
      passed: sum.passed + one.passed,
      tookMs: sum.tookMs + one.tookMs,
    }),
    NOTHING,
  );

const seenMs = ({ upMs, downMs }: CheckedTime) => upMs + downMs;
const shareUp = (time: CheckedTime) => time.upMs / seenMs(time);
const meanOf = ({ tookMs, passed }: CheckedTime) => Math.round((tookMs / passed) * 10) / 10;
const namesOf = (monitors: readonly Monitor[]) => monitors.map(({ name }) => name);

const uptimePercent = (time: CheckedTime) =>
  seenMs(time) > 0 ? percentOf(shareUp(time)) : undefined;

function unseenPercent(measured: readonly MeasuredMonitor[], span: ReportSpan): number {
  const [fromMs, toMs] = [fromMsOf(span), toMsOf(span)];
  const existedMs = measured.reduce(
    (sum, { row }) => sum + toMs - Math.min(toMs, Math.max(fromMs, Date.parse(row.created_at))),
    0,
  );
  const checkedMs = measured.reduce((sum, { total }) => sum + seenMs(total), 0);
  return existedMs > checkedMs ? percentOf(1 - checkedMs / existedMs) : 0;
}

function isAddedIn({ row }: MeasuredMonitor, span: ReportSpan): boolean {
  const createdMs = Date.parse(row.created_at);
  return createdMs >= fromMsOf(span) && createdMs < toMsOf(span);
}

const incidentsOf = ({ incidents }: SpanIncidents, byId: ReadonlyMap<string, Monitor>) =>
  incidents.filter(({ monitor = '' }) => byId.has(monitor));

const countOf = (list: SpanIncidents, byId: ReadonlyMap<string, Monitor>): OutageCount => ({
  count: incidentsOf(list, byId).length,
  isLeast: byId.size > 0 && (!list.complete || list.total > list.incidents.length),
});

function downMonitors(
  measured: readonly MeasuredMonitor[],
  incidents: SpanIncidents['incidents'],
): DownMonitor[] {
  const outages = groupBy(incidents, ({ monitor }) => monitor);
  return measured
    .filter(({ total }) => total.downMs > 0)
    .sort(
      (a, b) =>
        shareUp(a.total) - shareUp(b.total) ||
        b.total.downMs - a.total.downMs ||
        (a.monitor.name < b.monitor.name ? -1 : 1),
    )
    .map(({ monitor, before, total }) => ({
      name: monitor.name,
      percent: percentOf(shareUp(total)),
      downMs: total.downMs,
      percentBefore: uptimePercent(before),
      outages: outages.get(monitor.id)?.length ?? 0,
    }));
}

const slowestMonitors = (measured: readonly MeasuredMonitor[]) =>
  measured
    .filter(({ total }) => total.passed > 0)
    .sort((a, b) => meanOf(b.total) - meanOf(a.total))
    .slice(0, SLOWEST_COUNT)
    .map(({ monitor, before, total }) => ({
      name: monitor.name,
      meanMs: meanOf(total),
      beforeMs: before.passed > 0 ? meanOf(before) : undefined,
    }));

/** The longest outage; its length ends with the span. */
function longestOf(
  incidents: SpanIncidents['incidents'],
  { byId, toMs }: { byId: ReadonlyMap<string, Monitor>; toMs: number },
): ReportFacts['longest'] {
  return incidents
    .map((incident) => {
      const { monitor = '', cause } = incident;
      const { fromMs, lastedMs, isOngoing } = incidentTimes(incident, toMs);
      return { name: byId.get(monitor)?.name ?? '', fromMs, lastedMs, isOngoing, cause };
    })
    .sort((a, b) => b.lastedMs - a.lastedMs)[0];
}
