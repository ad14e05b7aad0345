import { isOpen } from './incidents.ts';
import type { Alert, Group, Incident } from './watch-state.ts';

/** What a message in this place is about, with the thread under it. */
export interface ThreadIncident {
  /** The newest that goes on, else the newest. */
  incident: Incident;
  /** All that it told of, when there are several. */
  group: Group | undefined;
}

/** The incident, or the outages that began together, in whose thread something is said. Pure. */
export function incidentOfThread(
  alerts: readonly Alert[] = [],
  place: string,
  thread: string,
): ThreadIncident | undefined {
  const found = alertOfThread(alerts, place, thread);
  if (found?.kind !== 'group') return found && { incident: found, group: undefined };
  const ids = new Set(found.members.map(({ incidentId }) => incidentId));
  const own = alerts.filter(
    (alert): alert is Incident => alert.kind === 'incident' && ids.has(alert.id),
  );
  const incident = own.findLast(isOpen) ?? own.at(-1);
  return incident && { incident, group: found };
}

/** What the message over a thread tells of. Pure. */
export function alertOfThread(
  alerts: readonly Alert[],
  place: string,
  thread: string,
): Incident | Group | undefined {
  return alerts.findLast(
    (alert): alert is Incident | Group =>
      (alert.kind === 'incident' || alert.kind === 'group') &&
      alert.deliveries.some((one) => one.place === place && one.posted?.thread === thread),
  );
}
