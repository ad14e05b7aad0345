import {
  incidentsDuring,
  incidentsOf,
  lastDays,
  lengthOf,
  meanResponseTime,
  monitorNamed,
  mostIncidents,
  type PlannedIncident,
  statusOf,
  uptimeOf,
  uptimeOfAll,
  withStatus,
} from './facts.ts';
import {
  all,
  at,
  type Criterion,
  counted,
  doesNotSay,
  is,
  lasting,
  names,
  namesOnly,
  no,
  on,
  or,
  percent,
  proposesNothing,
  says,
  takes,
  yes,
} from './keys.ts';
import { MONITORS } from './plan.ts';
import { DAY_MS, NOW_MS, november, type PlannedMonitor, type Span } from './planned-monitor.ts';
import type { Language } from './questions.ts';

/** A question as a person types it, and the key of its answer. */
export interface PlainQuestion {
  id: string;
  question: string;
  /** Earlier questions of the thread, oldest first. */
  before?: string[];
  language: Language;
  isRight: Criterion;
}

const asked =
  (language: Language) =>
  (id: string, said: string | [...string[], string], isRight: Criterion): PlainQuestion => {
    const [question, ...before] = [said].flat().reverse();
    return {
      id,
      question: question ?? '',
      ...(before.length > 0 && { before: before.reverse() }),
      language,
      isRight,
    };
  };

/** A question, or a thread of them of which the last is asked. */
export const [en, de, es] = [asked('en'), asked('de'), asked('es')];

/** From a moment of November to another, or to now. */
export const between = (from: string, to?: string): Span => ({
  fromMs: november(from),
  toMs: to === undefined ? NOW_MS : november(to),
});

export const TODAY = between('26 00:00');
export const YESTERDAY = between('25 00:00', '26 00:00');
export const MONDAY = between('23 00:00', '24 00:00');
export const TUESDAY = between('24 00:00', '25 00:00');
export const WEEKEND = between('21 00:00', '23 00:00');
export const NOVEMBER = between('01 00:00');
/** Both readings of a week. */
export const THIS_WEEK = [between('23 00:00'), lastDays(7)];
export const LAST_WEEK = [between('16 00:00', '23 00:00'), lastDays(7)];

export const namesOf = (monitors: ReadonlyArray<{ name: string }>) =>
  monitors.map(({ name }) => name);
export const namedLike = (part: RegExp) => namesOf(MONITORS).filter((name) => part.test(name));
export const [DOWN, DEGRADED, PAUSED] = [
  namesOf(withStatus('DOWN')),
  namesOf(withStatus('DEGRADED')),
  namesOf(withStatus('PAUSED')),
];

/** An answer to a question, which changes nothing. */
export const reads = (...criteria: Criterion[]) => all(...criteria, proposesNothing);

/** One monitor, and no other one. */
export const about = (name: string, ...criteria: Criterion[]) =>
  reads(names([name]), namesOnly([name]), ...criteria);

/** Exactly these. */
export const lists = (...wanted: string[]) => reads(names(wanted), namesOnly(wanted));

/** A reading for each time. */
export const inEither = (spans: readonly Span[], key: (span: Span) => Criterion) =>
  or(...spans.map(key));

export const nowIs = (name: string, ...criteria: Criterion[]) =>
  about(name, is(name, statusOf(monitorNamed(name)).status), ...criteria);

/** The time since when it has its status, or how long that is. */
export function sinceThen(name: string): Criterion {
  const { sinceMs } = statusOf(monitorNamed(name));
  return or(at(sinceMs), lasting(NOW_MS - sinceMs));
}

/** The newest incident of a monitor. Throws if there was none. */
export function lastOf(name: string): PlannedIncident {
  const [last] = incidentsOf(monitorNamed(name));
  if (!last) throw new RangeError(`${name} was never down`);
  return last;
}
export const lastDown = (name: string) => about(name, at(lastOf(name).fromMs));

const startedIn = (span: Span, monitors?: PlannedMonitor[]) =>
  incidentsDuring(span, monitors).filter(({ fromMs }) => fromMs >= span.fromMs);
const unique = (incidents: readonly PlannedIncident[]) => [
  ...new Set(incidents.map(({ monitor }) => monitor.name)),
];

/** Monitors that were down in a time, those that went down before it too. */
export const downIn = (span: Span) => unique(incidentsDuring(span));
export const wentDownIn = (span: Span) => unique(startedIn(span));
export const upIn = (span: Span) =>
  namesOf(MONITORS).filter((name) => !downIn(span).includes(name));

export const listsDown = (span: Span) => reads(names(downIn(span)), namesOnly(downIn(span)));
/** An answer may add others that were not well. */
export const listsWentDown = (span: Span, others: readonly string[] = []) =>
  reads(
    names(wentDownIn(span), [...downIn(span), ...others]),
    namesOnly([...downIn(span), ...others]),
  );

