import { isSilenced } from '../shared/status.ts';
import { goesOn } from './delivery.ts';
import type { Delivery, Group, Incident, Topic } from './watch-state.ts';

interface Around {
  nowMs: number;
  /** How often a place wants to be reminded, while it may hear of it. */
  remindMsOf: (place: string) => number | undefined;
  /** Whether a monitor was seen in this look: of others nothing is known now. */
  isSeen: (monitorId: string) => boolean;
}

/** A reminder that could not be said for so long is no longer true: another one takes its place. */
const STALE_MS = 900_000;

/**
 * The topics with the lines that are due under messages of outages that go on, and without those that nobody needs any
 * more. Whoever was away gets one, and the next after the whole interval. Gives the same array when nothing is due. Pure.
 */
export function reminded(topics: Topic[], around: Around): Topic[] {
  let incidents: Map<string, Incident> | undefined;
  const incidentOf = (id: string) => {
    incidents ??= new Map(
      topics.flatMap((topic) => (topic.kind === 'incident' ? [[topic.id, topic] as const] : [])),
    );
    return incidents.get(id);
  };
  const after = topics.map((topic): Topic => {
    if (topic.kind !== 'incident' && topic.kind !== 'group') return topic;
    if (!goesOn(topic) || !topic.deliveries.some((one) => isConcerned(one, topic, around))) {
      return topic;
    }
    const open = topic.kind === 'incident' ? [topic] : openOf(topic, incidentOf);
    // Of a monitor that is missing for a moment nothing is said, and nothing taken back.
    if (!open.some(({ monitorId }) => around.isSeen(monitorId))) return topic;
    const isNeeded = open.some((incident) => needsCare(incident, around));
    const deliveries = topic.deliveries.map((one) =>
      isConcerned(one, topic, around) ? withReminder(one, isNeeded, around) : one,
    );
    return deliveries.every((one, at) => one === topic.deliveries[at])
      ? topic
      : { ...topic, deliveries };
  });
  return after.every((topic, at) => topic === topics[at]) ? topics : after;
}

const openOf = ({ members }: Group, incidentOf: (id: string) => Incident | undefined) =>
  members.flatMap(({ incidentId, endedAtMs }) => {
    const incident = endedAtMs === undefined ? incidentOf(incidentId) : undefined;
    return incident ? [incident] : [];
  });

const isReminder = ({ line }: Delivery) => line?.what === 'reminder';

/** Whether there is a reminder, or one is due. */
function isConcerned(delivery: Delivery, { openedAtMs }: Topic, around: Around): boolean {
  if (delivery.line) return isReminder(delivery);
  const { posted, shownOpen, dead, remindedAtMs = openedAtMs, place } = delivery;
  if (!posted || !shownOpen || dead !== undefined) return false;
  const remindMs = around.remindMsOf(place);
  return remindMs !== undefined && around.nowMs - remindedAtMs >= remindMs;
}

/** Somebody has to know of it: it is an outage, nobody looks after it, wants to be left alone, or was told that it is quiet while it flaps. */
function needsCare(incident: Incident, { nowMs, isSeen }: Around): boolean {
  const { monitorId, acknowledged, snoozed, flapping, degraded } = incident;
  return (
    isSeen(monitorId) &&
    !acknowledged &&
    (snoozed?.untilMs ?? 0) <= nowMs &&
    !flapping &&
    degraded === undefined &&
    !isSilenced(incident)
  );
}

function withReminder(delivery: Delivery, isNeeded: boolean, around: Around): Delivery {
  const { line, ...rest } = delivery;
  const { nowMs, remindMsOf } = around;
  if (!isNeeded || remindMsOf(delivery.place) === undefined) return line ? rest : delivery;
  if (line && nowMs - line.atMs < STALE_MS) return delivery;
  const id = `${delivery.postId}/${nowMs}`;
  return { ...rest, line: { what: 'reminder', id, atMs: nowMs, attempted: false } };
}
