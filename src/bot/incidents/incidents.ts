import type { Monitor } from '../../contracts/monitoring.ts';
import type { MonitorRef } from '../channels/channels.ts';
import { isDegraded, isDown, isSilenced, isUp, statusChangedAtMs } from '../shared/status.ts';
import { shortened } from '../shared/text-format.ts';
import type { ListedChanges } from './diff.ts';
import {
  downOf,
  flappingOn,
  isFlapping,
  mayFlapOn,
  mayFlapOnIn,
  type Opening,
  persists,
  type RecentDowns,
  unpaced,
  withGroupsOf,
  withStatus,
} from './flapping.ts';
import {
  type Alert,
  type Delivery,
  type Flapping,
  groupBy,
  type Incident,
  incidentsIn,
  mapChanged,
  memberIds,
} from './watch-state.ts';

export interface AlertContext {
  nowMs: number;
  newId: () => string;
}

export interface IncidentContext extends AlertContext {
  /** Place keys of the channels that get alerts of a monitor. */
  placesFor: (monitor: MonitorRef) => string[];
  /** Time of the last poll, if this poll is late. 0 at the first poll ever. */
  unseenFromMs?: number;
  /** Response times in milliseconds of the last checks, by id of a monitor that went DOWN. */
  responseTimes?: ReadonlyMap<string, number[]>;
}

export interface PollContext extends IncidentContext {
  recent: RecentDowns;
  /** Monitors whose missed changes aren't known yet. */
  asking: ReadonlySet<string>;
  /** Holds incidents back because of dependencies. */
  holding?: {
    holds(monitor: Monitor): boolean;
    isBehind(monitor: Monitor, endedAtMs?: number): boolean;
  };
}

/** Most delivered alerts that are kept after they are over. */
const KEEP_SETTLED = 100;

/** Most undelivered alerts that are kept after they are over. Reached only if channels refuse messages for long. */
const MAX_UNSETTLED = 5_000;

/** A milder problem that returns within this time continues its incident. */
const AGAIN_MS = 15 * 60_000;

/**
 * Opens an incident for each monitor that became DOWN or DEGRADED, and updates open ones. UP ends an incident, and so
 * does a removal. Any other status, such as MAINTENANCE, only shows in it. A DEGRADED monitor that goes DOWN gets a new
 * incident, because the first mentioned nobody. While a monitor flaps, changes are only counted. A monitor has at most
 * one change. The time needed grows with alerts plus changes, not with their product. Returns the same array if nothing
 * changes.
 */
export function applyChanges(
  alerts: Alert[],
  changes: ListedChanges,
  around: PollContext,
): Alert[] {
  if (changes.size === 0) return alerts;
  const { nowMs, recent } = around;
  const holds = (monitor: Monitor) =>
    (isDown(monitor) || isDegraded(monitor)) && around.holding?.holds(monitor) === true;
  const open = new Set(
    alerts
      .filter(isOpen)
      .filter((incident) => !becomesOutage(incident, changes.get(incident.monitorId)))
      .map(({ monitorId }) => monitorId),
  );
  const latest = latestDegraded(alerts, changes);
  const stayed = mayFlapOnIn(alerts, nowMs);
  const again = new Set<string>();
  const carried = mapChanged(alerts, (alert) => {
    if (alert.kind !== 'incident' || !changes.has(alert.monitorId)) return alert;
    const monitor = changes.get(alert.monitorId);
    const goesOn: boolean = isOpen(alert);
    if (goesOn) return withMonitorChange(alert, monitor, around);
    if (!monitor || open.has(alert.monitorId) || holds(monitor)) return alert;
    const persistent = stayed.get(alert.monitorId);
    if (alert === persistent && isDown(monitor)) {
      open.add(alert.monitorId);
      again.add(alert.id);
      return withMonitorChange(flappingOn(persistent), monitor, around);
    }
    if (alert !== latest.get(alert.monitorId) || !mayGoOn(alert, nowMs)) return alert;
    open.add(alert.monitorId);
    const { endedAtMs: _, endUnseenFromMs: __, ...rest } = alert;
    const { status, status_reason: reason = alert.reason } = monitor;
    const version = alert.version + 1;
    return { ...rest, version, status, ...(reason !== undefined && { reason }) };
  });
  const downs = [...changes.values()].flatMap((monitor): Opening[] => {
    if (!monitor || open.has(monitor.id) || holds(monitor)) return [];
    if (isDegraded(monitor)) return [{ monitor }];
    if (!isDown(monitor)) return [];
    const atMs = statusChangedAtMs(monitor, nowMs) ?? nowMs;
    const flaps = recent.note(downOf(monitor, { atMs, nowMs }));
    return [
      persists(monitor, atMs, nowMs) ? { monitor, flapped: flaps } : { monitor, flapping: flaps },
    ];
  });
  return withOpened(withGroupsOf(carried, again), downs, around);
}

