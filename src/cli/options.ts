import { notADuration, readDuration } from '../contracts/duration.ts';
import { USAGE_DAYS } from '../contracts/gateway.ts';
import { type KeyLimitsChange, LIMIT_NAMES } from '../contracts/key-limits.ts';
import { CommandLineError } from './command.ts';

/** Limits as they were typed. */
export type LimitOptions = { [Name in keyof typeof OPTION_OF]?: string };

export const OPTION_OF = {
  requestsPerMinute: 'requests-per-minute',
  tokensPerMinute: 'tokens-per-minute',
  tokensPerDay: 'tokens-per-day',
  tokensPerMonth: 'tokens-per-month',
} as const;

/** From when on, Unix time: a day, or a duration ago. */
export function sinceMsIn(since: string | undefined, nowMs: number): number | undefined {
  if (since === undefined) return undefined;
  const agoMs = readDuration(since, { needsUnit: true });
  const atMs = /^\d{4}-\d{2}-\d{2}$/.test(since) ? Date.parse(since) : Number.NaN;
  const sinceMs = agoMs === undefined ? atMs : nowMs - agoMs;
  if (!Number.isNaN(sinceMs)) return sinceMs;
  throw new CommandLineError(`${notADuration(since)}, or a date such as 2026-11-01.`);
}

/** The limits among the options; `null` for `none`. */
export function limitsIn(options: LimitOptions): KeyLimitsChange {
  const change: KeyLimitsChange = {};
  for (const name of LIMIT_NAMES) {
    const value = options[name];
    if (value === undefined) continue;
    const isNone = value === 'none';
    change[name] = isNone ? null : wholeNumber(value, `--${OPTION_OF[name]}`, ' or none');
  }
  return change;
}

export function daysIn({ days }: { days: string }): number {
  const number = wholeNumber(days, '--days', '');
  if (number > USAGE_DAYS.max)
    throw new CommandLineError(`--days must be at most ${USAGE_DAYS.max}.`);
  return number;
}

function wholeNumber(value: string, option: string, otherwise: string): number {
  const number = /^\d+$/.test(value) ? Number(value) : 0;
  if (number >= 1 && Number.isSafeInteger(number)) return number;
  throw new CommandLineError(`${option} must be a whole number from 1${otherwise}.`);
}
