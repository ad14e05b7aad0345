import type uPlot from 'uplot';
import type { LatencyPoint, StatusDetails, StatusIncident } from '../../../status/api-types.ts';
import {
  axisIn,
  type ChartLibrary,
  colourIn,
  type DrawnChart,
  drawPlot,
} from '../../charts/plot.ts';
import { formatMilliseconds } from '../text-format.ts';

const HEIGHT_PX = 230;

/** A narrower outage would be invisible. */
const MIN_OUTAGE_PX = 2;

const DAY_S = 86_400;

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' });
const dayAndMonth = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });

/** The content of the chart. */
export interface LatencyPlot {
  columns: LatencyColumns;
  fromMs: number;
  toMs: number;
  outages: readonly { fromMs: number; toMs: number }[];
}

/** Draws the chart into `frame`, and calls `onPoint` with the point under the mouse. */
export function plotLatency(
  library: ChartLibrary,
  frame: HTMLElement,
  { columns, fromMs, toMs, outages }: LatencyPlot,
  onPoint: (index: number | undefined) => void,
): DrawnChart {
  const { times, means, least, most } = columns;
  const axis = axisIn(frame);
  const options: Omit<uPlot.Options, 'width'> = {
    height: HEIGHT_PX,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: {
      x: { range: [fromMs / 1_000, toMs / 1_000] },
      y: { range: (_plot, _min, max) => [0, Math.max(10, max * 1.15)] },
    },
    axes: [
      {
        ...axis,
        size: 32,
        values: (_plot, marks, _axis, _space, stepS) => timeLabels(marks, stepS),
      },
      { ...axis, size: 64, values: (_plot, marks) => marks.map(formatMilliseconds) },
    ],
    series: [
      {},
      // Only the band between these two is visible.
      { stroke: 'transparent', points: { show: false } },
      { stroke: 'transparent', points: { show: false } },
      {
        stroke: () => colourIn(frame, '--accent'),
        width: 2,
        spanGaps: false,
        points: { size: 5, stroke: () => colourIn(frame, '--accent'), filter: lonePoints },
      },
    ],
    bands: [{ series: [1, 2], fill: () => colourIn(frame, '--band') }],
    hooks: {
      drawClear: [(plot) => shade(plot, outages, colourIn(frame, '--down-fill'))],
      setCursor: [({ cursor }) => onPoint(cursor.idx ?? undefined)],
    },
  };
  return drawPlot(library, frame, options, [times, most, least, means]);
}

/** Finds points without neighbours, which no line would show. */
function lonePoints(plot: uPlot, series: number): number[] {
  const values = plot.data[series] ?? [];
  const isEmpty = (at: number) => values[at] === null || values[at] === undefined;
  return [...values.keys()].filter((at) => !isEmpty(at) && isEmpty(at - 1) && isEmpty(at + 1));
}

function shade(plot: uPlot, outages: LatencyPlot['outages'], fill: string): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.fillStyle = fill;
  for (const { fromMs, toMs } of outages) {
    const left = plot.valToPos(fromMs / 1_000, 'x', true);
    const right = plot.valToPos(toMs / 1_000, 'x', true);
    ctx.fillRect(left, bbox.top, Math.max(MIN_OUTAGE_PX, right - left), bbox.height);
  }
  ctx.restore();
}

/** Formats times of day, or dates at midnight and for steps of days. */
function timeLabels(marks: readonly number[], stepS: number): string[] {
  return marks.map((mark) => {
    const date = new Date(mark * 1_000);
    const isMidnight = date.getHours() === 0 && date.getMinutes() === 0;
    return stepS >= DAY_S || isMidnight ? dayAndMonth.format(date) : clock.format(date);
  });
}

/** Seconds, and milliseconds or null if no check passed. */
export interface LatencyColumns {
  times: number[];
  means: (number | null)[];
  least: (number | null)[];
  most: (number | null)[];
}

/** Points further apart have a gap between them. */
const JOINED_STEPS = 1.5;

/** Places each point in the middle of its step, with an empty point in each gap. Pure. */
export function columnsOf({ latency, latency_step_ms: stepMs }: StatusDetails): LatencyColumns {
  const columns: LatencyColumns = { times: [], means: [], least: [], most: [] };
  const add = (atMs: number, point?: LatencyPoint) => {
    columns.times.push((atMs + stepMs / 2) / 1_000);
    columns.means.push(point?.mean_ms ?? null);
    columns.least.push(point?.min_ms ?? null);
    columns.most.push(point?.max_ms ?? null);
  };
  let lastMs: number | undefined;
  for (const point of latency) {
    const atMs = Date.parse(point.at);
    if (lastMs !== undefined && atMs - lastMs > JOINED_STEPS * stepMs) add(lastMs + stepMs);
    add(atMs, point);
    lastMs = atMs;
  }
  return columns;
}

/** Cuts incidents to the span. Pure. */
export function outagesOf(
  incidents: readonly StatusIncident[],
  { fromMs, toMs }: { fromMs: number; toMs: number },
): { fromMs: number; toMs: number }[] {
  return incidents
    .map(({ started_at, ended_at }) => ({
      fromMs: Math.max(fromMs, Date.parse(started_at)),
      toMs: Math.min(toMs, ended_at === null ? toMs : Date.parse(ended_at)),
    }))
    .filter((outage) => outage.fromMs < outage.toMs);
}
