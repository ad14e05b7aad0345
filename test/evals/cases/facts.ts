import {
  incidentsDuring,
  incidentsOf,
  lastDays,
  monitorNamed,
  statusOf,
} from '../../helpers/recorded-week/facts.ts';
import {
  DAY_MS,
  NOW_MS,
  november,
  type Span,
} from '../../helpers/recorded-week/planned-monitor.ts';

export const WEEK = lastDays(7);

/** A day of November, in UTC. */
export function dayOf(date: number): Span {
  const fromMs = november(`${date} 00:00`);
  return { fromMs, toMs: Math.min(fromMs + DAY_MS, NOW_MS) };
}

/** What there is of a list that cannot be empty. */
export function firstOf<T>([one]: readonly T[]): T {
  if (one === undefined) throw new RangeError('the facts have none');
  return one;
}

export const namesOf = (monitors: ReadonlyArray<{ name: string }>) =>
  monitors.map(({ name }) => name);

/** What a monitor is now, and since when. */
export const now = (name: string) => statusOf(monitorNamed(name));

export const lastIncidentOf = (name: string) => firstOf(incidentsOf(monitorNamed(name)));

/** The monitors that were down in a time, each once. */
export const downDuring = (span: Span) => [
  ...new Set(incidentsDuring(span).map(({ monitor }) => monitor.name)),
];

/** What it is called, in three languages. */
export const WORDS = {
  monitors: 'monitors?|monitore?n?|monitores|services|checks',
  incidents:
    'incidents?|outages?|times|vorfälle?n?|ausfälle?n?|incidentes?|ca[ií]das?|störungen|mal|veces|went down|downtimes',
};
