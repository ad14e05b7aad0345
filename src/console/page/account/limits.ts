import type { ListedKey } from '../../account/api-types.ts';

export type Limits = ListedKey['limits'];
export type LimitName = keyof Limits;

/** The limits of a key in the order in which they are asked for, and how they read in a line. */
export const LIMITS: ReadonlyArray<{ name: LimitName; label: string; unit: string }> = [
  { name: 'requestsPerMinute', label: 'Requests per minute', unit: 'requests/min' },
  { name: 'tokensPerMinute', label: 'Tokens per minute', unit: 'tokens/min' },
  { name: 'tokensPerDay', label: 'Tokens per day', unit: 'tokens/day' },
  { name: 'tokensPerMonth', label: 'Tokens per month', unit: 'tokens/month' },
];

/** What was typed for each limit. */
export type TypedLimits = Record<LimitName, string>;

/** Limits as they are typed; a limit that is none is empty. */
export function typedOf(limits: Limits): TypedLimits {
  const typed = LIMITS.map(({ name }) => [name, String(limits[name] ?? '')]);
  return Object.fromEntries(typed) as TypedLimits;
}

/** The limits that were typed, null for none, or what is wrong with them by name. Pure. */
export function readLimits(
  typed: TypedLimits,
): { limits: Record<LimitName, number | null> } | { problems: Partial<Record<LimitName, string>> } {
  const problems: Partial<Record<LimitName, string>> = {};
  const limits = {} as Record<LimitName, number | null>;
  for (const { name } of LIMITS) {
    // As people group digits: 1,000 and 1 000 and 1_000.
    const text = typed[name].replace(/[\s,_'’]/g, '');
    const value = Number(text);
    if (text === '') limits[name] = null;
    else if (/^\d+$/.test(text) && value >= 1 && Number.isSafeInteger(value)) limits[name] = value;
    else problems[name] = 'Enter a whole number of 1 or more, or leave this empty for no limit.';
  }
  return Object.keys(problems).length > 0 ? { problems } : { limits };
}

/** The limits that there are; those that are none are left out. Pure. */
export function withoutNone(limits: Record<LimitName, number | null>): Limits {
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== null)) as Limits;
}
