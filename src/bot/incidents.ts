import type { Monitor } from '../contracts/monitoring.ts';
import type { Watched } from './channels.ts';
import type { Change } from './diff.ts';
import { isDown, isUp } from './status.ts';
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

/** Topics kept after all is told, so that the document stays small. */
const KEEP_SETTLED = 100;

/** Ended outages still to be told; more only when places refuse for long while monitors flap. */
const MAX_UNSETTLED = 5_000;

/**
 * Opens an incident for each monitor that became DOWN and carries changes into those open: UP ends one, a monitor that is
 * gone ends it without a recovery, any other status shows in it. A monitor has at most one change; the time taken grows
 * with topics and changes, not with their product. Gives the same array when nothing is different. Pure.
 */
export function applyChanges(
  topics: Topic[],
  changes: readonly Change[],
  around: Surroundings,
): Topic[] {
  if (changes.length === 0) return topics;
  const changeOf = new Map(changes.map((change) => [idOf(change), change]));
  const downs = new Map(
    changes.flatMap((change) =>
      change.kind === 'status' && isDown(change.monitor)
        ? [[change.monitor.id, { monitor: change.monitor, untold: [] as Delivery[] }]]
        : [],
    ),
  );
  for (const topic of topics) if (isOpen(topic)) downs.delete(topic.monitorId);

  const snoozes = snoozesOf(topics);
  const carried = topics.flatMap((topic): Topic[] => {
    if (topic.kind !== 'incident') return [topic];
    const change = isOpen(topic) ? changeOf.get(topic.monitorId) : undefined;
    if (change) return [carriedOn(topic, change, around)];
    const down = downs.get(topic.monitorId);
    return down ? withoutUntold(topic, down.untold) : [topic];
  });
  const opened = [...downs.values()].map(({ monitor, untold }) =>
    held(found(monitor, untold, around), snoozes.get(monitor.id), around.nowMs),
  );
  const isSame = opened.length === 0 && carried.every((topic, index) => topic === topics[index]);
  return isSame ? topics : [...carried, ...opened];
}

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
  if (change.kind === 'gone') return { ...incident, version, gone: true, endedAtMs: nowMs };
  const { monitor } = change;
  const changed = { ...incident, version, status: monitor.status };
  if (!isUp(monitor)) return changed;
  const isUnseen = unseenFromMs !== undefined && saidAt(monitor, nowMs) === undefined;
  return {
    ...changed,
    endedAtMs: Math.max(incident.startedAtMs, saidAt(monitor, nowMs) ?? nowMs),
    ...(isUnseen && { endUnseenFromMs: Math.max(incident.startedAtMs, unseenFromMs) }),
  };
}

/** When the service says that the status changed; one whose clock is ahead is not believed. */
function saidAt({ status_changed_at }: Monitor, nowMs: number): number | undefined {
  const saidMs = status_changed_at === undefined ? Number.NaN : Date.parse(status_changed_at);
  return Number.isNaN(saidMs) ? undefined : Math.min(saidMs, nowMs);
}

/** An outage that this look found, with what is known of the time before it. */
function found(monitor: Monitor, untold: Delivery[], around: Surroundings): Incident {
  const { nowMs, unseenFromMs, responseTimes } = around;
  const responseTimesMs = responseTimes?.get(monitor.id);
  const isUnseen = unseenFromMs !== undefined && saidAt(monitor, nowMs) === undefined;
  return {
    ...newIncident(monitor, untold, around),
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

/** Whether a place has no message yet, and is to have one. */
export const isUntold = ({ posted, dead }: Delivery) => posted === undefined && dead === undefined;

/**
 * Takes from an earlier outage what no place was told of it yet, for the new outage to carry: twenty flaps while a platform
 * is away become one message. The id of the message stays, because a try with it may have gone through.
 */
function withoutUntold(incident: Incident, untold: Delivery[]): Topic[] {
  const taken = incident.deliveries.filter(isUntold);
  if (taken.length === 0) return [incident];
  for (const delivery of taken) {
    const { count = 0, fromMs = incident.startedAtMs } = delivery.earlier ?? {};
    untold.push({ ...delivery, told: 0, earlier: { count: count + 1, fromMs } });
  }
  const deliveries = incident.deliveries.filter((delivery) => !isUntold(delivery));
  return deliveries.length === 0 ? [] : [{ ...incident, deliveries }];
}

/** Whether a place has nothing more to hear of a topic as it is now. */
export function isTold(topic: Topic, { told, dead, line }: Delivery): boolean {
  return dead !== undefined || (told === topic.version && line === undefined);
}

/** Leaves out the oldest topics that are over, beyond what is kept. `dropped` counts those not told everywhere. Pure. */
export function prune(topics: Topic[]): { topics: Topic[]; dropped: number } {
  const isOver = (topic: Topic) => topic.kind === 'notice' || topic.endedAtMs !== undefined;
  const isSettled = (topic: Topic) => topic.deliveries.every((delivery) => isTold(topic, delivery));
  const over = topics.filter(isOver);
  const settled = over.filter(isSettled).slice(0, -KEEP_SETTLED);
  const unsettled = over.filter((topic) => !isSettled(topic)).slice(0, -MAX_UNSETTLED);
  const out = new Set([...settled, ...unsettled]);
  return out.size === 0
    ? { topics, dropped: 0 }
    : { topics: topics.filter((topic) => !out.has(topic)), dropped: unsettled.length };
}
