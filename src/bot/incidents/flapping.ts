import type { Monitor } from '../../contracts/monitoring.ts';
import type { Incident as Outage } from '../../contracts/monitoring-additions.ts';
import { isDown, isSilenced, isUp } from '../shared/status.ts';
import type { Alert, Down, Flapping, Group, Incident } from './watch-state.ts';

/** So many times down within so long, which is five changes, are flapping; it is over after as long without a change. */
export const FLAPPING_DOWNS = 3;
export const FLAPPING_MS = 15 * 60_000;

/** Numbers of changes that are remembered: of as many outages as are asked for at once. */
const COUNTED = 20;

/** An incident of a monitor that flaps. */
export type FlappingIncident = Incident & { flapping: Flapping };

/** An incident to open. */
export interface Opening {
  monitor: Monitor;
  flapping?: Flapping | undefined;
  /** How it flapped before it stayed DOWN. */
  flapped?: Flapping | undefined;
  /** Who looks after it already. */
  acknowledged?: Incident['acknowledged'];
}

/** What is remembered of the times that monitors went down, over one poll. */
export interface RecentDowns {
  /** Notes that a monitor went down; gives the flapping that begins with it, if one does. */
  note(down: Down): Flapping | undefined;
  /** Notes one as told now, which was noted or counted before. */
  noteAgain(down: Down): void;
  /** All that the next poll needs; the same array when nothing was noted. */
  kept(): readonly Down[] | undefined;
}

/** Remembers of each monitor the last times that it went down: alerts that are over are not kept for long enough. */
export function recentDowns(before: readonly Down[] | undefined, nowMs: number): RecentDowns {
  // What is heard of late may have followed soon on what is old by now.
  const isRecent = ({ seenAtMs }: Down) => Math.abs(nowMs - seenAtMs) <= 2 * FLAPPING_MS;
  const known = new Map<string, Down[]>();
  for (const one of (before ?? []).filter(isRecent)) {
    known.set(one.monitorId, [...(known.get(one.monitorId) ?? []), one]);
  }
  let noted = false;
  return {
    note(down) {
      noted = true;
      const all = [...(known.get(down.monitorId) ?? []), down].slice(-FLAPPING_DOWNS);
      known.set(down.monitorId, all.slice(1 - FLAPPING_DOWNS));
      return isFlap(all) ? begun(all, down) : undefined;
    },
    noteAgain(down) {
      noted = true;
      const others = (known.get(down.monitorId) ?? []).filter((one) => one.atMs !== down.atMs);
      known.set(down.monitorId, [...others, down].slice(1 - FLAPPING_DOWNS));
    },
    kept: () => (noted ? [...known.values()].flat() : before),
  };
}

/** Whether these are too many: they were within the time, or were heard of within it, since each would be a message. */
function isFlap(downs: readonly Down[]): boolean {
  const [first, last] = [downs[0], downs.at(-1)];
  if (!first || !last || downs.length < FLAPPING_DOWNS) return false;
  return isFlapTime(first.atMs, last.atMs) || isFlapTime(first.seenAtMs, last.seenAtMs);
}

/** Whether it is so short a time, either way: the clock may have been set back. */
export const isFlapTime = (aMs: number, bMs: number) => Math.abs(aMs - bMs) <= FLAPPING_MS;

function begun(downs: readonly Down[], { atMs, seenAtMs }: Down): Flapping {
  return {
    fromMs: Math.min(...downs.map((one) => one.atMs)),
    downs: downs.length,
    isDown: true,
    changedAtMs: atMs,
    seenAtMs,
    counted: downs.flatMap(({ change }) => (change === undefined ? [] : [change])),
  };
}

/** Whether it is an incident of a monitor that flaps, and goes on. */
export function isFlapping(alert: Alert): alert is FlappingIncident {
  return alert.kind === 'incident' && alert.flapping !== undefined && alert.endedAtMs === undefined;
}

/** How often it changed between DOWN and UP. */
export const changesOf = ({ downs, isDown }: Pick<Flapping, 'downs' | 'isDown'>) =>
  2 * downs - (isDown ? 1 : 0);

