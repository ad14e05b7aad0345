import { isDown } from '../shared/status.ts';
import type { Delivery, Flapping, Incident, Topic } from './watch-state.ts';

/** Whether a place has no message yet, and is to have one. */
export const isUntold = ({ posted, dead }: Delivery) => posted === undefined && dead === undefined;

/** What a place was not told of earlier outages: how many, since when, and the message that may be there. */
export interface Untold {
  delivery: Delivery;
  count: number;
  fromMs: number;
}

/**
 * Takes from an earlier outage what no place was told of it yet, for the new outage to carry: twenty flaps while a platform
 * is away become one message. The id of the message stays, because a try with it may have gone through.
 */
export function withoutUntold(
  incident: Incident,
  { untold, flapping }: { untold: Untold[]; flapping?: Flapping | undefined },
): Topic[] {
  const taken = incident.deliveries.filter(isUntold);
  if (taken.length === 0) return [incident];
  const { startedAtMs } = incident;
  for (const delivery of taken) {
    const { count = 0, fromMs = incident.flapping?.fromMs ?? startedAtMs } = delivery.earlier ?? {};
    const outages = count + ownOutages(incident);
    untold.push({ delivery, count: outages - countedIn(flapping, incident, count), fromMs });
  }
  const deliveries = incident.deliveries.filter((delivery) => !isUntold(delivery));
  return deliveries.length === 0 ? [] : [{ ...incident, deliveries }];
}

/** How many outages an incident is; what stayed DOWN after flapping is the new one. */
function ownOutages({ flapping, status }: Incident): number {
  return flapping ? flapping.downs - (isDown({ status }) ? 1 : 0) : 1;
}

/** How many of an outage and the `earlier` ones it carries the new flapping counts itself: its first, or its first two. */
function countedIn(flapping: Flapping | undefined, { startedAtMs }: Incident, earlier: number) {
  if (!flapping || startedAtMs < flapping.fromMs) return 0;
  return startedAtMs === flapping.fromMs || earlier === 0 ? 1 : 2;
}

/** One delivery for each place, but for messages that may be there already. */
export function handedOn(untold: readonly Untold[]): Delivery[] {
  const byPlace = new Map<string, [Untold, ...Untold[]]>();
  for (const one of untold) {
    const [first, ...others] = byPlace.get(one.delivery.place) ?? [];
    byPlace.set(one.delivery.place, first ? [first, ...others, one] : [one]);
  }
  return [...byPlace.values()].flatMap((all) => {
    const tried = all.filter(({ delivery }) => delivery.attempted);
    const [first = all[0], ...others] = tried;
    const kept = new Set([first, ...others]);
    const rest = all.filter((one) => !kept.has(one));
    const count = rest.reduce((sum, one) => sum + one.count, first.count);
    const fromMs = Math.min(...all.map((one) => one.fromMs));
    return [{ ...first, count, fromMs }, ...others].map(withEarlier);
  });
}

function withEarlier({ delivery, count, fromMs }: Untold): Delivery {
  const { earlier: _, ...rest } = delivery;
  return { ...rest, told: 0, ...(count > 0 && { earlier: { count, fromMs } }) };
}
