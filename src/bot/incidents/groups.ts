import { FLAPPING_DOWNS } from './flapping.ts';
import { type AlertContext, isUndelivered, newDelivery } from './incidents.ts';
import {
  type Alert,
  type Delivery,
  type Group,
  groupBy,
  type Incident,
  incidentsIn,
  mapChanged,
} from './watch-state.ts';

/**
 * Outages that a place receives within a minute share messages: the first has its own, all others one group. A minute after
 * the group was posted, the next outage is a new message, which notifies and has its own facts.
 */
const TOGETHER_MS = 60_000;

/**
 * Puts outages that began together into one message a place. `opened` are the incidents of this poll; a delivery that may
 * have gone out already stays where it is. Pure.
 */
export function grouped(
  alerts: readonly Alert[],
  opened: readonly Incident[],
  around: AlertContext,
): Alert[] {
  const streams = [...groupBy(opened, streamOf).values()];
  return streams.reduce<Alert[]>((all, alike) => groupedAlike(all, alike, around), [...alerts]);
}

/**
 * Alerts share messages within a stream only. An outage must not be added to a message about milder troubles, which called
 * nobody, nor an alert of another system to one about monitors.
 */
const streamOf = (alert: Alert) => `${isMild(alert)} ${('intake' in alert && alert.intake) || ''}`;

const isMild = (alert: Alert) => 'degraded' in alert && Boolean(alert.degraded);

/** What tells of incidents that nobody acknowledged takes up no others by itself. */
const isOfEscalation = (alert: Alert) => alert.kind === 'group' && alert.escalation !== undefined;

/** The same, of incidents of one stream. */
function groupedAlike(
  alerts: readonly Alert[],
  opened: readonly [Incident, ...Incident[]],
  around: AlertContext,
): Alert[] {
  const { nowMs } = around;
  const [first] = opened;
  const stream = streamOf(first);
  const alike = alerts.filter((alert) => streamOf(alert) === stream && !isOfEscalation(alert));
  const groups = new Map<string, Group>();
  for (const alert of alike) {
    if (alert.kind === 'group' && takesMore(alert, nowMs)) groups.set(alert.place, alert);
  }
  const groupOf = (place: string, { monitorId, flapped }: Incident) => {
    const open = groups.get(place);
    // What stays DOWN after it flapped is to be noticed.
    const isShown = flapped && open && !open.deliveries.every(isUndelivered);
    return isShown && open.members.some((one) => one.monitorId === monitorId) ? undefined : open;
  };
  const recent = recentPlaces(alike, nowMs);
  const counts = new Map<string, number>();
  for (const place of opened.flatMap(freePlaces)) counts.set(place, (counts.get(place) ?? 0) + 1);

  const joining: Array<{ incident: Incident; to: Group | string }> = [];
  const rest = opened.map((incident) => {
    const places = freePlaces(incident).filter(
      (place) => groupOf(place, incident) || recent.has(place) || (counts.get(place) ?? 0) > 1,
    );
    if (places.length === 0) return incident;
    joining.push(...places.map((place) => ({ incident, to: groupOf(place, incident) ?? place })));
    const deliveries = incident.deliveries.filter(({ place }) => !places.includes(place));
    return { ...incident, deliveries };
  });

  const changed = new Map<Group, Group>();
  const made: Group[] = [];
  // By the group, or by the place where one begins.
  for (const [to, joined] of groupBy(joining, (one) => one.to)) {
    const incidents = joined.map(({ incident }) => incident);
    if (typeof to !== 'string') changed.set(to, withMembers(to, incidents));
    else {
      const group: Group = {
        ...newGroup(to, around, first.intake),
        ...(isMild(first) && { degraded: true }),
      };
      made.push(withMembers(group, incidents));
    }
  }
  return [
    ...alerts.map((alert) => (alert.kind === 'group' && changed.get(alert)) || alert),
    ...rest,
    ...made,
  ];
}

/** Groups that go on, oldest first. */
export const openGroups = (alerts: readonly Alert[]): Group[] =>
  alerts.filter((alert): alert is Group => alert.kind === 'group' && alert.endedAtMs === undefined);

/** Groups with what became of their members, or one of them alone; the same array when nothing did. Pure. */
export function refreshed(alerts: Alert[], nowMs: number, only?: string): Alert[] {
  const isChanging = (alert: Alert): alert is Group =>
    alert.kind === 'group' && mayChange(alert) && (only === undefined || alert.id === only);
  if (!alerts.some(isChanging)) return alerts;
  const incidents = new Map(incidentsIn(alerts).map((incident) => [incident.id, incident]));
  return mapChanged(alerts, (alert) =>
    isChanging(alert) ? refreshedGroup(alert, incidents, nowMs) : alert,
  );
}

/** What is over tells nothing new but that a snooze is over, too, and its silence elsewhere. */
const mayChange = ({ endedAtMs, members }: Group) =>
  endedAtMs === undefined ||
  members.some(({ snoozed, silenceEnd }) => snoozed || silenceEnd?.status === 'wanted');

