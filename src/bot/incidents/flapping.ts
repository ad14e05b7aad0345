import { FLAPPING_DOWNS, FLAPPING_MS } from '../../contracts/flapping.ts';
import type { Monitor } from '../../contracts/monitoring.ts';
import type { Incident as Outage } from '../../contracts/monitoring-additions.ts';
import { isDown, isSilenced, isUp, statusChangedAtMs } from '../shared/status.ts';
import {
  type Alert,
  type Delivery,
  type Down,
  type Flapping,
  type Group,
  groupBy,
  type Incident,
  mapChanged,
  memberIds,
} from './watch-state.ts';

/** Most change numbers that are remembered, as many as one request for missed outages returns. */
const COUNTED = 20;

type FlappingIncident = Incident & { flapping: Flapping };

export interface Opening {
  monitor: Monitor;
  flapping?: Flapping;
  /** Flapping that came before, if the monitor stayed DOWN. */
  flapped?: Flapping;
  /** Carried over from the flapping incident. */
  acknowledged?: Incident['acknowledged'];
}

export type RecentDowns = ReturnType<typeof recentDowns>;

/** The last changes to DOWN of each monitor. Ended incidents aren't kept long enough to count them. */
export function recentDowns(before: readonly Down[] | undefined, nowMs: number) {
  const known: Map<string, Down[]> = groupBy(
    (before ?? []).filter((down) => isRecent(down, nowMs)),
    ({ monitorId }) => monitorId,
  );
  let noted = false;
  return {
    /** Returns the flapping that starts with this change, if any. */
    note(down: Down): Flapping | undefined {
      noted = true;
      const all = [...(known.get(down.monitorId) ?? []), down].slice(-FLAPPING_DOWNS);
      known.set(down.monitorId, all.slice(1 - FLAPPING_DOWNS));
      if (!isFlap(all)) return undefined;
      return {
        fromMs: Math.min(...all.map((one) => one.atMs)),
        downs: all.length,
        isDown: true,
        changedAtMs: down.atMs,
        seenAtMs: down.seenAtMs,
        counted: all.flatMap(({ change }) => change ?? []),
      };
    },
    /** Replaces a change that was noted before. */
    noteAgain(down: Down) {
      noted = true;
      const others = (known.get(down.monitorId) ?? []).filter((one) => one.atMs !== down.atMs);
      known.set(down.monitorId, [...others, down].slice(1 - FLAPPING_DOWNS));
    },
    /** Returns the same array if nothing was noted. */
    kept: () => (noted ? [...known.values()].flat() : before),
  };
}

/** For news about a few monitors, while thousands of others may have gone down. */
export function recentDownsOf(
  ids: { has(id: string): boolean },
  before: readonly Down[] = [],
  nowMs: number,
): RecentDowns {
  const own = before.filter(({ monitorId }) => ids.has(monitorId));
  const recent = recentDowns(own, nowMs);
  return {
    ...recent,
    kept() {
      const kept = recent.kept();
      if (!kept || kept === own) return before;
      const isOther = (down: Down) => !ids.has(down.monitorId) && isRecent(down, nowMs);
      return [...before.filter(isOther), ...kept];
    },
  };
}

/** Twice as long, because missed outages are known late. */
const isRecent = ({ seenAtMs }: Down, nowMs: number) =>
  Math.abs(nowMs - seenAtMs) <= 2 * FLAPPING_MS;

/** Outages that were noticed together count too, because each would be a message. */
function isFlap(downs: readonly Down[]): boolean {
  const [first, last] = [downs[0], downs.at(-1)];
  if (!first || !last || downs.length < FLAPPING_DOWNS) return false;
  return isFlapTime(first.atMs, last.atMs) || isFlapTime(first.seenAtMs, last.seenAtMs);
}

/** The clock may have been set back. */
export const isFlapTime = (aMs: number, bMs: number) => Math.abs(aMs - bMs) <= FLAPPING_MS;

export function isFlapping(alert: Alert): alert is FlappingIncident {
  return alert.kind === 'incident' && alert.flapping !== undefined && alert.endedAtMs === undefined;
}

