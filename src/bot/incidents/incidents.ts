import type { Monitor } from '../../contracts/monitoring.ts';
import type { ChannelSettings } from '../channels/channel-settings.ts';
import type { MonitorRef } from '../channels/channels.ts';
import { isDegraded, isDown, isSilenced, isUp, statusChangedAtMs } from '../shared/status.ts';
import { shortened } from '../shared/text-format.ts';
import type { Changes } from './diff.ts';
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
  type Watching,
} from './watch-state.ts';

/** What making an alert needs from outside. */
export interface AlertContext {
  nowMs: number;
  newId: () => string;
}

/** What deciding needs besides. */
export interface IncidentContext extends AlertContext {
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
  /** Monitors of which it is still to be asked how often they changed. */
  asking: ReadonlySet<string>;
  /** What keeps incidents from opening on account of what their monitors depend on. */
  holding?: {
    holds(monitor: Monitor): boolean;
    isBehind(monitor: Monitor, endedAtMs?: number): boolean;
  };
}

/** What a rule over all alerts may need of a poll. */
export interface RuleContext {
  nowMs: number;
  /** How places are told. */
  settingsOf: (place: string) => ChannelSettings;
  /** Whether it is quiet in a place now. */
  isQuiet: (place: string) => boolean;
  /** Whether a monitor was seen in this poll: of others nothing is known now. */
  isListed: (monitorId: string) => boolean;
  /** Monitors whose incidents are held back. */
  held?: Watching['held'];
  /** What monitors that depend on the one of an incident name it by, where that is not its id. */
  parentOf?: (incident: Incident) => string | undefined;
}

/** What becomes of all alerts after a poll: the same array when nothing does. Pure. */
export type AlertRule = (alerts: Alert[], around: RuleContext) => Alert[];

/** Alerts kept after all is told, so that the document stays small. */
const KEEP_SETTLED = 100;

/** Ended outages still to be told; more only when places refuse for long while monitors flap. */
const MAX_UNSETTLED = 5_000;

/** A milder trouble that comes back so soon is the same one. */
const AGAIN_MS = 15 * 60_000;

/**
 * Opens an incident for each monitor that became DOWN or DEGRADED and carries changes into those open: UP ends one, a monitor
 * that is gone ends it without a recovery, any other status, such as MAINTENANCE or PAUSED, shows in it; while a monitor flaps,
 * changes are counted. What was DEGRADED and goes DOWN is a new incident, since nobody was called for the first. What people were
 * called for a moment ago, because it stayed DOWN after it flapped, goes on flapping when it goes DOWN again. A monitor has at
 * most one change; the time taken grows with alerts and changes, not with their product. Gives the same array when nothing is
 * different.
 */
export function applyChanges(alerts: Alert[], changes: Changes, around: PollContext): Alert[] {
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
    if (goesOn) return carriedOn(alert, monitor, around);
    if (!monitor || open.has(alert.monitorId) || holds(monitor)) return alert;
    const persistent = stayed.get(alert.monitorId);
    if (alert === persistent && isDown(monitor)) {
      open.add(alert.monitorId);
      again.add(alert.id);
      return carriedOn(flappingOn(persistent), monitor, around);
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

/** Whether a milder trouble turns into an outage. */
const becomesOutage = ({ degraded, flapping }: Incident, monitor: Monitor | undefined) =>
  degraded !== undefined && !flapping && monitor !== undefined && isDown(monitor);

/** The last milder trouble of each monitor that is DEGRADED now. */
function latestDegraded(alerts: readonly Alert[], changes: Changes) {
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

/** Whether it was over for a moment only: then its message goes on, and nobody gets another. */
const mayGoOn = ({ gone, endedAtMs = 0, deliveries }: Incident, nowMs: number) =>
  !gone && deliveries.length > 0 && Math.abs(nowMs - endedAtMs) <= AGAIN_MS;

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
    inGroups ??= memberIds(alerts.filter(goesOn));
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
    const heldUntilMs = snoozes.get(monitor.id) ?? 0;
    if (heldUntilMs <= around.nowMs) return incident;
    const deliveries = incident.deliveries.map((delivery) => ({ ...delivery, heldUntilMs }));
    return { ...incident, deliveries };
  });
  return [...carried, ...opened];
}

/** Until when new outages of a monitor wait. */
function snoozesOf(alerts: readonly Alert[]): Map<string, number> {
  const untilMs = new Map<string, number>();
  for (const { monitorId, snoozed } of incidentsIn(alerts)) {
    if (snoozed) untilMs.set(monitorId, Math.max(untilMs.get(monitorId) ?? 0, snoozed.untilMs));
  }
  return untilMs;
}

/** Whether it is an outage that goes on. */
export function isOpen(alert: Alert): alert is Incident {
  return alert.kind === 'incident' && alert.endedAtMs === undefined;
}

