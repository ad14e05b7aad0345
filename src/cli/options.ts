import type { KeyedService } from '../contracts/api-key.ts';
import { notADuration, readDuration } from '../contracts/duration.ts';
import { USAGE_DAYS } from '../contracts/gateway.ts';
import { type KeyLimitsChange, LIMIT_NAMES } from '../contracts/key-limits.ts';

/** Invalid arguments. The message says what to type. */
export class CommandLineError extends Error {
  override name = 'CommandLineError' as const;
}

export const keyOptions = {
  service: { type: 'string' },
  name: { type: 'string' },
  write: { type: 'boolean' },
  days: { type: 'string' },
  'requests-per-minute': { type: 'string' },
  'tokens-per-minute': { type: 'string' },
  'tokens-per-day': { type: 'string' },
  'tokens-per-month': { type: 'string' },
} as const;
export type KeyOptions = {
  [Name in keyof typeof keyOptions]?: OptionValue<(typeof keyOptions)[Name]['type']> | undefined;
};
type OptionValue<Type> = Type extends 'boolean' ? boolean : string;

export const feedbackOptions = { since: { type: 'string' }, down: { type: 'boolean' } } as const;
export interface FeedbackOptions {
  since?: string;
  down?: boolean;
}

export const monitorsOptions = { from: { type: 'string' }, yes: { type: 'boolean' } } as const;
export interface MonitorsOptions {
  from?: string;
  yes?: boolean;
}

/** From when on, Unix time: a day, or a duration ago. */
export function sinceMsIn({ since }: FeedbackOptions, nowMs: number): number | undefined {
  if (since === undefined) return undefined;
  const agoMs = readDuration(since, { needsUnit: true });
  const atMs = /^\d{4}-\d{2}-\d{2}$/.test(since) ? Date.parse(since) : Number.NaN;
  const sinceMs = agoMs === undefined ? atMs : nowMs - agoMs;
  if (!Number.isNaN(sinceMs)) return sinceMs;
  throw new CommandLineError(`${notADuration(since)}, or a date such as 2026-11-01.`);
}

export const SERVICES: readonly KeyedService[] = ['gateway', 'monitoring'];

export const OPTION_OF = {
  requestsPerMinute: 'requests-per-minute',
  tokensPerMinute: 'tokens-per-minute',
  tokensPerDay: 'tokens-per-day',
  tokensPerMonth: 'tokens-per-month',
} as const;

/** The limits among the options; `null` for `none`. */
export function limitsIn(options: KeyOptions): KeyLimitsChange {
  const change: KeyLimitsChange = {};
  for (const name of LIMIT_NAMES) {
    const option = OPTION_OF[name];
    const value = options[option];
    if (value === undefined) continue;
    change[name] = value === 'none' ? null : wholeNumber(value, `--${option}`, ' or none');
  }
  return change;
}

export function daysIn({ days }: KeyOptions): number {
  if (days === undefined) return USAGE_DAYS.default;
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

/** The service of that name; `undefined` when none is given. */
export function serviceNamed(name: string | undefined): KeyedService | undefined {
  if (name === undefined) return undefined;
  const service = SERVICES.find((known) => known === name);
  if (!service) throw new CommandLineError(`Unknown service '${name}'. Use gateway or monitoring.`);
  return service;
}
