import type { Monitor } from '../../contracts/monitoring.ts';
import type { MonitorRef } from '../channels/channels.ts';
import { isDegraded, isDown, isSilenced, isUp, statusChangedAtMs } from '../shared/status.ts';
import { shortened } from '../shared/text-format.ts';
import type { Change } from './diff.ts';
import {
  downOf,
  isFlapping,
  type Opening,
  type RecentDowns,
  unpaced,
  withStatus,
} from './flapping.ts';
import {
  flappingOn,
  mayFlapOn,
  mayFlapOnIn,
  persists,
  withGroupsOf,
} from './persistent-outages.ts';
import { carriedDeliveries, type UndeliveredOutages, withoutUndelivered } from './undelivered.ts';
import type { Alert, Delivery, Incident } from './watch-state.ts';

/** What deciding needs from outside. */
export interface IncidentContext {
  nowMs: number;
  newId: () => string;
  /** The places, in their one-word form, that hear of a monitor. */
  placesFor: (monitor: MonitorRef) => string[];
  /** Since when no poll had come, when this poll comes late; 0 at the first poll ever. */
  unseenFromMs?: number;
  /** What the last checks took of monitors that went DOWN, milliseconds by id. */
  responseTimes?: ReadonlyMap<string, number[]>;
}

/** What one poll needs: it also remembers how often monitors went down. */
export interface PollContext extends IncidentContext {
  recent: RecentDowns;
}

/** Alerts kept after all is told, so that the document stays small. */
const KEEP_SETTLED = 100;

/** Ended outages still to be told; more only when places refuse for long while monitors flap. */
const MAX_UNSETTLED = 5_000;

/** A milder trouble that comes back so soon is the same one. */
const AGAIN_MS = 15 * 60_000;

/**
 * Opens an incident for each monitor that became DOWN or DEGRADED and carries changes into those open: UP ends one, a monitor
 * that is gone ends it without a recovery, any other status shows in it; while a monitor flaps, changes are counted. What was
 * DEGRADED and goes DOWN is a new incident, since nobody was called for the first. What people were called for a moment ago,
 * because it stayed DOWN after it flapped, goes on flapping when it goes DOWN again. A monitor has at most one change; the
 * time taken grows with alerts and changes, not with their product. Gives the same array when nothing is different.
 */
export function applyChanges(
  alerts: Alert[],
  changes: readonly Change[],
  around: PollContext,
): Alert[] {
  if (changes.length === 0) return alerts;
  const { nowMs, recent } = around;
  const changeOf = new Map(changes.map((change) => [idOf(change), change]));
  const open = new Set(
    alerts
      .filter(isOpen)
      .filter((incident) => !becomesOutage(incident, changeOf.get(incident.monitorId)))
      .map(({ monitorId }) => monitorId),
  );
  const latest = latestDegraded(alerts, changeOf);
  const stayed = mayFlapOnIn(alerts, nowMs);
  const again = new Set<string>();
  const carried = alerts.map((alert) => {
    if (alert.kind !== 'incident') return alert;
    const change = changeOf.get(alert.monitorId);
    if (!change) return alert;
    const goesOn: boolean = isOpen(alert);
    if (goesOn) return carriedOn(alert, change, around);
    if (open.has(alert.monitorId)) return alert;
    const persistent = stayed.get(alert.monitorId);
    if (alert === persistent && isDownNow(change)) {
      open.add(alert.monitorId);
      again.add(alert.id);
      return carriedOn(flappingOn(persistent), change, around);
    }
    if (alert !== latest.get(alert.monitorId)) return alert;
    if (!isBack(alert, change, nowMs)) return alert;
    open.add(alert.monitorId);
    return reopened(alert, change.monitor);
  });
  const downs = changes.flatMap((change): Opening[] => {
    if (change.kind === 'gone' || open.has(idOf(change))) return [];
    const { monitor } = change;
    if (isDegraded(monitor)) return [{ monitor }];
    if (!isDown(monitor)) return [];
    const atMs = statusChangedAtMs(monitor, nowMs) ?? nowMs;
    const flaps = recent.note(downOf(monitor, { atMs, nowMs }));
    return [
      persists(monitor, atMs, nowMs) ? { monitor, flapped: flaps } : { monitor, flapping: flaps },
    ];
  });
  const isSame = carried.every((alert, index) => alert === alerts[index]);
  return withOpened(isSame ? alerts : withGroupsOf(carried, again), downs, around);
}

