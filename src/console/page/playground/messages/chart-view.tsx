import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Chart } from '../../../shared/api-types.ts';
import { type ChartLayout, layOut, momentLabel, valueWords } from '../../../shared/from-bot.ts';

const HEIGHT = 190;
const MARGINS = { left: 56, right: 10, top: 12, bottom: 26 };

const FIRST_WIDTH = 600;

/** A narrower outage would be invisible. */
const MIN_WIDTH = 2;

/** Outages in the description for screen readers. */
const MAX_NAMED = 5;

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' });

/** Values over time as a line with gaps; outages are shaded. */
export function ChartView({ chart }: { chart: Chart }) {
  const { frame, width } = useWidth();
  const id = useId();
  const zoneMs = -new Date(chart.points[0]?.atMs ?? 0).getTimezoneOffset() * 60_000;
  const layout = layOut(chart, { width, height: HEIGHT, ...MARGINS }, zoneMs);
  return (
    <figure class="chart">
      <figcaption class="flow fine">
        <span>{chart.title}</span>
        {layout.outages.length > 0 && <span class="key down">Down</span>}
        {layout.unseen.length > 0 && <span class="key unmeasured">Not measured</span>}
      </figcaption>
      <div ref={frame}>
        <svg
          role="img"
          width={width}
          height={HEIGHT}
          viewBox={`0 0 ${width} ${HEIGHT}`}
          aria-labelledby={`${id}-title ${id}-words`}
        >
          <title id={`${id}-title`}>{chart.title}</title>
          <desc id={`${id}-words`}>{wordsOf(chart)}</desc>
          <Ground layout={layout} chart={chart} width={width} />
          <Lines layout={layout} />
          <Hints layout={layout} chart={chart} />
        </svg>
      </div>
    </figure>
  );
}

/** The inner width of the card, so that letters keep their size in narrow windows. */
function useWidth() {
  const frame = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(FIRST_WIDTH);
  useLayoutEffect(() => {
    const element = frame.current;
    if (!element) return;
    const measure = () => setWidth(Math.max(1, Math.round(element.clientWidth)));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return { frame, width };
}

function Ground({ layout, chart, width }: { layout: ChartLayout; chart: Chart; width: number }) {
  const { top, left, right, bottom } = MARGINS;
  const plotHeight = HEIGHT - top - bottom;
  const band = ({ x, width: wide }: { x: number; width: number }, kind: string) => (
    <rect
      key={`${kind} ${x}`}
      class={kind}
      x={x}
      y={top}
      width={Math.max(MIN_WIDTH, wide)}
      height={plotHeight}
    />
  );
  return (
    <g>
      {layout.unseen.map((span) => band(span, 'unmeasured'))}
      {layout.values.map(({ y, label }) => (
        <g key={y}>
          <line class="grid" x1={left} x2={width - right} y1={y} y2={y} />
          <text x={left - 8} y={y} dy="0.32em" text-anchor="end">
            {label}
          </text>
        </g>
      ))}
      {layout.outages.map((span) => band(span, 'down'))}
      {layout.times.map(({ x, atMs }) => (
        <g key={atMs}>
          <line class="grid" x1={x} x2={x} y1={HEIGHT - bottom} y2={HEIGHT - bottom + 4} />
          <text x={x} y={HEIGHT - 7} text-anchor={x < left + 16 ? 'start' : 'middle'}>
            {clockOf(atMs, chart)}
          </text>
        </g>
      ))}
    </g>
  );
}

function Lines({ layout }: { layout: ChartLayout }) {
  return (
    <g>
      {layout.runs.map((run) => {
        const [first] = run;
        if (!first) return null;
        if (run.length === 1) return <circle key={first.x} cx={first.x} cy={first.y} r="2.8" />;
        const points = run.map(({ x, y }) => `${x},${y}`).join(' ');
        return <polyline key={first.x} points={points} />;
      })}
    </g>
  );
}

function Hints({ layout, chart }: { layout: ChartLayout; chart: Chart }) {
  const { top, bottom } = MARGINS;
  return (
    <g class="hints">
      {layout.steps.map(({ x, width, atMs, value }) => (
        <rect key={atMs} x={x} y={top} width={width} height={HEIGHT - top - bottom}>
          <title>
            {`${clockOf(atMs, chart)} to ${clockOf(atMs + chart.stepMs, chart)}: ${stepWords(value, atMs, chart)}`}
          </title>
        </rect>
      ))}
    </g>
  );
}

function stepWords(value: number | null, atMs: number, { unit, stepMs, outages }: Chart): string {
  const wasDown = outages.some(({ fromMs, toMs }) => fromMs < atMs + stepMs && atMs < toMs);
  if (value === null) return wasDown ? 'down' : 'not measured';
  return `${valueWords(value, unit)}${wasDown ? ', down for part of it' : ''}`;
}

/** The chart's description for screen readers. */
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
