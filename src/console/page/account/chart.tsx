import { useState } from 'preact/hooks';
import type uPlot from 'uplot';
import type { UsageAnswer, UsageGroup } from '../../account/api-types.ts';
import { axisIn, type ChartLibrary, colourIn, type DrawnChart, drawPlot } from '../charts/plot.ts';
import { useChart } from '../charts/use-chart.ts';
import { formatDay, formatNumber, Name, shortNumber } from './parts.tsx';

export type Measure = 'tokens' | 'requests';

const HEIGHT = 260;

const SIDE_WIDTH = 56;

const DAY_WIDTH = 64;

/** Distances of two grid lines: 1, 2, 5, 10, 20 and so on. */
const STEPS = [...Array(14).keys()].flatMap((tens) => [1, 2, 5].map((step) => step * 10 ** tens));

/** The day under the mouse. */
interface PointedDay {
  index: number;
  left: number;
}

/** A bar for each day, stacked from the groups, the largest at the bottom. */
export function UsageChart({ usage, measure }: { usage: UsageAnswer; measure: Measure }) {
  const [pointed, setPointed] = useState<PointedDay>();
  const { frame, problem } = useChart(
    (library, element) => draw(library, element, usage, measure, setPointed),
    [usage, measure],
  );
  return (
    <figure class="usage-chart framed">
      {problem ? (
        <p class="notice">{problem}</p>
      ) : (
        <div ref={frame} role="img" aria-label={describeChart(usage, measure)} />
      )}
      {pointed && <Pointer usage={usage} measure={measure} pointed={pointed} />}
    </figure>
  );
}

const seriesOf = ({ id }: UsageGroup, index: number) =>
  id === undefined ? '--series-others' : `--series-${index + 1}`;

export const Swatch = ({ group, index }: { group: UsageGroup; index: number }) => (
  <span class="swatch" style={{ background: `var(${seriesOf(group, index)})` }} />
);

/** The numbers of the day under the mouse. The table below has them for keyboards and screen readers. */
function Pointer({
  usage: { days, groups },
  measure,
  pointed: { index, left },
}: {
  usage: UsageAnswer;
  measure: Measure;
  pointed: PointedDay;
}) {
  const shown = groups
    .map((group, at) => ({ group, at, count: group[measure][index] ?? 0 }))
    .filter(({ count }) => count > 0);
  const isRight = index > days.length / 2;
  return (
    <div
      class={isRight ? 'pointer framed before' : 'pointer framed'}
      aria-hidden="true"
      style={{ left: `${left}px` }}
    >
      <strong>{formatDay(days[index] ?? '')}</strong>
      {shown.length === 0 && <p>Nothing</p>}
      {shown.map(({ group, at, count }) => (
        <p key={group.id ?? ''} class="beside">
          <Swatch group={group} index={at} />
          <Name>{group.name}</Name>
          <span class="count digits">{formatNumber(count)}</span>
        </p>
      ))}
    </div>
  );
}

function draw(
  library: ChartLibrary,
  frame: HTMLElement,
  usage: UsageAnswer,
  measure: Measure,
  onPoint: (pointed: PointedDay | undefined) => void,
): DrawnChart {
  const sums = stacked(usage, measure);
  const days = usage.days.map((_day, index) => index);
  const options = optionsOf(library, frame, usage, sums, onPoint);
  // The highest sum is drawn first, and lower sums over it.
  const { plot, end } = drawPlot(library, frame, options, [days, ...sums.toReversed()]);
  return {
    plot,
    end() {
      end();
      onPoint(undefined);
    },
  };
}

function optionsOf(
  { paths }: ChartLibrary,
  frame: HTMLElement,
  { days, groups }: UsageAnswer,
  sums: number[][],
  onPoint: (pointed: PointedDay | undefined) => void,
): Omit<uPlot.Options, 'width'> {
  const top = Math.max(1, ...(sums.at(-1) ?? []));
  const bars = paths.bars?.({ size: [0.72, 44] });
  const axis = axisIn(frame);
  return {
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, x: false, points: { show: false }, drag: { x: false, y: false } },
    scales: {
      x: { time: false, range: [-0.6, days.length - 0.4] },
      y: { range: [0, top * 1.08] },
    },
    axes: [
      {
        ...axis,
        size: 30,
        grid: { show: false },
        splits: ({ width: wide }) => everyFew(days.length, wide),
        values: (_plot, splits) => splits.map((index) => formatDay(days[index] ?? '')),
      },
      {
        ...axis,
        size: SIDE_WIDTH,
        // Counts have no fractions.
        incrs: STEPS,
        values: (_plot, splits) => splits.map(shortNumber),
      },
    ],
    series: [
      {},
      ...groups
        .map((group, index) => ({
          fill: () => colourIn(frame, seriesOf(group, index)),
          width: 0,
          points: { show: false },
          paths: bars,
        }))
        .toReversed(),
    ],
    hooks: {
      setCursor: [
        ({ cursor: { idx, left = -1 } }) =>
          onPoint(idx == null || left < 0 ? undefined : { index: idx, left: left + SIDE_WIDTH }),
      ],
    },
  };
}

/** Sums the groups up to each one, beginning with the first alone. */
function stacked({ days, groups }: UsageAnswer, measure: Measure): number[][] {
  const sums = days.map(() => 0);
  return groups.map((group) => {
    for (const index of sums.keys())
      sums[index] = (sums[index] ?? 0) + (group[measure][index] ?? 0);
    return [...sums];
  });
}

/** Chooses days with enough room for their names, always with the last one. */
function everyFew(count: number, width: number): number[] {
  const step = Math.max(1, Math.ceil(count / Math.max(1, Math.floor(width / DAY_WIDTH))));
  return [...Array(count).keys()].filter((index) => (count - 1 - index) % step === 0);
}

/** Describes the chart for screen readers. */
function describeChart({ days, groups }: UsageAnswer, measure: Measure): string {
  const perDay = days.map((_day, index) =>
    groups.reduce((sum, group) => sum + (group[measure][index] ?? 0), 0),
  );
  const most = Math.max(...perDay);
  const sum = perDay.reduce((total, count) => total + count, 0);
  const day = days[perDay.indexOf(most)] ?? '';
  return `${formatNumber(sum)} ${measure} in ${days.length} days, with a peak of ${formatNumber(most)} on ${formatDay(day)}. The table lists each day.`;
}