/** An open incident after a change of its monitor, which is gone where it is left out. */
function carriedOn(
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
  // Only UP ends an outage: in maintenance, paused or not checked yet, nobody knows whether it is over.
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

/** Since when nothing was seen until a monitor had its status, where the service does not tell either. */
const unseenBefore = (monitor: Monitor, { nowMs, unseenFromMs }: IncidentContext) =>
  statusChangedAtMs(monitor, nowMs) === undefined ? unseenFromMs : undefined;

/** An outage that this poll found, with what is known of the time before it. */
function found(monitor: Monitor, undelivered: Delivery[], around: IncidentContext): Incident {
  const responseTimesMs = around.responseTimes?.get(monitor.id);
  const unseenFromMs = unseenBefore(monitor, around);
  return {
    ...newIncident(monitor, undelivered, around),
    ...(isDegraded(monitor) && { degraded: shortened(monitor.status, 40) }),
    ...(around.unseenFromMs === 0 && { foundAtStart: true }),
    ...(unseenFromMs !== undefined && { unseenFromMs }),
    ...(responseTimesMs && { responseTimesMs }),
  };
}

/** An outage that goes on; `undelivered` are deliveries that earlier outages of the monitor handed on. */
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
    status: monitor.status,
    startedAtMs: statusChangedAtMs(monitor, around.nowMs) ?? around.nowMs,
    ...(reason !== undefined && { reason }),
    ...(change !== undefined && { change }),
  };
}

/** A place that is to be told of an alert. */
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

/** Whether a place has nothing more to hear of an alert as it is now. */
export function isDelivered(alert: Alert, delivery: Delivery): boolean {
  const { told: deliveredVersion, dead, line, attempted } = delivery;
  if (dead !== undefined) return true;
  // Nobody is woken for what somebody looks after by now.
  const isLate = !attempted && alert.kind === 'group' && alert.escalation !== undefined;
  if (isLate && !isUnattended(alert)) return true;
  const isLineLate = line?.what === 'escalation' && !line.attempted && !isUnattended(alert);
  return deliveredVersion === alert.version && (line === undefined || isLineLate);
}

/** Whether something of an alert goes on of which nobody has said that they know it. */
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
 * Leaves out the oldest alerts that are over and stay so, beyond what is kept; of reports each channel has one at most. `dropped` counts those not told everywhere.
 * Pure.
 */
export function prune(alerts: Alert[], nowMs: number): { alerts: Alert[]; dropped: number } {
  const isOver = (alert: Alert) =>
    alert.kind === 'notice' ||
    (alert.kind !== 'report' && alert.endedAtMs !== undefined && !mayFlapOn(alert, nowMs));
  const isSettled = (alert: Alert) =>
    alert.deliveries.every((delivery) => isDelivered(alert, delivery));
  const over = alerts.filter(isOver);
  const settled = over.filter(isSettled).slice(0, -KEEP_SETTLED);
  const unsettled = over.filter((alert) => !isSettled(alert)).slice(0, -MAX_UNSETTLED);
  const out = new Set([...settled, ...unsettled]);
  return out.size === 0
    ? { alerts, dropped: 0 }
    : { alerts: alerts.filter((alert) => !out.has(alert)), dropped: unsettled.length };
}

/** A place that refuses or fails for so long is given up for this alert. */
export const GIVE_UP_MS = 86_400_000;

/** How long a monitor is left alone by a press of “Snooze”: nothing is held back for longer. */
export const SNOOZE_MS = 3_600_000;

/** Until when a delivery is held back; a longer time than was ever set means that the clock was set back. */
export const heldUntil = ({ heldUntilMs = 0 }: Delivery, nowMs: number) =>
  heldUntilMs - nowMs <= SNOOZE_MS ? heldUntilMs : 0;

export const goesOn = (alert: Alert) =>
  alert.kind !== 'notice' && alert.kind !== 'report' && alert.endedAtMs === undefined;

/** Whether a place has no message yet, and is to have one. */
export const isUndelivered = ({ posted, dead }: Delivery) =>
  posted === undefined && dead === undefined;

/** What a place was not told of earlier outages: how many, since when, and the message that may be there. */
interface UndeliveredOutages {
  delivery: Delivery;
  count: number;
  fromMs: number;
}

/**
 * Takes from an earlier outage what no place was told of it yet, for the new outage to carry: twenty flaps while a platform
 * is away become one message. The id of the message stays, because a try with it may have gone through.
 */
function withoutUndelivered(
  incident: Incident,
  { undelivered, flapping }: { undelivered: UndeliveredOutages[]; flapping?: Flapping | undefined },
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

/** How many outages an incident is; what stayed DOWN after flapping is the new one. */
const ownOutages = ({ flapping, status }: Incident) =>
  flapping ? flapping.downs - (isDown({ status }) ? 1 : 0) : 1;

/** How many of an outage and the `earlier` ones it carries the new flapping counts itself: its first, or its first two. */
function countedIn(flapping: Flapping | undefined, { startedAtMs }: Incident, earlier: number) {
  if (!flapping || startedAtMs < flapping.fromMs) return 0;
  return startedAtMs === flapping.fromMs || earlier === 0 ? 1 : 2;
}

/** One delivery for each place, but for messages that may be there already. */
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
      return { ...rest, told: 0, ...(count > 0 && { earlier: { count, fromMs } }) };
    });
  });
}
