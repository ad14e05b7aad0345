/**
 * Slack's rules for charts. Sources: Slack docs, "Data visualization block", for bar, area and line charts; CopilotKit pull request
 * 6342 and openclaw's page on Slack charts for labels that equal the categories with a finite number each; vercel/chat pull request
 * 696 for two charts per message.
 */
interface Series {
  name?: unknown;
  data?: { label?: unknown; value?: unknown }[];
}

export interface ChartBlock {
  type?: unknown;
  title?: unknown;
  chart?: {
    type?: unknown;
    series?: Series[];
    axis_config?: { categories?: unknown[]; x_label?: unknown; y_label?: unknown };
  };
}

export const CHART_LIMITS = { perMessage: 2, title: 50, label: 20, series: 6, points: 20 } as const;

const isWord = (value: unknown, max: number) =>
  typeof value === 'string' && value.trim() !== '' && value.length <= max;

const isLabel = (value: unknown) => isWord(value, CHART_LIMITS.label);
const isAxisLabel = (value: unknown) => value === undefined || isWord(value, CHART_LIMITS.title);

/** True if Slack accepts the chart. */
export function isChartRight({ title, chart }: ChartBlock): boolean {
  const { type, series = [], axis_config: axis } = chart ?? {};
  const categories = axis?.categories ?? [];
  return (
    isWord(title, CHART_LIMITS.title) &&
    ['bar', 'area', 'line'].includes(String(type)) &&
    series.length >= 1 &&
    series.length <= CHART_LIMITS.series &&
    new Set(series.map(({ name }) => name)).size === series.length &&
    categories.length >= 1 &&
    categories.length <= CHART_LIMITS.points &&
    categories.every(isLabel) &&
    new Set(categories).size === categories.length &&
    [axis?.x_label, axis?.y_label].every(isAxisLabel) &&
    series.every((one) => isSeriesRight(one, categories))
  );
}

function isSeriesRight({ name, data = [] }: Series, categories: unknown[]): boolean {
  return (
    isLabel(name) &&
    data.length === categories.length &&
    data.every(({ label, value }) => categories.includes(label) && Number.isFinite(value)) &&
    new Set(data.map(({ label }) => label)).size === data.length
  );
}

/** The charts of a message. */
export const chartsIn = (blocks: unknown): ChartBlock[] =>
  Array.isArray(blocks) ? blocks.filter(({ type }) => type === 'data_visualization') : [];

/** The chart's texts: `14:00 down` and so on. */
export function chartWords({ title, chart }: ChartBlock): string[] {
  const { series = [], axis_config: axis } = chart ?? {};
  const data = series.flatMap((one) => one.data ?? []);
  const labels = [title, axis?.x_label, axis?.y_label].filter((word) => word !== undefined);
  return [...labels, ...data.map(({ label, value }) => `${label}: ${value}`)].map(String);
}
