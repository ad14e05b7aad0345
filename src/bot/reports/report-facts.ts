import type { MonitoringClient } from '../../clients/monitoring.ts';
import { beginTurn } from '../../contracts/event-loop.ts';
import type { Monitor } from '../../contracts/monitoring.ts';
import type { MonitorParts } from '../../contracts/monitoring-additions.ts';
import type { MonitorRef } from '../channels/channels.ts';
import { groupBy } from '../incidents/watch-state.ts';
import { isDown } from '../shared/status.ts';
import { percentOf } from '../shared/text-format.ts';
import { offered } from '../tools/monitors.ts';
import { isoTime } from '../tools/tool.ts';
import { fromMsOf, type ReportSpan, toMsOf } from './schedule.ts';

/** How one part of the time of a report went, for all its monitors together. */
export interface ReportStep {
  fromMs: number;
  toMs: number;
  seenMs: number;
  downMs: number;
  /** Of all checks that passed; `null` where none did. */
  meanMs: number | null;
}

/** A monitor that was down. */
export interface DownMonitor {
  name: string;
  percent: number;
  downMs: number;
  /** Absent where nothing was seen of it in the span before. */
  percentBefore?: number;
  outages: number;
}

/** Outages of a time; when not all are known there were at least so many. */
export interface OutageCount {
  count: number;
  isLeast: boolean;
}

/** What a report tells. Names and causes are as the service has them, and hostile until rendered. */
export interface ReportFacts {
  span: ReportSpan;
  /** That the channel hears, with those that are paused, and those of which anything was seen. */
  monitors: number;
  seen: number;
  /** Of what was seen; absent where nothing was. */
  percent?: number;
  percentBefore?: number;
  /** How much of the monitors' time nobody saw, since each was made. */
  unseenPercent: number;
  downMs: number;
  outages: OutageCount;
  outagesBefore: OutageCount;
  longest?: { name: string; fromMs: number; lastedMs: number; goesOn: boolean; cause: string };
  /** Those with the least uptime first. */
  down: DownMonitor[];
  /** Those whose checks took the longest on average first; not those whose jobs tell of themselves. */
  slowest: Array<{ name: string; meanMs: number; beforeMs?: number }>;
  downNow: string[];
  pausedNow: string[];
  /** Made in this time. */
  added: string[];
  steps: ReportStep[];
}

/** Percentage points of uptime more than before, of the percentages as they are told; `undefined` where one is not known. Pure. */
export const pointsMore = ({ percent, percentBefore }: ReportFacts): number | undefined =>
  percent === undefined || percentBefore === undefined
    ? undefined
    : Math.round((percent - percentBefore) * 100) / 100;

/** More than a report names. */
const SLOWEST_COUNT = 10;

/** Reading all monitors of a large service takes longer than what people wait for. */
const READ_MS = 60_000;

/** As many as the service lists at once. */
const MAX_INCIDENTS = 1_000;

/** What the service tells of the time of a report, and of the one before, of all monitors. */
export interface SpanRecord {
  span: ReportSpan;
  monitors: readonly Monitor[];
  rows: readonly MonitorParts[];
  incidents: ListedIncidents;
  incidentsBefore: ListedIncidents;
}

type ListedIncidents = Awaited<ReturnType<MonitoringClient['incidentList']>>;

/**
 * Asks for all that a report needs, in a few calls. Throws what the client throws, and a `CommandError` where the service tells
 * nothing of the past.
 */
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

/** What there is to report of the monitors that `hears` takes, worked out in turns: there may be ten thousand. */
export async function factsOf(
  record: SpanRecord,
  hears: (monitor: MonitorRef) => boolean,
): Promise<ReportFacts> {
  const { span, rows } = record;
  const [fromMs, toMs] = [fromMsOf(span), toMsOf(span)];
  const monitors = record.monitors.filter(hears);
  const byId = new Map(monitors.map((monitor) => [monitor.id, monitor]));
  const own = ({ incidents, total, complete }: ListedIncidents) => ({
    found: incidents.filter(({ monitor = '' }) => byId.has(monitor)),
    isLeast: byId.size > 0 && (!complete || total > incidents.length),
  });
  const [now, before] = [own(record.incidents), own(record.incidentsBefore)];
  const outages = groupBy(now.found, ({ monitor }) => monitor);

  const { measured, steps } = await measure(rows, byId, span);
  const all = sumOf(measured.map((one) => one.all));
  const allBefore = sumOf(measured.map(({ earlier }) => earlier));
  const thereMs = measured.reduce(
    (sum, { row }) => sum + toMs - Math.min(toMs, Math.max(fromMs, Date.parse(row.created_at))),
    0,
  );
  const seenMs = all.upMs + all.downMs;
  return {
    span,
    monitors: monitors.length,
    seen: measured.filter(({ all: { upMs, downMs } }) => upMs + downMs > 0).length,
    ...percentFields(all, allBefore),
    unseenPercent: thereMs > seenMs ? percentOf(1 - seenMs / thereMs) : 0,
    downMs: all.downMs,
    outages: { count: now.found.length, isLeast: now.isLeast },
    outagesBefore: { count: before.found.length, isLeast: before.isLeast },
    ...longestOf(now.found, { byId, toMs }),
    down: measured
      .filter(({ all: { downMs } }) => downMs > 0)
      .sort(
        (a, b) =>
          shareUp(a.all) - shareUp(b.all) ||
          b.all.downMs - a.all.downMs ||
          (a.monitor.name < b.monitor.name ? -1 : 1),
      )
      .map(({ monitor, earlier, all: own }) => ({
        name: monitor.name,
        percent: percentOf(shareUp(own)),
        downMs: own.downMs,
        ...(earlier.upMs + earlier.downMs > 0 && { percentBefore: percentOf(shareUp(earlier)) }),
        outages: outages.get(monitor.id)?.length ?? 0,
      })),
    slowest: measured
      .filter(({ all: { passed } }) => passed > 0)
      .sort((a, b) => meanOf(b.all) - meanOf(a.all))
      .slice(0, SLOWEST_COUNT)
      .map(({ monitor, earlier, all: own }) => ({
        name: monitor.name,
        meanMs: meanOf(own),
        ...(earlier.passed > 0 && { beforeMs: meanOf(earlier) }),
      })),
    downNow: namesOf(monitors.filter(isDown)),
    pausedNow: namesOf(monitors.filter(({ status }) => status.toUpperCase() === 'PAUSED')),
    added: namesOf(
      measured
        .filter(({ row }) => isWithin(Date.parse(row.created_at), fromMs, toMs))
        .map(({ monitor }) => monitor),
    ),
    steps,
  };
}