/** Number of changes between DOWN and UP. */
export const changesOf = ({ downs, isDown }: Pick<Flapping, 'downs' | 'isDown'>) =>
  2 * downs - (isDown ? 1 : 0);

/**
 * The flapping incident after its monitor was listed with another status. With `isAsking`, missed changes aren't known
 * yet. Pure.
 */
export function withStatus(
  incident: FlappingIncident,
  monitor: Monitor,
  { changedAtMs, nowMs, isAsking }: { changedAtMs: number; nowMs: number; isAsking: boolean },
): Incident {
  const { flapping } = incident;
  const { status, status_changes: number, status_reason: reason } = monitor;
  const isNowDown = isDown(monitor) || (flapping.isDown && !isUp(monitor));
  const counted = isDown(monitor) ? withNumber(flapping.counted, number) : flapping.counted;
  const mayBeNew = isDown(monitor) && (isAsking || !flapping.isDown);
  const isNew = mayBeNew && !isCounted(flapping, number);
  const after: Flapping = {
    ...flapping,
    counted,
    isDown: isNowDown,
    downs: flapping.downs + (isNew ? 1 : 0),
    ...(isDown(monitor) && !isDown(incident) && { downFromMs: changedAtMs }),
    ...((isNew || isNowDown !== flapping.isDown) && {
      changedAtMs: Math.max(flapping.changedAtMs, changedAtMs),
      seenAtMs: nowMs,
    }),
  };
  return {
    ...incident,
    version: incident.version + 1,
    status,
    flapping: after,
    ...(isDown(monitor) && reason !== undefined && { reason }),
  };
}

/** The flapping incident with an outage that began or ended between two polls. Pure. */
export function withCounted(
  incident: FlappingIncident,
  monitor: Monitor,
  outage: Outage & { changes: readonly number[] },
  nowMs: number,
): Incident {
  const { flapping } = incident;
  const startedAtMs = Math.min(Date.parse(outage.started_at), nowMs);
  const endedAtMs =
    outage.ended_at === null ? undefined : Math.min(Date.parse(outage.ended_at), nowMs);
  // An outage that ended with another status than UP may be ongoing.
  const isOver = endedAtMs !== undefined && isUp({ status: outage.ended_as ?? 'UP' });
  const isNowDown = !isOver && !isUp(monitor);
  const isNew = !outage.changes.some((change) => isCounted(flapping, change));
  if (!isNew && isNowDown === flapping.isDown) {
    const counted = outage.changes.reduce(withNumber, flapping.counted);
    return { ...incident, flapping: { ...flapping, counted } };
  }
  const after: Flapping = {
    ...flapping,
    fromMs: Math.min(flapping.fromMs, startedAtMs),
    downs: flapping.downs + (isNew ? 1 : 0),
    isDown: isNowDown,
    changedAtMs: Math.max(
      flapping.changedAtMs,
      isNowDown ? startedAtMs : (endedAtMs ?? startedAtMs),
    ),
    seenAtMs: nowMs,
    counted: outage.changes.reduce(withNumber, flapping.counted),
  };
  return {
    ...incident,
    version: incident.version + 1,
    status: monitor.status,
    reason: outage.cause,
    flapping: after,
  };
}

export const isCounted = ({ counted }: Flapping, number: number | undefined) =>
  number !== undefined && counted.includes(number);

/** Sorted, oldest evicted first. Pure. */
function withNumber(counted: number[], number: number | undefined): number[] {
  if (number === undefined || counted.includes(number)) return [...counted];
  return [...counted, number].sort((a, b) => a - b).slice(-COUNTED);
}

/**
 * A monitor may have flapped while no poll came, so the time to be stable starts again. Reported alerts aren't polled.
 * Pure.
 */
export function withCalmRestarted(alerts: Alert[], nowMs: number): Alert[] {
  return mapChanged(alerts, (alert) =>
    isFlapping(alert) && alert.intake === undefined
      ? { ...alert, flapping: { ...alert.flapping, seenAtMs: nowMs } }
      : alert,
  );
}

