import { DeliveryError } from '../shared/errors.ts';
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

/** What may be asked of a place: to take something new, which is a message or a line, or to change what stands there. */
export type Request = Closed['refused'][number];

/** Wait until a closed place is tried again, doubled with each refusal up to the longest one. */
const FIRST_WAIT_MS = 60_000;
const MAX_WAIT_MS = 600_000;

/** Shortest time between two tries of a closed place, however often its platform says that it is open. */
const REOPEN_WAIT_MS = 1_000;

/** Whether a platform said that the place takes nothing, and not only that it does not take this message. */
export const isClosing = (error: unknown): error is DeliveryError =>
  error instanceof DeliveryError && error.closed;

/** What is known of a place that is closed; `undefined` of one that is not. Pure. */
export const closedAt = (watching: Watching | undefined, place: string): Closed | undefined =>
  watching?.closed?.find((one) => one.place === place);

/** What was refused last: the other is tried first, since it may go through. Pure. */
export const refusedLast = ({ refused }: Closed): Request | undefined => refused.at(-1);

/**
 * From when on a closed place may be asked for something about an alert, Unix milliseconds: at once for what it has not
 * refused; sooner than usual for what began after the last try, since somebody may have opened it meanwhile. Pure.
 */
export function tryAtMs(closed: Closed, request: Request, alert: Alert, nowMs: number): number {
  const { refused, triedAtMs, nextTryAtMs } = closed;
  // A longer wait than was ever set means that the clock was set back.
  if (!refused.includes(request) || nextTryAtMs - nowMs > MAX_WAIT_MS) return 0;
  const newest = alert.kind === 'group' ? alert.members.at(-1)?.startedAtMs : undefined;
  const newestMs = Math.max(alert.openedAtMs, newest ?? 0);
  return newestMs > triedAtMs ? Math.min(nextTryAtMs, triedAtMs + FIRST_WAIT_MS) : nextTryAtMs;
}

/** The document after a place refused this for as long as nobody opens it. Pure. */
export function withRefusal(
  watching: Watching,
  { place, request }: { place: string; request: Request },
  { nowMs, random }: { nowMs: number; random: () => number },
): Watching {
  const before = closedAt(watching, place);
  const refused = before?.refused ?? [];
  // That it refuses the other, too, comes in the same breath and is no further try.
  const tries = before && !refused.includes(request) ? before.tries : (before?.tries ?? 0) + 1;
  const meantMs = FIRST_WAIT_MS * 2 ** Math.min(tries - 1, 10) * (0.75 + random() / 2);
  const closed: Closed = {
    place,
    sinceMs: before?.sinceMs ?? nowMs,
    refused: [...refused.filter((one) => one !== request), request],
    tries,
    triedAtMs: nowMs,
    nextTryAtMs: nowMs + Math.min(MAX_WAIT_MS, Math.max(FIRST_WAIT_MS, meantMs)),
  };
  return withClosed(watching, place, closed);
}

/** The document after a platform said that closed places may be open again: they are tried at once. Pure. */
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

/** The document after a place took what it was asked for: it is open, unless it refused to take anything new. Pure. */
function withoutRefusal(watching: Watching, place: string, request: Request): Watching {
  const before = closedAt(watching, place);
  if (!before) return watching;
  const staysClosed = request === 'change' && before.refused.includes('new');
  return withClosed(watching, place, staysClosed ? { ...before, refused: ['new'] } : undefined);
}

/** The document with what is known of a place while it is closed; without it, the place is open. */
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
 * The document with a notice for `teller` that alerts no longer reach `place`. While an earlier notice about that place is
 * still kept, that one says it: a thousand lost alerts, or a place that is closed and opened all the time, make one. Pure.
 */
export function withNotice(
  watching: Watching,
  { place, why, teller, nowMs }: { place: string; why: string; teller: string; nowMs: number },
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
    deliveries: [newDelivery(teller, `${id}:${nowMs}`)],
  };
  return { ...watching, alerts: [...watching.alerts.filter((alert) => alert.id !== id), notice] };
}

/** The document after alerts reach a place again: its notice says so, or was never there. Pure. */
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

/** What to do about a place that refuses alerts. */
export function adviceFor(place: string): string {
  return `Invite Askwatch to ${place} and let it post there, or turn alerts off there.`;
}

/** What a closed place is to be told is kept for so long, and no more messages of it than this. */
const KEEP_MS = 30 * 86_400_000;
const KEEP_COUNT = 200;