/** Whether a milder trouble turns into an outage. */
const becomesOutage = ({ degraded, flapping }: Incident, change: Change | undefined) =>
  degraded !== undefined && !flapping && change !== undefined && isDownNow(change);

const isDownNow = (change: Change) => change.kind === 'status' && isDown(change.monitor);

/** The last milder trouble of each monitor that is DEGRADED now. */
function latestDegraded(alerts: readonly Alert[], changeOf: ReadonlyMap<string, Change>) {
  const latest = new Map<string, Alert>();
  for (const alert of alerts) {
    if (alert.kind !== 'incident' || alert.degraded === undefined) continue;
    const change = changeOf.get(alert.monitorId);
    if (change?.kind === 'status' && isDegraded(change.monitor)) latest.set(alert.monitorId, alert);
  }
  return latest;
}

/** Whether it was over for a moment only: then its message goes on, and nobody gets another. */
function isBack(
  { degraded, gone, endedAtMs = 0, deliveries }: Incident,
  change: Change,
  nowMs: number,
): change is Change & { kind: 'status' } {
  return (
    change.kind === 'status' &&
    degraded !== undefined &&
    !gone &&
    deliveries.length > 0 &&
    Math.abs(nowMs - endedAtMs) <= AGAIN_MS
  );
}

function reopened(incident: Incident, { status, status_reason: reason }: Monitor): Incident {
  const { endedAtMs: _, endUnseenFromMs: __, ...rest } = incident;
  return {
    ...rest,
    version: incident.version + 1,
    status,
    ...(reason !== undefined && { reason }),
  };
}

/** Opens incidents of monitors that have none; they carry what nobody was told of those before. Pure. */
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
    // A milder trouble before it is no outage that could be counted, and is told by itself.
    const isAlike =
      alert.kind === 'incident' &&
      down &&
      (alert.degraded !== undefined) === isDegraded(down.monitor);
    if (!isAlike) return [alert];
    const left = withoutUndelivered(alert, down);
    if (left.length > 0) return left;
    // A message about several still needs it, to show what became of it.
    inGroups ??= inOpenGroups(alerts);
    return inGroups.has(alert.id) ? [{ ...alert, deliveries: [] }] : [];
  });
  const opened = [...downById.values()].map((down) => {
    const { monitor, undelivered, flapping, flapped, acknowledged } = down;
    const incident: Incident = {
      ...found(monitor, carriedDeliveries(undelivered), around),
      ...(flapping && { flapping }),
      ...(flapped && { flapped }),
      ...(acknowledged && { acknowledged }),
    };
    return held(incident, snoozes.get(monitor.id), around.nowMs);
  });
  return [...carried, ...opened];
}

const inOpenGroups = (alerts: readonly Alert[]) =>
  new Set(
    alerts.flatMap((alert) =>
      alert.kind === 'group' && alert.endedAtMs === undefined
        ? alert.members.map(({ incidentId }) => incidentId)
        : [],
    ),
  );

/** Until when new outages of a monitor wait. */
function snoozesOf(alerts: readonly Alert[]): Map<string, number> {
  const untilMs = new Map<string, number>();
  for (const alert of alerts) {
    if (alert.kind !== 'incident' || !alert.snoozed) continue;
    const known = untilMs.get(alert.monitorId) ?? 0;
    untilMs.set(alert.monitorId, Math.max(known, alert.snoozed.untilMs));
  }
  return untilMs;
}

function held(incident: Incident, heldUntilMs = 0, nowMs: number): Incident {
  if (heldUntilMs <= nowMs) return incident;
  const deliveries = incident.deliveries.map((delivery) => ({ ...delivery, heldUntilMs }));
  return { ...incident, deliveries };
}

function idOf(change: Change): string {
  return change.kind === 'gone' ? change.id : change.monitor.id;
}

/** Whether it is an outage that goes on. */
export function isOpen(alert: Alert): alert is Incident {
  return alert.kind === 'incident' && alert.endedAtMs === undefined;
}