function refreshedGroup(
  group: Group,
  incidents: ReadonlyMap<string, Incident>,
  nowMs: number,
): Group {
  const members = group.members.map((member) => {
    const incident = incidents.get(member.incidentId);
    if (group.endedAtMs !== undefined) return withSnoozeOf(member, incident);
    return incident ? updated(member, incident) : member;
  });
  if (members.every((member, at) => member === group.members[at])) return group;
  const isOver =
    group.endedAtMs === undefined && members.every(({ endedAtMs }) => endedAtMs !== undefined);
  const after = { ...group, members, version: group.version + 1 };
  if (!isOver) return after;
  // The last word need not wait for its turn.
  const deliveries = group.deliveries.map(({ heldUntilMs: _, ...delivery }) => delivery);
  return { ...after, deliveries, endedAtMs: nowMs };
}

/** Of what is over, how its snooze is. */
function withSnoozeOf(member: Member, incident: Incident | undefined): Member {
  const { snoozed, silenceEnd, ...others } = member;
  const isSame =
    (snoozed === undefined || incident?.snoozed !== undefined) &&
    snoozed?.silence?.status === incident?.snoozed?.silence?.status &&
    silenceEnd?.status === incident?.silenceEnd?.status;
  if (isSame || (!snoozed && !incident)) return member;
  return {
    ...others,
    ...(snoozed && incident?.snoozed && { snoozed: incident.snoozed }),
    ...(incident?.silenceEnd && { silenceEnd: incident.silenceEnd }),
  };
}

type Member = Group['members'][number];

const isFree = ({ attempted, earlier, heldUntilMs }: Delivery) =>
  !attempted && !earlier && heldUntilMs === undefined;

const freePlaces = ({ deliveries }: Incident) =>
  deliveries.filter(isFree).map(({ place }) => place);

/**
 * Nothing is lost by joining a message that is to come, also if all of it is over by now. What was gathered in a quiet time takes no
 * more after that.
 */
function takesMore({ deliveries, endedAtMs, quiet }: Group, nowMs: number): boolean {
  if (quiet !== undefined) return false;
  return deliveries.every(
    (one) => isUndelivered(one) || (endedAtMs === undefined && isPostedOfLate(one, nowMs)),
  );
}

const isPostedOfLate = ({ postedAtMs, dead }: Delivery, nowMs: number) =>
  dead === undefined && postedAtMs !== undefined && Math.abs(nowMs - postedAtMs) <= TOGETHER_MS;

/** Places that received an outage a moment ago, or are about to. */
function recentPlaces(alerts: readonly Alert[], nowMs: number): Set<string> {
  const isRecent = (one: Delivery) =>
    isPostedOfLate(one, nowMs) || (isUndelivered(one) && one.heldUntilMs === undefined);
  return new Set(
    alerts
      .filter((alert) => alert.kind === 'incident' || (alert.kind === 'group' && !alert.quiet))
      .flatMap(({ deliveries }) => deliveries.filter(isRecent).map(({ place }) => place)),
  );
}

/** A group of a place, as yet without members. */
export function newGroup(
  place: string,
  { nowMs, newId }: AlertContext,
  intake: string | undefined,
): Group {
  const id = newId();
  return {
    kind: 'group',
    id,
    version: 0,
    openedAtMs: nowMs,
    deliveries: [newDelivery(place, id)],
    place,
    ...(intake !== undefined && { intake }),
    members: [],
  };
}

/** One that was a member before counts again, in its old place. */
export function withMembers(
  { endedAtMs: _, ...group }: Group,
  incidents: readonly Incident[],
): Group {
  const joining = new Set(incidents.map(({ monitorId }) => monitorId));
  const back = group.members.filter(({ monitorId }) => joining.has(monitorId));
  const joined = new Map(back.map((member) => [member.monitorId, member]));
  for (const incident of incidents) {
    const before = joined.get(incident.monitorId);
    const times = (before ? outagesOf(before) : 0) + 1;
    joined.set(incident.monitorId, memberOf(incident, times));
  }
  const inPlace = group.members.map((member) => {
    const now = joined.get(member.monitorId);
    joined.delete(member.monitorId);
    return now ?? member;
  });
  return {
    ...group,
    version: group.version + 1,
    members: [...inPlace, ...joined.values()],
  };
}

/** How often a member was down since it joined: one that flaps joins with its third time. */
export const outagesOf = ({ times, flapping }: Member) =>
  times + (flapping ? flapping.downs - FLAPPING_DOWNS : 0);

