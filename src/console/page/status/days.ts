import type { StatusDays } from '../../status/api-types.ts';

/** Every monitor has the same number of bars, so that they align. */
export const DAYS = 90;

const DAY_MS = 86_400_000;

/** Milliseconds observed up and down; the rest of the day wasn't observed. */
export interface Day {
  atMs: number;
  upMs: number;
  downMs: number;
}

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

/** From this share of the observed time on, a day was mostly down. */
const MOSTLY_DOWN = 0.5;

export type BarKind = 'unseen-day' | 'up' | 'partly' | 'mostly';

/** Shares of the full height. Worse days are taller, so that they show without colour. */
const HEIGHTS: Record<BarKind, number> = { 'unseen-day': 0.14, up: 0.68, partly: 0.84, mostly: 1 };

/** Share of a day's width next to its bar. */
const GAP = 0.3;

export function kindOf({ upMs, downMs }: Day): BarKind {
  if (upMs + downMs === 0) return 'unseen-day';
  if (downMs === 0) return 'up';
  return downMs >= MOSTLY_DOWN * (upMs + downMs) ? 'mostly' : 'partly';
}

/**
 * Draws all bars of a kind as one path, in units of one day. So 200 rows of 90 bars are a few hundred elements instead of
 * 18,000. Pure.
 */
export function barPaths(days: readonly Day[]): { kind: BarKind; path: string }[] {
  const paths = new Map<BarKind, string>();
  days.forEach((day, at) => {
    const kind = kindOf(day);
    const height = HEIGHTS[kind];
    const bar = `M${at + GAP / 2} 1v-${height}h${1 - GAP}v${height}z`;
    paths.set(kind, (paths.get(kind) ?? '') + bar);
  });
  return [...paths].map(([kind, path]) => ({ kind, path }));
}
