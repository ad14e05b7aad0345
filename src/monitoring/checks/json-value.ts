import { jsonFault, parseUntrustedJson } from '../../contracts/parse-json.ts';
import { BODY_LIMIT_BYTES, type PageText } from './body-reader.ts';
import { CheckFailure, inKilobytes, inQuotes } from './check-result.ts';

export interface JsonCondition {
  /** Names of members and places in lists, from the outside in. */
  path: ReadonlyArray<string | number>;
  pathText: string;
  operator: Operator;
  /** Compared with the value of the document; absent for `exists`. */
  value?: Scalar;
}

type Scalar = string | number | boolean | null;

const MAX_STEPS = 20;

const EXAMPLE = 'such as data.queue[0].depth < 100';

/** A member by its name, one by a name in quotes, or a place in a list; a name has a dot before it unless it comes first. */
const STEP =
  /(?<dot>\.?)(?<name>[\p{L}_$@][\p{L}\p{N}_$@-]*)|\[(?:(?<place>\d{1,7})|(?<key>"(?:[^"\\]|\\.)*"))\]/uy;

/** Comparisons with an existing value, and their words. */
const OPERATORS = {
  '==': { holds: (found, value) => found === value, toBe: (value) => `must be ${value}` },
  '!=': { holds: (found, value) => found !== value, toBe: (value) => `must not be ${value}` },
  '<=': {
    holds: numbers((found, value) => found <= value),
    toBe: (value) => `must be <= ${value}`,
  },
  '>=': {
    holds: numbers((found, value) => found >= value),
    toBe: (value) => `must be >= ${value}`,
  },
  '<': { holds: numbers((found, value) => found < value), toBe: (value) => `must be < ${value}` },
  '>': { holds: numbers((found, value) => found > value), toBe: (value) => `must be > ${value}` },
  contains: { holds: containsValue, toBe: (value) => `must contain ${value}` },
  exists: { holds: () => true, toBe: () => 'must exist' },
} satisfies Record<
  string,
  { holds: (found: unknown, value: Scalar) => boolean; toBe: (value: string) => string }
>;
type Operator = keyof typeof OPERATORS;

/** Matches the operator at the start of a text: `<=` comes before `<`, and a word must end there. */
const OPERATOR_AT = new RegExp(
  Object.keys(OPERATORS)
    .map((one) => (/\w$/.test(one) ? `${one}(?![\\p{L}\\p{N}_])` : one))
    .join('|'),
  'uy',
);

function numbers(holds: (found: number, value: number) => boolean) {
  return (found: unknown, value: Scalar) =>
    typeof found === 'number' && typeof value === 'number' && holds(found, value);
}

/** Finds a text in a text, a value in a list, or a member by its name. */
function containsValue(found: unknown, value: Scalar): boolean {
  if (Array.isArray(found)) return found.includes(value);
  if (typeof value !== 'string') return false;
  if (typeof found === 'string') return found.includes(value);
  return typeof found === 'object' && found !== null && Object.hasOwn(found, value);
}

/**
 * Parses a condition such as `data.queue[0]["depth now"] < 100`: a path, an operator and a JSON value. Throws a sentence that quotes
 * the part it doesn't understand, and says what to write. Pure.
 */
export function parseJsonCondition(text: string): JsonCondition {
  const path: Array<string | number> = [];
  let at = text.length - text.trimStart().length;
  const start = at;
  for (;;) {
    STEP.lastIndex = at;
    const { 0: step = '', groups = {} } = STEP.exec(text) ?? {};
    const { dot, name, place, key } = groups;
    if (step === '' || (name !== undefined && (dot === '') !== (at === start))) break;
    path.push(name ?? (place === undefined ? keyOf(key, text, at) : Number(place)));
    at += step.length;
    if (path.length > MAX_STEPS) throw new Error(`a path has at most ${MAX_STEPS} steps`);
  }
  if (path.length === 0) throw notUnderstood(text, at, 'start with a path');
  const pathText = text.slice(start, at);
  at += /^\s*/.exec(text.slice(at))?.[0].length ?? 0;
  OPERATOR_AT.lastIndex = at;
  const operator = OPERATOR_AT.exec(text)?.[0] as Operator | undefined;
  if (operator === undefined) {
    const all = Object.keys(OPERATORS)
      .join(', ')
      .replace(/, (\w+)$/, ' or $1');
    throw notUnderstood(text, at, `the path must be followed by ${all}`);
  }
  at += operator.length;
  const rest = text.slice(at).trim();
  if (operator === 'exists') {
    if (rest !== '') throw notUnderstood(text, at, 'nothing may follow exists');
    return { path, pathText, operator };
  }
  return { path, pathText, operator, value: scalarOf(operator, rest, text, at) };
}

function keyOf(key: string | undefined, text: string, at: number): string {
  try {
    return String(parseUntrustedJson(key ?? ''));
  } catch {
    throw notUnderstood(text, at, 'a name in brackets must be a JSON string');
  }
}

function scalarOf(operator: Operator, rest: string, text: string, at: number): Scalar {
  let value: unknown;
  try {
    value = parseUntrustedJson(rest);
  } catch {
    // A word without quotes, such as `ok`, isn't a value.
  }
  const isNumber = typeof value === 'number' && Number.isFinite(value);
  if (/^[<>]/.test(operator)) {
    if (!isNumber) throw notUnderstood(text, at, `${operator} must be followed by a number`);
  } else if (!isNumber && value !== null && !['string', 'boolean'].includes(typeof value)) {
    const kinds = 'a string in quotes, a number, true, false or null';
    throw notUnderstood(text, at, `${operator} must be followed by ${kinds}`);
  }
  return value as Scalar;
}

function notUnderstood(text: string, at: number, what: string): Error {
  const rest = text.slice(at).trim();
  const where = rest === '' ? 'at the end' : `at ${inQuotes(rest)}`;
  return new Error(`${what}, ${EXAMPLE}; not understood ${where}`);
}

export function judgeJson(text: string, page: PageText): void {
  const condition = parseJsonCondition(text);
  const { path, pathText, operator, value } = condition;
  const shownPath = inQuotes(pathText).slice(1, -1);
  if (page.cut) {
    const most = inKilobytes(BODY_LIMIT_BYTES);
    throw new CheckFailure(
      'value',
      `the answer is larger than ${most}, so ${shownPath} was not read`,
    );
  }
  let found: unknown;
  try {
    found = parseUntrustedJson(page.text);
  } catch (error) {
    const fault = page.bytes === 0 ? 'is empty' : jsonFault(error);
    throw new CheckFailure('value', `the answer ${fault}, so ${shownPath} cannot be read`);
  }
  const toBe = OPERATORS[operator].toBe(shown(value));
  for (const step of path) {
    // Own members only, so that `constructor` isn't found in every object.
    const isThere =
      typeof step === 'number'
        ? Array.isArray(found) && step < found.length
        : typeof found === 'object' &&
          found !== null &&
          !Array.isArray(found) &&
          Object.hasOwn(found, step);
    if (!isThere) throw new CheckFailure('value', `${shownPath} is missing but ${toBe}`);
    found = (found as Record<string | number, unknown>)[step];
  }
  if (OPERATORS[operator].holds(found, value ?? null)) return;
  throw new CheckFailure('value', `${shownPath} is ${shown(found)} but ${toBe}`);
}

function shown(value: unknown): string {
  if (typeof value === 'string') return inQuotes(value);
  if (Array.isArray(value))
    return value.length === 0 ? 'an empty list' : `a list of ${value.length}`;
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
}
