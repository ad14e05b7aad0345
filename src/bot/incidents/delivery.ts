import { backoffMs } from '../shared/clock.ts';
import { DeliveryError } from '../shared/errors.ts';
import type { PostedMessage } from '../shared/messenger.ts';
import { closedAt, type Request, refusedLast, tryAtMs } from './closed-places.ts';
import { isEscalation } from './escalations.ts';
import { endsQuietly, isFlapping } from './flapping.ts';
import { GIVE_UP_MS, goesOn, heldUntil, isDelivered } from './incidents.ts';
import type { Alert, Closed, Delivery, Watching } from './watch-state.ts';

/** Longest wait until the next attempt, even if a platform asks for more. */
export const MAX_WAIT_MS = 600_000;

interface RetryContext {
  nowMs: number;
  random: () => number;
}

type DeliveryLine = NonNullable<Delivery['line']>;

export interface DeliveryWork {
  alert: Alert;
  delivery: Delivery;
}

/**
 * The oldest alert that a place can receive now. In quiet hours only steps without a notification count. A message that
 * still shows an outage that is over comes first: it may be younger than a group that would report the same monitor as
 * DOWN again. In a closed place, requests of the kind that it refused last come last. Investigations wait for everything
 * else. Pure.
 */
export function nextFor(
  watching: Watching | undefined,
  place: string,
  nowMs: number,
  quietUntilMs = 0,
): DeliveryWork | undefined {
  const closed = closedAt(watching, place);
  const isDue = (alert: Alert, one: Delivery) =>
    one.place === place &&
    !isDelivered(alert, one) &&
    freeAtMs(alert, one, { nowMs, quietUntilMs, closed }) <= nowMs;
  const rankOf = (alert: Alert, delivery: Delivery) =>
    (showsWhatIsOver(alert, delivery) ? 1 : 0) +
    (closed && requestOf(alert, delivery) !== refusedLast(closed) ? 2 : 0) -
    (alert.kind === 'investigation' ? 4 : 0);
  let first: (DeliveryWork & { rank: number }) | undefined;
  for (const alert of watching?.alerts ?? []) {
    const delivery = alert.deliveries.find((one) => isDue(alert, one));
    if (!delivery) continue;
    const rank = rankOf(alert, delivery);
    if (!first || rank > first.rank) first = { alert, delivery, rank };
  }
  return first && { alert: first.alert, delivery: first.delivery };
}

const showsWhatIsOver = (alert: Alert, { attempted, deliveredVersion }: Delivery) =>
  attempted && deliveredVersion !== alert.version && alert.kind === 'incident' && !goesOn(alert);

/** Time until a place can receive the next step. `undefined` if nothing waits. Pure. */
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

/** Editing a message doesn't notify anyone. A new message or a line does. */
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

/** Escalations are posted in quiet hours too. */
const isToWake = (alert: Alert, { posted, line }: Delivery) =>
  line?.what === 'escalation' || (posted === undefined && isEscalation(alert));

const requestOf = (alert: Alert, { posted, deliveredVersion }: Delivery): Request =>
  posted !== undefined && deliveredVersion !== alert.version ? 'change' : 'new';

/**
 * Shortest time between two edits of a message that changes all the time. A group waits less after its first post, when
 * most members are still to come. A flapping monitor is shown correctly within a minute, including up to 20 s until a
 * poll.
 */
const GROUP_PACE_MS = { first: 15_000, later: 60_000, flapping: 40_000 } as const;

/**
 * A delivery after `shown` was posted, while the alert is already `now`. Adds the line about the end if it is due, and
 * paces alerts that change all the time. Pure.
 */
export function afterDelivery(
  delivery: Delivery,
  { shown, now }: { shown: Alert; now: Alert },
  nowMs: number,
): Delivery {
  const isFirst = !delivery.posted;
  const { heldUntilMs, ...free } = succeeded(delivery);
  const shownNow = goesOn(shown) ? withShownOpen(free, nowMs) : free;
  // An edit is easily missed, and anyone who saw the outage waits for its end.
  const isSeen = delivery.shownOpen || delivery.triedOpen;
  const isDue = isSeen && !delivery.hasEndLine && !endsQuietly(shown) && !isDegradation(shown);
  if (!isFirst && !goesOn(shown) && isDue) {
    // A flapping alert may end more than once.
    const id = `${delivery.postId}/end/${shown.version}`;
    const line: DeliveryLine = { what: 'end', id, atMs: nowMs, attempted: false };
    return { ...shownNow, hasEndLine: true, line };
  }
  // Someone pressed a button while `shown` was sent.
  if (heldUntilMs === 0 && now.version !== shown.version) return { ...shownNow, heldUntilMs };
  const isPaced = now.kind === 'group' ? goesOn(now) : isFlapping(now);
  if (!isPaced) return shownNow;
  return { ...shownNow, heldUntilMs: nowMs + GROUP_PACE_MS[paceOf(now, isFirst)] };
}

