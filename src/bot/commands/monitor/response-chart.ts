import type { Incident, Rollup } from '../../../contracts/monitoring-additions.ts';
import type { Chart } from '../../shared/card.ts';
import { inUnits, sparkline } from '../../shared/text-format.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

interface ChartSpan {
  words: string;
  by: 'minute' | 'hour';
  stepMs: number;
  count: number;
}

const DAY: ChartSpan = { words: 'last 24 hours', by: 'hour', stepMs: HOUR_MS, count: 24 };
const HOUR: ChartSpan = { words: 'last hour', by: 'minute', stepMs: 2 * MINUTE_MS, count: 30 };

/** A younger monitor has too few hours for a chart. The service keeps minutes for two hours. */
const YOUNG_MS = 3 * HOUR_MS;

/** A single value is among the facts. */
const MIN_VALUES = 2;

/** A point without a value in a sparkline. */
const GAP = '·';

export function chartSpanOf({ created_at }: { created_at?: string }, nowMs: number): ChartSpan {
  return created_at !== undefined && nowMs - Date.parse(created_at) < YOUNG_MS ? HOUR : DAY;
}

/** Start of the first point. */
export const chartFromMs = ({ stepMs, count }: ChartSpan, nowMs: number) =>
  Math.floor(nowMs / stepMs) * stepMs - (count - 1) * stepMs;

/** A chart of mean response times, if there are at least two. Pure. */
export function responseChart(record: {
  span: ChartSpan;
  rollups: readonly Rollup[] | undefined;
  incidents: readonly Incident[] | undefined;
  nowMs: number;
}): Chart[] {
  const { span, rollups = [], incidents = [], nowMs } = record;
  const { stepMs, count, words } = span;
  const fromMs = chartFromMs(span, nowMs);
  const means = new Map<number, number[]>();
  for (const rollup of rollups) {
    const atMs = Math.floor(Date.parse(rollup.starts_at) / stepMs) * stepMs;
    const mean = meanOf(rollup);
    if (mean !== null) means.set(atMs, [...(means.get(atMs) ?? []), mean]);
  }
  const points = Array.from({ length: count }, (_, index) => {
    const atMs = fromMs + index * stepMs;
    return { atMs, value: averageOf(means.get(atMs)) };
  });
  const values = points.flatMap(({ value }) => value ?? []);
  if (values.length < MIN_VALUES) return [];
  return [
    {
      kind: 'chart',
      title: `Response time, ${words}`,
      unit: 'ms',
      points,
      stepMs,
      outages: outagesOf(incidents, { fromMs, nowMs }),
      text: textOf(points, values),
    },
  ];
}

function averageOf(values: readonly number[] | undefined): number | null {
  if (!values) return null;
  return Math.round((values.reduce((sum, ms) => sum + ms, 0) / values.length) * 10) / 10;
}

/** Ignores impossible times from a service. */
function meanOf({ response_time_ms: times }: Rollup): number | null {
  const isTime = times && times.mean >= 0 && times.mean <= HOUR_MS;
  return isTime ? times.mean : null;
}

/** The outages within the chart, oldest first, merged if they overlap or touch. */
function outagesOf(
  incidents: readonly Incident[],
  { fromMs, nowMs }: { fromMs: number; nowMs: number },
): Chart['outages'] {
  const within = incidents
    .map(({ started_at, ended_at }) => ({
      fromMs: Math.max(fromMs, Date.parse(started_at)),
      toMs: ended_at === null ? nowMs : Math.min(nowMs, Date.parse(ended_at)),
    }))
    .filter((outage) => outage.fromMs < outage.toMs)
    .sort((a, b) => a.fromMs - b.fromMs);
  const apart: Chart['outages'] = [];
  for (const outage of within) {
    const last = apart.at(-1);
    if (last && outage.fromMs <= last.toMs) last.toMs = Math.max(last.toMs, outage.toMs);
    else apart.push(outage);
  }
  return apart;
}

/** `▁▁▂··▃▇ 110 ms to 2.4 s`. */
function textOf(points: Chart['points'], values: readonly number[]): string {
  const bars = [...sparkline(values)];
  const line = points.map(({ value }) => (value === null ? GAP : bars.shift())).join('');
  const [lowest, highest] = [inUnits(Math.min(...values)), inUnits(Math.max(...values))];
  return `${line} ${lowest === highest ? lowest : `${lowest} to ${highest}`}`;
}
