import { useId } from 'preact/hooks';
import type { Chart } from '../../../shared/api-types.ts';
import { layOut, momentLabel, valueWords } from '../../../shared/from-bot.ts';
import { Axes, ChartFrame, Lines, Spans, Steps } from '../../charts/chart-frame.tsx';

const HEIGHT = 190;

/** Outages in the description for screen readers. */
const MAX_NAMED = 5;

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' });

/** Values over time as a line with gaps; outages are shaded. */
export function ChartView({ chart }: { chart: Chart }) {
  const id = useId();
  const zoneMs = -new Date(chart.points[0]?.atMs ?? 0).getTimezoneOffset() * 60_000;
  return (
    <figure class="chart">
      <figcaption class="flow fine">
        <span>{chart.title}</span>
        {chart.outages.length > 0 && <span class="key down">Down</span>}
        {hasUnmeasured(chart) && <span class="key unmeasured">Not measured</span>}
      </figcaption>
      <ChartFrame height={HEIGHT} role="img" aria-labelledby={`${id}-title ${id}-words`}>
        {(box) => {
          const { values, times, unseen, outages, runs, steps } = layOut(chart, box, zoneMs);
          return (
            <>
              <title id={`${id}-title`}>{chart.title}</title>
              <desc id={`${id}-words`}>{wordsOf(chart)}</desc>
              <Spans box={box} kind="unmeasured" spans={unseen} />
              <Axes
                box={box}
                values={values}
                times={times.map(({ x, atMs }) => ({ x, label: clockOf(atMs, chart) }))}
              />
              <Spans box={box} kind="down" spans={outages} />
              <Lines runs={runs} />
              <Steps box={box} steps={steps} title={(step) => stepWords(step, chart)} />
            </>
          );
        }}
      </ChartFrame>
    </figure>
  );
}

const isDownAt = (atMs: number, { stepMs, outages }: Chart) =>
  outages.some(({ fromMs, toMs }) => fromMs < atMs + stepMs && atMs < toMs);

const hasUnmeasured = (chart: Chart) =>
  chart.points.some(({ atMs, value }) => value === null && !isDownAt(atMs, chart));

function stepWords({ atMs, value }: Chart['points'][number], chart: Chart): string {
  const span = `${clockOf(atMs, chart)} to ${clockOf(atMs + chart.stepMs, chart)}`;
  const isDown = isDownAt(atMs, chart);
  if (value === null) return `${span}: ${isDown ? 'down' : 'not measured'}`;
  return `${span}: ${valueWords(value, chart.unit)}${isDown ? ', down for part of it' : ''}`;
}

function wordsOf(chart: Chart): string {
  const { points, outages, unit } = chart;
  const values = points.flatMap(({ value }) => value ?? []);
  const span =
    values.length === 0
      ? 'No measurements.'
      : `From ${valueWords(Math.min(...values), unit)} to ${valueWords(Math.max(...values), unit)}.`;
  const named = outages
    .slice(-MAX_NAMED)
    .map(({ fromMs, toMs }) => `${clockOf(fromMs, chart)} to ${clockOf(toMs, chart)}`);
  const more = outages.length > MAX_NAMED ? ` and ${outages.length - MAX_NAMED} earlier times` : '';
  return outages.length === 0 ? span : `${span} Down from ${named.join(', ')}${more}.`;
}

/** The time in the chart's zone, or in the reader's. A service may send any number, so it may be no time at all. */
function clockOf(atMs: number, chart: Chart): string {
  if (chart.zone !== undefined) return momentLabel(chart, atMs);
  const date = new Date(atMs);
  return Number.isNaN(date.getTime()) ? '' : clock.format(date);
}
