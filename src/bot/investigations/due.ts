import { isOpen } from '../incidents/incidents.ts';
import {
  type Alert,
  type Group,
  type Incident,
  type Investigation,
  incidentsIn,
  type Watching,
} from '../incidents/watch-state.ts';
import { isInTrouble } from './related.ts';

/** An alert to investigate, with its message and the monitors in trouble. */
export interface DueInvestigation {
  alert: Incident | Group;
  under: Investigation['under'];
  monitorIds: string[];
}

/** Shortest time between two investigations of a monitor. */
export const AGAIN_MS = 30 * 60_000;

/** Alerts that began so close together are one event, with one investigation. */
const SAME_EVENT_MS = 2 * 60_000;

/**
 * The alert of a channel to investigate now, of several alerts of one event the largest. An alert is investigated once, and
 * again after 30 minutes if further monitors are in trouble. With `tags`, only incidents of monitors with any of them begin
 * one. Pure.
 */
export function dueInvestigation(
  { alerts }: Pick<Watching, 'alerts'>,
  options: {
    place: string;
    afterMs: number;
    tags?: readonly string[];
    nowMs: number;
  },
): DueInvestigation | undefined {
  const { place, afterMs, tags: wanted, nowMs } = options;
  const own = investigationsIn(alerts).filter((one) => one.place === place);
  if (own.some(({ state }) => state === 'running')) return undefined;
  const recent = own.filter(({ startedAtMs }) => nowMs - startedAtMs < AGAIN_MS);
  const cooling = new Set(recent.flatMap(({ monitorIds }) => monitorIds));
  const openedAtMs = new Map(alerts.map((alert) => [alert.id, alert.openedAtMs]));
  const incidents = new Map(incidentsIn(alerts).map((incident) => [incident.id, incident]));
  const isSameEvent = (alert: Alert, otherMs: number | undefined) =>
    otherMs !== undefined && Math.abs(alert.openedAtMs - otherMs) <= SAME_EVENT_MS;
  const troubled = alerts.flatMap((alert) => {
    if (alert.kind !== 'incident' && alert.kind !== 'group') return [];
    const { posted, dead } = alert.deliveries.find((one) => one.place === place) ?? {};
    if (!posted || dead !== undefined) return [];
    const open = openIncidents(alert, incidents).filter((one) => mayBeInvestigated(one, nowMs));
    return open.length === 0 ? [] : [{ alert, under: posted, open }];
  });
  const isDue = ({ alert, open }: (typeof troubled)[number]) => {
    const before = own.find(({ of }) => of === alert.id);
    const isCovered = own.some(({ of }) => isSameEvent(alert, openedAtMs.get(of)));
    if (before ? before.state === 'off' || recent.includes(before) : isCovered) return false;
    const known = new Set(before?.monitorIds);
    return open.some(
      (one) =>
        nowMs - one.startedAtMs >= afterMs &&
        (!wanted || one.tags?.some((tag) => wanted.includes(tag))) &&
        !cooling.has(one.monitorId) &&
        !known.has(one.monitorId),
    );
  };
  const first = troubled.find(isDue);
  if (!first) return undefined;
  const { alert, under, open } = troubled
    .filter((one) => isSameEvent(one.alert, first.alert.openedAtMs))
    .filter((one) => one === first || !own.some(({ of }) => of === one.alert.id))
    .reduce((most, one) => (one.open.length > most.open.length ? one : most), first);
  return { alert, under, monitorIds: open.map(({ monitorId }) => monitorId) };
}

export const investigationsIn = (alerts: readonly Alert[]) =>
  alerts.filter((alert) => alert.kind === 'investigation');

function openIncidents(
  alert: Incident | Group,
  incidents: ReadonlyMap<string, Incident>,
): Incident[] {
  const all =
    alert.kind === 'incident'
      ? [alert]
      : alert.members.flatMap(({ incidentId }) => incidents.get(incidentId) ?? []);
  return all.filter(isOpen);
}

/** Not in maintenance, flapping, snoozed, or without news from its sender. */
const mayBeInvestigated = (incident: Incident, nowMs: number) =>
  isInTrouble(incident) &&
  incident.flapping === undefined &&
  (incident.snoozed?.untilMs ?? 0) <= nowMs &&
  incident.reported?.silentSinceMs === undefined;
