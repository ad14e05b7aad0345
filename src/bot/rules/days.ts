/** A day of UTC, which has no summer time. */
export const DAY_MS = 86_400_000;

/** `2026-11-26`. */
export const isoDay = (ms: number) => new Date(ms).toISOString().slice(0, 10);

/** Days since 1970. */
export const dayOf = (ms: number) => Math.floor(ms / DAY_MS);

/** 0 for Sunday. */
export const weekdayOf = (day: number) => (((day + 4) % 7) + 7) % 7;

/** The day of a date; `undefined` where there is no such date. Months from 1. */
export function dateOf(year: number, month: number, date: number): number | undefined {
  const ms = Date.UTC(year, month - 1, date);
  const is = new Date(ms);
  const isDate = is.getUTCMonth() === month - 1 && is.getUTCDate() === date;
  return isDate && year >= 1970 && year <= 9999 ? dayOf(ms) : undefined;
}
