import { nextLocalMs } from './cron-calendar.ts';
import { type CronFields, parseCronFields } from './cron-fields.ts';
import { memoize } from './memoize.ts';
import { openZone, type Zone, type ZoneSpan } from './zone.ts';

/** The times of a crontab. */
export interface Cron {
  /** The first time strictly after a moment, Unix milliseconds; `undefined` when there is none. */
  nextAfter(ms: number): number | undefined;
}

/** A change of the clock by more is a correction, not daylight saving. Source: cron(8) of Debian. */
const DAYLIGHT_SAVING_MS = 3 * 3_600_000;

/** As many expressions are kept ready. */
const MAX_KEPT = 10_000;

/**
 * Times of a crontab of five fields in a zone, daylight-saving safe.
 *
 * When the clock changes it does what cron of Debian does. A job at set times (neither minute nor hour begins with
 * `*`) comes once a day: 02:30 that does not exist comes when the clock has moved on, at 03:00, and 02:30 that exists
 * twice is the first. A job that runs all the time, such as hourly, goes on at its pace: times that do not exist are
 * left out, and those that exist twice come twice.
 *
 * Throws a RangeError whose message says what to write when expression or zone is none, or it never comes.
 */
export function parseCron(expression: string, timezone: string): Cron {
  return kept(JSON.stringify([expression, timezone]));
}

const kept = memoize(MAX_KEPT, (key: string): Cron => {
  const [expression, timezone]: [string, string] = JSON.parse(key);
  const fields = parseCronFields(expression);
  return remembering(createCron(fields, openZone(timezone)));
});

function createCron(fields: CronFields, zone: Zone): Cron {
  const onceADay = !fields.runsAllTheTime;

  /** Where the local clock stands for the search: a time that was there already does not come again. */
  function localFrom(ms: number, span: ZoneSpan): number {
    const localMs = ms + span.offsetMs;
    if (!onceADay) return localMs;
    const before = zone.spanAt(span.fromMs - 1);
    const backMs = before.offsetMs - span.offsetMs;
    if (backMs <= 0 || backMs > DAYLIGHT_SAVING_MS) return localMs;
    return Math.max(localMs, span.fromMs + before.offsetMs - 1);
  }

  return {
    nextAfter(ms) {
      let span = zone.spanAt(ms);
      let fromMs = ms;
      for (;;) {
        const localMs = nextLocalMs(fields, localFrom(fromMs, span));
        if (localMs === undefined) return undefined;
        const foundMs = localMs - span.offsetMs;
        if (foundMs < span.toMs) return foundMs;
        const after = zone.spanAt(span.toMs);
        const forwardMs = after.offsetMs - span.offsetMs;
        const skipped = localMs < span.toMs + after.offsetMs;
        if (skipped && onceADay && forwardMs <= DAYLIGHT_SAVING_MS) return span.toMs;
        // The moment of the change itself may be a time.
        fromMs = span.toMs - 1;
        span = after;
      }
    },
  };
}

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
  };
}
