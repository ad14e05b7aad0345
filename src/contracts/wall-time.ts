/** No clock is further from UTC, on either side. */
const FURTHEST_MS = 15 * 3_600_000;
const MINUTE_MS = 60_000;

/** More than there are zones, because their names are accepted in any case. */
const MAX_ZONES = 1_000;

/** One for each zone, because creating one takes a hundred times as long as using it. */
const formats = new Map<string, Intl.DateTimeFormat>();

/** Returns the time on a zone's clocks, as if it were UTC: Unix milliseconds, to the second. Pure. */
export function wallMs(zone: string, atMs: number): number {
  let format = formats.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat('en-GB', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    });
    if (formats.size >= MAX_ZONES) formats.clear();
    formats.set(zone, format);
  }
  const [day = 1, month = 1, year = 1970, hour, minute, second] =
    format.format(atMs).match(/\d+/g)?.map(Number) ?? [];
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

/** Returns when the clocks of a zone first show a time, or a later one if it is skipped. `wall` is a whole minute, as of `wallMs`. */
export function firstAtMs(zone: string, wall: number): number {
  const guesses = [wall - FURTHEST_MS, wall + FURTHEST_MS]
    .map((atMs) => wall - (wallMs(zone, atMs) - atMs))
    .sort((a, b) => a - b);
  const shown = guesses.find((atMs) => wallMs(zone, atMs) === wall);
  if (shown !== undefined) return shown;
  let [before = wall, at = wall] = guesses;
  while (at - before > MINUTE_MS) {
    const middle = before + Math.floor((at - before) / 2 / MINUTE_MS) * MINUTE_MS;
    if (wallMs(zone, middle) >= wall) at = middle;
    else before = middle;
  }
  return at;
}

/** Writes a moment as the clocks of a zone show it: `2026-11-20 09:30`. Pure. */
export const wallWords = (zone: string, atMs: number) =>
  new Date(wallMs(zone, atMs)).toISOString().slice(0, 16).replace('T', ' ');

/** Writes the same day: `2026-11-20`. */
export const wallDay = (zone: string, atMs: number) => wallWords(zone, atMs).slice(0, 10);
