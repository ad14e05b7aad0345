import { wallDay, wallWords } from '../../contracts/wall-time.ts';
import type { Chart } from '../shared/card.ts';
import { inUnits, inWords, sparkline } from '../shared/text-format.ts';
import type { ReportFacts, ReportStep } from './report-facts.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Longer downtimes are drawn in hours: the axis has no room for so many minutes. */
const MAX_IN_MINUTES_MS = 10 * HOUR_MS;

/** One value makes no chart. */
const MIN_VALUES = 2;

/** A step without a value in a sparkline. */
const GAP = '·';

/** Total downtime by hour or day, or response times if nothing was down. No chart for fewer than two values. Pure. */
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

/** To a tenth of the unit. Any downtime is at least 0.1. */
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