/** Incidents in a time, with or without those that began before it. */
export const incidentsIn = (span: Span) =>
  reads(or(counted(incidentsDuring(span).length), counted(startedIn(span).length)));

export const timesDown = (name: string, ...spans: Span[]) =>
  about(
    name,
    inEither(spans, (span) => counted(startedIn(span, [monitorNamed(name)]).length)),
  );

export const uptimeIn = (name: string, ...spans: Span[]) =>
  about(
    name,
    inEither(spans, (span) => percent(uptimeOf(monitorNamed(name), span).uptime)),
  );

/** Of all monitors; the service may count whole days. */
export const uptimeOfAllIn = (span: Span) =>
  reads(inEither([span, wholeDays(span)], (one) => percent(uptimeOfAll(one).uptime)));

const wholeDays = ({ fromMs, toMs }: Span): Span => ({
  fromMs: Math.floor(fromMs / DAY_MS) * DAY_MS,
  toMs: Math.min(NOW_MS, Math.ceil(toMs / DAY_MS) * DAY_MS),
});

/** Monitors with the lowest uptime in a time. */
export const worstIn = (span: Span, count: number) =>
  MONITORS.map((monitor) => ({ name: monitor.name, share: uptimeOf(monitor, span).uptime ?? 1 }))
    .sort((a, b) => a.share - b.share)
    .slice(0, count)
    .map(({ name }) => name);

/** The mean in one of the times. */
export const meanIn = (name: string, ...spans: Span[]) =>
  about(name, takes(...spans.map((span) => meanResponseTime(monitorNamed(name), span))));

/** The last check, or the mean of a time up to now. */
export const answersIn = (name: string) =>
  about(
    name,
    takes(
      monitorNamed(name).responseTimeMs,
      ...[TODAY, lastDays(1), lastDays(7), lastDays(30)].map((span) =>
        meanResponseTime(monitorNamed(name), span),
      ),
    ),
  );

/** Monitors whose certificate expires in a time from now on. */
export const expiringBefore = (ms: number) =>
  namesOf(
    MONITORS.filter(({ certificateEndsMs = Number.POSITIVE_INFINITY }) => certificateEndsMs < ms),
  );

export const lengthOfLast = (name: string) => about(name, lasting(lengthOf(lastOf(name))));

/** It wasn't down then. */
export const neverIn = (name: string) => about(name, or(counted(0), percent(1)));

/** A channel's settings aren't part of the week: the answer is about them, and about no monitor. */
export const CHANNEL_ALERTS = reads(
  says(/channel/i, /alert/i),
  namesOnly([]),
  doesNotSay(/\bmodel\b/i),
);

/** The end of its certificate, as a day or in days. */
export function expires(name: string): Criterion {
  const { certificateEndsMs = Number.NaN } = monitorNamed(name);
  const days = (certificateEndsMs - NOW_MS) / DAY_MS;
  return or(
    on(certificateEndsMs),
    says(new RegExp(`\\b(${Math.floor(days)}|${Math.ceil(days)}) days\\b`)),
  );
}

export const checked = (name: string) => at(monitorNamed(name).lastCheckedMs);

/** The answer to a request to resume what runs. */
export const notPaused = (name: string) =>
  reads(says(name, /(\bnot|n['’]t) paused|already (up|running)/i));

/** The answer to a request about an incident that there isn't. */
export const nothingOpen = (name: RegExp) =>
  reads(says(name, /(\bno\b|\bnot\b|n['’]t).*(incident|down|outage)|nothing to|\bis up\b/i));

/** Incidents of this week against the week before, for every reading of both. */
export const MORE_THAN_BEFORE = reads(
  or(
    ...[
      [lastDays(7), { fromMs: NOW_MS - 14 * DAY_MS, toMs: NOW_MS - 7 * DAY_MS }] as const,
      [between('23 00:00'), between('16 00:00', '23 00:00')] as const,
      [between('23 00:00'), between('16 00:00', '19 12:00')] as const,
      [between('23 00:00'), between('19 12:00', '23 00:00')] as const,
    ].map(([now, before]) =>
      all(
        ...[now, before].map((span) => says(new RegExp(`\\b${incidentsDuring(span).length}\\b`))),
        incidentsDuring(now).length > incidentsDuring(before).length ? yes : no,
      ),
    ),
  ),
);

export const EU = namedLike(/\beu$/i);
export const STAGING = namedLike(/\(staging\)$/);
/** Went down more than once. */
export const FLAPPED = mostIncidents(lastDays(14)).flatMap(({ monitor, count }) =>
  count > 1 ? [monitor.name] : [],
);
export const CHRISTMAS_MS = Date.parse('2026-12-25T00:00:00Z');

/** Returns the first item. Throws for an empty list. */
export function firstOf<T>([one]: readonly T[]): T {
  if (one === undefined) throw new RangeError('the facts have none');
  return one;
}
