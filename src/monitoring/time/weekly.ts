import { firstAtMs, wallMs } from '../../contracts/wall-time.ts';
import { DAY_MS, MINUTE_MS } from './clock.ts';
import type { Cron } from './cron.ts';
import { memoize } from './memoize.ts';

/** Monitors with the same windows ask for the same moments. */
const MAX_KEPT = 5_000;

/** A zone may skip a day; every day of the week occurs within a week after that. */
const DAYS_AROUND = 9;

const keptStart = memoize(MAX_KEPT, (key: string): number => {
  const [zone, wall]: [string, number] = JSON.parse(key);
  return firstAtMs(zone, wall);
});

/** The moment at which the clocks of a zone first show a time or a later one, Unix milliseconds; `wall` as from `wallMs`. Pure. */
export const startAtMs = (zone: string, wall: number): number =>
  keptStart(JSON.stringify([zone, wall]));

/**
 * The times at which the clocks of a zone show `minute` of a day, on some days of the week (0 is Sunday): the first of two, and
 * where it is left out the moment at which the clocks move on. Pure.
 */
export function weeklyTimes({
  days,
  minute,
  timezone,
}: {
  days: readonly number[];
  /** Minutes of the day, 0 to 1439. */
  minute: number;
  timezone: string;
}): Cron {
  /** Start on a day `away` from the local day of a moment; `undefined` for other days of the week. */
  const startsAround = (ms: number) => {
    const today = Math.floor(wallMs(timezone, ms) / DAY_MS) * DAY_MS;
    return (away: number) => {
      const wall = today + away * DAY_MS + minute * MINUTE_MS;
      return days.includes(new Date(wall).getUTCDay()) ? startAtMs(timezone, wall) : undefined;
    };
  };
  return {
    nextAfter(ms) {
      const startOf = startsAround(ms);
      for (let away = -1; away <= DAYS_AROUND; away += 1) {
        const startMs = startOf(away);
        if (startMs !== undefined && startMs > ms) return startMs;
      }
      return undefined;
    },
    lastUpTo(ms) {
      const startOf = startsAround(ms);
      for (let away = 1; away >= -DAYS_AROUND; away -= 1) {
        const startMs = startOf(away);
        if (startMs !== undefined && startMs <= ms) return startMs;
      }
      return undefined;
    },
  };
}
