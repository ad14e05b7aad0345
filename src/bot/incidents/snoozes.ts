import { shortened } from '../shared/text-format.ts';
import { unpaced } from './flapping.ts';
import { refreshed } from './groups.ts';
import { SNOOZE_MS } from './incidents.ts';
import {
  type Alert,
  type Incident,
  mapChanged,
  type Snooze,
  type Watching,
} from './watch-state.ts';

export const newSnooze = (by: string, nowMs: number): Snooze => ({
  by: shortened(by, 80),
  untilMs: nowMs + SNOOZE_MS,
});

/** Returns the same object if no snooze has expired. Pure. */
export function withoutExpiredSnoozes(
  watching: Watching | undefined,
  nowMs: number,
): Watching | undefined {
  const isOver = (alert: Alert): alert is Incident =>
    alert.kind === 'incident' && alert.snoozed !== undefined && !isCurrent(alert.snoozed, nowMs);
  if (!watching?.alerts.some(isOver)) return watching;
  const alerts = watching.alerts.map((alert) => (isOver(alert) ? withoutSnooze(alert) : alert));
  return { ...watching, alerts: refreshed(alerts, nowMs) };
}

/** A longer snooze was set before the clock was set back. */
const isCurrent = ({ untilMs }: Snooze, nowMs: number) =>
  untilMs > nowMs && untilMs - nowMs <= SNOOZE_MS;

/** Ends the snoozes of these monitors, so their new outages are posted. Pure. */
export function unsnoozed(alerts: Alert[], monitors: ReadonlySet<string>): Alert[] {
  return mapChanged(alerts, (alert) => {
    if (alert.kind !== 'incident' || !monitors.has(alert.monitorId)) return alert;
    const after = alert.snoozed ? withSilenceEnd(withoutSnooze(alert), alert.snoozed) : alert;
    const deliveries = mapChanged(after.deliveries, released);
    return deliveries === after.deliveries ? after : { ...after, deliveries };
  });
}

/** Only a snooze holds back a message that was never posted. */
function released(delivery: Incident['deliveries'][number]): Incident['deliveries'][number] {
  if (delivery.posted || delivery.heldUntilMs === undefined) return delivery;
  const { heldUntilMs: _, ...free } = delivery;
  return free;
}

/** The silence may exist even if its request got no answer. */
function withSilenceEnd(incident: Incident, { silence, untilMs }: Snooze): Incident {
  if (!silence || silence.status === 'refused') return incident;
  const { id } = silence;
  const silenceEnd = { status: 'wanted' as const, untilMs, id };
  return { ...incident, silenceEnd };
}

function withoutSnooze({ snoozed: _, ...incident }: Incident): Incident {
  return unpaced({ ...incident, version: incident.version + 1 });
}