/**
 * The document with what a closed place is to be told once it is open, and nothing more: what it missed and still goes on,
 * in one message, and the changes of what stands there, each as far as that is kept. The same document where nothing is
 * different, or the place is not closed. Pure.
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

/** How many messages of a place wait to be told or changed. Pure. */
export const waitingAt = ({ alerts }: Watching, place: string): number =>
  alerts.reduce((sum, alert) => sum + alert.deliveries.filter(isWaiting(alert, place)).length, 0);

const isWaiting = (alert: Alert, place: string) => (delivery: Delivery) =>
  delivery.place === place && !isDelivered(alert, delivery);

/**
 * The document after a place took something. If it was closed until now, what it missed is told, and nothing is said under
 * messages about what changed meanwhile: they show it. The same document where the place was not closed. Pure.
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
    return goesOn(alert) ? rest : { ...rest, endSaid: true };
  });
  return { ...alert, deliveries };
}

/** Gives up all but the newest messages of a place. */
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

/**
 * The alerts with all that a place missed and that is ongoing in one message for the monitors and one for each intake: that of
 * an outage, if it is only one. What is over is left out. A message that may be there already keeps what it holds.
 */
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
  const groups = alerts.filter(
    (alert): alert is Group =>
      isOwn(alert) && alert.kind === 'group' && alert.deliveries.some(isMissed),
  );
  const tried = alerts.findLast(
    (alert): alert is Group => isOwn(alert) && isTriedGroup(alert, place),
  );
  const missed = missedIn(alerts.filter(isOwn), isMissed);
  const isOne = !tried && missed.length < 2;
  const own = isOne ? missed[0] : undefined;
  const group = isOne
    ? undefined
    : together(missed, tried ?? groups.at(-1), { place, intake, nowMs, newId });

  const after = alerts.flatMap((alert): Alert[] => {
    if (alert.kind === 'group' && (alert === tried || groups.includes(alert))) {
      return group?.id === alert.id ? [group] : [];
    }
    if (alert.kind !== 'incident' || !isOwn(alert)) return [alert];
    if (alert === own) return [withOwn(alert, place, isMissed)];
    const deliveries = alert.deliveries.filter((one) => !isMissed(one));
    return [deliveries.length === alert.deliveries.length ? alert : { ...alert, deliveries }];
  });
  const isNew = group && !after.includes(group);
  const isSame = after.length === alerts.length && after.every((alert, at) => alert === alerts[at]);
  return isSame && !isNew ? alerts : isNew ? [...after, group] : after;
}

const isTriedGroup = (alert: Alert, place: string) =>
  alert.kind === 'group' &&
  alert.place === place &&
  goesOn(alert) &&
  alert.deliveries.some((one) => isUndelivered(one) && one.attempted);

/** Incidents that go on, of which the place has no message. */
function missedIn(alerts: readonly Alert[], isMissed: (one: Delivery) => boolean): Incident[] {
  const ids = new Set<string>();
  for (const alert of alerts) {
    if (!alert.deliveries.some(isMissed)) continue;
    if (alert.kind === 'incident') ids.add(alert.id);
    if (alert.kind === 'group') for (const { incidentId } of alert.members) ids.add(incidentId);
  }
  return alerts.filter((alert): alert is Incident => ids.has(alert.id) && isOpen(alert));
}

/** An incident with a delivery of its own to the place. */
function withOwn(
  incident: Incident,
  place: string,
  isMissed: (one: Delivery) => boolean,
): Incident {
  const has = incident.deliveries.find(isMissed);
  if (has && !has.earlier) return incident;
  const others = incident.deliveries.filter((one) => !isMissed(one));
  // The outages before it are over.
  const { earlier: _, ...own } = has ?? newDelivery(place, incident.id);
  return { ...incident, deliveries: [...others, own] };
}

/** One group of all of them, in the place of an earlier one that the place was not told of. */
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
  const isSame =
    before?.missed &&
    before?.members.length === incidents.length &&
    before.members.every(
      ({ incidentId, times }, at) => incidentId === incidents[at]?.id && times === 1,
    );
  if (before && isSame) return before;
  const { quiet: _, degraded: __, ...base } = before ?? newGroup(place, { nowMs, newId }, intake);
  // Nobody is called for milder troubles alone.
  const areMild = incidents.every(({ degraded }) => degraded !== undefined);
  const group = { ...base, missed: true, members: [], ...(areMild && { degraded: true }) };
  return withMembers(group, incidents);
}
