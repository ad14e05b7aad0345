import { Cron as Croner } from 'croner';
import { parseCronFields } from './cron-fields.ts';
import { memoize } from './memoize.ts';
import { openZone } from './zone.ts';

/** The times of a crontab, Unix milliseconds. */
export interface Cron {
  /** The first time strictly after a moment; `undefined` when there is none. */
  nextAfter(ms: number): number | undefined;
  /** The last time at or before a moment; `undefined` when there is none. */
  lastUpTo(ms: number): number | undefined;
}

/** As many expressions are kept ready; croner takes about 70 kB for each. */
const MAX_KEPT = 500;

/**
 * Times of a crontab of five fields in a zone, daylight-saving safe.
 *
 * When the clock changes it does what cron of Debian does. A job at set times (neither minute nor hour begins with
 * `*`) comes once a day: 02:30 that does not exist comes when the clock has moved on, at 03:00, and 02:30 that exists
 * twice is the first. A job that runs all the time, such as hourly, goes on at its pace: times that do not exist are
 * left out, and those that exist twice come twice.
 *
 * Throws a RangeError whose message says what to write when expression or zone is none, or it never comes.
 * Source: cron(8) of Debian.
 */
export function parseCron(expression: string, timezone: string): Cron {
  return kept(JSON.stringify([expression, timezone]));
}

const kept = memoize(MAX_KEPT, (key: string): Cron => {
  const [expression, timezone]: [string, string] = JSON.parse(key);
  const { pattern, bothDays } = parseCronFields(expression);
  openZone(timezone);
  const croner = new Croner(pattern, {
    mode: '5-part',
    timezone,
    domAndDow: bothDays,
    // As in Debian, a list of hours is a job at set times too.
    fixedTimeRule: 'no-wildcard',
  });
  return remembering({
    nextAfter: (ms) => croner.nextRun(new Date(ms))?.getTime(),
    lastUpTo: (ms) => croner.previousRuns(1, new Date(ms + 1))[0]?.getTime(),
  });
});

/** Many monitors ask for the same expression at about the same moment: the answer holds until it has come. */
function remembering(cron: Cron): Cron {
  let fromMs = Number.POSITIVE_INFINITY;
  let nextMs: number | undefined;
  return {
    nextAfter(ms) {
      if (ms >= fromMs && nextMs !== undefined && ms < nextMs) return nextMs;
      nextMs = cron.nextAfter(ms);
      fromMs = ms;
      return nextMs;
    },
    lastUpTo: cron.lastUpTo,
  };
}
