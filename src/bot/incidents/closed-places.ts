import { WEBHOOK } from '../channels/webhook-address.ts';
import { backoffMs } from '../shared/clock.ts';
import { DeliveryError } from '../shared/errors.ts';
import { parsePlace } from '../shared/place.ts';
import { newGroup, withMembers } from './groups.ts';
import {
  type AlertContext,
  GIVE_UP_MS,
  goesOn,
  heldUntil,
  isDelivered,
  isOpen,
  isUndelivered,
  newDelivery,
} from './incidents.ts';
import type { Alert, Closed, Delivery, Group, Incident, Notice, Watching } from './watch-state.ts';

/** `new` is a message or a line, `change` is an edit of a message. */
export type Request = Closed['refused'][number];

/** Wait until the first attempt in a closed place, doubled with each refusal up to the longest. */
const FIRST_WAIT_MS = 60_000;
const MAX_WAIT_MS = 600_000;

/** Shortest wait, even if the platform keeps reporting that the place is open. */
const REOPEN_WAIT_MS = 1_000;

/** The platform refuses the place, and not only this message. */
export const isClosing = (error: unknown): error is DeliveryError =>
  error instanceof DeliveryError && error.closed;

export const closedAt = (watching: Watching | undefined, place: string): Closed | undefined =>
  watching?.closed?.find((one) => one.place === place);

/** The other kind of request is tried first, since it may succeed. Pure. */
export const refusedLast = ({ refused }: Closed): Request | undefined => refused.at(-1);

/**
 * Earliest time of a request to a closed place: at once for a kind that it hasn't refused, and
 * earlier for an alert that began after the last attempt, since the place may be open by now. Pure.
 */
export function tryAtMs(closed: Closed, request: Request, alert: Alert, nowMs: number): number {
  const { refused, triedAtMs, nextTryAtMs } = closed;
  // A longer wait was set before the clock was set back.
  if (!refused.includes(request) || nextTryAtMs - nowMs > MAX_WAIT_MS) return 0;
  const newest = alert.kind === 'group' ? alert.members.at(-1)?.startedAtMs : undefined;
  const newestMs = Math.max(alert.openedAtMs, newest ?? 0);
  return newestMs > triedAtMs ? Math.min(nextTryAtMs, triedAtMs + FIRST_WAIT_MS) : nextTryAtMs;
}

export function withRefusal(
  watching: Watching,
  { place, request }: { place: string; request: Request },
  { nowMs, random }: { nowMs: number; random: () => number },
): Watching {
  const before = closedAt(watching, place);
  const refused = before?.refused ?? [];
  // A refusal of the other kind at the same moment is no further attempt.
  const tries = before && !refused.includes(request) ? before.tries : (before?.tries ?? 0) + 1;
  const closed: Closed = {
    place,
    sinceMs: before?.sinceMs ?? nowMs,
    refused: [...refused.filter((one) => one !== request), request],
    tries,
    triedAtMs: nowMs,
    // Starts at a minute.
    nextTryAtMs: nowMs + Math.min(MAX_WAIT_MS, 60 * backoffMs(tries, random)),
  };
  return withClosed(watching, place, closed);
}

/** Places that may be open again are tried at once. Pure. */
export function withReopened(
  watching: Watching,
  mayBeOpen: (place: string) => boolean,
  nowMs: number,
): Watching {
  const retryAtMs = ({ place, triedAtMs, nextTryAtMs }: Closed) =>
    mayBeOpen(place)
      ? Math.min(nextTryAtMs, Math.max(nowMs, triedAtMs + REOPEN_WAIT_MS))
      : nextTryAtMs;
  const { closed = [] } = watching;
  if (closed.every((one) => retryAtMs(one) === one.nextTryAtMs)) return watching;
  return { ...watching, closed: closed.map((one) => ({ ...one, nextTryAtMs: retryAtMs(one) })) };
}

/** A place that accepts a request is open, unless it accepted an edit and refused new messages. Pure. */
function withoutRefusal(watching: Watching, place: string, request: Request): Watching {
  const before = closedAt(watching, place);
  if (!before) return watching;
  const staysClosed = request === 'change' && before.refused.includes('new');
  return withClosed(watching, place, staysClosed ? { ...before, refused: ['new'] } : undefined);
}

function withClosed(
  { closed = [], ...rest }: Watching,
  place: string,
  now: Closed | undefined,
): Watching {
  const others = closed.filter((one) => one.place !== place);
  const all = now ? [...others, now] : others;
  return all.length === 0 ? rest : { ...rest, closed: all };
}

/**
 * Adds a notice in the channel `elsewhere` that alerts don't reach `place`. An earlier notice about the place is
 * reused, so a thousand lost alerts make one notice. Pure.
 */
