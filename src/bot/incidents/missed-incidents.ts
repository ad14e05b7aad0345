import { StatusError } from '../../clients/errors.ts';
import type { Monitor } from '../../contracts/monitoring.ts';
import type { Incident as Outage } from '../../contracts/monitoring-additions.ts';
import { isDown, isUp } from '../shared/status.ts';
import { isRemembered, type PollSnapshot } from './diff.ts';
import {
  flappingOn,
  isCounted,
  isFlapping,
  isFlapTime,
  mayFlapOnIn,
  withCounted,
  withGroupsOf,
} from './flapping.ts';
import {
  type IncidentContext,
  isOpen,
  newIncident,
  type PollContext,
  withOpened,
} from './incidents.ts';
import type { Asking } from './poll-quota.ts';
import { type Alert, type Incident, incidentsIn } from './watch-state.ts';

/** Outages of a monitor that began or ended between two polls. */
export interface MissedOutages {
  monitor: Monitor;
  sinceChange: number;
  outages: readonly Outage[];
}

/** Monitors per poll. They are requested one after another, and alerts wait for them. */
const MAX_ASKED = 10;
/** After this time, the rest is requested with the next poll. */
const WAIT_MS = 3_000;
const MAX_OUTAGES = 20;

/** Monitors that changed more often than two polls show. Pure. */
export function withMissedChanges(
  snapshot: PollSnapshot | undefined,
  listed: readonly Monitor[],
): Array<Omit<MissedOutages, 'outages'>> {
  if (!snapshot?.isLearned || isRemembered(snapshot, listed)) return [];
  const knownById = new Map(snapshot.known.map((known) => [known.id, known]));
  return listed.flatMap((monitor) => {
    const known = knownById.get(monitor.id);
    if (known?.changes === undefined || monitor.status_changes === undefined) return [];
    const shown = monitor.status === known.status ? 0 : 1;
    return monitor.status_changes - known.changes > shown
      ? [{ monitor, sinceChange: known.changes }]
      : [];
  });
}

/**
 * Asks the service what happened between two polls, within the quota. A service that counts no changes is never asked.
 * `later` are the ids for the next poll.
 */
export async function askMissed(
  changed: ReadonlyArray<Omit<MissedOutages, 'outages'>>,
  { monitoring, quota, signal, log, waitMs = WAIT_MS }: Asking & { waitMs?: number },
): Promise<{ missed: MissedOutages[]; later: Set<string> }> {
  const untilMs = performance.now() + waitMs;
  const missed: MissedOutages[] = [];
  const asked = changed.slice(0, MAX_ASKED).filter(() => quota.take());
  const later = new Set(changed.slice(asked.length).map(({ monitor }) => monitor.id));
  for (const { monitor, sinceChange } of asked) {
    if (!quota.mayAsk() || performance.now() > untilMs) {
      later.add(monitor.id);
      continue;
    }
    try {
      const outages = await monitoring.incidents(monitor.id, { limit: MAX_OUTAGES, signal });
      missed.push({ monitor, sinceChange, outages });
    } catch (error) {
      quota.failed(error);
      // A service without this route, or a removed monitor, won't answer later either.
      if (error instanceof StatusError && error.status < 429) continue;
      log.debug({ err: error, monitor: monitor.id }, 'could not fetch missed incidents');
      later.add(monitor.id);
    }
  }
  return { missed, later };
}

/** Corrects the ends of incidents, and adds missed outages, or counts them while the monitor flaps. */
export function applyMissed(
  alerts: Alert[],
  missed: readonly MissedOutages[],
  around: PollContext,
): Alert[] {
  return missed.reduce((all, { monitor, sinceChange, outages }) => {
    const lastEndMs = Math.max(
      ...outages.flatMap(({ change, ended_at }) =>
        change <= sinceChange && ended_at !== null ? [Date.parse(ended_at)] : [],
      ),
    );
    const hasOpen = incidentsIn(all).some(
      (one) => one.monitorId === monitor.id && isOutageAfter(one, lastEndMs),
    );
    const inOrder = joined(outages, { monitor, sinceChange, hasOpen });
    const before = inOrder.filter(({ change }) => change <= sinceChange);
    const after = inOrder.filter(({ change }) => change > sinceChange);
    const corrected = withTrueEnd(all, monitor, { before, next: after[0] }, around);
    return after.reduce(
      (now, outage, at) => withOutage(now, monitor, { outage, next: after[at + 1] }, around),
      corrected,
    );
  }, alerts);
}

