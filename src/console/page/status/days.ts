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
