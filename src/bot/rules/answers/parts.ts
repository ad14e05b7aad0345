import { bold, plain } from '../../shared/inert-markdown.ts';
import type { Speech } from './speech.ts';

/** Rows of a list that are shown. */
export const MAX_ROWS = 10;

/** A monitor as tools give it. */
export interface GivenMonitor {
  name: string;
  check_type: string;
  status: string;
  created_at?: string;
  since?: string;
  reason?: string;
  last_checked_at?: string;
  response_time_ms?: number;
  flapping?: boolean;
  waiting_for_first_ping?: boolean;
  stale?: boolean;
}

/**
 * An answer: its first sentence, a list of at most ten lines with how many more there are, and what is to be said besides.
 * All is Markdown.
 */
export function answerOf(
  sentence: string,
  options: {
    rows?: readonly string[];
    /** Rows that there are, where not all are given. */
    total?: number;
    /** There may be still more. */
    atLeast?: boolean;
    notes?: readonly string[];
  },
  { words, number }: Speech,
): string {
  const { rows = [], total = rows.length, atLeast = false, notes = [] } = options;
  const shown = rows.slice(0, MAX_ROWS);
  const left = total - shown.length;
  const count = atLeast ? words.atLeast(number(left)) : number(left);
  return [
    /[.:]$/.test(sentence) ? sentence : `${sentence}.`,
    ...(shown.length > 0 ? ['', ...shown.map((row) => `- ${row}`)] : []),
    ...(left > 0 && shown.length > 0 ? [`- ${words.more(count)}`] : []),
    ...notes.flatMap((note) => ['', note]),
  ].join('\n');
}

/** `DOWN since 14:05 UTC (3 hours): connection refused`. */
export function stateInWords(monitor: GivenMonitor, nowMs: number, speech: Speech): string {
  const { status, since, reason } = monitor;
  const shown = plain(status, 20);
  return `${since === undefined ? shown : `${shown} ${speech.since(since, nowMs)}`}${reasonBehind(reason)}`;
}

/** A reason behind what it is of; nothing where none is known. */
export const reasonBehind = (reason: string | undefined) =>
  reason === undefined || reason.trim() === '' ? '' : `: ${plain(reason, 200)}`;

/** What has to be known of a status besides. */
export function remarks(
  { flapping, stale, waiting_for_first_ping }: GivenMonitor,
  { words }: Speech,
) {
  return [
    ...(flapping ? [words.flapping] : []),
    ...(waiting_for_first_ping ? [words.waiting] : []),
    ...(stale ? [words.stale] : []),
  ];
}

/** A row of a list of monitors. */
export function monitorRow(monitor: GivenMonitor, nowMs: number, speech: Speech): string {
  return [
    `${bold(monitor.name)}: ${stateInWords(monitor, nowMs, speech)}`,
    ...remarks(monitor, speech),
  ].join('; ');
}
