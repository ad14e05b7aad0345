import { backoffMs } from '../shared/clock.ts';
import { DeliveryError } from '../shared/errors.ts';
import { closedAt, type Request, refusedLast, tryAtMs } from './closed-places.ts';
import { isEscalation } from './escalations.ts';
import { endsQuietly, isFlapping } from './flapping.ts';
import { GIVE_UP_MS, goesOn, heldUntil, isDelivered } from './incidents.ts';
import type { Alert, Closed, Delivery, Watching } from './watch-state.ts';

/** Longest wait until the next try, whatever a platform asks for. */
export const MAX_WAIT_MS = 600_000;

interface Around {
  nowMs: number;
  random: () => number;
}

type Line = NonNullable<Delivery['line']>;

/** One place to be told of one alert. */
export interface Work {
  alert: Alert;
  delivery: Delivery;
}

/**
 * The oldest alert of which a place has something to hear now; in a quiet time, what rings nowhere. A message that may still
 * show an outage that is over comes first: its alert can be younger than that of a message about several, which would tell
 * that the same monitor is DOWN again. Of a closed place, what it did not refuse last comes before all else. Pure.
 */
export function nextFor(
  watching: Watching | undefined,
  place: string,
  nowMs: number,
  quietUntilMs = 0,
): Work | undefined {
  const closed = closedAt(watching, place);
  const isDue = (alert: Alert, one: Delivery) =>
    one.place === place &&
    !isDelivered(alert, one) &&
    freeAtMs(alert, one, { nowMs, quietUntilMs, closed }) <= nowMs;
  const rankOf = (alert: Alert, delivery: Delivery) =>
    (showsWhatIsOver(alert, delivery) ? 1 : 0) +
    (closed && requestOf(alert, delivery) !== refusedLast(closed) ? 2 : 0);
  const highest = closed ? 3 : 1;
  let first: (Work & { rank: number }) | undefined;
  for (const alert of watching?.alerts ?? []) {
    const delivery = alert.deliveries.find((one) => isDue(alert, one));
    if (!delivery) continue;
    const rank = rankOf(alert, delivery);
    if (!first || rank > first.rank) first = { alert, delivery, rank };
    if (rank === highest) break;
  }
  return first && { alert: first.alert, delivery: first.delivery };
}

const showsWhatIsOver = (alert: Alert, { attempted, told: deliveredVersion }: Delivery) =>
  attempted && deliveredVersion !== alert.version && alert.kind === 'incident' && !goesOn(alert);

/** How long until a place may hear more of what is held back, if anything is. Pure. */
export function heldForMs(
  watching: Watching | undefined,
  place: string,
  nowMs: number,
  quietUntilMs = 0,
): number | undefined {
  const closed = closedAt(watching, place);
  const waits = (watching?.alerts ?? []).flatMap((alert) =>
    alert.deliveries
      .filter((delivery) => delivery.place === place && !isDelivered(alert, delivery))
      .map((delivery) => freeAtMs(alert, delivery, { nowMs, quietUntilMs, closed }) - nowMs),
  );
  return waits.length === 0 ? undefined : Math.max(1, Math.min(...waits));
}

/** From when on the next step of a delivery may be made: a change of a message rings nowhere, a new one or a line does. */
function freeAtMs(
  alert: Alert,
  delivery: Delivery,
  around: { nowMs: number; quietUntilMs: number; closed: Closed | undefined },
): number {
  const { nowMs, quietUntilMs, closed } = around;
  const request = requestOf(alert, delivery);
  return Math.max(
    heldUntil(delivery, nowMs),
    request === 'change' || isToWake(alert, delivery) ? 0 : quietUntilMs,
    closed ? tryAtMs(closed, request, alert, nowMs) : 0,
  );
}

/** Whether its next step is for what nobody acknowledged in time: that is told in quiet hours, too. */
const isToWake = (alert: Alert, { posted, line }: Delivery) =>
  line?.what === 'escalation' || (posted === undefined && isEscalation(alert));

/** What the next step of a delivery asks of its place. */
const requestOf = (alert: Alert, { posted, told: deliveredVersion }: Delivery): Request =>
  posted !== undefined && deliveredVersion !== alert.version ? 'change' : 'new';

/**
 * A group, or what flaps, says at most so often how it goes; a group sooner after its first words, when most is still to come.
 * What flaps shows how it is within a minute, of which up to a third passes until a poll sees it.
 */
const GROUP_PACE_MS = { first: 15_000, later: 60_000, flapping: 40_000 } as const;

/**
 * A delivery after `shown` was told, while the alert is `now`: one that changes all the time waits a while before it
 * says more. Pure.
 */
