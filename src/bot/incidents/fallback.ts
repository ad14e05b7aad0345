import { closedAt } from './closed-places.ts';
import { withGroups } from './groups.ts';
import {
  type AlertContext,
  heldUntil,
  isDelivered,
  isOpen,
  isTimed,
  newDelivery,
} from './incidents.ts';
import { type Alert, incidentsIn, type Watching } from './watch-state.ts';

/** A place that can't be reached for so long has its alerts sent to its fallback, too. */
const FALLBACK_AFTER_MS = 120_000;

/** The first failure of an alert that is still failing. `undefined` for a place that can be reached, or refuses. Pure. */
export function unreachableSinceMs(
  watching: Watching | undefined,
  place: string,
): number | undefined {
  if (!watching || closedAt(watching, place)) return undefined;
  // An investigation waits longer than alerts, so it says nothing about them.
  const alerts = watching.alerts.filter(({ kind }) => kind !== 'investigation');
  const times = alerts.flatMap((alert) =>
    waitingIn(alert, place).flatMap(({ failingSinceMs = [] }) => failingSinceMs),
  );
  return times.length === 0 ? undefined : Math.min(...times);
}

/** Milliseconds until alerts are sent to the fallback. 0 from then on. Pure. */
export function fallbackInMs(
  watching: Watching | undefined,
  place: string,
  nowMs: number,
): number | undefined {
  const sinceMs = unreachableSinceMs(watching, place);
  return sinceMs === undefined ? undefined : Math.max(0, sinceMs + FALLBACK_AFTER_MS - nowMs);
}

/**
 * Adds a delivery to the fallback for each alert that waits for a place, once. It is delivered like any other, so the
 * alert's end follows it, and the place gets its own messages later. Returns the same object if nothing changes. Pure.
 */
export function withFallback(
  watching: Watching,
  { place, to }: { place: string; to: string },
  around: AlertContext,
): Watching {
  const { alerts } = watching;
  if (fallbackInMs(watching, place, around.nowMs) !== 0) return watching;
  const ids = newIn(alerts, place, around.nowMs);
  for (const alert of alerts.filter(({ deliveries }) =>
    deliveries.some((one) => one.place === to),
  )) {
    const sent = alert.kind === 'group' ? alert.members.map((one) => one.incidentId) : [alert.id];
    for (const id of sent) ids.delete(id);
  }
  const toSend = (alert: Alert) => ids.has(alert.id);
  const incidents = incidentsIn(alerts).filter(toSend);
  if (!alerts.some(toSend)) return watching;
  // Only the fallback's own messages are grouped again.
  const copies = incidents.map((one) => ({ ...one, deliveries: [newDelivery(to, one.id)] }));
  const others = alerts.filter((alert) => alert.kind !== 'incident' || !toSend(alert));
  const arranged = new Map(withGroups(others, copies, around).map((alert) => [alert.id, alert]));
  const before = alerts.map((alert): Alert => {
    const now = arranged.get(alert.id) ?? alert;
    arranged.delete(alert.id);
    if (!toSend(alert)) return now;
    const added = alert.kind === 'incident' ? now.deliveries : [newDelivery(to, alert.id)];
    return { ...alert, deliveries: [...alert.deliveries, ...added] };
  });
  return { ...watching, alerts: [...before, ...arranged.values()] };
}

/** Ids of outages that no message of the place shows. */
function newIn(alerts: readonly Alert[], place: string, nowMs: number): Set<string> {
  const openedAtMs = new Map(
    incidentsIn(alerts)
      .filter(isOpen)
      .map((incident) => [incident.id, incident.openedAtMs]),
  );
  const ids = alerts.flatMap((alert) => {
    const waiting = waitingIn(alert, place).find((one) => heldUntil(one, nowMs) <= nowMs);
    if (!waiting || !isTimed(alert)) return [];
    const { posted, postedAtMs = 0 } = waiting;
    if (alert.kind !== 'group') return posted ? [] : [alert.id];
    const all = alert.members.map(({ incidentId }) => incidentId);
    return all.filter((id) => (openedAtMs.get(id) ?? 0) > postedAtMs);
  });
  return new Set(ids);
}

const waitingIn = (alert: Alert, place: string) =>
  alert.deliveries.filter((one) => one.place === place && !isDelivered(alert, one));
