import type { Monitor } from '../../contracts/monitoring.ts';
import type { Watched } from '../channels/channels.ts';
import { isDegraded, isDown, isSilenced, isUp, saidAt } from '../shared/status.ts';
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
import { flappingOn, lasts, mayFlapOn, mayFlapOnIn, withGroupsOf } from './persistent-outages.ts';
import { handedOn, type Untold, withoutUntold } from './undelivered.ts';
import type { Delivery, Incident, Topic } from './watch-state.ts';

/** What deciding needs from outside. */
export interface Surroundings {
  nowMs: number;
  newId: () => string;
  /** The places, in their one-word form, that hear of a monitor. */
  placesFor: (monitor: Watched) => string[];
  /** Since when nobody had looked, when this look comes late; 0 at the first look ever. */
  unseenFromMs?: number;
  /** What the last checks took of monitors that went DOWN, milliseconds by id. */
  responseTimes?: ReadonlyMap<string, number[]>;
}

/** What one look needs: it also remembers how often monitors went down. */
export interface Deciding extends Surroundings {
  recent: RecentDowns;
}

/** Topics kept after all is told, so that the document stays small. */
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
 * time taken grows with topics and changes, not with their product. Gives the same array when nothing is different.
 */
export function applyChanges(
  topics: Topic[],
  changes: readonly Change[],
  around: Deciding,
): Topic[] {
  if (changes.length === 0) return topics;
  const { nowMs, recent } = around;
  const changeOf = new Map(changes.map((change) => [idOf(change), change]));
  const open = new Set(
    topics
      .filter(isOpen)
      .filter((incident) => !becomesOutage(incident, changeOf.get(incident.monitorId)))
      .map(({ monitorId }) => monitorId),
  );
  const latest = latestDegraded(topics, changeOf);
  const stayed = mayFlapOnIn(topics, nowMs);
  const again = new Set<string>();
  const carried = topics.map((topic) => {
    if (topic.kind !== 'incident') return topic;
    const change = changeOf.get(topic.monitorId);
    if (!change) return topic;
    const goesOn: boolean = isOpen(topic);
    if (goesOn) return carriedOn(topic, change, around);
    if (open.has(topic.monitorId)) return topic;
    const alert = stayed.get(topic.monitorId);
    if (topic === alert && isDownNow(change)) {
      open.add(topic.monitorId);
      again.add(topic.id);
      return carriedOn(flappingOn(alert), change, around);
    }
    if (topic !== latest.get(topic.monitorId)) return topic;
    if (!isBack(topic, change, nowMs)) return topic;
    open.add(topic.monitorId);
    return reopened(topic, change.monitor);
  });
  const downs = changes.flatMap((change): Opening[] => {
    if (change.kind === 'gone' || open.has(idOf(change))) return [];
    const { monitor } = change;
    if (isDegraded(monitor)) return [{ monitor }];
    if (!isDown(monitor)) return [];
    const atMs = saidAt(monitor, nowMs) ?? nowMs;
    const flaps = recent.note(downOf(monitor, { atMs, nowMs }));
    return [
      lasts(monitor, atMs, nowMs) ? { monitor, flapped: flaps } : { monitor, flapping: flaps },
    ];
  });
  const isSame = carried.every((topic, index) => topic === topics[index]);
  return withOpened(isSame ? topics : withGroupsOf(carried, again), downs, around);
}

/** Whether a milder trouble turns into an outage. */
const becomesOutage = ({ degraded, flapping }: Incident, change: Change | undefined) =>
  degraded !== undefined && !flapping && change !== undefined && isDownNow(change);

const isDownNow = (change: Change) => change.kind === 'status' && isDown(change.monitor);

