import { FLAPPING_DOWNS } from './flapping.ts';
import { newDelivery } from './incidents.ts';
import { isUntold } from './undelivered.ts';
import type { Delivery, Flapping, Group, Incident, Topic } from './watch-state.ts';

/** An outage so soon after another one of the same place is told together with those that follow. */
const TOGETHER_MS = 60_000;

/** A group takes new members for so long after the last one, while one of them is still down. */
const JOIN_MS = 300_000;

/**
 * Puts outages that began together into one message a place: a lone one has its own, the second and all after it share
 * one. `opened` are the incidents of this look; a delivery that may have gone out already stays where it is. A monitor of
 * a group that its place was not told of yet counts again there, however late: one line tells of all its outages. Pure.
 */
export function grouped(
  topics: readonly Topic[],
  opened: readonly Incident[],
  around: { nowMs: number; newId: () => string },
): Topic[] {
  return KINDS.reduce<Topic[]>(
    (all, kind) => {
      const alike = opened.filter((one) => kindOf(one) === kind);
      return alike.length === 0 ? all : groupedAlike(all, alike, kind, around);
    },
    [...topics],
  );
}

/**
 * An outage must not be added to a message about milder troubles, nor what stayed DOWN after it flapped to one in which it
 * stood before: nobody would be called.
 */
const KINDS = ['outage', 'stayed', 'mild'] as const;
type Kind = (typeof KINDS)[number];

function kindOf(topic: Topic): Kind {
  if ('degraded' in topic && topic.degraded) return 'mild';
  const isStayed = 'flapped' in topic ? topic.flapped : 'stayed' in topic && topic.stayed;
  return isStayed ? 'stayed' : 'outage';
}

/** The same, of incidents of one kind. */
function groupedAlike(
  topics: readonly Topic[],
  opened: readonly Incident[],
  kind: Kind,
  around: { nowMs: number; newId: () => string },
): Topic[] {
  const alike = topics.filter((topic) => kindOf(topic) === kind);
  const groups = new Map<string, Group>();
  for (const topic of alike) {
    if (topic.kind === 'group' && takesMore(topic, around.nowMs)) groups.set(topic.place, topic);
  }
  const isMild = kind === 'mild';
  const untold = untoldMembers(
    topics.filter((topic) => (kindOf(topic) === 'mild') === isMild),
    opened,
  );
  const groupOf = (place: string, { monitorId }: Incident) => {
    const group = untold.get(place)?.get(monitorId);
    if (group) return group;
    const open = groups.get(place);
    const wasTold = kind === 'stayed' && open?.members.some((one) => one.monitorId === monitorId);
    return wasTold ? undefined : open;
  };
  const recent = recentPlaces(alike, around.nowMs);
  const counts = new Map<string, number>();
  for (const place of opened.flatMap(freePlaces)) counts.set(place, (counts.get(place) ?? 0) + 1);

  /** By the group, or by the place where one begins. */
  const joined = new Map<Group | string, Incident[]>();
  const rest = opened.map((incident) => {
    const places = freePlaces(incident).filter(
      (place) => groupOf(place, incident) || recent.has(place) || (counts.get(place) ?? 0) > 1,
    );
    if (places.length === 0) return incident;
    for (const place of places) {
      const to = groupOf(place, incident) ?? place;
      const others = joined.get(to);
      if (others) others.push(incident);
      else joined.set(to, [incident]);
    }
    const deliveries = incident.deliveries.filter(({ place }) => !places.includes(place));
    return { ...incident, deliveries };
  });

  const changed = new Map<Group, Group>();
  const made: Group[] = [];
  for (const [to, incidents] of joined) {
    if (typeof to !== 'string') changed.set(to, withMembers(to, incidents, around.nowMs));
    else {
      const group: Group = {
        ...newGroup(to, around),
        ...(isMild && { degraded: true }),
        ...(kind === 'stayed' && { stayed: true }),
      };
      made.push(withMembers(group, incidents, around.nowMs));
    }
  }
  return [
    ...topics.map((topic) => (topic.kind === 'group' && changed.get(topic)) || topic),
    ...rest,
    ...made,
  ];
}

