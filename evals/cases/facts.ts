import { incidentsDuring, incidentsOf, lastDays, monitorNamed, statusOf } from '../week/facts.ts';
import { DAY_MS, NOW_MS, november, type Span } from '../week/planned-monitor.ts';

export const WEEK = lastDays(7);

/** A day of November, in UTC. */
export function dayOf(date: number): Span {
  const fromMs = november(`${date} 00:00`);
  return { fromMs, toMs: Math.min(fromMs + DAY_MS, NOW_MS) };
}

/** Returns the first item of a list that can't be empty. */
export function firstOf<T>([one]: readonly T[]): T {
  if (one === undefined) throw new RangeError('the facts have none');
  return one;
}

export const namesOf = (monitors: ReadonlyArray<{ name: string }>) =>
  monitors.map(({ name }) => name);

/** A monitor's current status and its start. */
export const now = (name: string) => statusOf(monitorNamed(name));

export const lastIncidentOf = (name: string) => firstOf(incidentsOf(monitorNamed(name)));

/** The monitors that were down in a time, each once. */
export const downDuring = (span: Span) => [
  ...new Set(incidentsDuring(span).map(({ monitor }) => monitor.name)),
];

/** Words for statuses, in three languages. */
export const WORDS = {
  monitors: 'monitors?|monitore?n?|monitores|services|checks',
  incidents:
    'incidents?|outages?|times|vorfälle?n?|ausfälle?n?|incidentes?|ca[ií]das?|störungen|mal|veces|went down|downtimes',
};
