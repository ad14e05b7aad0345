const UNITS = [
  { name: 'day', ms: 86_400_000 },
  { name: 'hour', ms: 3_600_000 },
  { name: 'minute', ms: 60_000 },
  { name: 'second', ms: 1000 },
] as const;

const WEEK_MS = 7 * 86_400_000;

/** A number and its unit: `5m`, `5 min`, `5 minutes`. */
const PART = String.raw`(\d{1,9})\s*(s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)(?![a-z])`;
const PARTS = new RegExp(PART, 'gi');
const DURATION = new RegExp(String.raw`^(?:\s*${PART})+\s*$`, 'i');

/** Words of the longest readable duration: `1 week 2 days 3 hours 4 minutes`. */
const MAX_WORDS = 8;

/**
 * Milliseconds of a duration such as `30s`, `1h30m` or `2 hours 30 minutes`, or of a plain number of seconds; `undefined` for
 * anything else, and for nothing.
 */
export function readDuration(text: string, { needsUnit = false } = {}): number | undefined {
  const isPlain = !needsUnit && /^\s*\d{1,9}\s*$/.test(text);
  const ms = isPlain ? Number(text) * 1000 : sumOf(text);
  return ms === 0 ? undefined : ms;
}

function sumOf(text: string): number {
  if (!DURATION.test(text)) return 0;
  return [...text.matchAll(PARTS)].reduce(
    (sum, [, count, unit = '']) => sum + Number(count) * unitMs(unit),
    0,
  );
}

function unitMs(unit: string): number {
  const letter = unit.charAt(0).toLowerCase();
  return UNITS.find(({ name }) => name.startsWith(letter))?.ms ?? WEEK_MS;
}

/** Reads the duration that begins at one of several words; `count` is how many of them it takes. Pure. */
export function readDurationAt(
  words: readonly string[],
  at: number,
): { ms: number; count: number } | undefined {
  for (let count = Math.min(MAX_WORDS, words.length - at); count > 0; count -= 1) {
    const ms = readDuration(words.slice(at, at + count).join(' '));
    if (ms !== undefined) return { ms, count };
  }
  return undefined;
}

export const notADuration = (text: string) =>
  `I didn't understand “${text.slice(0, 60)}”. Use 30s, 5m, 2h or 1d`;

export interface DurationRange {
  minMs: number;
  maxMs: number;
  /** A plain number isn't taken for seconds. */
  needsUnit?: boolean;
}

/** The fault of a typed duration, without the last period; `undefined` if it fits the range. */
export function durationProblem(text: string, range: DurationRange): string | undefined {
  const { minMs, maxMs } = range;
  const ms = readDuration(text, range);
  if (ms === undefined) return notADuration(text);
  if (ms >= minMs && ms <= maxMs) return undefined;
  return `“${text.trim()}” is ${inWords(ms)}. Choose ${inWords(minMs)} to ${inWords(maxMs)}`;
}

/** Writes a duration in its two largest units: `1 hour 5 minutes`, `45 seconds`; at least a second. Pure. */
export function inWords(ms: number): string {
  let left = Math.max(1000, Math.round(ms / 1000) * 1000);
  const parts: string[] = [];
  for (const { name, ms: unitMs } of UNITS) {
    const count = Math.floor(left / unitMs);
    if (count > 0) parts.push(`${count} ${name}${count === 1 ? '' : 's'}`);
    // The second unit follows the first or is left out: "1 day 5 seconds" says more than anyone asks.
    if (parts.length > 0 && (count === 0 || parts.length === 2)) break;
    left -= count * unitMs;
  }
  return parts.join(' ');
}

/** Writes a duration as people type it, without loss: `90s`, `5m`, `1d`. Pure. */
export function typedDuration(ms: number): string {
  const unit = UNITS.find((one) => ms > 0 && ms % one.ms === 0);
  return unit ? `${ms / unit.ms}${unit.name.charAt(0)}` : `${Math.round(ms / 1000)}s`;
}