export function withNotice(
  watching: Watching,
  {
    place,
    why,
    elsewhere,
    nowMs,
  }: { place: string; why: string; elsewhere: string; nowMs: number },
): Watching {
  const said = { title: `Alerts do not reach ${place}`, text: `${why} ${adviceFor(place)}` };
  const before = noticeOf(watching, place);
  if (before && nowMs - before.openedAtMs < GIVE_UP_MS) {
    if (before.endedAtMs === undefined) return watching;
    const { endedAtMs: _, ...rest } = before;
    return withAlert(watching, { ...rest, ...said, version: before.version + 1 });
  }
  const id = noticeId(place);
  const notice: Notice = {
    kind: 'notice',
    id,
    version: 1,
    openedAtMs: nowMs,
    ...said,
    deliveries: [newDelivery(elsewhere, `${id}:${nowMs}`)],
  };
  return { ...watching, alerts: [...watching.alerts.filter((alert) => alert.id !== id), notice] };
}

function withNoticeOver(watching: Watching, place: string, nowMs: number): Watching {
  const notice = noticeOf(watching, place);
  if (!notice || notice.endedAtMs !== undefined) return watching;
  if (!notice.deliveries.some(({ attempted }) => attempted)) {
    return { ...watching, alerts: watching.alerts.filter((alert) => alert !== notice) };
  }
  return withAlert(watching, {
    ...notice,
    version: notice.version + 1,
    endedAtMs: nowMs,
    title: `Alerts reach ${place} again`,
    text: 'Ongoing alerts that were missed there are posted there now.',
  });
}

const noticeId = (place: string) => `unreached:${place}`;

function noticeOf({ alerts }: Watching, place: string): Notice | undefined {
  const id = noticeId(place);
  return alerts.find((alert): alert is Notice => alert.id === id && alert.kind === 'notice');
}

const withAlert = (watching: Watching, alert: Alert): Watching => ({
  ...watching,
  alerts: watching.alerts.map((one) => (one.id === alert.id ? alert : one)),
});

export function adviceFor(place: string): string {
  if (parsePlace(place)?.platform === WEBHOOK) {
    return 'If its address has changed, replace it in ALERT_CHANNELS, or with /monitor alerts in the channel that added it.';
  }
  return `Invite Askwatch to ${place} and let it post there, or turn alerts off there.`;
}

/** Limits of what waits for a closed place. */
const KEEP_MS = 30 * 86_400_000;
const KEEP_COUNT = 200;

/**
 * Combines what a closed place missed and what is still ongoing into one message, and drops what is over or beyond the
 * limits. Edits of posted messages stay. Returns the same object if nothing changes. Pure.
 */
export function withMissed(watching: Watching, place: string, around: AlertContext): Watching {
  const closed = closedAt(watching, place);
  if (!closed) return watching;
  if (around.nowMs - closed.sinceMs >= KEEP_MS) {
    return withClosed(withoutOldest(watching, place, 0), place, undefined);
  }
  const alerts = gathered(watching.alerts, place, around);
  const missed = alerts === watching.alerts ? watching : { ...watching, alerts };
  return withoutOldest(missed, place, KEEP_COUNT);
}

export const waitingAt = ({ alerts }: Watching, place: string): number =>
  alerts.reduce((sum, alert) => sum + alert.deliveries.filter(isWaiting(alert, place)).length, 0);

const isWaiting = (alert: Alert, place: string) => (delivery: Delivery) =>
  delivery.place === place && !isDelivered(alert, delivery);

/**
 * If the place was closed, it now gets what it missed. Lines about past changes are dropped, because the messages show
 * them. Pure.
 */
export function withTaken(
  watching: Watching,
  { place, request }: { place: string; request: Request },
  around: AlertContext,
): Watching {
  if (!closedAt(watching, place)) return watching;
  const missed = withMissed(watching, place, around);
  const quiet = { ...missed, alerts: missed.alerts.map((alert) => withoutLines(alert, place)) };
  const taken = withoutRefusal(quiet, place, request);
  return closedAt(taken, place) ? taken : withNoticeOver(taken, place, around.nowMs);
}

function withoutLines(alert: Alert, place: string): Alert {
  if (!alert.deliveries.some(isWaiting(alert, place))) return alert;
  const deliveries = alert.deliveries.map((delivery) => {
    if (delivery.place !== place || !delivery.posted) return delivery;
    const { line: _, ...rest } = delivery;
    return goesOn(alert) ? rest : { ...rest, hasEndLine: true };
  });
  return { ...alert, deliveries };
}

