import { wallMs } from '../../contracts/wall-time.ts';
import type { Chart } from './card.ts';
import { inUnits } from './text-format.ts';

/** Size of a chart, and its margins for labels, in pixels. */
export interface ChartBox {
  width: number;
  height: number;
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** In pixels from the top left corner. */
export interface ChartLayout {
  /** Points that a line joins. A run of one is a dot. */
  runs: { x: number; y: number }[][];
  steps: { x: number; width: number; atMs: number; value: number | null }[];
  outages: { x: number; width: number }[];
  /** Times without measurements. */
  unseen: { x: number; width: number }[];
  /** Horizontal lines, lowest first. */
  values: { y: number; label: string }[];
  /** Marks on the time axis. */
  times: { x: number; atMs: number }[];
}

/** Approximate numbers of marks. Narrow charts have fewer time marks, so that labels don't overlap. */
const VALUE_MARKS = 4;
const TIME_MARKS = 6;
const TIME_MARK_WIDTH = 70;

/**
 * Lines never cross a gap or an outage. Marks are at round hours of a reader whose clock is `zoneMs` ahead of UTC, and there is
 * room for `highest`. Pure.
 */
export function layOut(chart: Chart, box: ChartBox, zoneMs = 0, highest = 0): ChartLayout {
  const { points, outages } = chart;
  const stepMs = Math.max(1, chart.stepMs);
  const fromMs = points[0]?.atMs ?? 0;
  const aheadMs = chart.zone === undefined ? zoneMs : wallAt(chart.zone, fromMs) - fromMs;
  const toMs = (points.at(-1)?.atMs ?? 0) + stepMs;
  const plotWidth = Math.max(1, box.width - box.left - box.right);
  const plotHeight = Math.max(1, box.height - box.top - box.bottom);
  const x = (atMs: number) => {
    const share = shareOf((atMs - fromMs) / Math.max(1, toMs - fromMs));
    return box.left + share * plotWidth;
  };
  const marks = valueMarks([highest, ...points.flatMap(({ value }) => value ?? [])]);
  const top = marks.at(-1) ?? 1;
  const y = (value: number) => box.top + (1 - shareOf(value / top)) * plotHeight;
  const span = (start: number, end: number) => ({ x: x(start), width: x(end) - x(start) });
  const isDown = (start: number, end: number) =>
    outages.some((outage) => outage.fromMs < end && start < outage.toMs);
  const ends = (atMs: number) => atMs + stepMs;
  return {
    runs: runsOf(chart, isDown).map((run) =>
      run.map(({ atMs, value }) => ({ x: x(atMs + stepMs / 2), y: y(value) })),
    ),
    steps: points.map(({ atMs, value }) => ({ ...span(atMs, ends(atMs)), atMs, value })),
    outages: outages.map((outage) => span(outage.fromMs, outage.toMs)),
    unseen: points
      .filter(({ atMs, value }) => value === null && !isDown(atMs, ends(atMs)))
      .map(({ atMs }) => span(atMs, ends(atMs))),
    values: marks.map((value) => ({ y: y(value), label: valueWords(value, chart.unit) })),
    times: timeMarks(points, stepMs, { zoneMs: aheadMs, plotWidth }).map((atMs) => ({
      x: x(atMs),
      atMs,
    })),
  };
}

/** `0`, `120 ms`, `2.4 s`, `3 %`. */
export function valueWords(value: number, unit: string): string {
  if (value === 0) return '0';
  return unit === 'ms' ? inUnits(value) : `${Number(value.toPrecision(3))} ${unit}`;
}

/** Longer charts are labelled with days. A day on which clocks change may have 25 hours. */
const LONG_MS = 25 * 3_600_000;

/** `14:00`, or `11-23` in a chart of several days; empty for an invalid time. Pure. */
export function momentLabel(chart: Chart, atMs: number, zoneMs = 0): string {
  const wall = chart.zone === undefined ? atMs + zoneMs : wallAt(chart.zone, atMs);
  const date = new Date(wall);
  if (Number.isNaN(date.getTime())) return '';
  const isLong = chart.points.length * chart.stepMs > LONG_MS;
  return isLong ? date.toISOString().slice(5, 10) : date.toISOString().slice(11, 16);
}

/** UTC if the zone is unknown, as it may be in an old browser. */
function wallAt(zone: string, atMs: number): number {
  try {
    return wallMs(zone, atMs);
  } catch (error) {
    if (error instanceof RangeError) return atMs;
    throw error;
  }
}

const shareOf = (part: number) => Math.min(1, Math.max(0, part));

type Measured = { atMs: number; value: number };

function runsOf({ points, stepMs }: Chart, isDown: (start: number, end: number) => boolean) {
  const runs: Measured[][] = [];
  let before: Measured | undefined;
  for (const { atMs, value } of points) {
    const here = value === null ? undefined : { atMs, value };
    const middleMs = stepMs / 2;
    const goesOn = here && before && !isDown(before.atMs + middleMs, atMs + middleMs);
    if (goesOn) runs.at(-1)?.push(here);
    else if (here) runs.push([here]);
    before = here;
  }
  return runs;
}

/** Round numbers from 0 to the first that isn't below the highest value. */
function valueMarks(values: readonly number[]): number[] {
  // Zeros and huge values need marks, too.
  const most = Math.min(1e12, Math.max(0, ...values));
  const highest = most > 1e-6 ? most : 1;
  const rough = highest / VALUE_MARKS;
  const magnitude = 10 ** Math.floor(Math.log10(rough));
  const step = magnitude * ([1, 2, 2.5, 5, 10].find((round) => round * magnitude >= rough) ?? 10);
  const count = Math.max(1, Math.ceil(highest / step - 1e-9));
  return Array.from({ length: count + 1 }, (_, index) => index * step);
}

/** Starts of points at round times of the reader's day. */
function timeMarks(
  points: Chart['points'],
  stepMs: number,
  { zoneMs, plotWidth }: { zoneMs: number; plotWidth: number },
): number[] {
  const most = Math.max(1, Math.min(TIME_MARKS, Math.floor(plotWidth / TIME_MARK_WIDTH)));
  const hours = [1, 2, 3, 4, 6, 12, 24, 48, 96, 168].map((count) => count * 3_600_000);
  const spanMs = points.length * stepMs;
  const everyMs = hours.find((ms) => spanMs / ms <= most) ?? spanMs / most;
  const turn = (atMs: number) => Math.floor((atMs + zoneMs) / everyMs);
  return points
    .map(({ atMs }) => atMs)
    .filter((atMs) => turn(atMs) !== turn(atMs - stepMs))
    .slice(0, most + 1);
}
