import { useId, useMemo, useState } from 'preact/hooks';
import type { Chart } from '../../../shared/api-types.ts';
import { type ChartBox, layOut } from '../../../shared/from-bot.ts';
import type { LatencyPoint, StatusDetails } from '../../../status/api-types.ts';
import { Axes, ChartFrame, Lines, pointsText, Spans, Steps } from '../../charts/chart-frame.tsx';
import { stepOfKey } from '../../shared/stepping.ts';
import { formatMilliseconds } from '../text-format.ts';

const HEIGHT = 230;

const HOUR_MS = 3_600_000;
const TEN_MINUTES_MS = 600_000;

const format = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat(undefined, options);
const clock = format({ timeStyle: 'short' });
const dayAndMonth = format({ day: 'numeric', month: 'short' });
const moment = format({ day: 'numeric', month: 'short', hour: 'numeric', minute: '2-digit' });

/** Response times as a line with gaps and shaded outages. Mouse or arrow keys read a point. */
export function LatencyChart({ details, hours }: { details: StatusDetails; hours: number }) {
  const id = useId();
  const [shown, setShown] = useState<number>();
  const outages = useMemo(() => outagesOf(details, hours), [details]);
  const points = details.latency;
  const last = points.length - 1;
  const at = Math.max(0, Math.min(shown ?? last, last));
  const textOf = (point: LatencyPoint) => pointText(point, details.latency_step_ms, outages);
  const measured = points.filter(({ mean_ms }) => mean_ms !== null);
  const point = points[at];
  if (measured.length === 0 || !point) {
    return <p class="none">No response times in this period.</p>;
  }
  const summary = summaryText(measured);
  return (
    <>
      <div
        class="latency chart"
        role="slider"
        tabIndex={0}
        aria-label="Response times"
        aria-describedby={`${id}-all`}
        aria-valuemin={1}
        aria-valuemax={points.length}
        aria-valuenow={at + 1}
        aria-valuetext={textOf(point)}
        onFocus={() => setShown((before) => before ?? last)}
        onBlur={() => setShown(undefined)}
        onPointerLeave={() => setShown(undefined)}
        onKeyDown={(event) => {
          const next = stepOfKey(event, at, last);
          if (next !== undefined) setShown(next);
        }}
      >
        <p class="latency-readout aside digits" aria-hidden="true">
          {shown === undefined ? summary : textOf(point)}
        </p>
        <ChartFrame height={HEIGHT} aria-hidden="true">
          {(box) => (
            <Plot
              points={points}
              stepMs={details.latency_step_ms}
              outages={outages}
              box={box}
              pointed={shown === undefined ? undefined : at}
              onPoint={setShown}
            />
          )}
        </ChartFrame>
      </div>
      <p class="unseen" id={`${id}-all`}>
        {summary}
      </p>
      <LatencyList points={points} textOf={textOf} />
    </>
  );
}

/** The average as a line, in a band from the shortest to the longest time of each step. */
function Plot(props: {
  points: readonly LatencyPoint[];
  stepMs: number;
  outages: Chart['outages'];
  box: ChartBox;
  pointed: number | undefined;
  onPoint: (index: number) => void;
}) {
  const { points, stepMs, outages, box, pointed, onPoint } = props;
  const zoneMs = -new Date(points[0]?.at ?? 0).getTimezoneOffset() * 60_000;
  const highest = Math.max(...points.map(({ max_ms }) => max_ms ?? 0));
  const layoutOf = (name: 'mean_ms' | 'min_ms' | 'max_ms') => {
    const values = points.map((point) => ({ atMs: Date.parse(point.at), value: point[name] }));
    const chart = { kind: 'chart' as const, title: '', unit: 'ms', text: '', stepMs, outages };
    return layOut({ ...chart, points: values }, box, zoneMs, highest);
  };
  const layout = layoutOf('mean_ms');
  const highs = layoutOf('max_ms').runs;
  const lows = layoutOf('min_ms').runs;
  const isLong = points.length * stepMs > 25 * HOUR_MS;
  // In an hour there is no round hour to mark.
  const times =
    stepMs < HOUR_MS
      ? layout.steps.filter(({ atMs }) => atMs % TEN_MINUTES_MS === 0)
      : layout.times;
  const step = pointed === undefined ? undefined : layout.steps[pointed];
  const cursor = step && step.x + step.width / 2;
  return (
    <>
      <Spans box={box} kind="down" spans={layout.outages} />
      <Axes
        box={box}
        values={layout.values}
        times={times.map(({ x, atMs }) => ({
          x,
          label: (isLong ? dayAndMonth : clock).format(atMs),
        }))}
      />
      {highs.map((run, index) => (
        <polygon
          key={index}
          class="band"
          points={pointsText([...run, ...(lows[index] ?? []).toReversed()])}
        />
      ))}
      <Lines runs={layout.runs} />
      {cursor !== undefined && (
        <line class="cursor" x1={cursor} x2={cursor} y1={box.top} y2={box.height - box.bottom} />
      )}
      <Steps box={box} steps={layout.steps} onPoint={onPoint} />
    </>
  );
}

/** Incidents, cut to the hours up to now. */
function outagesOf({ incidents }: StatusDetails, hours: number): Chart['outages'] {
  const nowMs = Date.now();
  return incidents
    .map(({ started_at, ended_at }) => ({
      fromMs: Math.max(nowMs - hours * HOUR_MS, Date.parse(started_at)),
      toMs: ended_at === null ? nowMs : Date.parse(ended_at),
    }))
    .filter(({ fromMs, toMs }) => fromMs < toMs);
}

function pointText(
  { at, mean_ms, min_ms, max_ms }: LatencyPoint,
  stepMs: number,
  outages: Chart['outages'],
): string {
  const middleMs = Date.parse(at) + stepMs / 2;
  const name = moment.format(middleMs);
  if (mean_ms === null) {
    const wasDown = outages.some(({ fromMs, toMs }) => fromMs <= middleMs && middleMs < toMs);
    return `${name}: ${wasDown ? 'down' : 'no data'}`;
  }
  return `${name}: ${rangeText(mean_ms, min_ms ?? mean_ms, max_ms ?? mean_ms)}`;
}

function summaryText(measured: readonly LatencyPoint[]): string {
  const means = measured.flatMap(({ mean_ms }) => mean_ms ?? []);
  const all = measured.flatMap(({ min_ms, max_ms }) => [min_ms ?? [], max_ms ?? []]).flat();
  const mean = means.reduce((sum, one) => sum + one, 0) / means.length;
  return rangeText(mean, Math.min(...all), Math.max(...all));
}

const rangeText = (mean: number, min: number, max: number) =>
  `${formatMilliseconds(mean)} on average, ${formatMilliseconds(min)} to ${formatMilliseconds(max)}`;

/** The chart as text, rendered only while it is open. */
function LatencyList(props: {
  points: readonly LatencyPoint[];
  textOf: (point: LatencyPoint) => string;
}) {
  const { points, textOf } = props;
  const [open, setOpen] = useState(false);
  return (
    <details
      class="as-text"
      onToggle={({ currentTarget }) => setOpen((currentTarget as HTMLDetailsElement).open)}
    >
      <summary>As a list</summary>
      {open && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard.
        <section class="scrolled" tabIndex={0} aria-label="Response times, newest first">
          <ul>{points.map((point) => <li key={point.at}>{textOf(point)}</li>).reverse()}</ul>
        </section>
      )}
    </details>
  );
}
