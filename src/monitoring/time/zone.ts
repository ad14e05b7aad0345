import { memoize } from './memoize.ts';

/** A time in which a zone keeps its distance from UTC: from `fromMs`, up to but not including `toMs`. */
export interface ZoneSpan {
  fromMs: number;
  toMs: number;
  /** Local time less UTC. */
  offsetMs: number;
}

export interface Zone {
  /** The span around a moment. Two spans after each other may have the same offset. */
  spanAt(ms: number): ZoneSpan;
}

/** Spans are found and kept for about a year at once. */
const BLOCK_MS = 400 * 86_400_000;

/** Blocks reach back by so much, so that a change just before one is seen as a change and not as an edge. */
const OVERLAP_MS = 2 * 86_400_000;

/** Shorter than any time between two changes of a zone; the shortest known are the four weeks of Ramadan. */
const STEP_MS = 8 * 86_400_000;

/** More than there are zones. */
const MAX_ZONES = 1_000;

/**
 * A zone by its IANA name, such as `Europe/Berlin`.
 * Throws a RangeError with a sentence when there is none of that name.
 */
export const openZone = memoize(MAX_ZONES, (name: string): Zone => {
  const format = clockOf(name);
  const offsetAt = (ms: number) => {
    const parts: Record<string, number> = {};
    for (const { type, value } of format.formatToParts(ms)) parts[type] = Number(value);
    const { year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0 } = parts;
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(ms / 1000) * 1000;
  };
  const blocks = memoize(MAX_ZONES, (block: number) =>
    findSpans(offsetAt, block * BLOCK_MS - OVERLAP_MS, (block + 1) * BLOCK_MS),
  );
  return {
    spanAt(ms) {
      const span = blocks(Math.floor(ms / BLOCK_MS)).find(({ toMs }) => ms < toMs);
      if (span === undefined) throw new RangeError(`${ms} is no moment`);
      return span;
    },
  };
});

function clockOf(name: string): Intl.DateTimeFormat {
  try {
    // Intl takes offsets such as +01:00 in some versions of Node; they are no zones.
    if (!/^[a-z][\w+/-]*$/i.test(name)) throw new RangeError('no name');
    return new Intl.DateTimeFormat('en-US', {
      timeZone: name,
      calendar: 'gregory',
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  } catch {
    throw new RangeError(
      `there is no zone '${name}'; write a name of the zone database, such as Europe/Berlin or UTC`,
    );
  }
}

function findSpans(offsetAt: (ms: number) => number, startMs: number, endMs: number): ZoneSpan[] {
  const spans: ZoneSpan[] = [];
  let fromMs = startMs;
  let offsetMs = offsetAt(startMs);
  for (let ms = startMs; ms < endMs; ms += STEP_MS) {
    const lastMs = Math.min(ms + STEP_MS, endMs);
    const nextOffsetMs = offsetAt(lastMs);
    if (nextOffsetMs === offsetMs) continue;
    const changeMs = findChange(offsetAt, ms, lastMs);
    spans.push({ fromMs, toMs: changeMs, offsetMs });
    fromMs = changeMs;
    offsetMs = nextOffsetMs;
  }
  return [...spans, { fromMs, toMs: endMs, offsetMs }];
}

/** The first second of a new offset, by halving; `beforeMs` has the old one and `afterMs` the new one. */
function findChange(offsetAt: (ms: number) => number, beforeMs: number, afterMs: number): number {
  const offsetMs = offsetAt(beforeMs);
  let [low, high] = [beforeMs / 1000, afterMs / 1000];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(middle * 1000) === offsetMs) low = middle;
    else high = middle;
  }
  return high * 1000;
}
