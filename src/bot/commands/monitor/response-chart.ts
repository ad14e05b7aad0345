import type { Incident, Rollup } from '../../../contracts/monitoring-additions.ts';
import type { Chart } from '../../shared/card.ts';
import { inUnits, sparkline } from '../../shared/text-format.ts';

/** A point an hour of a day: as many as are read at a glance, and as finely as the service keeps a day. */
const HOURS = 24;
const HOUR_MS = 3_600_000;

/** One value is a number, not a course: it stands among the facts. */
const MIN_VALUES = 2;

/** Stands for an hour without a value among the bars of a sparkline. */
const GAP = '·';

/** When the first hour of the chart begins. */
export const chartFromMs = (nowMs: number) =>
  Math.floor(nowMs / HOUR_MS) * HOUR_MS - (HOURS - 1) * HOUR_MS;

/**
 * The response times of the last 24 hours, an hour each, as a chart; none where there is hardly anything to show. An hour
 * has the mean of its checks that passed, or no value. Pure.
 */
export function responseChart(record: {
  rollups: readonly Rollup[] | undefined;
  incidents: readonly Incident[] | undefined;
  nowMs: number;
}): Chart[] {
  const { rollups = [], incidents = [], nowMs } = record;
  const fromMs = chartFromMs(nowMs);
  const means = new Map(rollups.map((hour) => [Date.parse(hour.starts_at), meanOf(hour)]));
  const points = Array.from({ length: HOURS }, (_, index) => {
    const atMs = fromMs + index * HOUR_MS;
    return { atMs, value: means.get(atMs) ?? null };
  });
  const values = points.flatMap(({ value }) => value ?? []);
  if (values.length < MIN_VALUES) return [];
  return [
    {
      kind: 'chart',
      title: 'Response time, last 24 hours',
      unit: 'ms',
      points,
      stepMs: HOUR_MS,
      outages: outagesOf(incidents, { fromMs, nowMs }),
      text: textOf(points, values),
    },
  ];
}

/** What no check can take is no response time, whatever a service says. */
function meanOf({ response_time_ms: times }: Rollup): number | null {
  const isTime = times && times.mean >= 0 && times.mean <= HOUR_MS;
  return isTime ? Math.round(times.mean * 10) / 10 : null;
}

/** The outages as far as they are within the chart, oldest first; what overlaps or touches is one. */
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
