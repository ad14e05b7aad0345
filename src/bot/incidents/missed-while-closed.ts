import { closedAt, forgotten, type Request, withoutRefusal } from './closed-places.ts';
import { goesOn, heldUntil, withNoticeOver } from './delivery.ts';
import { newGroup, withMembers } from './groups.ts';
import { isOpen, isTold, newDelivery } from './incidents.ts';
import { isUntold } from './undelivered.ts';
import type { Delivery, Group, Incident, Topic, Watching } from './watch-state.ts';

/** What a closed place is to be told is kept for so long, and no more messages of it than this. */
const KEEP_MS = 30 * 86_400_000;
const KEEP_COUNT = 200;

interface Around {
  nowMs: number;
  newId: () => string;
}

/**
 * The document with what a closed place is to be told once it is open, and nothing more: what it missed and still goes on,
 * in one message, and the changes of what stands there, each as far as that is kept. The same document where nothing is
 * different, or the place is not closed. Pure.
 */
export function withMissed(watching: Watching, place: string, around: Around): Watching {
  const closed = closedAt(watching, place);
  if (!closed) return watching;
  if (around.nowMs - closed.sinceMs >= KEEP_MS) {
    return forgotten(withoutOldest(watching, place, 0), place);
  }
  const topics = gathered(watching.topics, place, around);
  const missed = topics === watching.topics ? watching : { ...watching, topics };
  return withoutOldest(missed, place, KEEP_COUNT);
}

/** How many messages of a place wait to be told or changed. Pure. */
export const waitingAt = ({ topics }: Watching, place: string): number =>
  topics.reduce((sum, topic) => sum + topic.deliveries.filter(isWaiting(topic, place)).length, 0);

const isWaiting = (topic: Topic, place: string) => (delivery: Delivery) =>
  delivery.place === place && !isTold(topic, delivery);

/**
 * The document after a place took something. If it was closed until now, what it missed is told, and nothing is said under
 * messages about what changed meanwhile: they show it. The same document where the place was not closed. Pure.
 */
export function withTaken(
  watching: Watching,
  { place, request }: { place: string; request: Request },
  around: Around,
): Watching {
  if (!closedAt(watching, place)) return watching;
  const missed = withMissed(watching, place, around);
  const quiet = { ...missed, topics: missed.topics.map((topic) => withoutLines(topic, place)) };
  const taken = withoutRefusal(quiet, place, request);
  return closedAt(taken, place) ? taken : withNoticeOver(taken, place, around.nowMs);
}

function withoutLines(topic: Topic, place: string): Topic {
  if (!topic.deliveries.some(isWaiting(topic, place))) return topic;
  const deliveries = topic.deliveries.map((delivery) => {
    if (delivery.place !== place || !delivery.posted) return delivery;
    const { line: _, ...rest } = delivery;
    return goesOn(topic) ? rest : { ...rest, endSaid: true };
  });
  return { ...topic, deliveries };
}

/** Gives up all but the newest messages of a place. */
function withoutOldest(watching: Watching, place: string, count: number): Watching {
  let left = waitingAt(watching, place) - count;
  if (left <= 0) return watching;
  const dead = 'It waited too long, or too much waited, for its channel to be open again.';
  const topics = watching.topics.map((topic) => {
    const isOurs = isWaiting(topic, place);
    if (left <= 0 || !topic.deliveries.some(isOurs)) return topic;
    const deliveries = topic.deliveries.map((delivery) =>
      isOurs(delivery) && left-- > 0 ? { ...delivery, dead } : delivery,
    );
    return { ...topic, deliveries };
  });
  return { ...watching, topics };
}

/**
 * The topics with all that a place was not told of, and that goes on, in one message: that of an outage, where it is only
 * one. What is over is left out. A message that may be there already keeps what it holds.
 */
function gathered(topics: Topic[], place: string, { nowMs, newId }: Around): Topic[] {
  const isMissed = (one: Delivery) =>
    one.place === place && isUntold(one) && !one.attempted && heldUntil(one, nowMs) <= nowMs;
  const groups = topics.filter(
    (topic): topic is Group => topic.kind === 'group' && topic.deliveries.some(isMissed),
  );
  const tried = topics.findLast((topic): topic is Group => isTriedGroup(topic, place));
  const missed = missedIn(topics, isMissed);
  const isOne = !tried && missed.length < 2;
  const own = isOne ? missed[0] : undefined;
  const group = isOne
    ? undefined
    : together(missed, tried ?? groups.at(-1), { place, nowMs, newId });

  const after = topics.flatMap((topic): Topic[] => {
    if (topic.kind === 'group' && (topic === tried || groups.includes(topic))) {
      return group?.id === topic.id ? [group] : [];
    }
    return topic.kind === 'incident'
      ? [withOwn(topic, { isOwn: topic === own, isMissed, place })]
      : [topic];
  });
  const isNew = group && !after.includes(group);
  const isSame = after.length === topics.length && after.every((topic, at) => topic === topics[at]);
  return isSame && !isNew ? topics : isNew ? [...after, group] : after;
}

const isTriedGroup = (topic: Topic, place: string) =>
  topic.kind === 'group' &&
  topic.place === place &&
  goesOn(topic) &&
  topic.deliveries.some((one) => isUntold(one) && one.attempted);

/** Incidents that go on, of which the place has no message. */
function missedIn(topics: readonly Topic[], isMissed: (one: Delivery) => boolean): Incident[] {
  const ids = new Set<string>();
  for (const topic of topics) {
    if (!topic.deliveries.some(isMissed)) continue;
    if (topic.kind === 'incident') ids.add(topic.id);
    if (topic.kind === 'group') for (const { incidentId } of topic.members) ids.add(incidentId);
  }
  return topics.filter((topic): topic is Incident => ids.has(topic.id) && isOpen(topic));
}

/** An incident with a delivery of its own to the place, or without. */
function withOwn(
  incident: Incident,
  {
    isOwn,
    isMissed,
    place,
  }: { isOwn: boolean; isMissed: (one: Delivery) => boolean; place: string },
): Incident {
  const { deliveries } = incident;
  const has = deliveries.find(isMissed);
  if (!has && !isOwn) return incident;
  const others = deliveries.filter((one) => !isMissed(one));
  if (!isOwn) return { ...incident, deliveries: others };
  if (has && !has.earlier) return incident;
  // The outages before it are over.
  const { earlier: _, ...own } = has ?? newDelivery(place, incident.id);
  return { ...incident, deliveries: [...others, own] };
}

/** One group of all of them, in the place of an earlier one that the place was not told of. */
function together(
  incidents: readonly Incident[],
  before: Group | undefined,
  { place, nowMs, newId }: Around & { place: string },
): Group {
  if (before && isTriedGroup(before, place)) {
    const known = new Set(before.members.map(({ incidentId }) => incidentId));
    const fresh = incidents.filter(({ id }) => !known.has(id));
    return fresh.length === 0 ? before : withMembers(before, fresh, nowMs);
  }
  const isSame =
    before?.missed &&
    before?.members.length === incidents.length &&
    before.members.every(
      ({ incidentId, times }, at) => incidentId === incidents[at]?.id && times === 1,
    );
  if (before && isSame) return before;
  const {
    quiet: _,
    degraded: __,
    stayed: ___,
    ...base
  } = before ?? newGroup(place, { nowMs, newId });
  // Nobody is called for milder troubles alone.
  const areMild = incidents.every(({ degraded }) => degraded !== undefined);
  const group = { ...base, missed: true, members: [], ...(areMild && { degraded: true }) };
  return withMembers(group, incidents, nowMs);
}