/** Groups that go on, oldest first. */
export const openGroups = (topics: readonly Topic[]): Group[] =>
  topics.filter((topic): topic is Group => topic.kind === 'group' && topic.endedAtMs === undefined);

/** Groups with what became of their members, or one of them alone; the same array when nothing did. Pure. */
export function refreshed(topics: Topic[], nowMs: number, only?: string): Topic[] {
  const changing = topics.filter(
    (topic): topic is Group =>
      topic.kind === 'group' && mayChange(topic) && (only === undefined || topic.id === only),
  );
  if (changing.length === 0) return topics;
  const incidents = new Map<string, Incident>();
  for (const topic of topics) if (topic.kind === 'incident') incidents.set(topic.id, topic);
  const changed = new Map<Topic, Group>();
  for (const group of changing) {
    const after = refreshedGroup(group, incidents, nowMs);
    if (after !== group) changed.set(group, after);
  }
  return changed.size === 0 ? topics : topics.map((topic) => changed.get(topic) ?? topic);
}

/** What is over tells nothing new but that a snooze is over, too. */
const mayChange = ({ endedAtMs, members }: Group) =>
  endedAtMs === undefined || members.some(({ snoozed }) => snoozed);

function refreshedGroup(
  group: Group,
  incidents: ReadonlyMap<string, Incident>,
  nowMs: number,
): Group {
  const members = group.members.map((member) => {
    const incident = incidents.get(member.incidentId);
    if (group.endedAtMs !== undefined) return incident?.snoozed ? member : withoutSnooze(member);
    return incident ? updated(member, incident) : member;
  });
  if (members.every((member, at) => member === group.members[at])) return group;
  const isOver =
    group.endedAtMs === undefined && members.every(({ endedAtMs }) => endedAtMs !== undefined);
  const after = { ...group, members, version: group.version + 1 };
  return isOver ? ended(after, nowMs) : after;
}

function withoutSnooze(member: Member): Member {
  if (!member.snoozed) return member;
  const { snoozed: _, ...others } = member;
  return others;
}

/** The last word need not wait for its turn. */
function ended(group: Group, nowMs: number): Group {
  const deliveries = group.deliveries.map(({ heldUntilMs: _, ...delivery }) => delivery);
  return { ...group, deliveries, endedAtMs: nowMs };
}

type Member = Group['members'][number];

const isFree = ({ attempted, earlier, heldUntilMs }: Delivery) =>
  !attempted && !earlier && heldUntilMs === undefined;

const freePlaces = ({ deliveries }: Incident) =>
  deliveries.filter(isFree).map(({ place }) => place);

/** What was gathered in a quiet time takes no more when it is over. */
function takesMore({ joinedAtMs, endedAtMs, quiet }: Group, nowMs: number): boolean {
  return endedAtMs === undefined && quiet === undefined && nowMs - joinedAtMs <= JOIN_MS;
}

/** By place and monitor, the group of which the place was told nothing yet, for monitors of these incidents. */
function untoldMembers(
  topics: readonly Topic[],
  incidents: readonly Incident[],
): Map<string, Map<string, Group>> {
  const monitors = new Set(incidents.map(({ monitorId }) => monitorId));
  const untold = new Map<string, Map<string, Group>>();
  for (const topic of topics) {
    if (topic.kind !== 'group' || !topic.deliveries.some(isUntold)) continue;
    const groups = untold.get(topic.place) ?? new Map<string, Group>();
    for (const { monitorId } of topic.members) {
      if (monitors.has(monitorId)) groups.set(monitorId, topic);
    }
    untold.set(topic.place, groups);
  }
  return untold;
}