const becomesOutage = ({ degraded, flapping }: Incident, monitor: Monitor | undefined) =>
  degraded !== undefined && !flapping && monitor !== undefined && isDown(monitor);

function latestDegraded(alerts: readonly Alert[], changes: ListedChanges) {
  const isLatest = ({ monitorId, degraded }: Incident) => {
    const monitor = changes.get(monitorId);
    return degraded !== undefined && monitor !== undefined && isDegraded(monitor);
  };
  return new Map(
    incidentsIn(alerts)
      .filter(isLatest)
      .map((one) => [one.monitorId, one]),
  );
}

/** It was over only briefly, so its message continues. */
const mayGoOn = ({ gone, endedAtMs = 0, deliveries }: Incident, nowMs: number) =>
  !gone && deliveries.length > 0 && Math.abs(nowMs - endedAtMs) <= AGAIN_MS;

/** Opens incidents. They take over earlier outages of their monitors that no channel has received. Pure. */
export function withOpened(
  alerts: Alert[],
  downs: readonly Opening[],
  around: IncidentContext,
): Alert[] {
  if (downs.length === 0) return alerts;
  const downById = new Map(
    downs.map((down) => [down.monitor.id, { ...down, undelivered: [] as UndeliveredOutages[] }]),
  );
  const snoozes = snoozesOf(alerts);
  let inGroups: Set<string> | undefined;
  const carried = alerts.flatMap((alert): Alert[] => {
    const down = alert.kind === 'incident' ? downById.get(alert.monitorId) : undefined;
    // A milder problem isn't counted as an outage, and has its own message.
    const isAlike =
      alert.kind === 'incident' &&
      down &&
      (alert.degraded !== undefined) === isDegraded(down.monitor);
    if (!isAlike) return [alert];
    const left = withoutUndelivered(alert, down);
    if (left.length > 0) return left;
    // A group still shows the incident.
    inGroups ??= memberIds(alerts.filter(goesOn));
    return inGroups.has(alert.id) ? [{ ...alert, deliveries: [] }] : [];
  });
  const opened = [...downById.values()].map((down) => {
    const { monitor, undelivered, flapping, flapped, acknowledged } = down;
    const incident: Incident = {
      ...foundIncident(monitor, carriedDeliveries(undelivered), around),
      flapping,
      flapped,
      acknowledged,
    };
    const heldUntilMs = snoozes.get(monitor.id) ?? 0;
    if (heldUntilMs <= around.nowMs) return incident;
    const deliveries = incident.deliveries.map((delivery) => ({ ...delivery, heldUntilMs }));
    return { ...incident, deliveries };
  });
  return [...carried, ...opened];
}

function snoozesOf(alerts: readonly Alert[]): Map<string, number> {
  const untilMs = new Map<string, number>();
  for (const { monitorId, snoozed } of incidentsIn(alerts)) {
    if (snoozed) untilMs.set(monitorId, Math.max(untilMs.get(monitorId) ?? 0, snoozed.untilMs));
  }
  return untilMs;
}

export function isOpen(alert: Alert): alert is Incident {
  return alert.kind === 'incident' && alert.endedAtMs === undefined;
}

export function openIncidentsIn(alerts: readonly Alert[]): (alert: Alert) => Incident[] {
  let incidents: Map<string, Incident> | undefined;
  return (alert) => {
    if (alert.kind !== 'group') return isOpen(alert) ? [alert] : [];
    incidents ??= new Map(incidentsIn(alerts).map((incident) => [incident.id, incident]));
    return alert.members.flatMap(({ incidentId, endedAtMs }) => {
      const incident = endedAtMs === undefined ? incidents?.get(incidentId) : undefined;
      return incident && isOpen(incident) ? [incident] : [];
    });
  };
}

/** An outage that nobody has acknowledged, snoozed or silenced. */
export const needsAttention = (incident: Incident, nowMs: number) =>
  !incident.acknowledged &&
  (incident.snoozed?.untilMs ?? 0) <= nowMs &&
  incident.degraded === undefined &&
  !isSilenced(incident);

