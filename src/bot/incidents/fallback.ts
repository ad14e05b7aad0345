import { closedAt } from './closed-places.ts';
import { withGroups } from './groups.ts';
import { type AlertContext, heldUntil, isDelivered, isOpen, newDelivery } from './incidents.ts';
import {
  type Alert,
  type Delivery,
  type Incident,
  incidentsIn,
  type Watching,
} from './watch-state.ts';

/** A place that can't be reached for so long has its alerts sent to its fallback, too. */
const FALLBACK_AFTER_MS = 120_000;

/** The first failure of a delivery that is still failing. `undefined` for a place that can be reached, or refuses. Pure. */
export function unreachableSinceMs(
  watching: Watching | undefined,
  place: string,
): number | undefined {
  if (!watching || closedAt(watching, place)) return undefined;
  const times = watching.alerts.flatMap((alert) =>
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
  const sent = new Set(
    alerts.flatMap((alert) =>
      alert.kind === 'group' && alert.place === to
        ? alert.members.map(({ incidentId }) => incidentId)
        : alert.deliveries.some((one) => one.place === to)
          ? [alert.id]
          : [],
    ),
  );
  const toSend = (alert: Alert) => ids.has(alert.id) && !sent.has(alert.id);
  const incidents = incidentsIn(alerts).filter(toSend);
  if (!alerts.some(toSend)) return watching;
  // Only the fallback's own messages are arranged anew.
  const copies = incidents.map((one) => ({ ...one, deliveries: [newDelivery(to, one.id)] }));
  const others = alerts.filter((alert) => !incidents.some(({ id }) => id === alert.id));
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

/** Ids of outages that the place hasn't been told of. */
function newIn(alerts: readonly Alert[], place: string, nowMs: number): Set<string> {
  const incidents = new Map(incidentsIn(alerts).map((incident) => [incident.id, incident]));
  const ids = alerts.flatMap((alert) =>
    waitingIn(alert, place)
      .filter((delivery) => heldUntil(delivery, nowMs) <= nowMs)
      .flatMap((delivery) => newOf(alert, delivery, incidents)),
  );
  return new Set(ids);
}

function newOf(
  alert: Alert,
  { posted, postedAtMs = 0 }: Delivery,
  incidents: ReadonlyMap<string, Incident>,
): string[] {
  if (alert.kind === 'group') {
    return alert.members.flatMap(({ incidentId }) => {
      const incident = incidents.get(incidentId);
      return incident && isOpen(incident) && incident.openedAtMs > postedAtMs ? [incidentId] : [];
    });
  }
  const isAlert = alert.kind === 'incident' || alert.kind === 'monitoring-outage';
  return isAlert && !posted ? [alert.id] : [];
}

const waitingIn = (alert: Alert, place: string) =>
  alert.deliveries.filter((one) => one.place === place && !isDelivered(alert, one));
