import type { types } from '@slack/bolt';
import type { Chart } from '../../bot/shared/card.ts';
import { momentLabel } from '../../bot/shared/chart-layout.ts';
import { oneLine } from './blocks.ts';
import { clip } from './text.ts';

/**
 * Slack's limits. Source: Slack docs, "Data visualization block", `data` of "Data series"; two charts a message: vercel/chat
 * pull request 696.
 */
const MAX_TITLE = 50;
const MAX_AXIS_LABEL = 50;
const MAX_LABEL = 20;
const MAX_CATEGORIES = 20;
export const MAX_CHARTS = 2;

/** Larger numbers can't be read. */
const MAX_VALUE = 1e12;

/** Bolt's types have no such block yet. */
type ChartBlock = types.Block & {
  type: 'data_visualization';
  title: string;
  chart: {
    type: 'bar';
    series: { name: string; data: { label: string; value: number }[] }[];
    axis_config: { categories: string[]; x_label: string; y_label: string };
  };
};

/** One bar: the mean of its points, and a note about gaps. */
interface Bar {
  atMs: number;
  value: number;
  note: '' | ' down' | ' no data' | ' part down' | ' part data';
}

/**
 * Slack's own chart; `undefined` if there is nothing to draw. Bars, because Slack needs a number for each category: a line
 * would go through gaps, a bar without height is invisible.
 */
export function renderChart(chart: Chart): ChartBlock | undefined {
  const bars = barsOf(chart);
  if (!bars.some(({ value }) => value > 0)) return undefined;
  if (bars.some(({ value }) => value > MAX_VALUE)) return undefined;
  const isLong = chart.points.length * chart.stepMs > 24 * 3_600_000;
  const data = bars.map(({ atMs, value, note }) => ({
    label: clip(`${startOf(chart, atMs, isLong)}${note}`, MAX_LABEL),
    value,
  }));
  const categories = data.map(({ label }) => label);
  if (new Set(categories).size < categories.length) return undefined;
  return {
    type: 'data_visualization',
    title: clip(oneLine(chart.title), MAX_TITLE) || 'Chart',
    chart: {
      type: 'bar',
      series: [{ name: clip(nameOf(chart), MAX_LABEL) || 'Value', data }],
      axis_config: {
        categories,
        x_label: clip(`From (${oneLine(chart.zone ?? 'UTC')})`, MAX_AXIS_LABEL),
        y_label: clip(oneLine(chart.unit), MAX_AXIS_LABEL) || 'Value',
      },
    },
  };
}

export function barsOf({ points, stepMs, outages }: Chart): Bar[] {
  const size = Math.ceil(points.length / MAX_CATEGORIES) || 1;
  return Array.from({ length: Math.ceil(points.length / size) }, (_, index): Bar => {
    const inside = points.slice(index * size, (index + 1) * size);
    const atMs = inside[0]?.atMs ?? 0;
    const endMs = atMs + inside.length * stepMs;
    const values = inside.flatMap(({ value }) => value ?? []);
    const sum = values.reduce((total, value) => total + value, 0);
    const wasDown = outages.some(({ fromMs, toMs }) => fromMs < endMs && atMs < toMs);
    const isWhole = values.length === inside.length;
    if (values.length === 0) return { atMs, value: 0, note: wasDown ? ' down' : ' no data' };
    return {
      atMs,
      value: Math.round((sum / values.length) * 10) / 10,
      note: wasDown ? ' part down' : isWhole ? '' : ' part data',
    };
  });
}

/** The title up to the first comma. */
const nameOf = ({ title }: Chart) => oneLine(title.split(',')[0] ?? '');

/** `14:00` in the chart's zone, with the date if the chart spans more than a day. */
function startOf(chart: Chart, atMs: number, isLong: boolean): string {
  if (chart.zone !== undefined) return momentLabel(chart, atMs);
  const [date = '', clock = ''] = new Date(atMs).toISOString().split('T');
  return `${isLong ? `${date.slice(5)} ` : ''}${clock.slice(0, 5)}`;
}
