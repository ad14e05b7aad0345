import { FLAPPING_DOWNS } from '../../contracts/flapping.ts';
import { type AlertContext, isUndelivered, newDelivery } from './incidents.ts';
import {
  type Alert,
  type Delivery,
  type Group,
  type GroupMember,
  groupBy,
  type Incident,
  incidentsIn,
  mapChanged,
} from './watch-state.ts';

/**
 * Outages that a channel receives within a minute share messages: the first has its own, the others one group. A minute
 * after the group was posted, the next outage is a new message, which notifies and has its own facts.
 */
const TOGETHER_MS = 60_000;

/** Puts new incidents of one poll into messages. A delivery that may have been sent stays where it is. Pure. */
export function withGroups(
  alerts: readonly Alert[],
  opened: readonly Incident[],
  around: AlertContext,
): Alert[] {
  const streams = [...groupBy(opened, streamOf).values()];
  return streams.reduce<Alert[]>((all, alike) => groupedAlike(all, alike, around), [...alerts]);
}

/**
 * Alerts share messages only within a stream. An outage doesn't join a message about milder problems, which mentioned
 * nobody, and a reported alert doesn't join one about monitors.
 */
const streamOf = (alert: Alert) => `${isMild(alert)} ${('intake' in alert && alert.intake) || ''}`;

const isMild = (alert: Alert) => 'degraded' in alert && Boolean(alert.degraded);

/** Escalations don't accept other incidents. */
const isOfEscalation = (alert: Alert) => alert.kind === 'group' && alert.escalation !== undefined;

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
    // A monitor that stays DOWN after flapping gets a new message, so that people notice it.
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
  // The key is a group, or the place of a new one.
  for (const [to, joined] of groupBy(joining, (one) => one.to)) {
    const incidents = joined.map(({ incident }) => incident);
    if (typeof to !== 'string') changed.set(to, withMembers(to, incidents));
    else {
      const group = newGroup(to, around, first.intake);
      made.push(withMembers({ ...group, degraded: isMild(first) || undefined }, incidents));
    }
  }
  return [
    ...alerts.map((alert) => (alert.kind === 'group' && changed.get(alert)) || alert),
    ...rest,
    ...made,
  ];
}

/** Oldest first. */
export const openGroups = (alerts: readonly Alert[]): Group[] =>
  alerts.filter((alert): alert is Group => alert.kind === 'group' && alert.endedAtMs === undefined);

/** Updates groups from their incidents: all of them, or only one. Returns the same array if nothing changes. Pure. */
export function refreshed(alerts: Alert[], nowMs: number, only?: string): Alert[] {
  const isChanging = (alert: Alert): alert is Group =>
    alert.kind === 'group' && mayChange(alert) && (only === undefined || alert.id === only);
  if (!alerts.some(isChanging)) return alerts;
  const incidents = new Map(incidentsIn(alerts).map((incident) => [incident.id, incident]));
  return mapChanged(alerts, (alert) =>
    isChanging(alert) ? refreshedGroup(alert, incidents, nowMs) : alert,
  );
}

/** After its end, a group only shows that a snooze and its silence end. */
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
  // The end is shown without pacing.
  const deliveries = group.deliveries.map(({ heldUntilMs: _, ...delivery }) => delivery);
  return { ...after, deliveries, endedAtMs: nowMs };
}

function withSnoozeOf(member: GroupMember, incident: Incident | undefined): GroupMember {
  const { snoozed, silenceEnd, ...others } = member;
  const isSame =
    (snoozed === undefined || incident?.snoozed !== undefined) &&
    snoozed?.silence?.status === incident?.snoozed?.silence?.status &&
    silenceEnd?.status === incident?.silenceEnd?.status;
  if (isSame || (!snoozed && !incident)) return member;
  return {
    ...others,
    snoozed: snoozed && incident?.snoozed,
    silenceEnd: incident?.silenceEnd,
  };
}

const isFree = ({ attempted, earlier, heldUntilMs }: Delivery) =>
  !attempted && !earlier && heldUntilMs === undefined;

const freePlaces = ({ deliveries }: Incident) =>
  deliveries.filter(isFree).map(({ place }) => place);

/**
 * A message that isn't posted yet accepts more, even if its outages are over. A digest of quiet hours doesn't once they
 * end.
 */
function takesMore({ deliveries, endedAtMs, quiet }: Group, nowMs: number): boolean {
  if (quiet !== undefined) return false;
  return deliveries.every(
    (one) => isUndelivered(one) || (endedAtMs === undefined && isPostedOfLate(one, nowMs)),
  );
}

