import type { Monitor } from '../../contracts/monitoring.ts';
import { isDown, saidAt } from '../shared/status.ts';
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
import type { Delivery, Flapping, Group, Incident, Topic } from './watch-state.ts';

/** What is DOWN for so many checks, and for as long at least, is an outage, however often it went down before. */
const LASTS = { checks: 3, leastMs: 2 * 60_000 };

/** Whether a monitor that is DOWN since then has been so for long enough to call people, though it flaps. */
export function lasts(
  { interval_seconds }: Pick<Monitor, 'interval_seconds'>,
  fromMs: number,
  nowMs: number,
): boolean {
  const checksMs = LASTS.checks * interval_seconds * 1000;
  const lastsMs = Math.min(FLAPPING_MS, Math.max(LASTS.leastMs, checksMs));
  return Math.abs(nowMs - fromMs) >= lastsMs;
}

/**
 * Ends the flapping of monitors that are listed and either stay DOWN, or have not changed for long enough. What stays DOWN
 * is an outage that people must notice: it is to be opened as a new incident. `asking` are monitors of which it is not known
 * how often they changed. Pure but for what it notes in `recent`.
 */
export function calmed(
  topics: Topic[],
  monitors: readonly Monitor[],
  around: { nowMs: number; recent: RecentDowns; asking: ReadonlySet<string> },
): { topics: Topic[]; downs: Opening[] } {
  if (!topics.some(isFlapping)) return { topics, downs: [] };
  const listed = new Map(monitors.map((monitor) => [monitor.id, monitor]));
  const downs: Opening[] = [];
  const after = topics.map((topic) => {
    const monitor = isFlapping(topic) ? listed.get(topic.monitorId) : undefined;
    if (!isFlapping(topic) || !monitor) return topic;
    if (isDown(monitor)) {
      if (!staysDown(topic.flapping, monitor, around)) return topic;
      downs.push(stayedDown(topic, monitor, around));
    } else if (around.asking.has(monitor.id) || !isCalm(topic.flapping, around.nowMs)) return topic;
    return over(topic, monitor);
  });
  return { topics: after, downs };
}

/** Calm is what was watched being so. */
const isCalm = ({ seenAtMs }: Flapping, nowMs: number) => !isSoonAfter(seenAtMs, nowMs);

/** Nobody is called again so soon, or what is down for three checks and up for one would call every few minutes. */
const isSoonAfter = (atMs: number, nowMs: number) => Math.abs(nowMs - atMs) < FLAPPING_MS;

function staysDown(
  { changedAtMs, downFromMs = changedAtMs, rungAtMs }: Flapping,
  monitor: Monitor,
  { nowMs, asking }: { nowMs: number; asking: ReadonlySet<string> },
): boolean {
  if (rungAtMs !== undefined && isSoonAfter(rungAtMs, nowMs)) return false;
  const saidMs = saidAt(monitor, nowMs);
  // It may have been UP meanwhile.
  if (saidMs === undefined && asking.has(monitor.id)) return false;
  const fromMs = Math.max(changedAtMs, downFromMs, saidMs ?? changedAtMs);
  return lasts(monitor, fromMs, nowMs) || !isSoonAfter(changedAtMs, nowMs);
}

function stayedDown(
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
        changedAtMs: Math.max(flapping.changedAtMs, saidAt(monitor, nowMs) ?? 0),
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
export type StayedIncident = Incident & { flapped: Flapping };

/** Whether it called people so short a time ago that they are not called again when it is over and its monitor goes down. */
export const mayFlapOn = (topic: Topic, nowMs: number): topic is StayedIncident =>
  topic.kind === 'incident' &&
  topic.flapped !== undefined &&
  !topic.gone &&
  isSoonAfter(topic.openedAtMs, nowMs);

/** Those of which there is a message, by their monitors. */
export function mayFlapOnIn(topics: readonly Topic[], nowMs: number): Map<string, StayedIncident> {
  const all = topics.filter((topic): topic is StayedIncident => mayFlapOn(topic, nowMs));
  const inGroups = new Set<string>();
  if (all.some(({ deliveries }) => deliveries.length === 0)) {
    for (const topic of topics) {
      if (topic.kind !== 'group') continue;
      for (const { incidentId } of topic.members) inGroups.add(incidentId);
    }
  }
  return new Map(
    all
      .filter(({ id, deliveries }) => deliveries.length > 0 || inGroups.has(id))
      .map((incident) => [incident.monitorId, incident]),
  );
}

/** The same as one of a monitor that flaps on since it was over: its message, which nobody can miss, counts from now on. */
export function flappingOn(incident: StayedIncident): FlappingIncident {
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

/** The topics with the messages about several going on in which these incidents stand, which go on. Pure. */
export function withGroupsOf(topics: Topic[], incidentIds: ReadonlySet<string>): Topic[] {
  if (incidentIds.size === 0) return topics;
  return topics.map((topic) => {
    if (topic.kind !== 'group' || topic.endedAtMs === undefined) return topic;
    if (!topic.members.some(({ incidentId }) => incidentIds.has(incidentId))) return topic;
    const { endedAtMs: _, ...group }: Group = topic;
    return { ...group, deliveries: group.deliveries.map(unended) };
  });
}

/** What was said of an end is no longer so; the next one is said again. */
function unended({ endSaid: _, line, ...delivery }: Delivery): Delivery {
  return { ...delivery, ...(line && line.what !== 'end' && { line }) };
}