export function downOf(
  { id: monitorId, status_changes: change }: Monitor,
  { atMs, nowMs }: { atMs: number; nowMs: number },
): Down {
  return { monitorId, atMs, seenAtMs: nowMs, change };
}

/** The end needs no line: a new incident says it, or people turned the monitor off. */
export function endsQuietly(alert: Alert): boolean {
  if (alert.kind === 'group') return alert.members.every(isQuietEnd);
  return alert.kind === 'incident' && isQuietEnd(alert);
}

const isQuietEnd = (ended: Incident | Group['members'][number]) =>
  ended.endedAtMs !== undefined &&
  ended.flapping !== undefined &&
  !ended.gone &&
  (isDown(ended) || isSilenced(ended));

/**
 * An end, or a press of a button, is shown without pacing, also if it comes while the message is sent. A snoozed message stays held
 * back. Pure.
 */
export function unpaced<T extends Alert>(alert: T): T {
  const mayBeShown = ({ posted, attempted, heldUntilMs }: Delivery) =>
    posted !== undefined || (attempted && heldUntilMs === undefined);
  const deliveries = alert.deliveries.map((delivery) =>
    mayBeShown(delivery) ? { ...delivery, heldUntilMs: 0 } : delivery,
  );
  return { ...alert, deliveries };
}

/** A monitor that stays DOWN for so many checks, and at least this long, is an outage even if it flaps. */
const PERSISTS_AFTER = { checks: 3, leastMs: 2 * 60_000 };

export function persists(
  { interval_seconds }: Pick<Monitor, 'interval_seconds'>,
  fromMs: number,
  nowMs: number,
): boolean {
  const checksMs = PERSISTS_AFTER.checks * interval_seconds * 1000;
  const lastsMs = Math.min(FLAPPING_MS, Math.max(PERSISTS_AFTER.leastMs, checksMs));
  return Math.abs(nowMs - fromMs) >= lastsMs;
}

/**
 * Ends the flapping of monitors that stay DOWN or are stable. If one stays DOWN, a new incident opens, so that people
 * notice it. Pure except for changes noted in `recent`.
 */
export function withFlappingEnded(
  alerts: Alert[],
  monitors: readonly Monitor[],
  around: {
    nowMs: number;
    recent: RecentDowns;
    asking: ReadonlySet<string>;
    holding?: { isBehind(monitor: Monitor): boolean };
  },
): { alerts: Alert[]; downs: Opening[] } {
  if (!alerts.some(isFlapping)) return { alerts, downs: [] };
  const listed = new Map(monitors.map((monitor) => [monitor.id, monitor]));
  const downs: Opening[] = [];
  const after = alerts.map((alert) => {
    const monitor = isFlapping(alert) ? listed.get(alert.monitorId) : undefined;
    if (!isFlapping(alert) || !monitor) return alert;
    if (isDown(monitor)) {
      if (!isPersistent(alert.flapping, monitor, around)) return alert;
      // An outage of its parent has its own alert.
      if (around.holding?.isBehind(monitor)) return alert;
      downs.push(persistentOpening(alert, monitor, around));
      // Stable means that polls showed it.
    } else if (
      around.asking.has(monitor.id) ||
      isSoonAfter(alert.flapping.seenAtMs, around.nowMs)
    ) {
      return alert;
    }
    if (isSilenced(monitor) && alert.flapping.isDown) {
      // While it is paused or in maintenance, its real state is unknown, so the outage is ongoing.
      const { flapping: _, ...outage } = alert;
      return unpaced({ ...outage, version: alert.version + 1, status: monitor.status });
    }
    return unpaced({
      ...alert,
      version: alert.version + 1,
      status: monitor.status,
      endedAtMs: Math.max(alert.startedAtMs, alert.flapping.changedAtMs),
    });
  });
  return { alerts: after, downs };
}

/** Otherwise a monitor that is down for three checks and up for one would mention people every few minutes. */
const isSoonAfter = (atMs: number, nowMs: number) => Math.abs(nowMs - atMs) < FLAPPING_MS;