/** An open incident after a change of its monitor. `undefined` stands for a removed monitor. */
function withMonitorChange(
  incident: Incident,
  monitor: Monitor | undefined,
  around: PollContext,
): Incident {
  const { nowMs, asking } = around;
  const version = incident.version + 1;
  if (!monitor) return unpaced({ ...incident, version, gone: true, endedAtMs: nowMs });
  if (isFlapping(incident)) {
    return withStatus(incident, monitor, {
      changedAtMs: statusChangedAtMs(monitor, nowMs) ?? nowMs,
      nowMs,
      isAsking: asking.has(monitor.id),
    });
  }
  const changed = { ...incident, version, status: monitor.status };
  // Only UP ends an outage. In maintenance, paused, or before the next check, the real state is unknown.
  const isOver = isUp(monitor) || (incident.degraded !== undefined && isDown(monitor));
  if (!isOver) return changed;
  const { startedAtMs } = incident;
  const unseenFromMs = unseenBefore(monitor, around);
  return {
    ...changed,
    endedAtMs: Math.max(startedAtMs, statusChangedAtMs(monitor, nowMs) ?? nowMs),
    ...(unseenFromMs !== undefined && { endUnseenFromMs: Math.max(startedAtMs, unseenFromMs) }),
  };
}

/** Start of the time without polls, if the service doesn't report when the status changed. */
const unseenBefore = (monitor: Monitor, { nowMs, unseenFromMs }: IncidentContext) =>
  statusChangedAtMs(monitor, nowMs) === undefined ? unseenFromMs : undefined;

function foundIncident(
  monitor: Monitor,
  undelivered: Delivery[],
  around: IncidentContext,
): Incident {
  return {
    ...newIncident(monitor, undelivered, around),
    degraded: isDegraded(monitor) ? shortened(monitor.status, 40) : undefined,
    foundAtStart: around.unseenFromMs === 0 || undefined,
    unseenFromMs: unseenBefore(monitor, around),
    responseTimesMs: around.responseTimes?.get(monitor.id),
  };
}

/** `undelivered` are deliveries of earlier outages of the monitor. */
export function newIncident(
  monitor: Monitor,
  undelivered: Delivery[],
  around: IncidentContext,
): Incident {
  const { status_reason: reason, status_changes: change } = monitor;
  const id = around.newId();
  const carried = new Set(undelivered.map(({ place }) => place));
  const fresh = [...new Set(around.placesFor(monitor))]
    .filter((place) => !carried.has(place))
    .map((place) => newDelivery(place, id));
  return {
    kind: 'incident',
    id,
    version: 1,
    openedAtMs: around.nowMs,
    deliveries: [...undelivered, ...fresh],
    monitorId: monitor.id,
    name: monitor.name,
    target: monitor.target,
    checkType: monitor.check_type,
    tags: monitor.tags,
    status: monitor.status,
    startedAtMs: statusChangedAtMs(monitor, around.nowMs) ?? around.nowMs,
    reason,
    runbook: monitor.runbook,
    change,
  };
}

export function newDelivery(place: string, alertId: string): Delivery {
  return {
    place,
    postId: `${alertId}@${place}`,
    attempted: false,
    deliveredVersion: 0,
    failures: 0,
    nextTryAtMs: 0,
  };
}

export function isDelivered(alert: Alert, delivery: Delivery): boolean {
  const { deliveredVersion, dead, line, attempted } = delivery;
  if (dead !== undefined) return true;
  // An escalation is dropped once a person takes care of it.
  const isLate = !attempted && alert.kind === 'group' && alert.escalation !== undefined;
  if (isLate && !isUnattended(alert)) return true;
  const isLineLate = line?.what === 'escalation' && !line.attempted && !isUnattended(alert);
  return deliveredVersion === alert.version && (line === undefined || isLineLate);
}

/** An open incident that nobody acknowledged or snoozed. */
function isUnattended(alert: Alert): boolean {
  if (alert.kind !== 'incident' && alert.kind !== 'group') return goesOn(alert);
  const all = alert.kind === 'incident' ? [alert] : alert.members;
  return all.some(
    (one) =>
      one.endedAtMs === undefined &&
      one.acknowledged === undefined &&
      one.snoozed === undefined &&
      !isSilenced(one),
  );
}

/**
 * Removes the oldest alerts that are over, beyond the limits. `dropped` counts the ones that some channel hasn't
 * received. Pure.
 */