function withoutOldest(watching: Watching, place: string, count: number): Watching {
  let left = waitingAt(watching, place) - count;
  if (left <= 0) return watching;
  const dead = 'Its channel refused messages for too long, or too many were waiting for it.';
  const alerts = watching.alerts.map((alert) => {
    const waits = isWaiting(alert, place);
    if (left <= 0 || !alert.deliveries.some(waits)) return alert;
    const deliveries = alert.deliveries.map((delivery) =>
      waits(delivery) && left-- > 0 ? { ...delivery, dead } : delivery,
    );
    return { ...alert, deliveries };
  });
  return { ...watching, alerts };
}

/** One message for all monitors, and one for each intake. A message that may have been posted stays as it is. */
function gathered(alerts: Alert[], place: string, around: AlertContext): Alert[] {
  const intakes = new Set(
    alerts.flatMap((alert) =>
      hasIntake(alert) && alert.deliveries.some((one) => one.place === place) ? [alert.intake] : [],
    ),
  );
  return [...intakes].reduce((all, intake) => gatheredOf(all, { place, intake }, around), alerts);
}

const hasIntake = (alert: Alert): alert is Incident | Group =>
  alert.kind === 'incident' || alert.kind === 'group';

function gatheredOf(
  alerts: Alert[],
  { place, intake }: { place: string; intake: string | undefined },
  { nowMs, newId }: AlertContext,
): Alert[] {
  const isOwn = (alert: Alert): alert is Incident | Group =>
    hasIntake(alert) && alert.intake === intake;
  const isMissed = (one: Delivery) =>
    one.place === place && isUndelivered(one) && !one.attempted && heldUntil(one, nowMs) <= nowMs;
  const own = alerts.filter(isOwn);
  const groups = own.filter((alert) => alert.kind === 'group');
  const tried = groups.findLast((alert) => isTriedGroup(alert, place));
  const replaced = new Set<Alert>(groups.filter(({ deliveries }) => deliveries.some(isMissed)));
  const before = tried ?? groups.findLast((alert) => replaced.has(alert));
  if (tried) replaced.add(tried);
  const missed = missedIn(own, isMissed);
  const group =
    tried || missed.length > 0
      ? together(missed, before, { place, intake, nowMs, newId })
      : undefined;
  const after = alerts.flatMap((alert): Alert[] => {
    if (replaced.has(alert)) return group?.id === alert.id ? [group] : [];
    if (alert.kind !== 'incident' || !isOwn(alert)) return [alert];
    const deliveries = alert.deliveries.filter((one) => !isMissed(one));
    return [deliveries.length === alert.deliveries.length ? alert : { ...alert, deliveries }];
  });
  if (group && !after.includes(group)) return [...after, group];
  const isSame = after.length === alerts.length && after.every((alert, at) => alert === alerts[at]);
  return isSame ? alerts : after;
}

const isTriedGroup = (alert: Alert, place: string) =>
  alert.kind === 'group' &&
  alert.place === place &&
  goesOn(alert) &&
  alert.deliveries.some((one) => isUndelivered(one) && one.attempted);

/** Open incidents without a message in the place. */
function missedIn(alerts: readonly Alert[], isMissed: (one: Delivery) => boolean): Incident[] {
  const ids = new Set<string>();
  for (const alert of alerts) {
    if (!alert.deliveries.some(isMissed)) continue;
    if (alert.kind === 'incident') ids.add(alert.id);
    if (alert.kind === 'group') for (const { incidentId } of alert.members) ids.add(incidentId);
  }
  return alerts.filter((alert): alert is Incident => ids.has(alert.id) && isOpen(alert));
}

/** Reuses an earlier group that was never posted. */
function together(
  incidents: readonly Incident[],
  before: Group | undefined,
  { place, intake, nowMs, newId }: AlertContext & { place: string; intake: string | undefined },
): Group {
  if (before && isTriedGroup(before, place)) {
    const known = new Set(before.members.map(({ incidentId }) => incidentId));
    const fresh = incidents.filter(({ id }) => !known.has(id));
    return fresh.length === 0 ? before : withMembers(before, fresh);
  }
  const areSeveral = incidents.length > 1;
  const isSame =
    before !== undefined &&
    before.quiet === undefined &&
    Boolean(before.missed) === areSeveral &&
    before.members.length === incidents.length &&
    before.members.every(
      ({ incidentId, times }, at) => incidentId === incidents[at]?.id && times === 1,
    );
  if (isSame) return before;
  const base = before ?? newGroup(place, { nowMs, newId }, intake);
  // A group of milder problems mentions nobody.
  const areMild = incidents.every(({ degraded }) => degraded !== undefined);
  const group: Group = {
    ...base,
    quiet: undefined,
    missed: areSeveral || undefined,
    members: [],
    degraded: areMild || undefined,
  };
  return withMembers(group, incidents);
}
