import { wallDay, wallWords } from '../../contracts/wall-time.ts';
import type { Chart } from '../shared/card.ts';
import { inUnits, inWords, sparkline } from '../shared/text-format.ts';
import type { ReportFacts, ReportStep } from './report-facts.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** More of one step is told in hours: a number of minutes would have no room beside a chart. */
const MAX_IN_MINUTES_MS = 10 * HOUR_MS;

/** One value is a number, not a course. */
const MIN_VALUES = 2;

/** Stands for a step without a value among the bars of a sparkline. */
const GAP = '·';

/**
 * How the time of a report went by its hours or days: how long all monitors together were down, or where none was, how long
 * their checks took. None where there is hardly anything to show. Pure.
 */
export function reportChart(facts: ReportFacts): Chart[] {
  const { steps, downMs, span } = facts;
  const wasDown = downMs > 0;
  const isLong = steps.some((step) => step.downMs > MAX_IN_MINUTES_MS);
  const downUnit = isLong ? { name: 'h', ms: HOUR_MS } : { name: 'min', ms: MINUTE_MS };
  const points = steps.map((step) => ({
    atMs: step.fromMs,
    value: wasDown ? timeDown(step, downUnit.ms) : step.meanMs,
  }));
  const values = points.flatMap(({ value }) => value ?? []);
  if (values.length < MIN_VALUES) return [];
  const by = span.every === 'daily' ? 'hour' : 'day';
  const bars = [...sparkline(values)];
  const line = points.map(({ value }) => (value === null ? GAP : bars.shift())).join('');
  return [
    {
      kind: 'chart',
      title: wasDown ? `Total downtime by ${by}` : `Response time by ${by}`,
      unit: wasDown ? downUnit.name : 'ms',
      points,
      stepMs: by === 'hour' ? HOUR_MS : 24 * HOUR_MS,
      outages: [],
      zone: span.zone,
      text: `${line} ${wasDown ? worstStep(facts) : rangeOf(values)}`,
    },
  ];
}

/** In a unit, to a tenth, but never none where there was some. */
function timeDown({ seenMs, downMs }: ReportStep, unitMs: number): number | null {
  if (seenMs === 0) return null;
  const count = Math.round((downMs / unitMs) * 10) / 10;
  return downMs > 0 ? Math.max(0.1, count) : 0;
}

function worstStep({ steps, span: { every, zone, isSoFar } }: ReportFacts): string {
  const [worst] = [...steps].sort((a, b) => b.downMs - a.downMs);
  if (!worst) return '';
  const when =
    every === 'daily' || isSoFar ? wallWords(zone, worst.fromMs) : wallDay(zone, worst.fromMs);
  return `most: ${inWords(worst.downMs)} (${when})`;
}

function rangeOf(values: readonly number[]): string {
  const [lowest, highest] = [inUnits(Math.min(...values)), inUnits(Math.max(...values))];
  return lowest === highest ? lowest : `${lowest} to ${highest}`;
}
