import { isDown } from '../shared/status.ts';
import type { Alert, Delivery, Flapping, Incident } from './watch-state.ts';

/** Whether a place has no message yet, and is to have one. */
export const isUndelivered = ({ posted, dead }: Delivery) =>
  posted === undefined && dead === undefined;

/** What a place was not told of earlier outages: how many, since when, and the message that may be there. */
export interface UndeliveredOutages {
  delivery: Delivery;
  count: number;
  fromMs: number;
}

/**
 * Takes from an earlier outage what no place was told of it yet, for the new outage to carry: twenty flaps while a platform
 * is away become one message. The id of the message stays, because a try with it may have gone through.
 */
export function withoutUndelivered(
  incident: Incident,
  { undelivered, flapping }: { undelivered: UndeliveredOutages[]; flapping?: Flapping | undefined },
): Alert[] {
  const taken = incident.deliveries.filter(isUndelivered);
  if (taken.length === 0) return [incident];
  const { startedAtMs } = incident;
  for (const delivery of taken) {
    const { count = 0, fromMs = incident.flapping?.fromMs ?? startedAtMs } = delivery.earlier ?? {};
    const outages = count + ownOutages(incident);
    undelivered.push({ delivery, count: outages - countedIn(flapping, incident, count), fromMs });
  }
  const deliveries = incident.deliveries.filter((delivery) => !isUndelivered(delivery));
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
export function carriedDeliveries(undelivered: readonly UndeliveredOutages[]): Delivery[] {
  const byPlace = new Map<string, [UndeliveredOutages, ...UndeliveredOutages[]]>();
  for (const one of undelivered) {
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

function withEarlier({ delivery, count, fromMs }: UndeliveredOutages): Delivery {
  const { earlier: _, ...rest } = delivery;
  return { ...rest, told: 0, ...(count > 0 && { earlier: { count, fromMs } }) };
}