export function afterDelivery(
  delivery: Delivery,
  { shown, now }: { shown: Alert; now: Alert },
  nowMs: number,
): Delivery {
  const isFirst = !delivery.posted;
  const { heldUntilMs: _, ...free } = succeeded(delivery);
  const shownNow = goesOn(shown) ? withShownOpen(free, nowMs) : free;
  // A change of a message is easily missed, and who saw the outage waits for its end.
  const isSeen = delivery.shownOpen || delivery.triedOpen;
  const isDue = isSeen && !delivery.endSaid && !endsQuietly(shown) && !isDegradation(shown);
  if (!isFirst && !goesOn(shown) && isDue) {
    // What flaps on ends more than once.
    const id = `${delivery.postId}/end/${shown.version}`;
    const line: Line = { what: 'end', id, atMs: nowMs, attempted: false };
    return { ...shownNow, endSaid: true, line };
  }
  const isPaced = now.kind === 'group' ? goesOn(now) : isFlapping(now);
  if (!isPaced) return shownNow;
  return { ...shownNow, heldUntilMs: nowMs + GROUP_PACE_MS[paceOf(now, isFirst)] };
}

function paceOf(alert: Alert, isFirst: boolean): keyof typeof GROUP_PACE_MS {
  if (alert.kind !== 'group') return 'flapping';
  if (isFirst) return 'first';
  const flaps = alert.members.some((one) => one.flapping && one.endedAtMs === undefined);
  return flaps ? 'flapping' : 'later';
}

/** A delivery whose message showed the alert while it went on. Pure. */
export function withShownOpen({ triedOpen: _, ...delivery }: Delivery, nowMs: number): Delivery {
  const { remindedAtMs = nowMs } = delivery;
  return { ...delivery, shownOpen: true, remindedAtMs };
}

/** Whether it is no outage, but a milder trouble: nobody is called for it, nor for its end. */
const isDegradation = (alert: Alert) =>
  (alert.kind === 'incident' || alert.kind === 'group') && Boolean(alert.degraded);

/** A delivery without its line, which was said or cannot be. Pure. */
export function withoutLine({ line, ...delivery }: Delivery): Delivery {
  const { remindedAtMs = 0 } = delivery;
  const isReminder = line?.what === 'reminder';
  return {
    ...succeeded(delivery),
    ...(isReminder && { remindedAtMs: Math.max(remindedAtMs, line.atMs) }),
  };
}

/** The delivery of this message, wherever it is by now: a later outage may carry it. Pure. */
export function findWork(watching: Watching | undefined, postId: string): Work | undefined {
  for (const alert of watching?.alerts ?? []) {
    const delivery = alert.deliveries.find((one) => one.postId === postId);
    if (delivery) return { alert, delivery };
  }
  return undefined;
}

/** The document with one delivery changed. Pure. */
export function withDelivery(
  watching: Watching | undefined,
  postId: string,
  change: (delivery: Delivery, alert: Alert) => Delivery,
): Watching | undefined {
  const work = findWork(watching, postId);
  if (!watching || !work) return watching;
  const { alert, delivery } = work;
  const changed = change(delivery, alert);
  const deliveries = alert.deliveries.map((one) => (one === delivery ? changed : one));
  return {
    ...watching,
    alerts: watching.alerts.map((one) => (one === alert ? { ...alert, deliveries } : one)),
  };
}

/** A delivery of which a try went through. Pure. */
export function succeeded(delivery: Delivery): Delivery {
  const { failingSinceMs: _, ...rest } = delivery;
  return { ...rest, failures: 0, nextTryAtMs: 0 };
}

/**
 * A delivery after a failed try: to be tried again later, posted anew because its message cannot be changed, or dead.
 * Pure.
 */
export function afterFailure(delivery: Delivery, error: unknown, around: Around): Delivery {
  const text = error instanceof Error ? error.message : String(error);
  if (!isPermanent(error)) {
    return waiting(delivery, error, around) ?? { ...delivery, dead: text };
  }
  if (!delivery.posted || delivery.reposted) return { ...delivery, dead: text };
  const { posted: _, ...rest } = succeeded(delivery);
  const postId = `${delivery.postId}+`;
  return { ...rest, postId, attempted: false, told: 0, reposted: true };
}

/** A delivery after a failed try to say its line: to be tried again, or without it, since the message says it too. Pure. */
export function afterLineFailure(delivery: Delivery, error: unknown, around: Around): Delivery {
  return (
    (isPermanent(error) ? undefined : waiting(delivery, error, around)) ?? withoutLine(delivery)
  );
}

const isPermanent = (error: unknown) => error instanceof DeliveryError && error.permanent;

/** A delivery that is to be tried again later; `undefined` when it has failed for too long. */
function waiting(
  delivery: Delivery,
  error: unknown,
  { nowMs, random }: Around,
): Delivery | undefined {
  const { failingSinceMs = nowMs } = delivery;
  if (nowMs - failingSinceMs >= GIVE_UP_MS) return undefined;
  const failures = delivery.failures + 1;
  const askedMs = error instanceof DeliveryError ? (error.retryAfterMs ?? 0) : 0;
  const waitMs = Math.min(Math.max(backoffMs(failures, random), askedMs), MAX_WAIT_MS);
  return { ...delivery, failures, failingSinceMs, nextTryAtMs: nowMs + waitMs };
}
