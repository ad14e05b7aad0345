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

/** So many times down within so long, which is five changes, are flapping; it is over after as long without a change. */
export const FLAPPING_DOWNS = 3;
export const FLAPPING_MS = 15 * 60_000;

/** Numbers of changes that are remembered: of as many outages as are asked for at once. */
const COUNTED = 20;

/** An incident of a monitor that flaps. */
type FlappingIncident = Incident & { flapping: Flapping };

/** An incident to open. */
export interface Opening {
  monitor: Monitor;
  flapping?: Flapping | undefined;
  /** How it flapped before it stayed DOWN. */
  flapped?: Flapping | undefined;
  /** Who looks after it already. */
  acknowledged?: Incident['acknowledged'];
}

/** What is remembered of the times that monitors went down, over one poll. */
export type RecentDowns = ReturnType<typeof recentDowns>;

/** Remembers of each monitor the last times that it went down: alerts that are over are not kept for long enough. */
export function recentDowns(before: readonly Down[] | undefined, nowMs: number) {
  const known: Map<string, Down[]> = groupBy(
    (before ?? []).filter((down) => isRecent(down, nowMs)),
    ({ monitorId }) => monitorId,
  );
  let noted = false;
  return {
    /** Notes that a monitor went down; gives the flapping that begins with it, if one does. */
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
    /** Notes one as told now, which was noted or counted before. */
    noteAgain(down: Down) {
      noted = true;
      const others = (known.get(down.monitorId) ?? []).filter((one) => one.atMs !== down.atMs);
      known.set(down.monitorId, [...others, down].slice(1 - FLAPPING_DOWNS));
    },
    /** All that the next poll needs; the same array when nothing was noted. */
    kept: () => (noted ? [...known.values()].flat() : before),
  };
}

/** The same for a change of few things, while thousands of others may have gone down. */
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

/** What is heard of late may have followed soon on what is old by now. */
const isRecent = ({ seenAtMs }: Down, nowMs: number) =>
  Math.abs(nowMs - seenAtMs) <= 2 * FLAPPING_MS;

/** Whether these are too many: they were within the time, or were heard of within it, since each would be a message. */
function isFlap(downs: readonly Down[]): boolean {
  const [first, last] = [downs[0], downs.at(-1)];
  if (!first || !last || downs.length < FLAPPING_DOWNS) return false;
  return isFlapTime(first.atMs, last.atMs) || isFlapTime(first.seenAtMs, last.seenAtMs);
}

/** Whether it is so short a time, either way: the clock may have been set back. */
export const isFlapTime = (aMs: number, bMs: number) => Math.abs(aMs - bMs) <= FLAPPING_MS;

/** Whether it is an incident of a monitor that flaps, and goes on. */
export function isFlapping(alert: Alert): alert is FlappingIncident {
  return alert.kind === 'incident' && alert.flapping !== undefined && alert.endedAtMs === undefined;
}

/** How often it changed between DOWN and UP. */
export const changesOf = ({ downs, isDown }: Pick<Flapping, 'downs' | 'isDown'>) =>
  2 * downs - (isDown ? 1 : 0);

/**
 * The incident after its monitor was listed with another status, since `changedAtMs`; it may have been UP before that where it
 * is still to be asked what came in between. Pure.
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

/** The incident with an outage that came or ended between two polls; the same one when it is counted already. Pure. */
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
  // What ended as something else than UP may go on.
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

/** The numbers with another one, in order; the oldest are forgotten. Pure. */
function withNumber(counted: number[], number: number | undefined): number[] {
  if (number === undefined || counted.includes(number)) return [...counted];
  return [...counted, number].sort((a, b) => a - b).slice(-COUNTED);
}

/** While no poll came, it may not have been calm: that counts from now. What others report is not polled for. Pure. */
export function withCalmRestarted(alerts: Alert[], nowMs: number): Alert[] {
  return mapChanged(alerts, (alert) =>
    isFlapping(alert) && alert.intake === undefined
      ? { ...alert, flapping: { ...alert.flapping, seenAtMs: nowMs } }
      : alert,
  );
}

/** A monitor that is DOWN, as one of the times that it went down. */
export function downOf(
  { id: monitorId, status_changes: change }: Monitor,
  { atMs, nowMs }: { atMs: number; nowMs: number },
): Down {
  return { monitorId, atMs, seenAtMs: nowMs, ...(change !== undefined && { change }) };
}