/** The incident after its monitor was listed with another status, since `changedAtMs`. Pure. */
export function withStatus(
  incident: FlappingIncident,
  monitor: Monitor,
  { changedAtMs, nowMs }: { changedAtMs: number; nowMs: number },
): Incident {
  const { flapping } = incident;
  const { status, status_changes: number, status_reason: reason } = monitor;
  const isNowDown = isDown(monitor) || (flapping.isDown && !isUp(monitor));
  const counted = isDown(monitor) ? withNumber(flapping.counted, number) : flapping.counted;
  const isNew = isNowDown && !flapping.isDown && !isCounted(flapping, number);
  const after: Flapping = {
    ...flapping,
    counted,
    isDown: isNowDown,
    downs: flapping.downs + (isNew ? 1 : 0),
    ...(isDown(monitor) && !isDown(incident) && { downFromMs: changedAtMs }),
    ...(isNowDown !== flapping.isDown && {
      changedAtMs: Math.max(flapping.changedAtMs, changedAtMs),
      seenAtMs: nowMs,
    }),
  };
  return {
    ...incident,
    version: incident.version + 1,
    status,
    flapping: after,
    ...(isDown(monitor) && reason !== undefined && { reason }),
  };
}

/** The incident with an outage that came or ended between two polls; the same one when it is counted already. Pure. */
export function withCounted(
  incident: FlappingIncident,
  monitor: Monitor,
  outage: Outage,
  nowMs: number,
): Incident {
  const { flapping } = incident;
  const startedAtMs = Math.min(Date.parse(outage.started_at), nowMs);
  const endedAtMs =
    outage.ended_at === null ? undefined : Math.min(Date.parse(outage.ended_at), nowMs);
  // What ended as something else than UP may go on.
  const isOver = endedAtMs !== undefined && isUp({ status: outage.ended_as ?? 'UP' });
  const isNowDown = !isOver && !isUp(monitor);
  const isNew = !isCounted(flapping, outage.change);
  if (!isNew && isNowDown === flapping.isDown) return incident;
  const after: Flapping = {
    ...flapping,
    fromMs: Math.min(flapping.fromMs, startedAtMs),
    downs: flapping.downs + (isNew ? 1 : 0),
    isDown: isNowDown,
    changedAtMs: Math.max(
      flapping.changedAtMs,
      isNowDown ? startedAtMs : (endedAtMs ?? startedAtMs),
    ),
    seenAtMs: nowMs,
    counted: withNumber(flapping.counted, outage.change),
  };
  return {
    ...incident,
    version: incident.version + 1,
    status: monitor.status,
    reason: outage.cause,
    flapping: after,
  };
}

export const isCounted = ({ counted }: Flapping, number: number | undefined) =>
  number !== undefined && counted.includes(number);

/** The numbers with another one, in order; the oldest are forgotten. Pure. */
export function withNumber(counted: readonly number[], number: number | undefined): number[] {
  if (number === undefined || counted.includes(number)) return [...counted];
  return [...counted, number].sort((a, b) => a - b).slice(-COUNTED);
}

/** While no poll came, it may not have been calm: that counts from now. Pure. */
export function withCalmRestarted(alerts: Alert[], nowMs: number): Alert[] {
  if (!alerts.some(isFlapping)) return alerts;
  return alerts.map((alert) =>
    isFlapping(alert) ? { ...alert, flapping: { ...alert.flapping, seenAtMs: nowMs } } : alert,
  );
}

/** A monitor that is DOWN, as one of the times that it went down. */
export function downOf(
  { id: monitorId, status_changes: change }: Monitor,
  { atMs, nowMs }: { atMs: number; nowMs: number },
): Down {
  return { monitorId, atMs, seenAtMs: nowMs, ...(change !== undefined && { change }) };
}

/** Whether flapping ended with nothing to notice: a new incident says it, or people have said that they want to hear nothing. */
export function endsQuietly(alert: Alert): boolean {
  if (alert.kind === 'group') return alert.members.every(isQuietEnd);
  return alert.kind === 'incident' && isQuietEnd(alert);
}

const isQuietEnd = (ended: Incident | Group['members'][number]) =>
  ended.endedAtMs !== undefined &&
  ended.flapping !== undefined &&
  !ended.gone &&
  (isDown(ended) || isSilenced(ended));

/**
 * The last word, and what somebody did, need not wait for their turn; a message that was never posted waits for another
 * reason. Pure.
 */
export function unpaced<T extends Alert>(alert: T): T {
  const deliveries = alert.deliveries.map(({ heldUntilMs, ...delivery }) =>
    delivery.posted || heldUntilMs === undefined ? delivery : { ...delivery, heldUntilMs },
  );
  return { ...alert, deliveries };
}
