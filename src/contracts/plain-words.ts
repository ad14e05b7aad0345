import type { z } from 'zod';
import { readDuration } from './duration.ts';

/** Types in plain words. */
const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'a list',
  null: 'null',
};

/** Says in plain words what to write instead of a wrong value; a schema's own words go first. For `safeParse`. */
export const plainWords: z.core.$ZodErrorMap = (issue) => {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${typeWords(issue.expected)}${secondsWords(issue)}`;
    case 'invalid_value':
      return `must be ${listed(issue.values.map(String))}`;
    case 'invalid_union':
      return unionWords(issue);
    case 'too_small':
      return leastWords(issue);
    case 'too_big':
      return mostWords(issue);
    case 'invalid_format':
      return issue.format === 'date' || issue.format === 'datetime'
        ? `must be a ${issue.format === 'date' ? 'date such as 2026-12-01' : 'time such as 2026-12-01T09:30:00Z'}`
        : 'has the wrong format';
    case 'invalid_key':
      return 'this name is not allowed';
    default:
      return undefined;
  }
};

const typeWords = (type: string) => TYPES[type] ?? `a value of the type ${type}`;

/** Returns ` of seconds, such as 300 for 5m` for a field that takes seconds. */
function secondsWords({ path, expected, input }: z.core.$ZodRawIssue): string {
  if (expected !== 'int' && expected !== 'number') return '';
  if (!String(path?.at(-1)).endsWith('_seconds')) return '';
  const ms = typeof input === 'string' ? readDuration(input, { needsUnit: true }) : undefined;
  return ms === undefined ? ' of seconds' : ` of seconds, such as ${ms / 1000} for ${input}`;
}

/** Names the allowed kinds, or the types that a value may have. */
function unionWords(issue: z.core.$ZodRawIssue<z.core.$ZodIssueInvalidUnion>): string | undefined {
  const { options } = issue as { options?: unknown };
  if (Array.isArray(options) && options.length > 0) return `must be ${listed(options.map(String))}`;
  const types = issue.errors.map(([first]) =>
    first?.code === 'invalid_type' ? typeWords(first.expected) : undefined,
  );
  if (types.length === 0 || types.includes(undefined)) return undefined;
  return `must be ${listed([...new Set(types as string[])])}`;
}

function leastWords({ origin, minimum }: z.core.$ZodRawIssue<z.core.$ZodIssueTooSmall>): string {
  if (origin === 'string') {
    return minimum === 1 ? 'must not be empty' : `must have at least ${minimum} characters`;
  }
  return origin === 'array'
    ? `must have at least ${minimum} ${minimum === 1 ? 'item' : 'items'}`
    : `must be at least ${minimum}`;
}

function mostWords({ origin, maximum }: z.core.$ZodRawIssue<z.core.$ZodIssueTooBig>): string {
  if (origin === 'string') return `must have at most ${maximum} characters`;
  return origin === 'array' ? `must have at most ${maximum} items` : `must be at most ${maximum}`;
}

/** `HTTP, KEYWORD or DNS`. */
function listed(words: readonly string[]): string {
  const last = words.at(-1) ?? '';
  return words.length < 2 ? last : `${words.slice(0, -1).join(', ')} or ${last}`;
}

/** Longer words are never typing errors of ours. */
const MAX_TYPED_LENGTH = 40;

/** The most similar word; `undefined` if no word is similar. Pure. */
export function nearestWord(word: string, words: Iterable<string>): string | undefined {
  const typed = word.toLowerCase();
  if (typed.length > MAX_TYPED_LENGTH) return undefined;
  let best: { word: string; distance: number } | undefined;
  for (const candidate of words) {
    const distance = distanceOf(typed, candidate.toLowerCase());
    if (
      distance <= (typed.length < 4 ? 1 : Math.max(2, typed.length / 3)) &&
      distance < (best?.distance ?? Infinity)
    ) {
      best = { word: candidate, distance };
    }
  }
  return best?.word;
}

/** Letters to add, take out or replace: the Levenshtein distance. */
function distanceOf(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (letter === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
