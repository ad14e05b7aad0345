import type { Monitor } from '../../contracts/monitoring.ts';
import { isDown, statusChangedAtMs } from '../shared/status.ts';
import {
  downOf,
  FLAPPING_MS,
  type FlappingIncident,
  isCounted,
  isFlapping,
  type Opening,
  type RecentDowns,
  unpaced,
  withNumber,
} from './flapping.ts';
import type { Alert, Delivery, Flapping, Group, Incident } from './watch-state.ts';

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
  around: { nowMs: number; recent: RecentDowns; asking: ReadonlySet<string> },
): { alerts: Alert[]; downs: Opening[] } {
  if (!alerts.some(isFlapping)) return { alerts, downs: [] };
  const listed = new Map(monitors.map((monitor) => [monitor.id, monitor]));
  const downs: Opening[] = [];
  const after = alerts.map((alert) => {
    const monitor = isFlapping(alert) ? listed.get(alert.monitorId) : undefined;
    if (!isFlapping(alert) || !monitor) return alert;
    if (isDown(monitor)) {
      if (!isPersistent(alert.flapping, monitor, around)) return alert;
      downs.push(persistentOpening(alert, monitor, around));
    } else if (around.asking.has(monitor.id) || !isCalm(alert.flapping, around.nowMs)) return alert;
    return over(alert, monitor);
  });
  return { alerts: after, downs };
}

/** Calm is what was watched being so. */
const isCalm = ({ seenAtMs }: Flapping, nowMs: number) => !isSoonAfter(seenAtMs, nowMs);

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

function over(incident: FlappingIncident, monitor: Monitor): Incident {
  const { startedAtMs, flapping } = incident;
  return unpaced({
    ...incident,
    version: incident.version + 1,
    status: monitor.status,
    endedAtMs: Math.max(startedAtMs, flapping.changedAtMs),
  });
}

/** An alert of what stayed DOWN after it flapped. */
export type PersistentIncident = Incident & { flapped: Flapping };

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
  const inGroups = new Set<string>();
  if (all.some(({ deliveries }) => deliveries.length === 0)) {
    for (const alert of alerts) {
      if (alert.kind !== 'group') continue;
      for (const { incidentId } of alert.members) inGroups.add(incidentId);
    }
  }
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
