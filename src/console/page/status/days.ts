import type { StatusDays } from '../../status/api-types.ts';

/** As many bars as a report has days at most, so that those of all monitors stand below one another. */
export const DAYS = 90;

const DAY_MS = 86_400_000;

/** How one day went: milliseconds observed up and down; the rest was not observed. */
export interface Day {
  atMs: number;
  upMs: number;
  downMs: number;
}

/** Every day with a bar, oldest first; those before the first that was sent were not observed. Pure. */
export function daysOf({ last, up_ms, down_ms }: StatusDays): Day[] {
  const lastMs = Date.parse(last);
  return Array.from({ length: DAYS }, (_, at) => {
    const index = at - (DAYS - up_ms.length);
    return {
      atMs: lastMs - (DAYS - 1 - at) * DAY_MS,
      upMs: up_ms[index] ?? 0,
      downMs: down_ms[index] ?? 0,
    };
  });
}

/** How a day went: from here on mostly down, as a share of what was observed. */
const MOSTLY_DOWN = 0.5;

export type DayKind = 'unseen-day' | 'up' | 'partly' | 'mostly';

/** Of a bar's room; what was wrong stands taller, so that it shows without colour too. */
const HEIGHTS: Record<DayKind, number> = { 'unseen-day': 0.14, up: 0.68, partly: 0.84, mostly: 1 };

/** Of a day's width that is left free beside its bar. */
const GAP = 0.3;

export function kindOf({ upMs, downMs }: Day): DayKind {
  if (upMs + downMs === 0) return 'unseen-day';
  if (downMs === 0) return 'up';
  return downMs >= MOSTLY_DOWN * (upMs + downMs) ? 'mostly' : 'partly';
}

/**
 * The bars of each kind as one path, a unit wide each and in a room one unit high: 200 rows of 90 bars are then a few
 * hundred elements, not 18,000. Pure.
 */
export function barPaths(days: readonly Day[]): { kind: DayKind; path: string }[] {
  const paths = new Map<DayKind, string>();
  days.forEach((day, at) => {
    const kind = kindOf(day);
    const height = HEIGHTS[kind];
    const bar = `M${at + GAP / 2} 1v-${height}h${1 - GAP}v${height}z`;
    paths.set(kind, (paths.get(kind) ?? '') + bar);
  });
  return [...paths].map(([kind, path]) => ({ kind, path }));
}
