import type { ListedKey } from '../../account/api-types.ts';

export type KeyLimitValues = ListedKey['limits'];
export type LimitName = keyof KeyLimitValues;

export const LIMITS: ReadonlyArray<{ name: LimitName; label: string; unit: string }> = [
  { name: 'requestsPerMinute', label: 'Requests per minute', unit: 'requests/min' },
  { name: 'tokensPerMinute', label: 'Tokens per minute', unit: 'tokens/min' },
  { name: 'tokensPerDay', label: 'Tokens per day', unit: 'tokens/day' },
  { name: 'tokensPerMonth', label: 'Tokens per month', unit: 'tokens/month' },
];

export type TypedLimits = Record<LimitName, string>;

export function typedOf(limits: KeyLimitValues): TypedLimits {
  const typed = LIMITS.map(({ name }) => [name, String(limits[name] ?? '')]);
  return Object.fromEntries(typed) as TypedLimits;
}

/** Parses typed limits, null for none. Returns the problems by name if some are wrong. Pure. */
export function readLimits(
  typed: TypedLimits,
): { limits: Record<LimitName, number | null> } | { problems: Partial<Record<LimitName, string>> } {
  const problems: Partial<Record<LimitName, string>> = {};
  const limits = {} as Record<LimitName, number | null>;
  for (const { name } of LIMITS) {
    // People group digits: 1,000 and 1 000 and 1_000.
    const text = typed[name].replace(/[\s,_'’]/g, '');
    const value = Number(text);
    if (text === '') limits[name] = null;
    else if (/^\d+$/.test(text) && value >= 1 && Number.isSafeInteger(value)) limits[name] = value;
    else problems[name] = 'Enter a whole number of 1 or more, or leave this empty for no limit.';
  }
  return Object.keys(problems).length > 0 ? { problems } : { limits };
}

export function withoutNone(limits: Record<LimitName, number | null>): KeyLimitValues {
  return Object.fromEntries(
    Object.entries(limits).filter(([, value]) => value !== null),
  ) as KeyLimitValues;
}