/** The last milder trouble of each monitor that is DEGRADED now. */
function latestDegraded(topics: readonly Topic[], changeOf: ReadonlyMap<string, Change>) {
  const latest = new Map<string, Topic>();
  for (const topic of topics) {
    if (topic.kind !== 'incident' || topic.degraded === undefined) continue;
    const change = changeOf.get(topic.monitorId);
    if (change?.kind === 'status' && isDegraded(change.monitor)) latest.set(topic.monitorId, topic);
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
  topics: Topic[],
  downs: readonly Opening[],
  around: Surroundings,
): Topic[] {
  if (downs.length === 0) return topics;
  const downById = new Map(
    downs.map((down) => [down.monitor.id, { ...down, untold: [] as Untold[] }]),
  );
  const snoozes = snoozesOf(topics);
  let inGroups: Set<string> | undefined;
  const carried = topics.flatMap((topic): Topic[] => {
    const down = topic.kind === 'incident' ? downById.get(topic.monitorId) : undefined;
    // A milder trouble before it is no outage that could be counted, and is told by itself.
    const isAlike =
      topic.kind === 'incident' &&
      down &&
      (topic.degraded !== undefined) === isDegraded(down.monitor);
    if (!isAlike) return [topic];
    const left = withoutUntold(topic, down);
    if (left.length > 0) return left;
    // A message about several still needs it, to show what became of it.
    inGroups ??= inOpenGroups(topics);
    return inGroups.has(topic.id) ? [{ ...topic, deliveries: [] }] : [];
  });
  const opened = [...downById.values()].map((down) => {
    const { monitor, untold, flapping, flapped, acknowledged } = down;
    const incident: Incident = {
      ...found(monitor, handedOn(untold), around),
      ...(flapping && { flapping }),
      ...(flapped && { flapped }),
      ...(acknowledged && { acknowledged }),
    };
    return held(incident, snoozes.get(monitor.id), around.nowMs);
  });
  return [...carried, ...opened];
}

const inOpenGroups = (topics: readonly Topic[]) =>
  new Set(
    topics.flatMap((topic) =>
      topic.kind === 'group' && topic.endedAtMs === undefined
        ? topic.members.map(({ incidentId }) => incidentId)
        : [],
    ),
  );

/** Until when new outages of a monitor wait. */
function snoozesOf(topics: readonly Topic[]): Map<string, number> {
  const untilMs = new Map<string, number>();
  for (const topic of topics) {
    if (topic.kind !== 'incident' || !topic.snoozed) continue;
    const known = untilMs.get(topic.monitorId) ?? 0;
    untilMs.set(topic.monitorId, Math.max(known, topic.snoozed.untilMs));
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
export function isOpen(topic: Topic): topic is Incident {
  return topic.kind === 'incident' && topic.endedAtMs === undefined;
}

function carriedOn(incident: Incident, change: Change, around: Surroundings): Incident {
  const { nowMs, unseenFromMs } = around;
  const version = incident.version + 1;
  if (change.kind === 'gone') {
    return unpaced({ ...incident, version, gone: true, endedAtMs: nowMs });
  }
  const { monitor } = change;
  if (isFlapping(incident)) {
    return withStatus(incident, monitor, { changedAtMs: saidAt(monitor, nowMs) ?? nowMs, nowMs });
  }
  const changed = { ...incident, version, status: monitor.status };
  const isOver = incident.degraded === undefined ? isUp(monitor) : !isDegraded(monitor);
  if (!isOver || (incident.degraded !== undefined && isSilenced(monitor))) return changed;
  const isUnseen = unseenFromMs !== undefined && saidAt(monitor, nowMs) === undefined;
  return {
    ...changed,
    endedAtMs: Math.max(incident.startedAtMs, saidAt(monitor, nowMs) ?? nowMs),
    ...(isUnseen && { endUnseenFromMs: Math.max(incident.startedAtMs, unseenFromMs) }),
  };
}

/** An outage that this look found, with what is known of the time before it. */
function found(monitor: Monitor, untold: Delivery[], around: Surroundings): Incident {
  const { nowMs, unseenFromMs, responseTimes } = around;
  const responseTimesMs = responseTimes?.get(monitor.id);
  const isUnseen = unseenFromMs !== undefined && saidAt(monitor, nowMs) === undefined;
  return {
    ...newIncident(monitor, untold, around),
    ...(isDegraded(monitor) && { degraded: shortened(monitor.status, 40) }),
    ...(unseenFromMs === 0 && { foundAtStart: true }),
    ...(isUnseen && { unseenFromMs }),
    ...(responseTimesMs && { responseTimesMs }),
  };
}

/** An outage that goes on; `untold` are deliveries that earlier outages of the monitor handed on. */
export function newIncident(monitor: Monitor, untold: Delivery[], around: Surroundings): Incident {
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
  const carried = new Set(untold.map(({ place }) => place));
  const fresh = [...new Set(around.placesFor(monitor))]
    .filter((place) => !carried.has(place))
    .map((place) => newDelivery(place, id));
  return {
    kind: 'incident',
    id,
    version: 1,
    openedAtMs: around.nowMs,
    deliveries: [...untold, ...fresh],
    monitorId,
    name,
    target,
    checkType: check_type,
    status,
    startedAtMs: saidAt(monitor, around.nowMs) ?? around.nowMs,
    ...(status_reason === undefined ? {} : { reason: status_reason }),
    ...(status_changes === undefined ? {} : { change: status_changes }),
  };
}

/** A place that is to be told of a topic. */
export function newDelivery(place: string, topicId: string): Delivery {
  return {
    place,
    postId: `${topicId}@${place}`,
    attempted: false,
    told: 0,
    failures: 0,
    nextTryAtMs: 0,
  };
}

/** Whether a place has nothing more to hear of a topic as it is now. */
export function isTold(topic: Topic, { told, dead, line }: Delivery): boolean {
  return dead !== undefined || (told === topic.version && line === undefined);
}

/**
 * Leaves out the oldest topics that are over and stay so, beyond what is kept. `dropped` counts those not told everywhere.
 * Pure.
 */
export function prune(topics: Topic[], nowMs: number): { topics: Topic[]; dropped: number } {
  const isOver = (topic: Topic) =>
    topic.kind === 'notice' || (topic.endedAtMs !== undefined && !mayFlapOn(topic, nowMs));
  const isSettled = (topic: Topic) => topic.deliveries.every((delivery) => isTold(topic, delivery));
  const over: Record<'settled' | 'unsettled', Topic[]> = { settled: [], unsettled: [] };
  for (const topic of topics) {
    if (isOver(topic)) over[isSettled(topic) ? 'settled' : 'unsettled'].push(topic);
  }
  const settled = over.settled.slice(0, -KEEP_SETTLED);
  const unsettled = over.unsettled.slice(0, -MAX_UNSETTLED);
  const out = new Set([...settled, ...unsettled]);
  return out.size === 0
    ? { topics, dropped: 0 }
    : { topics: topics.filter((topic) => !out.has(topic)), dropped: unsettled.length };
}