function carriedOn(incident: Incident, change: Change, around: IncidentContext): Incident {
  const { nowMs, unseenFromMs } = around;
  const version = incident.version + 1;
  if (change.kind === 'gone') {
    return unpaced({ ...incident, version, gone: true, endedAtMs: nowMs });
  }
  const { monitor } = change;
  if (isFlapping(incident)) {
    return withStatus(incident, monitor, {
      changedAtMs: statusChangedAtMs(monitor, nowMs) ?? nowMs,
      nowMs,
    });
  }
  const changed = { ...incident, version, status: monitor.status };
  const isOver = incident.degraded === undefined ? isUp(monitor) : !isDegraded(monitor);
  if (!isOver || (incident.degraded !== undefined && isSilenced(monitor))) return changed;
  const isUnseen = unseenFromMs !== undefined && statusChangedAtMs(monitor, nowMs) === undefined;
  return {
    ...changed,
    endedAtMs: Math.max(incident.startedAtMs, statusChangedAtMs(monitor, nowMs) ?? nowMs),
    ...(isUnseen && { endUnseenFromMs: Math.max(incident.startedAtMs, unseenFromMs) }),
  };
}

/** An outage that this poll found, with what is known of the time before it. */
function found(monitor: Monitor, undelivered: Delivery[], around: IncidentContext): Incident {
  const { nowMs, unseenFromMs, responseTimes } = around;
  const responseTimesMs = responseTimes?.get(monitor.id);
  const isUnseen = unseenFromMs !== undefined && statusChangedAtMs(monitor, nowMs) === undefined;
  return {
    ...newIncident(monitor, undelivered, around),
    ...(isDegraded(monitor) && { degraded: shortened(monitor.status, 40) }),
    ...(unseenFromMs === 0 && { foundAtStart: true }),
    ...(isUnseen && { unseenFromMs }),
    ...(responseTimesMs && { responseTimesMs }),
  };
}

/** An outage that goes on; `undelivered` are deliveries that earlier outages of the monitor handed on. */
export function newIncident(
  monitor: Monitor,
  undelivered: Delivery[],
  around: IncidentContext,
): Incident {
  const {
    id: monitorId,
    name,
    target,
    check_type,
    status,
    status_reason,
    status_changes,
  } = monitor;
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
    monitorId,
    name,
    target,
    checkType: check_type,
    status,
    startedAtMs: statusChangedAtMs(monitor, around.nowMs) ?? around.nowMs,
    ...(status_reason === undefined ? {} : { reason: status_reason }),
    ...(status_changes === undefined ? {} : { change: status_changes }),
  };
}

/** A place that is to be told of a alert. */
export function newDelivery(place: string, alertId: string): Delivery {
  return {
    place,
    postId: `${alertId}@${place}`,
    attempted: false,
    told: 0,
    failures: 0,
    nextTryAtMs: 0,
  };
}

/** Whether a place has nothing more to hear of a alert as it is now. */
export function isDelivered(
  alert: Alert,
  { told: deliveredVersion, dead, line }: Delivery,
): boolean {
  return dead !== undefined || (deliveredVersion === alert.version && line === undefined);
}

/**
 * Leaves out the oldest alerts that are over and stay so, beyond what is kept. `dropped` counts those not told everywhere.
 * Pure.
 */
export function prune(alerts: Alert[], nowMs: number): { alerts: Alert[]; dropped: number } {
  const isOver = (alert: Alert) =>
    alert.kind === 'notice' || (alert.endedAtMs !== undefined && !mayFlapOn(alert, nowMs));
  const isSettled = (alert: Alert) =>
    alert.deliveries.every((delivery) => isDelivered(alert, delivery));
  const over: Record<'settled' | 'unsettled', Alert[]> = { settled: [], unsettled: [] };
  for (const alert of alerts) {
    if (isOver(alert)) over[isSettled(alert) ? 'settled' : 'unsettled'].push(alert);
  }
  const settled = over.settled.slice(0, -KEEP_SETTLED);
  const unsettled = over.unsettled.slice(0, -MAX_UNSETTLED);
  const out = new Set([...settled, ...unsettled]);
  return out.size === 0
    ? { alerts, dropped: 0 }
    : { alerts: alerts.filter((alert) => !out.has(alert)), dropped: unsettled.length };
}