/**
 * A delivery after its message was posted. If an earlier attempt may have posted it (`attempted`), the message shows that
 * attempt's state, so an edit follows. Pure.
 */
export function afterPost(
  delivery: Delivery,
  result: {
    posted: PostedMessage & { goesOn?: boolean };
    attempted: boolean;
    mention: string | undefined;
    shown: Alert;
    now: Alert;
    nowMs: number;
  },
): Delivery {
  const { attempted, mention, shown, now, nowMs } = result;
  const { goesOn: showsOpen, ...posted } = result.posted;
  const found = succeeded(delivery);
  // Reports never change.
  const isSurelyShown = (!attempted || shown.kind === 'report') && now.id === shown.id;
  return {
    ...(!attempted
      ? afterDelivery(delivery, { shown, now }, nowMs)
      : showsOpen
        ? withShownOpen(found, nowMs)
        : found),
    posted,
    // The first attempt may have posted it, and its answer was lost.
    postedAtMs: delivery.failingSinceMs ?? nowMs,
    mention,
    deliveredVersion: isSurelyShown ? shown.version : 0,
  };
}

function paceOf(alert: Alert, isFirst: boolean): keyof typeof GROUP_PACE_MS {
  if (alert.kind !== 'group') return 'flapping';
  if (isFirst) return 'first';
  const flaps = alert.members.some((one) => one.flapping && one.endedAtMs === undefined);
  return flaps ? 'flapping' : 'later';
}

function withShownOpen({ triedOpen: _, ...delivery }: Delivery, nowMs: number): Delivery {
  const { remindedAtMs = nowMs } = delivery;
  return { ...delivery, shownOpen: true, remindedAtMs };
}

/** Milder problems mention nobody, and neither do their ends. */
const isDegradation = (alert: Alert) =>
  (alert.kind === 'incident' || alert.kind === 'group') && Boolean(alert.degraded);

/** Removes a line that was posted or given up. Pure. */
export function withoutLine({ line, ...delivery }: Delivery): Delivery {
  const { remindedAtMs = 0 } = delivery;
  const isReminder = line?.what === 'reminder';
  return {
    ...succeeded(delivery),
    ...(isReminder && { remindedAtMs: Math.max(remindedAtMs, line.atMs) }),
  };
}

/** Finds a delivery by its message. A later outage may have taken it over. Pure. */
export function findWork(watching: Watching | undefined, postId: string): DeliveryWork | undefined {
  for (const alert of watching?.alerts ?? []) {
    const delivery = alert.deliveries.find((one) => one.postId === postId);
    if (delivery) return { alert, delivery };
  }
  return undefined;
}

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

export function succeeded(delivery: Delivery): Delivery {
  const { failingSinceMs: _, ...rest } = delivery;
  return { ...rest, failures: 0, nextTryAtMs: 0 };
}

/**
 * A delivery after a failed attempt: tried again later, posted again because its message can't be edited, or given up.
 * Pure.
 */
export function afterFailure(delivery: Delivery, error: unknown, around: RetryContext): Delivery {
  const text = error instanceof Error ? error.message : String(error);
  if (!isPermanent(error)) {
    return waiting(delivery, error, around) ?? { ...delivery, dead: text };
  }
  if (!delivery.posted || delivery.reposted) return { ...delivery, dead: text };
  const { posted: _, ...rest } = succeeded(delivery);
  const postId = `${delivery.postId}+`;
  return { ...rest, postId, attempted: false, deliveredVersion: 0, reposted: true };
}

/** A line that can't be posted is given up, because the message says the same. Pure. */
export function afterLineFailure(
  delivery: Delivery,
  error: unknown,
  around: RetryContext,
): Delivery {
  return (
    (isPermanent(error) ? undefined : waiting(delivery, error, around)) ?? withoutLine(delivery)
  );
}

const isPermanent = (error: unknown) => error instanceof DeliveryError && error.permanent;

/** `undefined` if the delivery has failed for too long. */
function waiting(
  delivery: Delivery,
  error: unknown,
  { nowMs, random }: RetryContext,
): Delivery | undefined {
  const { failingSinceMs = nowMs } = delivery;
  if (nowMs - failingSinceMs >= GIVE_UP_MS) return undefined;
  const failures = delivery.failures + 1;
  const askedMs = error instanceof DeliveryError ? (error.retryAfterMs ?? 0) : 0;
  const waitMs = Math.min(Math.max(backoffMs(failures, random), askedMs), MAX_WAIT_MS);
  return { ...delivery, failures, failingSinceMs, nextTryAtMs: nowMs + waitMs };
}