/** An outage as people see it. */
interface SeenOutage extends Outage {
  /** Numbers of its changes to DOWN. */
  changes: number[];
}

/** An incident that lasted longer for people than at the service. */
const isOutageAfter = ({ degraded, flapping, startedAtMs, endedAtMs }: Incident, ms: number) =>
  degraded === undefined &&
  startedAtMs <= ms &&
  (!flapping || flapping.isDown) &&
  (endedAtMs === undefined || endedAtMs > ms);

/**
 * Joins outages as people see them, oldest first. Only UP ends one for people, while the service also ends one with
 * MAINTENANCE, PAUSED or DEGRADED. Change numbers show if anything else came in between. Outages before the last poll
 * are only joined with an incident that was open then. Pure.
 */
function joined(
  outages: readonly Outage[],
  { monitor, sinceChange, hasOpen }: { monitor: Monitor; sinceChange: number; hasOpen: boolean },
): SeenOutage[] {
  const all: SeenOutage[] = [];
  for (const outage of [...outages].sort((a, b) => a.change - b.change)) {
    const { change, ended_at, ended_as } = outage;
    const last = all.at(-1);
    const before = last?.changes.at(-1) ?? Number.NaN;
    const isAcross = before <= sinceChange && change > sinceChange;
    const isNext = change === before + 2 || (isAcross && change === sinceChange + 1);
    if (last && isNext && (hasOpen || !isAcross) && !isUp({ status: last.ended_as ?? 'UP' })) {
      all.splice(-1, 1, { ...last, ended_at, ended_as, changes: [...last.changes, change] });
    } else {
      all.push({ ...outage, changes: [change] });
    }
  }
  const last = all.at(-1);
  if (last && last.ended_as !== null && !isUp({ status: last.ended_as })) {
    const { status_changed_at: ended_at = last.ended_at } = monitor;
    const end = isUp(monitor)
      ? { ended_at, ended_as: monitor.status }
      : { ended_at: null, ended_as: null };
    all.splice(-1, 1, { ...last, ...end });
  }
  return all;
}

/**
 * Corrects the end of the incident that was open at the last poll. If it was DEGRADED in between, the service may have
 * several outages for it, and the last one counts.
 */
function withTrueEnd(
  alerts: Alert[],
  monitor: Monitor,
  { before, next }: { before: readonly SeenOutage[]; next: Outage | undefined },
  around: IncidentContext,
): Alert[] {
  const last = before.at(-1);
  const own = incidentsIn(alerts).filter(
    (one) => one.monitorId === monitor.id && before.some((outage) => hasBegun(outage, one)),
  );
  const known = own.sort((a, b) => (a.change ?? 0) - (b.change ?? 0)).at(-1);
  return known && !known.flapping && last?.ended_at
    ? withEnd(alerts, known, { outage: last, next }, around)
    : alerts;
}

const hasBegun = ({ changes }: SeenOutage, { change }: Incident) =>
  change !== undefined && changes.includes(change);

