import type { StatusDays } from '../../status/api-types.ts';

/** As many bars as a report has days at most, so that those of all monitors stand below one another. */
export const DAYS = 90;

const DAY_MS = 86_400_000;

/** How one day went: milliseconds of what was seen; the rest nobody looked. */
export interface Day {
  atMs: number;
  upMs: number;
  downMs: number;
}

/** Every day with a bar, oldest first; those before the first that was told were not seen. Pure. */
export function daysOf({ last, up_ms, down_ms }: StatusDays): Day[] {
  const lastMs = Date.parse(last);
  return Array.from({ length: DAYS }, (_, at) => {
    const told = at - (DAYS - up_ms.length);
    return {
      atMs: lastMs - (DAYS - 1 - at) * DAY_MS,
      upMs: up_ms[told] ?? 0,
      downMs: down_ms[told] ?? 0,
    };
  });
}
