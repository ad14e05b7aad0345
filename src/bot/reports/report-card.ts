import { wallDay, wallWords } from '../../contracts/wall-time.ts';
import { taggedInWords } from '../channels/monitor-filter.ts';
import { type Card, type Fact, factsPart, tablePart, textPart } from '../shared/card.ts';
import { counted, inUnits, inWords, shortened } from '../shared/text-format.ts';
import { reportChart } from './report-chart.ts';
import { type OutageCount, pointsMore, type ReportFacts } from './report-facts.ts';
import type { ReportedFigures } from './reported-figures.ts';
import { fromMsOf, type ReportSpan, toMsOf } from './schedule.ts';
import type { Sentences } from './sentences.ts';

const MAX_ROWS = 8;
const MAX_SLOW = 3;
const MAX_NAMED = 3;
const MAX_NAME = 50;
const MAX_CAUSE = 120;

/** A smaller share is the time between two checks. */
const MIN_UNSEEN_PERCENT = 0.1;

/** A report as a card, with a model's sentences about the facts, if there are any. Pure. */
export function reportCard(
  facts: ReportFacts & { reported?: ReportedFigures },
  sentences?: Sentences,
): Card {
  const { span, monitors, percent, downMs, reported } = facts;
  const title = titleOf(span);
  if (monitors === 0) return reported ? reportedCard(span, reported) : emptyCard(span);
  return {
    tone: percent === undefined ? 'info' : downMs > 0 ? 'warning' : 'good',
    title: `${title}: ${percent === undefined ? 'no data' : `${percent} % up`}`,
    parts: [
      ...(sentences ? [textPart(sentences.text)] : []),
      factsPart(...factsOf(facts), ...(reported ? reportedFacts(reported) : [])),
      ...downParts(facts),
      ...reportChart(facts),
    ],
    footer: sentences && `Summary by ${shortened(sentences.model, MAX_NAME)}`,
  };
}

const emptyCard = (span: ReportSpan): Card => ({
  tone: 'info',
  title: `${titleOf(span)}: nothing to report`,
  parts: [
    textPart(
      span.tags
        ? `This channel gets no alerts for monitors${taggedInWords(span.tags)}, so there is nothing to report. Turn them on: /monitor alerts on tags=${span.tags.join(',')}`
        : 'This channel gets no alerts, so there is nothing to report. Turn alerts on for all monitors: /monitor alerts on. Or only for those with “shop” in name or target: /monitor alerts on shop.',
    ),
  ],
});

const reportedCard = (span: ReportSpan, reported: ReportedFigures): Card => ({
  tone: 'info',
  title: `${titleOf(span)}: ${counted(reported.alerts, 'alert')} fired`,
  parts: [factsPart({ label: 'Time', value: spanInWords(span) }, ...reportedFacts(reported))],
});

export const titleOf = ({ every, tags }: ReportSpan) =>
  `${{ daily: 'Daily', weekly: 'Weekly', monthly: 'Monthly' }[every]} report${tags ? ` for monitors${taggedInWords(tags)}` : ''}`;

/** `2026-11-16 to 2026-11-22 (Europe/Berlin)`. Pure. */
function spanInWords(span: ReportSpan): string {
  const { zone, isSoFar, every } = span;
  const [fromMs, toMs] = [fromMsOf(span), toMsOf(span)];
  if (isSoFar) return `${wallWords(zone, fromMs)} to ${wallWords(zone, toMs)} (${zone})`;
  const first = wallDay(zone, fromMs);
  return every === 'daily'
    ? `${first} (${zone})`
    : `${first} to ${wallDay(zone, toMs - 1)} (${zone})`;
}

/** The span that a report compares with: `the week before`. Pure. */
const beforeInWords = ({ every, isSoFar }: ReportSpan) =>
  isSoFar
    ? `the ${{ daily: '24 hours', weekly: '7 days', monthly: '30 days' }[every]} before`
    : `the ${{ daily: 'day', weekly: 'week', monthly: 'month' }[every]} before`;

function factsOf(facts: ReportFacts): Fact[] {
  const { span, monitors, seen } = facts;
  const unseen = monitors - seen;
  const not = unseen === 0 ? '' : ` (no data for ${unseen})`;
  return [
    { label: 'Time', value: spanInWords(span) },
    { label: 'Monitors', value: `${monitors}${not}` },
    ...(facts.percent === undefined ? [] : [{ label: 'Uptime', value: uptimeInWords(facts) }]),
    { label: 'Outages', value: outagesInWords(facts) },
    ...longestFact(facts),
    ...slowFacts(facts),
    ...namesFact('Down now', facts.downNow),
    ...namesFact('New', facts.added),
    ...namesFact('Paused now', facts.pausedNow),
    ...unseenFact(facts),
  ];
}

