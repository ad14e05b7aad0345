import type { AlertRule, RuleContext } from './arrange.ts';
import { goesOn, needsAttention, openIncidentsIn } from './incidents.ts';
import { type Alert, type Delivery, type Incident, mapChanged } from './watch-state.ts';

const remindMsOf = (place: string, { settingsOf, isQuiet }: RuleContext) =>
  isQuiet(place) ? undefined : settingsOf(place).remindMs;

/** A reminder that couldn't be posted within this time is replaced by a new one. */
const STALE_MS = 900_000;

/**
 * Adds due reminders under messages of open outages, and removes ones that aren't needed any more. After a pause there
 * is one reminder, and the next comes after a whole interval. Returns the same array if nothing is due. Pure.
 */
export const reminded: AlertRule = (alerts, around) => {
  const openOf = openIncidentsIn(alerts);
  return mapChanged(alerts, (alert): Alert => {
    if (!goesOn(alert) || !alert.deliveries.some((one) => isConcerned(one, alert, around))) {
      return alert;
    }
    const open = openOf(alert);
    // A monitor that is missing briefly neither gets a reminder nor loses one.
    if (!open.some(({ monitorId }) => around.isListed(monitorId))) return alert;
    const isNeeded = open.some((incident) => needsReminder(incident, around));
    const deliveries = mapChanged(alert.deliveries, (one) =>
      isConcerned(one, alert, around) ? withReminder(one, isNeeded, around) : one,
    );
    return deliveries === alert.deliveries ? alert : { ...alert, deliveries };
  });
};

const isReminder = ({ line }: Delivery) => line?.what === 'reminder';

function isConcerned(delivery: Delivery, { openedAtMs }: Alert, around: RuleContext): boolean {
  if (delivery.line) return isReminder(delivery);
  const { posted, shownOpen, dead, remindedAtMs = openedAtMs, place } = delivery;
  if (!posted || !shownOpen || dead !== undefined) return false;
  const remindMs = remindMsOf(place, around);
  return remindMs !== undefined && around.nowMs - remindedAtMs >= remindMs;
}

/** The outage is known to be ongoing. */
const needsReminder = (incident: Incident, { nowMs, isListed }: RuleContext) =>
  needsAttention(incident, nowMs) &&
  isListed(incident.monitorId) &&
  !incident.flapping &&
  incident.reported?.silentSinceMs === undefined;

function withReminder(delivery: Delivery, isNeeded: boolean, around: RuleContext): Delivery {
  const { line, ...rest } = delivery;
  const { nowMs } = around;
  if (!isNeeded || remindMsOf(delivery.place, around) === undefined) return line ? rest : delivery;
  if (line && nowMs - line.atMs < STALE_MS) return delivery;
  const id = `${delivery.postId}/${nowMs}`;
  return { ...rest, line: { what: 'reminder', id, atMs: nowMs, attempted: false } };
}