function withOutage(
  alerts: Alert[],
  monitor: Monitor,
  { outage, next }: { outage: SeenOutage; next: Outage | undefined },
  around: PollContext,
): Alert[] {
  const own = incidentsIn(alerts).filter(({ monitorId }) => monitorId === monitor.id);
  const known = own.find((one) => hasBegun(outage, one));
  if (known && !known.flapping) {
    return outage.ended_at === null ? alerts : withEnd(alerts, known, { outage, next }, around);
  }
  const flapping = own.find(isFlapping);
  if (flapping) {
    const after = withCounted(flapping, monitor, outage, around.nowMs);
    return alerts.map((alert) => (alert === flapping ? after : alert));
  }
  // A monitor that is DOWN now gets its incident from the list, unless the outage began earlier.
  const isListed = outage.ended_at === null && isDown(monitor) && outage.changes.length === 1;
  if (known || isListed) return alerts;
  // An outage of its parent has its own alert.
  const endedAtMs = outage.ended_at === null ? around.nowMs : Date.parse(outage.ended_at);
  if (around.holding?.isBehind(monitor, endedAtMs)) return alerts;
  const stayed = mayFlapOnIn(alerts, around.nowMs).get(monitor.id);
  if (stayed) {
    if (outage.changes.some((change) => isCounted(stayed.flapped, change))) return alerts;
    const flaps = withCounted(flappingOn(stayed), monitor, outage, around.nowMs);
    // An open incident stays an outage, even if more is learned about the time before.
    const isOver = stayed.endedAtMs !== undefined;
    const after: Incident = isOver ? flaps : { ...stayed, flapped: flaps.flapping };
    const all = alerts.map((alert) => (alert === stayed ? after : alert));
    return isOver ? withGroupsOf(all, new Set([stayed.id])) : all;
  }
  return withUnseen(alerts, monitor, outage, around);
}

/** Adds an outage that no poll saw. It is over, or ongoing with another status. */
function withUnseen(
  alerts: Alert[],
  monitor: Monitor,
  outage: SeenOutage,
  around: PollContext,
): Alert[] {
  const { change, cause: reason, ended_as } = outage;
  const { nowMs, recent } = around;
  const endedAtMs =
    outage.ended_at === null ? undefined : Math.min(Date.parse(outage.ended_at), nowMs);
  const startedAtMs = Math.min(Date.parse(outage.started_at), endedAtMs ?? nowMs);
  const down = { monitorId: monitor.id, atMs: startedAtMs, seenAtMs: nowMs, change };
  const flapping = recent.note(down);
  // An incident of a milder problem mentioned nobody, so it can't stand for outages.
  const open = alerts
    .filter(isOpen)
    .find(({ monitorId, degraded }) => monitorId === monitor.id && degraded === undefined);
  // An outage that people have known for long stays one.
  if (!flapping || (open && !isFlapTime(open.startedAtMs, nowMs))) {
    const fresh = newIncident(monitor, [], around);
    const end = endedAtMs !== undefined && { status: ended_as ?? 'UP', endedAtMs };
    return [...alerts, { ...fresh, startedAtMs, reason, change, ...end }];
  }
  if (open) {
    const changedAtMs = Math.max(flapping.changedAtMs, open.startedAtMs);
    // It mentioned people when it was posted.
    const rung = open.openedAtMs < nowMs && { mentionedAtMs: open.openedAtMs };
    const now = { ...flapping, changedAtMs, ...rung };
    const flaps = { ...open, version: open.version + 1, flapping: now };
    return alerts.map((alert) => (alert === open ? flaps : alert));
  }
  const then = {
    ...monitor,
    status: 'DOWN',
    status_changed_at: outage.started_at,
    status_changes: change,
    status_reason: reason,
  };
  return withOpened(alerts, [{ monitor: then, flapping }], around).map((alert) =>
    isFlapping(alert) && alert.monitorId === monitor.id
      ? withCounted(alert, monitor, outage, nowMs)
      : alert,
  );
}

/** Keeps an end that is before the next outage. */
function withEnd(
  alerts: Alert[],
  known: Incident,
  { outage, next }: { outage: Outage; next: Outage | undefined },
  { nowMs }: IncidentContext,
): Alert[] {
  // It may have got the end of a later outage while the service couldn't be asked.
  const untilMs = known.endedAtMs ?? Number.POSITIVE_INFINITY;
  if (untilMs <= (next ? Date.parse(next.started_at) : nowMs)) return alerts;
  const endedAtMs = Math.min(Date.parse(outage.ended_at ?? ''), nowMs);
  const ended: Incident = {
    ...known,
    version: known.version + 1,
    status: outage.ended_as ?? 'UP',
    endedAtMs: Math.max(endedAtMs, known.startedAtMs),
  };
  return alerts.map((alert) => (alert === known ? ended : alert));
}
