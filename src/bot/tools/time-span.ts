import { z } from 'zod';
import { durationProblem, inWords, readDuration } from '../../contracts/duration.ts';
import { CommandError } from '../shared/errors.ts';

const DAY_MS = 86_400_000;

/** The monitoring service deletes older data. */
const MAX_DAYS = 400;
export const MAX_SPAN_MS = MAX_DAYS * DAY_MS;

/** The input fields of a tool that reads a time span, with its default. */
export const timeSpanFields = (standard: string) => ({
  last: z
    .string()
    .max(20)
    .optional()
    .describe(`Back from now: 30m, 24h, 7d, 4w; default ${standard}.`),
  from: z
    .string()
    .max(40)
    .optional()
    .describe('Start, instead of "last": 2026-11-20 or 2026-11-20T09:30Z (UTC).'),
  to: z
    .string()
    .max(40)
    .optional()
    .describe('End, with "from"; default now. A date includes that day.'),
});

interface SpanInput {
  last?: string;
  from?: string;
  to?: string;
}

export interface TimeSpan {
  fromMs: number;
  toMs: number;
}

/** The span of an input, which ends now at the latest. Throws `CommandError`. Pure. */
export function timeSpanOf(
  { last, from, to }: SpanInput,
  standard: string,
  nowMs: number,
): TimeSpan {
  if (from === undefined) {
    if (to !== undefined) throw new CommandError('"to" needs "from". Use both, or "last".');
    return { fromMs: nowMs - lengthOf(last ?? standard), toMs: nowMs };
  }
  if (last !== undefined) throw new CommandError('Use "last", or "from" and "to", not both.');
  const fromMs = momentOf('from', from);
  const toMs = Math.min(to === undefined ? nowMs : momentOf('to', to, { isEnd: true }), nowMs);
  if (fromMs >= toMs) throw new CommandError('"from" must be before "to", and in the past.');
  if (toMs - fromMs > MAX_SPAN_MS) {
    throw new CommandError(`That is longer than ${MAX_DAYS} days. Older data is not kept.`);
  }
  return { fromMs, toMs };
}

/** `the last 7 days` or `2026-11-20 09:30 UTC to 2026-11-21 00:00 UTC`. Never throws. Pure. */
export function timeSpanInWords({ last, from, to }: SpanInput, standard: string): string {
  if (from !== undefined) {
    return to === undefined
      ? `the time since ${minuteIn(from)}`
      : `${minuteIn(from)} to ${minuteIn(to)}`;
  }
  const ms = readDuration(last ?? standard, { needsUnit: true });
  if (ms === undefined) return 'a time';
  // "The last day" would read as yesterday.
  return ms === DAY_MS ? 'the last 24 hours' : `the last ${inWords(ms).replace(/^1 (\w+)$/, '$1')}`;
}

/** `2026-11-20 09:30 UTC` for a time to the millisecond; other texts stay as they are. */
const minuteIn = (text: string) =>
  text.replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\d\.\d{3}Z$/, '$1 $2 UTC');

function lengthOf(text: string): number {
  const problem = durationProblem(text, { minMs: 1000, maxMs: MAX_SPAN_MS, needsUnit: true });
  if (problem === undefined) return readDuration(text) ?? 0;
  throw new CommandError(`"last": ${problem}.`);
}

/** False for 30 February, which `Date.parse` reads as 2 March. */
function isDay(text: string): boolean {
  const ms = DAY.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text);
}

const DAY = /^\d{4}-\d\d-\d\d$/;
const ZONE = /(Z|[+-]\d\d:?\d\d)$/i;

/** Unix time of a date or a time, in UTC unless it has a zone. `name` is the field for the `CommandError`. Pure. */
export function momentOf(name: string, text: string, { isEnd = false } = {}): number {
  const day = DAY.test(text);
  const ms = Date.parse(day ? `${text}T00:00:00Z` : ZONE.test(text) ? text : `${text}Z`);
  if (Number.isNaN(ms) || !isDay(text.slice(0, 10))) {
    throw new CommandError(
      `"${name}" must be a time such as 2026-11-20 or 2026-11-20T09:30Z, not "${text}".`,
    );
  }
  return day && isEnd ? ms + DAY_MS : ms;
}
