import type { ComponentChildren, SVGAttributes } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { ChartBox, ChartLayout } from '../../shared/from-bot.ts';

const MARGINS = { left: 56, right: 10, top: 12, bottom: 26 };

const FIRST_WIDTH = 600;

/** A narrower outage would be invisible. */
const MIN_SPAN_PX = 2;

/** Draws a chart as wide as its place, so that letters keep their size in narrow windows. */
export function ChartFrame(
  props: Omit<SVGAttributes<SVGSVGElement>, 'height' | 'children'> & {
    height: number;
    children: (box: ChartBox) => ComponentChildren;
  },
) {
  const { height, children, ...attributes } = props;
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
  return (
    <div ref={frame}>
      {/* biome-ignore lint/a11y/noSvgWithoutTitle: the caller describes the chart. */}
      <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} {...attributes}>
        {children({ width, height, ...MARGINS })}
      </svg>
    </div>
  );
}

export function Axes(props: {
  box: ChartBox;
  values: ReadonlyArray<{ y: number; label: string }>;
  times: ReadonlyArray<{ x: number; label: string }>;
}) {
  const { box, values, times } = props;
  const { left, width, right, height, bottom } = box;
  return (
    <g>
      {values.map(({ y, label }) => (
        <g key={y}>
          <line class="grid" x1={left} x2={width - right} y1={y} y2={y} />
          <text x={left - 8} y={y} dy="0.32em" text-anchor="end">
            {label}
          </text>
        </g>
      ))}
      {times.map(({ x, label }) => (
        <g key={x}>
          <line class="grid" x1={x} x2={x} y1={height - bottom} y2={height - bottom + 4} />
          <text x={x} y={height - 7} text-anchor={x < left + 16 ? 'start' : 'middle'}>
            {label}
          </text>
        </g>
      ))}
    </g>
  );
}

export function Spans(props: {
  box: ChartBox;
  kind: 'down' | 'unmeasured';
  spans: ChartLayout['outages'];
}) {
  const { box, kind, spans } = props;
  const height = box.height - box.top - box.bottom;
  return (
    <g>
      {spans.map(({ x, width }) => (
        <rect
          key={x}
          class={kind}
          x={x}
          y={box.top}
          width={Math.max(MIN_SPAN_PX, width)}
          height={height}
        />
      ))}
    </g>
  );
}

/** The values as lines with gaps; a value without neighbours is a dot. */
export function Lines({ runs }: { runs: ChartLayout['runs'] }) {
  return (
    <g>
      {runs.map((run) => {
        const [first] = run;
        if (!first) return null;
        if (run.length === 1) return <circle key={first.x} cx={first.x} cy={first.y} r="2.8" />;
        return <polyline key={first.x} points={pointsText(run)} />;
      })}
    </g>
  );
}

export const pointsText = (points: ReadonlyArray<{ x: number; y: number }>) =>
  points.map(({ x, y }) => `${x},${y}`).join(' ');

/** One invisible area for each step, which reacts to the mouse. */
export function Steps<Step extends { x: number; width: number }>(props: {
  box: ChartBox;
  steps: readonly Step[];
  title?: (step: Step) => string;
  onPoint?: (index: number) => void;
}) {
  const { box, steps, title, onPoint } = props;
  return (
    <g class="hints">
      {steps.map((step, index) => (
        <rect
          key={step.x}
          x={step.x}
          y={box.top}
          width={step.width}
          height={box.height - box.top - box.bottom}
          onPointerEnter={() => onPoint?.(index)}
        >
          {title && <title>{title(step)}</title>}
        </rect>
      ))}
    </g>
  );
}