export function prune(alerts: Alert[], nowMs: number): { alerts: Alert[]; dropped: number } {
  const isOver = (alert: Alert) =>
    alert.kind === 'notice' ||
    (isTimed(alert) && alert.endedAtMs !== undefined && !mayFlapOn(alert, nowMs));
  const isSettled = (alert: Alert) =>
    alert.deliveries.every((delivery) => isDelivered(alert, delivery));
  const over = alerts.filter(isOver);
  const settled = over.filter(isSettled).slice(0, -KEEP_SETTLED);
  const unsettled = over.filter((alert) => !isSettled(alert)).slice(0, -MAX_UNSETTLED);
  const out = new Set<Alert>([...settled, ...unsettled]);
  const ids = new Set(alerts.filter((alert) => !out.has(alert)).map(({ id }) => id));
  for (const alert of alerts) {
    if (alert.kind === 'investigation' && !ids.has(alert.of)) out.add(alert);
  }
  return out.size === 0
    ? { alerts, dropped: 0 }
    : { alerts: alerts.filter((alert) => !out.has(alert)), dropped: unsettled.length };
}

/** A delivery that fails for so long is given up. */
export const GIVE_UP_MS = 86_400_000;

/** Length of a snooze, the longest time for which anything is held back. */
export const SNOOZE_MS = 3_600_000;

/** A longer wait was set before the clock was set back. */
export const heldUntil = ({ heldUntilMs = 0 }: Delivery, nowMs: number) =>
  heldUntilMs - nowMs <= SNOOZE_MS ? heldUntilMs : 0;

export const goesOn = (alert: Alert) => isTimed(alert) && alert.endedAtMs === undefined;

/** Everything else has no end. */
export const isTimed = (
  alert: Alert,
): alert is Extract<Alert, { kind: 'incident' | 'group' | 'monitoring-outage' }> =>
  alert.kind === 'incident' || alert.kind === 'group' || alert.kind === 'monitoring-outage';

export const isUndelivered = ({ posted, dead }: Delivery) =>
  posted === undefined && dead === undefined;

/** Earlier outages that a channel hasn't received, with the message that may exist. */
interface UndeliveredOutages {
  delivery: Delivery;
  count: number;
  fromMs: number;
}

/**
 * Takes from an earlier outage the deliveries that were never posted. Twenty flaps during an outage of a platform
 * become one message. It keeps its id, because an attempt may have succeeded.
 */
function withoutUndelivered(
  incident: Incident,
  { undelivered, flapping }: { undelivered: UndeliveredOutages[]; flapping?: Flapping },
): Alert[] {
  const taken = incident.deliveries.filter(isUndelivered);
  if (taken.length === 0) return [incident];
  const { startedAtMs } = incident;
  for (const delivery of taken) {
    const { count = 0, fromMs = incident.flapping?.fromMs ?? startedAtMs } = delivery.earlier ?? {};
    const outages = count + ownOutages(incident);
    undelivered.push({ delivery, count: outages - countedIn(flapping, incident, count), fromMs });
  }
  const deliveries = incident.deliveries.filter((delivery) => !isUndelivered(delivery));
  return deliveries.length === 0 ? [] : [{ ...incident, deliveries }];
}

/** The outage in which the monitor stayed DOWN after flapping is counted by the new incident. */
const ownOutages = ({ flapping, status }: Incident) =>
  flapping ? flapping.downs - (isDown({ status }) ? 1 : 0) : 1;

/** The new flapping already counts the first one or two of these outages. */
function countedIn(flapping: Flapping | undefined, { startedAtMs }: Incident, earlier: number) {
  if (!flapping || startedAtMs < flapping.fromMs) return 0;
  return startedAtMs === flapping.fromMs || earlier === 0 ? 1 : 2;
}

/** One delivery for each place, plus all messages that may exist already. */
function carriedDeliveries(undelivered: readonly UndeliveredOutages[]): Delivery[] {
  const byPlace = groupBy(undelivered, ({ delivery }) => delivery.place);
  return [...byPlace.values()].flatMap((all) => {
    const tried = all.filter(({ delivery }) => delivery.attempted);
    const [first = all[0], ...others] = tried;
    const kept = new Set([first, ...others]);
    const rest = all.filter((one) => !kept.has(one));
    const count = rest.reduce((sum, one) => sum + one.count, first.count);
    const fromMs = Math.min(...all.map((one) => one.fromMs));
    return [{ ...first, count, fromMs }, ...others].map(({ delivery, count, fromMs }): Delivery => {
      const { earlier: _, ...rest } = delivery;
      return { ...rest, deliveredVersion: 0, ...(count > 0 && { earlier: { count, fromMs } }) };
    });
  });
}