const isPostedOfLate = ({ postedAtMs, dead }: Delivery, nowMs: number) =>
  dead === undefined && postedAtMs !== undefined && Math.abs(nowMs - postedAtMs) <= TOGETHER_MS;

function recentPlaces(alerts: readonly Alert[], nowMs: number): Set<string> {
  const isRecent = (one: Delivery) =>
    isPostedOfLate(one, nowMs) || (isUndelivered(one) && one.heldUntilMs === undefined);
  return new Set(
    alerts
      .filter((alert) => alert.kind === 'incident' || (alert.kind === 'group' && !alert.quiet))
      .flatMap(({ deliveries }) => deliveries.filter(isRecent).map(({ place }) => place)),
  );
}

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
    intake,
    members: [],
  };
}

/** A monitor that is a member already counts once more. */
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

/** Outages of a member since it joined. A flapping monitor joins with its third outage. */
export const outagesOf = ({ times, flapping }: GroupMember) =>
  times + (flapping ? flapping.downs - FLAPPING_DOWNS : 0);

/** Spreads would take ten times as long, and a group may have thousands of members. */
function memberOf(incident: Incident, times: number): GroupMember {
  const { flapping, reported } = incident;
  return {
    incidentId: incident.id,
    version: incident.version,
    monitorId: incident.monitorId,
    name: incident.name,
    status: incident.status,
    degraded: incident.degraded,
    startedAtMs: incident.startedAtMs,
    endedAtMs: incident.endedAtMs,
    reason: incident.reason,
    change: incident.change,
    gone: incident.gone,
    foundAtStart: incident.foundAtStart,
    unseenFromMs: incident.unseenFromMs,
    endUnseenFromMs: incident.endUnseenFromMs,
    isReported: reported && true,
    truncated: reported?.truncated,
    silentSinceMs: reported?.silentSinceMs,
    closedBy: incident.closedBy,
    times,
    behind: incident.behind?.count || undefined,
    acknowledged: incident.acknowledged?.by,
    snoozed: incident.snoozed,
    silenceEnd: incident.silenceEnd,
    flapping: flapping && {
      fromMs: flapping.fromMs,
      downs: flapping.downs,
      isDown: flapping.isDown,
      changedAtMs: flapping.changedAtMs,
    },
  };
}

const updated = (member: GroupMember, incident: Incident): GroupMember =>
  member.version === incident.version ? member : memberOf(incident, member.times);

interface DigestContext extends AlertContext {
  /** The current quiet hours of a place, as people write them. */
  quietOf: (place: string) => string | undefined;
}

/**
 * Puts outages of channels in quiet hours into one digest per channel, which is posted afterwards. Returns the same
 * array if nothing changes. Pure.
 */
export function withQuietDigests(alerts: Alert[], around: DigestContext): Alert[] {
  const { nowMs, quietOf } = around;
  const waiting: CaughtDelivery[] = [];
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

interface CaughtDelivery {
  incident: Incident;
  delivery: Delivery;
}

/** It was never sent and isn't snoozed. */
const isMovable = ({ attempted, dead, heldUntilMs = 0 }: Delivery, nowMs: number) =>
  !attempted && dead === undefined && heldUntilMs <= nowMs;

function isHeld(alert: Alert, place: string, intake: string | undefined): alert is Group {
  if (alert.kind !== 'group' || alert.place !== place || alert.escalation) return false;
  return alert.intake === intake && alert.deliveries.every(isUntouched);
}

const isUntouched = ({ attempted, dead }: Delivery) => !attempted && dead === undefined;

function withCaught(group: Group, caught: readonly CaughtDelivery[], nowMs: number): Group {
  const incidents = caught.map(({ incident }) => incident);
  const joined = withMembers(group, incidents);
  const earlier = new Map(
    caught.map(({ incident, delivery }) => [incident.monitorId, delivery.earlier?.count ?? 0]),
  );
  const members = joined.members.map((member) => ({
    ...member,
    times: member.times + (earlier.get(member.monitorId) ?? 0),
  }));
  // Outages that waited for another reason may be over.
  const isOver = members.every(({ endedAtMs }) => endedAtMs !== undefined);
  return { ...joined, members, ...(isOver && { endedAtMs: nowMs }) };
}

/** The hours may change while the digest waits. */
function withHours(group: Group, quietOf: DigestContext['quietOf']): Group {
  const { place, quiet, deliveries, version } = group;
  if (quiet === undefined || !deliveries.every(isUntouched)) return group;
  const hours = quietOf(place) ?? quiet;
  return hours === quiet ? group : { ...group, quiet: hours, version: version + 1 };
}
