import { inWords } from '../../../contracts/duration.ts';
import type { ComingWindow } from '../../../contracts/monitoring-additions.ts';
import { taggedInWords } from '../../channels/monitor-filter.ts';
import { bold, plain } from '../../shared/inert-markdown.ts';
import type { FoundIncident } from '../../tools/list-incidents.ts';
import type { MonitorView } from '../../tools/read-model.ts';
import { has, type ParsedQuestion } from '../find.ts';
import { dayInWords, type Span } from '../spans.ts';
import { folded } from '../words.ts';

/** A look-up: the name of a tool of the registry and its input. */
export interface Lookup {
  tool: string;
  input: Record<string, unknown>;
}

type Output = Record<string, unknown>;

/** A part of an answer: its look-ups, and its Markdown from their results. Only the first one can't be missing. */
export interface View {
  lookups: Lookup[];
  write(first: Output, ...others: Array<Output | undefined>): string;
}

export interface ViewContext {
  nowMs: number;
  /** IANA name of the channel's time zone. */
  zone: string;
}

export type Overview = (found: ParsedQuestion, context: ViewContext) => View;

export const look = (tool: string, input: Lookup['input'] = {}): Lookup => ({ tool, input });

/** A view of one look-up. `T` is the output of its tool. */
export const viewOf = <T>(lookup: Lookup, write: (result: T) => string): View => ({
  lookups: [lookup],
  write: (result) => write(result as T),
});

/** The input of tools for a span; without one, a time back from now. */
export const spanInput = (span: Span | undefined, last: string) =>
  span ? { from: isoTime(span.fromMs), to: isoTime(span.toMs) } : { last };

/** ` tagged eu`; nothing if the question names no tag. */
export const taggedText = ({ tags }: ParsedQuestion): string =>
  tags === undefined ? '' : ` ${plain(taggedInWords(tags))}`;

/** The input of tools that limits them to the tags of a question. */
export const tagsInput = ({ tags }: ParsedQuestion) => (tags ? { tags: tags.join(',') } : {});

export const isoTime = (ms: number) => new Date(ms).toISOString();

/** Rows of a list that are shown. */
export const MAX_ROWS = 10;

/** A sentence, and a list of at most ten of its `total` rows. */
export function withRows(sentence: string, rows: readonly string[], total = rows.length): string {
  const shown = rows.slice(0, MAX_ROWS).map((row) => `- ${row}`);
  if (shown.length === 0) return sentence;
  const left = total - shown.length;
  return [sentence, '', ...shown, ...(left > 0 ? [`- and ${left} more`] : [])].join('\n');
}

/** `Yes, `, `No, `, or nothing if the question isn't one for yes or no. */
export function yesOrNo(found: ParsedQuestion, isTrue: boolean): string {
  if (has(found, 'which', 'why', 'when', 'duration', 'howOften', 'howMany', 'not', 'future'))
    return '';
  return isTrue ? 'Yes, ' : 'No, ';
}

export const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

export const are = (count: number) => (count === 1 ? 'is' : 'are');

/** `11:48 UTC`, `24 Nov 14:20 UTC`, `24 Nov 2025 14:20 UTC`. Platforms show it in the reader's zone. */
export function timeText(iso: string, nowMs: number): string {
  const ms = Date.parse(iso);
  if (Number.isNaN(ms)) return 'an unknown time';
  const clock = `${isoTime(ms).slice(11, 16)} UTC`;
  if (isoTime(ms).slice(0, 10) === isoTime(nowMs).slice(0, 10)) return clock;
  const isThisYear = new Date(ms).getUTCFullYear() === new Date(nowMs).getUTCFullYear();
  return `${isThisYear ? dayInWords(ms).slice(0, -5) : dayInWords(ms)} ${clock}`;
}

/** ` since 11:48 UTC (12 minutes)`; nothing if that is unknown. */
export const sinceText = (since: string | undefined, nowMs: number) =>
  since === undefined
    ? ''
    : ` since ${timeText(since, nowMs)} (${inWords(nowMs - Date.parse(since))})`;

/** `: connection refused`; nothing if there is no cause. */
export const causeText = (cause = '') => (cause.trim() === '' ? '' : `: ${plain(cause, 200)}`);

/** `DOWN since 11:48 UTC (12 minutes): connection refused; it is flapping`. */
export function stateText(monitor: MonitorView, nowMs: number): string {
  const { status, since, reason, flapping, waiting_for_first_ping: waits, stale } = monitor;
  return [
    `${plain(status, 20)}${sinceText(since, nowMs)}${causeText(reason)}`,
    ...(flapping ? ['it is flapping'] : []),
    ...(waits ? ['it is waiting for its first ping'] : []),
    ...(stale ? ['it was not checked for a while, so this may be old'] : []),
  ].join('; ');
}

export const monitorRow = (monitor: MonitorView, nowMs: number) =>
  `${bold(monitor.name)}: ${stateText(monitor, nowMs)}`;

/** `24 Nov 14:20 UTC, for 13 minutes: connection refused`. */
export function incidentText(incident: FoundIncident, nowMs: number): string {
  const { started_at, ended_at, lasted_seconds, cause } = incident;
  const length = `${ended_at === undefined ? 'ongoing ' : ''}for ${inWords(lasted_seconds * 1000)}`;
  return `${timeText(started_at, nowMs)}, ${length}${causeText(cause)}`;
}

/** `is in maintenance until 14:00 UTC: database upgrade`, `has maintenance from 28 Nov 02:00 UTC to 28 Nov 04:00 UTC`. */
export function windowText({ starts_at, ends_at, reason }: ComingWindow, nowMs: number): string {
  const end = timeText(ends_at, nowMs) + causeText(reason);
  return Date.parse(starts_at) <= nowMs
    ? `is in maintenance until ${end}`
    : `has maintenance from ${timeText(starts_at, nowMs)} to ${end}`;
}

/** `expires on 2 Dec 2026, in 6 days`. */
export function expiryText(iso: string, nowMs: number): string {
  const endMs = Date.parse(iso);
  if (endMs <= nowMs) return `expired on ${dayInWords(endMs)}`;
  return `expires on ${dayInWords(endMs)}, in ${inWords(endMs - nowMs)}`;
}

/** True for a monitor that a question doesn't leave out. */
export const isKept = ({ without }: ParsedQuestion, name: string): boolean =>
  without === undefined || !folded(name).includes(without);

/** ` without “staging”`; nothing if nothing is left out. */
export const withoutText = ({ without }: ParsedQuestion): string =>
  without === undefined ? '' : ` without “${plain(without)}”`;
