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

/** The snooze of somebody who presses now. */
export const newSnooze = (by: string, nowMs: number): Snooze => ({
  by: shortened(by, 80),
  untilMs: nowMs + SNOOZE_MS,
});

/** What is known without the snoozes that are over; the same document when none is. Pure. */
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

/** A longer one than was ever set means that the clock was set back. */
const isCurrent = ({ untilMs }: Snooze, nowMs: number) =>
  untilMs > nowMs && untilMs - nowMs <= SNOOZE_MS;

/** The alerts with no snooze of these monitors: what was held back for it is told now. Pure. */
export function unsnoozed(alerts: Alert[], monitors: ReadonlySet<string>): Alert[] {
  return mapChanged(alerts, (alert) => {
    if (alert.kind !== 'incident' || !monitors.has(alert.monitorId)) return alert;
    const after = alert.snoozed ? withSilenceEnd(withoutSnooze(alert), alert.snoozed) : alert;
    const deliveries = mapChanged(after.deliveries, released);
    return deliveries === after.deliveries ? after : { ...after, deliveries };
  });
}

/** What was never posted is held back by a snooze alone. */
function released(delivery: Incident['deliveries'][number]): Incident['deliveries'][number] {
  if (delivery.posted || delivery.heldUntilMs === undefined) return delivery;
  const { heldUntilMs: _, ...free } = delivery;
  return free;
}

/** The silence that went with a snooze is to end, also where nobody knows whether it was made. */
function withSilenceEnd(incident: Incident, { silence, untilMs }: Snooze): Incident {
  if (!silence || silence.status === 'refused') return incident;
  const { id } = silence;
  const silenceEnd = { status: 'wanted' as const, untilMs, ...(id !== undefined && { id }) };
  return { ...incident, silenceEnd };
}

function withoutSnooze({ snoozed: _, ...incident }: Incident): Incident {
  return unpaced({ ...incident, version: incident.version + 1 });
}