async function readParts(
  monitoring: MonitoringClient,
  moments: readonly number[],
  signal: AbortSignal,
): Promise<MonitorParts[]> {
  const rows: MonitorParts[] = [];
  let after: string | undefined;
  do {
    const page = await offered(
      'uptime by hour and day',
      monitoring.parts({
        moments: moments.map(isoTime),
        ...(after !== undefined && { after }),
        timeoutMs: READ_MS,
        signal,
      }),
    );
    rows.push(...page.monitors);
    after = page.next ?? undefined;
  } while (after !== undefined);
  return rows;
}

/** What was seen of one or more monitors. */
interface Seen {
  upMs: number;
  downMs: number;
  passed: number;
  tookMs: number;
}

const NOTHING: Seen = { upMs: 0, downMs: 0, passed: 0, tookMs: 0 };

/** One monitor, in the span before and in the span. */
interface Measured {
  row: MonitorParts;
  monitor: Monitor;
  earlier: Seen;
  all: Seen;
}

/** Sums the parts up by monitor and by step. Plain loops: of ten thousand monitors they are a million numbers. */
async function measure(
  rows: readonly MonitorParts[],
  byId: ReadonlyMap<string, Monitor>,
  { cuts }: ReportSpan,
): Promise<{ measured: Measured[]; steps: ReportStep[] }> {
  const measured: Measured[] = [];
  const steps = cuts.slice(1).map(() => ({ ...NOTHING }));
  const turn = beginTurn();
  for (const row of rows) {
    if (turn.isOver()) await turn.next();
    const monitor = byId.get(row.id);
    if (!monitor) continue;
    const earlier = { ...NOTHING };
    const all = { ...NOTHING };
    const isTimed = monitor.check_type !== 'HEARTBEAT';
    addPart(earlier, row, 0, isTimed);
    for (const [at, step] of steps.entries()) {
      addPart(all, row, at + 1, isTimed);
      addPart(step, row, at + 1, isTimed);
    }
    measured.push({ row, monitor, earlier, all });
  }
  return {
    measured,
    steps: steps.map((step, at) => ({
      fromMs: cuts[at] ?? cuts[0],
      toMs: cuts[at + 1] ?? cuts[0],
      seenMs: step.upMs + step.downMs,
      downMs: step.downMs,
      meanMs: step.passed > 0 ? meanOf(step) : null,
    })),
  };
}

/** How long a job takes to tell us of itself means nothing: then it has no times. */
function addPart(seen: Seen, row: MonitorParts, at: number, isTimed: boolean) {
  seen.upMs += row.up_ms[at] ?? 0;
  seen.downMs += row.down_ms[at] ?? 0;
  const passed = isTimed ? (row.passed[at] ?? 0) : 0;
  seen.passed += passed;
  seen.tookMs += passed * (row.mean_ms[at] ?? 0);
}

const sumOf = (parts: readonly Seen[]): Seen =>
  parts.reduce(
    (sum, one) => ({
      upMs: sum.upMs + one.upMs,
      downMs: sum.downMs + one.downMs,
      passed: sum.passed + one.passed,
      tookMs: sum.tookMs + one.tookMs,
    }),
    NOTHING,
  );

const shareUp = ({ upMs, downMs }: Seen) => upMs / (upMs + downMs);
const meanOf = ({ tookMs, passed }: Seen) => Math.round((tookMs / passed) * 10) / 10;
const namesOf = (monitors: readonly Monitor[]) => monitors.map(({ name }) => name);
const isWithin = (atMs: number, fromMs: number, toMs: number) => atMs >= fromMs && atMs < toMs;

function percentFields(all: Seen, before: Seen): Pick<ReportFacts, 'percent' | 'percentBefore'> {
  return {
    ...(all.upMs + all.downMs > 0 && { percent: percentOf(shareUp(all)) }),
    ...(before.upMs + before.downMs > 0 && { percentBefore: percentOf(shareUp(before)) }),
  };
}

/** The longest outage, as long as it lasted until the end of the time. */
function longestOf(
  incidents: ListedIncidents['incidents'],
  { byId, toMs }: { byId: ReadonlyMap<string, Monitor>; toMs: number },
): Pick<ReportFacts, 'longest'> {
  const [longest] = incidents
    .map(({ monitor = '', started_at, ended_at, cause }) => {
      const endedMs = ended_at === null ? toMs : Date.parse(ended_at);
      const fromMs = Date.parse(started_at);
      return {
        name: byId.get(monitor)?.name ?? '',
        fromMs,
        lastedMs: Math.min(endedMs, toMs) - fromMs,
        goesOn: ended_at === null || endedMs > toMs,
        cause,
      };
    })
    .sort((a, b) => b.lastedMs - a.lastedMs);
  return longest ? { longest } : {};
}