function longestFact({ span, longest }: ReportFacts): Fact[] {
  if (!longest) return [];
  const { name, fromMs, lastedMs, isOngoing, cause } = longest;
  const from = wallWords(span.zone, fromMs);
  const end = isOngoing ? ', still ongoing at the end' : '';
  const value = `${named(name)} from ${from} for ${inWords(lastedMs)}${end}: ${shortened(cause, MAX_CAUSE)}`;
  return [{ label: 'Longest', value }];
}

function unseenFact({ unseenPercent }: ReportFacts): Fact[] {
  if (unseenPercent < MIN_UNSEEN_PERCENT) return [];
  const percent = Math.round(unseenPercent * 10) / 10;
  const value = `${percent} % of the monitors’ time: paused, in maintenance or not checked. Not counted in uptime.`;
  return [{ label: 'Not monitored', value }];
}

function reportedFacts({ fired, isLeast, alerts, longest, firingNow }: ReportedFigures): Fact[] {
  const times = `${isLeast ? 'at least ' : ''}${counted(fired, 'time')}`;
  return [
    { label: 'Alerts from other systems', value: `${counted(alerts, 'alert')} fired ${times}` },
    {
      label: 'Longest alert',
      value: `${named(longest.name)} for ${inWords(longest.lastedMs)}${longest.isOngoing ? ', still ongoing' : ''}`,
    },
    ...namesFact('Firing now', firingNow),
  ];
}

function uptimeInWords(facts: ReportFacts): string {
  const { span, percent = 0, percentBefore } = facts;
  const points = pointsMore(facts);
  if (points === undefined) return `${percent} % (no data for ${beforeInWords(span)})`;
  if (points === 0) return `${percent} %, same as ${beforeInWords(span)}`;
  const than = points > 0 ? 'higher' : 'lower';
  return `${percent} %, ${Math.abs(points)} percentage points ${than} than ${beforeInWords(span)} (${percentBefore} %)`;
}

function outagesInWords({ span, outages, outagesBefore, downMs }: ReportFacts): string {
  const long = downMs > 0 ? `, ${inWords(downMs)} of downtime in total` : '';
  return `${countInWords(outages)} (${beforeInWords(span)}: ${countInWords(outagesBefore)})${long}`;
}

const countInWords = ({ count, isLeast }: OutageCount) =>
  isLeast ? `at least ${count}` : count === 0 ? 'none' : `${count}`;

function slowFacts({ slowest, span }: ReportFacts): Fact[] {
  if (slowest.length === 0) return [];
  const all = slowest.slice(0, MAX_SLOW).map(({ name, meanMs, beforeMs }, at) => {
    const before = beforeMs === undefined ? 'no data' : inUnits(beforeMs);
    const then = at === 0 ? `${beforeInWords(span)}: ${before}` : before;
    return `${named(name)} ${inUnits(meanMs)} (${then})`;
  });
  return [{ label: 'Slowest', value: all.join(', ') }];
}

function namesFact(label: string, names: readonly string[]): Fact[] {
  if (names.length === 0) return [];
  const more = names.length - MAX_NAMED;
  const shown = names.slice(0, MAX_NAMED).map(named).join(', ');
  return [{ label, value: more > 0 ? `${shown} and ${more} more` : shown }];
}

const named = (name: string) => shortened(name, MAX_NAME);

/** A table of the monitors with the lowest uptime, and the number of the others. */
function downParts({ down, seen, span }: ReportFacts) {
  if (down.length === 0) return [];
  const percent = (share: number | undefined) => (share === undefined ? 'no data' : `${share} %`);
  const rows = down
    .slice(0, MAX_ROWS)
    .map((one) => [
      named(one.name),
      percent(one.percent),
      percent(one.percentBefore),
      inWords(one.downMs),
      one.outages === 0 ? '–' : String(one.outages),
    ]);
  const more = down.length - rows.length;
  const never = seen - down.length;
  const others = [
    ...(more > 0 ? [`${counted(more, 'more monitor')} ${more === 1 ? 'was' : 'were'} down`] : []),
    ...(never > 0
      ? [`${counted(never, 'monitor')} ${never === 1 ? 'was' : 'were'} never down`]
      : []),
  ];
  const before = beforeInWords(span).replace('the ', '');
  return [
    tablePart(['Monitor', 'Uptime', capital(before), 'Down', 'Outages'], rows),
    ...(others.length > 0 ? [textPart(`${capital(others.join(', and '))}.`)] : []),
  ];
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