/** Places that were told of an outage, or are about to be, a moment ago. */
function recentPlaces(topics: readonly Topic[], nowMs: number): Set<string> {
  return new Set(
    topics
      .filter(
        (topic) =>
          (topic.kind === 'incident' || (topic.kind === 'group' && topic.quiet === undefined)) &&
          Math.abs(nowMs - topic.openedAtMs) <= TOGETHER_MS,
      )
      .flatMap(({ deliveries }) => deliveries.map(({ place }) => place)),
  );
}

/** A group of a place, as yet without members. */
export function newGroup(
  place: string,
  { nowMs, newId }: { nowMs: number; newId: () => string },
): Group {
  const id = newId();
  return {
    kind: 'group',
    id,
    version: 0,
    openedAtMs: nowMs,
    joinedAtMs: nowMs,
    deliveries: [newDelivery(place, id)],
    place,
    members: [],
  };
}

/** One that was a member before counts again, in its old place. */
export function withMembers(
  { endedAtMs: _, ...group }: Group,
  incidents: readonly Incident[],
  nowMs: number,
): Group {
  const joining = new Set(incidents.map(({ monitorId }) => monitorId));
  const back = group.members.filter(({ monitorId }) => joining.has(monitorId));
  const joined = new Map(back.map((member) => [member.monitorId, member]));
  for (const incident of incidents) {
    const before = joined.get(incident.monitorId);
    const times = (before ? outagesOf(before) : 0) + 1;
    joined.set(incident.monitorId, memberOf(incident, times));
  }
  const inPlace = back.length === 0 ? group.members : group.members.map(inTheirPlace(joined));
  return {
    ...group,
    version: group.version + 1,
    joinedAtMs: nowMs,
    members: [...inPlace, ...joined.values()],
  };
}

/** Takes members out of those that joined, for the places that they had. */
function inTheirPlace(joined: Map<string, Member>): (member: Member) => Member {
  return (member) => {
    const now = joined.get(member.monitorId);
    joined.delete(member.monitorId);
    return now ?? member;
  };
}

/** How often a member was down since it joined: one that flaps joins with its third time. */
export const outagesOf = ({ times, flapping }: Member) =>
  times + (flapping ? flapping.downs - FLAPPING_DOWNS : 0);

/** What may be left out is set one by one, since spreading it takes ten times as long, and a group may have thousands. */
function memberOf(incident: Incident, times: number): Member {
  const { id: incidentId, monitorId, name, status, startedAtMs, acknowledged } = incident;
  const { reason, endedAtMs, gone, foundAtStart, unseenFromMs, endUnseenFromMs } = incident;
  const member: Member = { incidentId, monitorId, name, status, startedAtMs, times };
  if (reason !== undefined) member.reason = reason;
  if (endedAtMs !== undefined) member.endedAtMs = endedAtMs;
  if (gone) member.gone = gone;
  if (foundAtStart) member.foundAtStart = foundAtStart;
  if (unseenFromMs !== undefined) member.unseenFromMs = unseenFromMs;
  if (endUnseenFromMs !== undefined) member.endUnseenFromMs = endUnseenFromMs;
  if (acknowledged) member.acknowledged = acknowledged.by;
  if (incident.snoozed) member.snoozed = incident.snoozed;
  if (incident.degraded !== undefined) member.degraded = incident.degraded;
  if (incident.flapping) member.flapping = flappingOf(incident.flapping);
  return member;
}

const flappingOf = ({ fromMs, downs, isDown, changedAtMs }: Flapping): Member['flapping'] => ({
  fromMs,
  downs,
  isDown,
  changedAtMs,
});

function updated(member: Member, incident: Incident): Member {
  const isSame =
    member.status === incident.status &&
    member.endedAtMs === incident.endedAtMs &&
    member.flapping?.downs === incident.flapping?.downs &&
    member.acknowledged === incident.acknowledged?.by &&
    member.snoozed?.by === incident.snoozed?.by &&
    member.snoozed?.untilMs === incident.snoozed?.untilMs;
  return isSame ? member : memberOf(incident, member.times);
}