/** Whether flapping ended with nothing to notice: a new incident says it, or people have said that they want to hear nothing. */
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
 * The last word, and what somebody did, need not wait for their turn; a message that was never posted waits for another
 * reason. Pure.
 */
export function unpaced<T extends Alert>(alert: T): T {
  const deliveries = alert.deliveries.map(({ heldUntilMs, ...delivery }) =>
    delivery.posted || heldUntilMs === undefined ? delivery : { ...delivery, heldUntilMs },
  );
  return { ...alert, deliveries };
}

/** What is DOWN for so many checks, and for as long at least, is an outage, however often it went down before. */
const PERSISTS_AFTER = { checks: 3, leastMs: 2 * 60_000 };

/** Whether a monitor that is DOWN since then has been so for long enough to call people, though it flaps. */
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
 * Ends the flapping of monitors that are listed and either stay DOWN, or have not changed for long enough. What stays DOWN
 * is an outage that people must notice: it is to be opened as a new incident. `asking` are monitors of which it is not known
 * how often they changed. Pure but for what it notes in `recent`.
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
      // What it depends on is down: nobody is called for this one.
      if (around.holding?.isBehind(monitor)) return alert;
      downs.push(persistentOpening(alert, monitor, around));
      // Calm is what was watched being so.
    } else if (
      around.asking.has(monitor.id) ||
      isSoonAfter(alert.flapping.seenAtMs, around.nowMs)
    ) {
      return alert;
    }
    if (isSilenced(monitor) && alert.flapping.isDown) {
      // Paused or in maintenance, nobody knows whether it is up again: it is an outage until it is.
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

/** Nobody is called again so soon, or what is down for three checks and up for one would call every few minutes. */
const isSoonAfter = (atMs: number, nowMs: number) => Math.abs(nowMs - atMs) < FLAPPING_MS;

function isPersistent(
  { changedAtMs, downFromMs = changedAtMs, rungAtMs }: Flapping,
  monitor: Monitor,
  { nowMs, asking }: { nowMs: number; asking: ReadonlySet<string> },
): boolean {
  if (rungAtMs !== undefined && isSoonAfter(rungAtMs, nowMs)) return false;
  const saidMs = statusChangedAtMs(monitor, nowMs);
  // It may have been UP meanwhile.
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
  // What came before it is still asked for: this one is not the one that was counted last.
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
  return { monitor: since, flapped, ...(acknowledged && { acknowledged }) };
}

/** An alert of what stayed DOWN after it flapped. */
type PersistentIncident = Incident & { flapped: Flapping };

/** Whether it called people so short a time ago that they are not called again when it is over and its monitor goes down. */
export const mayFlapOn = (alert: Alert, nowMs: number): alert is PersistentIncident =>
  alert.kind === 'incident' &&
  alert.flapped !== undefined &&
  !alert.gone &&
  isSoonAfter(alert.openedAtMs, nowMs);

/** Those of which there is a message, by their monitors. */
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

/** The same as one of a monitor that flaps on since it was over: its message, which nobody can miss, counts from now on. */
export function flappingOn(incident: PersistentIncident): FlappingIncident {
  const { endedAtMs, endUnseenFromMs: _, flapped, ...rest } = incident;
  const changedAtMs = Math.max(flapped.changedAtMs, endedAtMs ?? 0);
  const isDown = endedAtMs === undefined;
  return {
    ...rest,
    version: incident.version + 1,
    deliveries: rest.deliveries.map(unended),
    flapping: { ...flapped, isDown, changedAtMs, rungAtMs: incident.openedAtMs },
  };
}

/** The alerts with the messages about several going on in which these incidents stand, which go on. Pure. */
export function withGroupsOf(alerts: Alert[], incidentIds: ReadonlySet<string>): Alert[] {
  if (incidentIds.size === 0) return alerts;
  return alerts.map((alert) => {
    if (alert.kind !== 'group' || alert.endedAtMs === undefined) return alert;
    if (!alert.members.some(({ incidentId }) => incidentIds.has(incidentId))) return alert;
    const { endedAtMs: _, ...group }: Group = alert;
    return { ...group, deliveries: group.deliveries.map(unended) };
  });
}

/** What was said of an end is no longer so; the next one is said again. */
function unended({ endSaid: _, line, ...delivery }: Delivery): Delivery {
  return { ...delivery, ...(line && line.what !== 'end' && { line }) };
}
