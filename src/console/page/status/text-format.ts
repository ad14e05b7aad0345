import { counted, inWords, observedSpans, percentText, severityOf } from '../../shared/from-bot.ts';
import type {
  StatusDays,
  StatusDetails,
  StatusIncident,
  StatusMonitor,
  StatusReport,
} from '../../status/api-types.ts';
import type { Day } from './days.ts';

/** The statuses of Askwatch's own service in lower case, the worst first. */
const TEXTS = {
  down: 'Down',
  degraded: 'Degraded',
  pending: 'Pending',
  maintenance: 'In maintenance',
  paused: 'Paused',
  up: 'Up',
};
export type Condition = keyof typeof TEXTS;
export const CONDITIONS = Object.keys(TEXTS) as Condition[];

/** Conditions for the statuses of other services. */
const BY_SEVERITY = {
  well: 'up',
  pending: 'pending',
  silenced: 'paused',
  degraded: 'degraded',
  down: 'down',
} as const;

export const conditionOf = ({ status }: Pick<StatusMonitor, 'status'>): Condition =>
  ownConditionOf(status) ?? BY_SEVERITY[severityOf(status)];

const ownConditionOf = (status: string) =>
  CONDITIONS.find((condition) => condition === status.toLowerCase());

export const conditionText = (condition: Condition) => TEXTS[condition];

/** Names a status; other services' statuses stay as they are. */
export function statusText(monitor: Pick<StatusMonitor, 'status'>): string {
  const ours = ownConditionOf(monitor.status);
  return ours ? conditionText(ours) : monitor.status;
}

/** `All 12 monitors are up`; of the monitors with a tag, `eu: 2 of 14 are down`. Pure. */
export const headlineOf = (report: StatusReport, tag?: string) =>
  tag === undefined ? inOneSentence(report) : `${tag}: ${inOneSentence(report)}`;

/** Sums up all monitors that aren't paused. */
function inOneSentence({ overall, monitors }: StatusReport): string {
  const checked = monitors.filter((monitor) => conditionOf(monitor) !== 'paused');
  const total = checked.length;
  if (monitors.length === 0) {
    return overall === 'unknown' ? 'No data yet' : 'No monitors yet';
  }
  const count = (condition: Condition) =>
    checked.filter((monitor) => conditionOf(monitor) === condition).length;
  if (overall === 'unknown') return 'Current status unknown';
  if (total === 0)
    return monitors.length === 1 ? 'The monitor is paused' : 'All monitors are paused';
  if (overall === 'pending') return 'Waiting for the first check';
  if (overall === 'down')
    return total === 1 ? 'The monitor is down' : `${ofAll(count('down'), total)} down`;
  if (overall === 'degraded') {
    if (count('degraded') > 0) return `${ofAll(count('degraded'), total)} degraded`;
    return `${ofAll(checked.filter(({ flapping }) => flapping).length, total)} flapping`;
  }
  const up = count('up');
  if (up === total) return total === 1 ? 'The monitor is up' : `All ${total} monitors are up`;
  return `${ofAll(up, total)} up, none are down`;
}

const ofAll = (count: number, total: number) =>
  `${count} of ${total} ${count === 1 ? 'is' : 'are'}`;

const DAY_MS = 86_400_000;

/** Labels uptimes with their spans, and with the observed time if that was shorter. Empty without any observation. Pure. */
export function uptimeFigures(
  days: StatusDetails['uptime'],
): Array<{ label: string; text: string }> {
  const spans = days.flatMap(({ days, uptime, seen_ms = days * DAY_MS }) =>
    uptime === null ? [] : [{ days, spanMs: days * DAY_MS, seenMs: seen_ms }],
  );
  const watched = new Map(observedSpans(spans).map((span) => [span.days, span]));
  if (watched.size === 0) return [];
  return days.flatMap(({ days, uptime }) => {
    const span = watched.get(days);
    const label = days === 1 ? '24 hours' : `${days} days`;
    if (uptime === null) return [{ label, text: 'No data' }];
    if (!span) return [];
    const note = span.most ? '' : ` (watched for ${inWords(span.seenMs)})`;
    return [{ label, text: percentText(uptime) + note }];
  });
}

/** `watched for 2 hours`, which an uptime of less than a day needs beside it; undefined when it was longer. Pure. */
export function watchedText({ up_ms, down_ms }: StatusDays): string | undefined {
  const seenMs = [...up_ms, ...down_ms].reduce((total, ms) => total + ms, 0);
  return seenMs < DAY_MS ? `watched for ${inWords(seenMs)}` : undefined;
}

export const formatMilliseconds = (ms: number) =>
  ms < 10 ? `${Math.round(ms * 10) / 10} ms` : `${Math.round(ms).toLocaleString()} ms`;

/** `5 seconds ago`; a clock of this machine that is behind reads as now. */
export function agoText(atMs: number, nowMs: number): string {
  const passedMs = nowMs - atMs;
  return passedMs < 1_000 ? 'just now' : `${inWords(passedMs)} ago`;
}

const dayFormat = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  // The report's days are in UTC.
  timeZone: 'UTC',
});

/** `12 Oct 2026: 99.2 % up, down for 12 minutes`. Pure. */
export function dayText({ atMs, upMs, downMs }: Day): string {
  const name = dayFormat.format(atMs);
  const seenMs = upMs + downMs;
  if (seenMs === 0) return `${name}: no data`;
  const up = `${percentText(upMs / seenMs)} up`;
  return downMs > 0 ? `${name}: ${up}, down for ${inWords(downMs)}` : `${name}: ${up}`;
}

/** Sums up the bars for screen readers. Pure. */
export function daysText(days: readonly Day[]): string {
  const seen = days.filter(({ upMs, downMs }) => upMs + downMs > 0);
  if (seen.length === 0) return `No data for ${counted(days.length, 'day')}.`;
  const bad = seen.filter(({ downMs }) => downMs > 0);
  const last = bad.at(-1);
  const span = `Data for ${seen.length} of ${counted(days.length, 'day')}`;
  if (!last) return `${span}, never down.`;
  return `${span}, down on ${bad.length}. Last: ${dayText(last)}.`;
}

export function durationText({ started_at, ended_at }: StatusIncident, nowMs: number): string {
  const startedMs = Date.parse(started_at);
  if (ended_at === null) return `${inWords(Math.max(0, nowMs - startedMs))} so far`;
  return inWords(Math.max(0, Date.parse(ended_at) - startedMs));
}
