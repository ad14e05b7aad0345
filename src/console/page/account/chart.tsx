import { useState } from 'preact/hooks';
import type { UsageAnswer, UsageGroup } from '../../account/api-types.ts';
import type { ChartBox } from '../../shared/from-bot.ts';
import { Axes, ChartFrame, Steps } from '../charts/chart-frame.tsx';
import { formatDay, formatNumber, Name, shortNumber } from './parts.tsx';

export type Measure = 'tokens' | 'requests';

const HEIGHT = 260;

const DAY_WIDTH = 64;

const MAX_BAR_WIDTH = 44;

/** A bar for each day, stacked from the groups, the largest at the bottom. */
export function UsageChart({ usage, measure }: { usage: UsageAnswer; measure: Measure }) {
  const [pointed, setPointed] = useState<number>();
  const sums = usage.days.map((_day, index) =>
    usage.groups.reduce((sum, group) => sum + countOf(group, measure, index), 0),
  );
  return (
    <figure class="usage-chart chart framed" onPointerLeave={() => setPointed(undefined)}>
      <ChartFrame height={HEIGHT} role="img" aria-label={describeChart(usage, measure, sums)}>
        {(box) => (
          <Bars usage={usage} measure={measure} sums={sums} box={box} onPoint={setPointed} />
        )}
      </ChartFrame>
      {pointed !== undefined && <Pointer usage={usage} measure={measure} index={pointed} />}
    </figure>
  );
}

const countOf = (group: UsageGroup, measure: Measure, index: number) => group[measure][index] ?? 0;

const colourOf = ({ id }: UsageGroup, index: number) =>
  `var(${id === undefined ? '--series-others' : `--series-${index + 1}`})`;

export const Swatch = ({ group, index }: { group: UsageGroup; index: number }) => (
  <span class="swatch" style={{ background: colourOf(group, index) }} />
);

function Bars(props: {
  usage: UsageAnswer;
  measure: Measure;
  sums: readonly number[];
  box: ChartBox;
  onPoint: (index: number) => void;
}) {
  const { usage, measure, sums, box, onPoint } = props;
  const { days, groups } = usage;
  const marks = countMarks(Math.max(1, ...sums));
  const slot = (box.width - box.left - box.right) / days.length;
  const barWidth = Math.min(MAX_BAR_WIDTH, slot * 0.72);
  const perCount = (box.height - box.top - box.bottom) / (marks.at(-1) ?? 1);
  const yOf = (count: number) => box.height - box.bottom - count * perCount;
  const steps = days.map((day, index) => ({ day, x: box.left + index * slot, width: slot }));
  const named = Math.ceil(days.length / Math.max(1, Math.floor((slot * days.length) / DAY_WIDTH)));
  return (
    <>
      <Axes
        box={box}
        values={marks.map((count) => ({ y: yOf(count), label: shortNumber(count) }))}
        times={steps
          .filter((_step, index) => (days.length - 1 - index) % named === 0)
          .map(({ day, x }) => ({ x: x + slot / 2, label: formatDay(day) }))}
      />
      {steps.map(({ day, x }, index) => {
        let below = 0;
        return groups.map((group, at) => {
          const count = countOf(group, measure, index);
          below += count;
          return (
            count > 0 && (
              <rect
                key={`${day} ${at}`}
                style={{ fill: colourOf(group, at) }}
                x={x + (slot - barWidth) / 2}
                y={yOf(below)}
                width={barWidth}
                height={count * perCount}
              />
            )
          );
        });
      })}
      <Steps box={box} steps={steps} onPoint={onPoint} />
    </>
  );
}

/** Round counts from 0 to the first that isn't below the highest one, in steps of 1, 2, 5, 10, 20 and so on. */
function countMarks(highest: number): number[] {
  const magnitude = 10 ** Math.floor(Math.log10(Math.max(1, highest / 4)));
  const step = [1, 2, 5, 10].map((times) => times * magnitude).find((one) => one * 4 >= highest);
  const every = step ?? highest;
  return Array.from({ length: Math.ceil(highest / every) + 1 }, (_, index) => index * every);
}

/** The numbers of the day under the mouse. The table below has them for keyboards and screen readers. */
function Pointer(props: { usage: UsageAnswer; measure: Measure; index: number }) {
  const { usage, measure, index } = props;
  const { days, groups } = usage;
  const shown = groups
    .map((group, at) => ({ group, at, count: countOf(group, measure, index) }))
    .filter(({ count }) => count > 0);
  const isRight = index > days.length / 2;
  return (
    <div
      class={isRight ? 'pointer framed before' : 'pointer framed'}
      aria-hidden="true"
      style={{ left: `${(100 * (index + 0.5)) / days.length}%` }}
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

function describeChart({ days }: UsageAnswer, measure: Measure, sums: readonly number[]): string {
  const most = Math.max(...sums);
  const sum = sums.reduce((total, count) => total + count, 0);
  const day = days[sums.indexOf(most)] ?? '';
  return `${formatNumber(sum)} ${measure} in ${days.length} days, with a peak of ${formatNumber(most)} on ${formatDay(day)}. The table lists each day.`;
}
