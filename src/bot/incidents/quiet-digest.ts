import { newGroup, withMembers } from './groups.ts';
import type { Alert, Delivery, Group, Incident } from './watch-state.ts';

interface Around {
  nowMs: number;
  newId: () => string;
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
  const waiting = new Map<string, Waiting[]>();
  const rest = alerts.map((alert): Alert => {
    if (alert.kind === 'group') return withHours(alert, quietOf);
    if (alert.kind !== 'incident') return alert;
    const caught = alert.deliveries.filter((one) => isFree(one, nowMs) && quietOf(one.place));
    if (caught.length === 0) return alert;
    for (const { place, earlier } of caught) {
      const one = { incident: alert, earlierTimes: earlier?.count ?? 0 };
      const others = waiting.get(place);
      if (others) others.push(one);
      else waiting.set(place, [one]);
    }
    return { ...alert, deliveries: alert.deliveries.filter((one) => !caught.includes(one)) };
  });
  const changed = new Map<Alert, Group>();
  const made: Group[] = [];
  for (const [place, caught] of waiting) {
    const held = rest.findLast((alert) => isHeld(alert, place));
    const group = withCaught(held ?? newGroup(place, around), caught, nowMs);
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
  earlierTimes: number;
}

/** It may be moved: no try to post it was made, and nobody snoozed it. */
const isFree = ({ attempted, dead, heldUntilMs = 0 }: Delivery, nowMs: number) =>
  !attempted && dead === undefined && heldUntilMs <= nowMs;

function isHeld(alert: Alert, place: string): alert is Group {
  return alert.kind === 'group' && alert.place === place && alert.deliveries.every(isUntouched);
}

const isUntouched = ({ attempted, dead }: Delivery) => !attempted && dead === undefined;

function withCaught(group: Group, caught: readonly Waiting[], nowMs: number): Group {
  const incidents = caught.map(({ incident }) => incident);
  const joined = withMembers(group, incidents, nowMs);
  const earlier = new Map(
    caught.map(({ incident, earlierTimes }) => [incident.monitorId, earlierTimes]),
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
