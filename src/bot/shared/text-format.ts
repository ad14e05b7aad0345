import { inWords } from '../../contracts/duration.ts';

export { inWords };

const SHORT = { day: 'd', hour: 'h', minute: 'min', second: 's' } as const;

/** `1 h 5 min`, `45 s`. */
export const inShort = (ms: number) =>
  inWords(ms).replace(/(day|hour|minute|second)s?/g, (_, unit: keyof typeof SHORT) => SHORT[unit]);

/** `1 monitor`, `2 monitors`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Cuts a text to `max` characters, with `…` at the end. */
export function shortened(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max - 1)}…` : text;
}

/**
 * One bar for each value, from the lowest value up. The scale ends at twice the lowest value or above, so that jitter stays
 * small, and at ten times the median or below, so that one huge value doesn't flatten the others. Pure.
 */
export function sparkline(values: readonly number[]): string {
  const inOrder = [...values].sort((a, b) => a - b);
  const lowest = inOrder[0] ?? 0;
  const median = inOrder[Math.floor(inOrder.length / 2)] ?? 0;
  const highest = Math.max(Math.min(inOrder.at(-1) ?? 0, 10 * median), 2 * lowest);
  const span = highest - lowest || 1;
  return values
    .map((value) => {
      const height = Math.min(1, (value - lowest) / span);
      return BARS[Math.round(height * (BARS.length - 1))];
    })
    .join('');
}

/** A response time: `<1 ms`, `120 ms`, `2.4 s`, `12 s`. Pure. */
export function inUnits(ms: number): string {
  if (ms < 0.5) return '<1 ms';
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  return ms < 9_950 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`;
}

const BARS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/** A moment in a text, and its words. */
export interface WrittenInstant {
  text: string;
  atMs: number;
  hasDate: boolean;
  hasSeconds: boolean;
}

/** `14:05 UTC`, `28 Nov 14:05 UTC`, `28 Nov 2026 14:05:07 UTC`, `2026-11-28 14:05 UTC` and `2026-11-28T14:05:07.123Z`. */
const INSTANT =
  /(?<![\d.:-])(?:(\d{4})-(\d\d)-(\d\d)[ T]|(\d{1,2})\.? (\p{L}{3,10})\.?(?: (\d{4}))?,? )?(\d\d):(\d\d)(?::(\d\d)(?:\.\d{1,9})?)?(?: UTC|Z)(?![\p{L}\d])/gu;

/** First three letters of the months in English, German and Spanish. */
const MONTHS = [
  ...['jan|ene', 'feb', 'mar|mär', 'apr|abr', 'may|mai', 'jun'],
  ...['jul', 'aug|ago', 'sep', 'oct|okt', 'nov', 'dec|dez|dic'],
].map((names) => names.split('|'));

/**
 * Splits a text at moments in UTC, so that a platform can show them in the reader's time zone. A date without a year is the one
 * nearest to now, a time without a date is today. Pure.
 */
export function splitInstants(text: string, nowMs = Date.now()): Array<string | WrittenInstant> {
  const parts: Array<string | WrittenInstant> = [];
  let end = 0;
  for (const match of text.matchAll(INSTANT)) {
    const instant = instantOf(match, nowMs);
    if (!instant) continue;
    const start = match.index + match[0].length - instant.text.length;
    if (start > end) parts.push(text.slice(end, start));
    parts.push(instant);
    end = match.index + match[0].length;
  }
  if (end < text.length) parts.push(text.slice(end));
  return parts;
}

function instantOf(match: RegExpExecArray, nowMs: number): WrittenInstant | undefined {
  const [text, year, month, day, dayOfMonth, monthName = '', yearAfter, ...clock] = match;
  const [hours, minutes, seconds = 0] = clock.map((part) => Number(part ?? 0));
  if (hours === undefined || minutes === undefined) return undefined;
  const hasSeconds = match[9] !== undefined;
  const at = (y: number, m: number, d: number) => Date.UTC(y, m, d, hours, minutes, seconds);
  if (year !== undefined) {
    const atMs = at(Number(year), Number(month) - 1, Number(day));
    return { text, atMs, hasDate: true, hasSeconds };
  }
  const now = new Date(nowMs);
  const monthIndex = MONTHS.findIndex((names) =>
    names.includes(monthName.slice(0, 3).toLowerCase()),
  );
  if (monthIndex >= 0) {
    const thisYear = now.getUTCFullYear();
    const years = yearAfter ? [Number(yearAfter)] : [thisYear, thisYear - 1, thisYear + 1];
    const [atMs = 0] = years
      .map((one) => at(one, monthIndex, Number(dayOfMonth)))
      .sort((a, b) => Math.abs(a - nowMs) - Math.abs(b - nowMs));
    return { text, atMs, hasDate: true, hasSeconds };
  }
  const atMs = at(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate());
  // The words before the time aren't a date.
  const words = text.slice(text.search(/\d\d:\d\d/));
  return { text: words, atMs, hasDate: false, hasSeconds };
}

/** Percent of a share from 0 to 1 with two decimals, for all displays. 100 and 0 are exact, never rounded. */
export function percentOf(share: number): number {
  if (share <= 0) return 0;
  if (share >= 1) return 100;
  return Math.min(99.99, Math.max(0.01, Math.round(share * 10_000) / 100));
}

/** `99.95 %`. */
export const percentText = (share: number) => `${percentOf(share)} %`;