function isPersistent(
  { changedAtMs, downFromMs = changedAtMs, mentionedAtMs }: Flapping,
  monitor: Monitor,
  { nowMs, asking }: { nowMs: number; asking: ReadonlySet<string> },
): boolean {
  if (mentionedAtMs !== undefined && isSoonAfter(mentionedAtMs, nowMs)) return false;
  const saidMs = statusChangedAtMs(monitor, nowMs);
  // It may have been UP between two polls.
  if (saidMs === undefined && asking.has(monitor.id)) return false;
  const fromMs = Math.max(changedAtMs, downFromMs, saidMs ?? changedAtMs);
  return persists(monitor, fromMs, nowMs) || !isSoonAfter(changedAtMs, nowMs);
}

function persistentOpening(
  { flapping, acknowledged }: FlappingIncident,
  monitor: Monitor,
  { nowMs, recent, asking }: { nowMs: number; recent: RecentDowns; asking: ReadonlySet<string> },
): Opening {
  const { status_changes: number } = monitor;
  // Missed changes aren't known yet, so this outage isn't the last one that was counted.
  const isUncounted =
    asking.has(monitor.id) && number !== undefined && !isCounted(flapping, number);
  const flapped = isUncounted
    ? {
        ...flapping,
        downs: flapping.downs + 1,
        counted: withNumber(flapping.counted, number),
        changedAtMs: Math.max(flapping.changedAtMs, statusChangedAtMs(monitor, nowMs) ?? 0),
      }
    : flapping;
  const { changedAtMs: atMs } = flapped;
  recent.noteAgain(downOf(monitor, { atMs, nowMs }));
  const since = { ...monitor, status_changed_at: new Date(atMs).toISOString() };
  return { monitor: since, flapped, acknowledged };
}

type PersistentIncident = Incident & { flapped: Flapping };

/** It mentioned people recently, so if the monitor goes down again, it continues as flapping. */
export const mayFlapOn = (alert: Alert, nowMs: number): alert is PersistentIncident =>
  alert.kind === 'incident' &&
  alert.flapped !== undefined &&
  !alert.gone &&
  isSoonAfter(alert.openedAtMs, nowMs);

/** By monitor, if a message exists. */
export function mayFlapOnIn(
  alerts: readonly Alert[],
  nowMs: number,
): Map<string, PersistentIncident> {
  const all = alerts.filter((alert): alert is PersistentIncident => mayFlapOn(alert, nowMs));
  const isInGroup = all.some(({ deliveries }) => deliveries.length === 0);
  const inGroups = isInGroup ? memberIds(alerts) : new Set();
  return new Map(
    all
      .filter(({ id, deliveries }) => deliveries.length > 0 || inGroups.has(id))
      .map((incident) => [incident.monitorId, incident]),
  );
}

/** Continues an incident as flapping. Its message was just posted, so the time until the next mention starts there. */
export function flappingOn(incident: PersistentIncident): FlappingIncident {
  const { endedAtMs, endUnseenFromMs: _, flapped, ...rest } = incident;
  const changedAtMs = Math.max(flapped.changedAtMs, endedAtMs ?? 0);
  const isDown = endedAtMs === undefined;
  return {
    ...rest,
    version: incident.version + 1,
    deliveries: rest.deliveries.map(unended),
    flapping: { ...flapped, isDown, changedAtMs, mentionedAtMs: incident.openedAtMs },
  };
}

/** Reopens groups that contain these incidents. Pure. */
export function withGroupsOf(alerts: Alert[], incidentIds: ReadonlySet<string>): Alert[] {
  if (incidentIds.size === 0) return alerts;
  return alerts.map((alert) => {
    if (alert.kind !== 'group' || alert.endedAtMs === undefined) return alert;
    if (!alert.members.some(({ incidentId }) => incidentIds.has(incidentId))) return alert;
    const { endedAtMs: _, ...group }: Group = alert;
    return { ...group, deliveries: group.deliveries.map(unended) };
  });
}

/** A later end gets its own line. */
function unended({ hasEndLine: _, line, ...delivery }: Delivery): Delivery {
  return { ...delivery, ...(line && line.what !== 'end' && { line }) };
}
