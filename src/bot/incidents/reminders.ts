import { isSilenced } from '../shared/status.ts';
import type { AlertRule, RuleContext } from './arrange.ts';
import { goesOn } from './incidents.ts';
import {
  type Alert,
  type Delivery,
  type Group,
  type Incident,
  incidentsIn,
  mapChanged,
} from './watch-state.ts';

const remindMsOf = (place: string, { settingsOf, isQuiet }: RuleContext) =>
  isQuiet(place) ? undefined : settingsOf(place).remindMs;

/** A reminder that couldn't be posted within this time is replaced by a new one. */
const STALE_MS = 900_000;

/**
 * Adds due reminders under messages of open outages, and removes ones that aren't needed any more. After a pause there
 * is one reminder, and the next comes after a whole interval. Returns the same array if nothing is due. Pure.
 */
export const reminded: AlertRule = (alerts, around) => {
  let incidents: Map<string, Incident> | undefined;
  const incidentOf = (id: string) => {
    incidents ??= new Map(incidentsIn(alerts).map((incident) => [incident.id, incident]));
    return incidents.get(id);
  };
  return mapChanged(alerts, (alert): Alert => {
    if (alert.kind !== 'incident' && alert.kind !== 'group') return alert;
    if (!goesOn(alert) || !alert.deliveries.some((one) => isConcerned(one, alert, around))) {
      return alert;
    }
    const open = alert.kind === 'incident' ? [alert] : openOf(alert, incidentOf);
    // A monitor that is missing briefly neither gets a reminder nor loses one.
    if (!open.some(({ monitorId }) => around.isListed(monitorId))) return alert;
    const isNeeded = open.some((incident) => needsCare(incident, around));
    const deliveries = mapChanged(alert.deliveries, (one) =>
      isConcerned(one, alert, around) ? withReminder(one, isNeeded, around) : one,
    );
    return deliveries === alert.deliveries ? alert : { ...alert, deliveries };
  });
};

const openOf = ({ members }: Group, incidentOf: (id: string) => Incident | undefined) =>
  members.flatMap(({ incidentId, endedAtMs }) => {
    const incident = endedAtMs === undefined ? incidentOf(incidentId) : undefined;
    return incident ? [incident] : [];
  });

const isReminder = ({ line }: Delivery) => line?.what === 'reminder';

function isConcerned(delivery: Delivery, { openedAtMs }: Alert, around: RuleContext): boolean {
  if (delivery.line) return isReminder(delivery);
  const { posted, shownOpen, dead, remindedAtMs = openedAtMs, place } = delivery;
  if (!posted || !shownOpen || dead !== undefined) return false;
  const remindMs = remindMsOf(place, around);
  return remindMs !== undefined && around.nowMs - remindedAtMs >= remindMs;
}

/** An outage that is known to be ongoing, and that nobody acknowledged, snoozed or muted. */
function needsCare(incident: Incident, { nowMs, isListed }: RuleContext): boolean {
  const { monitorId, acknowledged, snoozed, flapping, degraded, reported } = incident;
  return (
    isListed(monitorId) &&
    !acknowledged &&
    (snoozed?.untilMs ?? 0) <= nowMs &&
    !flapping &&
    degraded === undefined &&
    reported?.silentSinceMs === undefined &&
    !isSilenced(incident)
  );
}

function withReminder(delivery: Delivery, isNeeded: boolean, around: RuleContext): Delivery {
  const { line, ...rest } = delivery;
  const { nowMs } = around;
  if (!isNeeded || remindMsOf(delivery.place, around) === undefined) return line ? rest : delivery;
  if (line && nowMs - line.atMs < STALE_MS) return delivery;
  const id = `${delivery.postId}/${nowMs}`;
  return { ...rest, line: { what: 'reminder', id, atMs: nowMs, attempted: false } };
}