/** What may be left out is set one by one, since spreading it takes ten times as long, and a group may have thousands. */
function memberOf(incident: Incident, times: number): Member {
  const { id: incidentId, version, monitorId, name, status, startedAtMs } = incident;
  const { acknowledged, reason, endedAtMs, gone, foundAtStart, unseenFromMs, endUnseenFromMs } =
    incident;
  const member: Member = { incidentId, version, monitorId, name, status, startedAtMs, times };
  if (reason !== undefined) member.reason = reason;
  if (incident.change !== undefined) member.change = incident.change;
  if (endedAtMs !== undefined) member.endedAtMs = endedAtMs;
  if (gone) member.gone = gone;
  if (foundAtStart) member.foundAtStart = foundAtStart;
  if (unseenFromMs !== undefined) member.unseenFromMs = unseenFromMs;
  if (endUnseenFromMs !== undefined) member.endUnseenFromMs = endUnseenFromMs;
  if (incident.reported) {
    const { truncated, silentSinceMs } = incident.reported;
    member.isReported = true;
    if (truncated !== undefined) member.truncated = truncated;
    if (silentSinceMs !== undefined) member.silentSinceMs = silentSinceMs;
  }
  if (incident.closedBy !== undefined) member.closedBy = incident.closedBy;
  if (acknowledged) member.acknowledged = acknowledged.by;
  if (incident.behind?.count) member.behind = incident.behind.count;
  if (incident.snoozed) member.snoozed = incident.snoozed;
  if (incident.silenceEnd) member.silenceEnd = incident.silenceEnd;
  if (incident.degraded !== undefined) member.degraded = incident.degraded;
  if (incident.flapping) {
    const { fromMs, downs, isDown, changedAtMs } = incident.flapping;
    member.flapping = { fromMs, downs, isDown, changedAtMs };
  }
  return member;
}

const updated = (member: Member, incident: Incident): Member =>
  member.version === incident.version ? member : memberOf(incident, member.times);

interface Around extends AlertContext {
  /** The quiet hours of a place, as shown, while they last. */
  quietOf: (place: string) => string | undefined;
}

/**
 * Puts the outages that places cannot be told of, because it is quiet there, into one group a place, which is told when the
 * quiet time is over: all that is yet to be posted, also what waited for another reason. Gives the same array when there
 * is nothing. Pure.
 */
export function gathered(alerts: Alert[], around: Around): Alert[] {
  const { nowMs, quietOf } = around;
  const waiting: Waiting[] = [];
  const rest = alerts.map((alert): Alert => {
    if (alert.kind === 'group') return withHours(alert, quietOf);
    if (alert.kind !== 'incident') return alert;
    const caught = alert.deliveries.filter((one) => isMovable(one, nowMs) && quietOf(one.place));
    if (caught.length === 0) return alert;
    waiting.push(...caught.map((delivery) => ({ incident: alert, delivery })));
    return { ...alert, deliveries: alert.deliveries.filter((one) => !caught.includes(one)) };
  });
  const changed = new Map<Alert, Group>();
  const made: Group[] = [];
  const byDigest = groupBy(waiting, ({ incident, delivery: { place } }) =>
    JSON.stringify([place, incident.intake]),
  );
  for (const caught of byDigest.values()) {
    const [{ incident, delivery }] = caught;
    const { place } = delivery;
    const held = rest.findLast((alert) => isHeld(alert, place, incident.intake));
    const group = withCaught(held ?? newGroup(place, around, incident.intake), caught, nowMs);
    const digest = { ...group, quiet: quietOf(place) };
    if (held) changed.set(held, digest);
    else made.push(digest);
  }
  const isSame = made.length === 0 && rest.every((alert, at) => alert === alerts[at]);
  if (isSame) return alerts;
  return [...rest.map((alert) => changed.get(alert) ?? alert), ...made];
}

interface Waiting {
  incident: Incident;
  delivery: Delivery;
}

/** It may be moved: no try to post it was made, and nobody snoozed it. */
const isMovable = ({ attempted, dead, heldUntilMs = 0 }: Delivery, nowMs: number) =>
  !attempted && dead === undefined && heldUntilMs <= nowMs;

function isHeld(alert: Alert, place: string, intake: string | undefined): alert is Group {
  if (alert.kind !== 'group' || alert.place !== place || alert.escalation) return false;
  return alert.intake === intake && alert.deliveries.every(isUntouched);
}

const isUntouched = ({ attempted, dead }: Delivery) => !attempted && dead === undefined;

function withCaught(group: Group, caught: readonly Waiting[], nowMs: number): Group {
  const incidents = caught.map(({ incident }) => incident);
  const joined = withMembers(group, incidents);
  const earlier = new Map(
    caught.map(({ incident, delivery }) => [incident.monitorId, delivery.earlier?.count ?? 0]),
  );
  const members = joined.members.map((member) => ({
    ...member,
    times: member.times + (earlier.get(member.monitorId) ?? 0),
  }));
  // What waited for another reason may be over by now.
  const isOver = members.every(({ endedAtMs }) => endedAtMs !== undefined);
  return { ...joined, members, ...(isOver && { endedAtMs: nowMs }) };
}

/** The hours may be changed while it is held. */
function withHours(group: Group, quietOf: Around['quietOf']): Group {
  const { place, quiet, deliveries, version } = group;
  if (quiet === undefined || !deliveries.every(isUntouched)) return group;
  const hours = quietOf(place) ?? quiet;
  return hours === quiet ? group : { ...group, quiet: hours, version: version + 1 };
}
