import type { Monitor } from '../../contracts/monitoring.ts';
import { type ArrangeContext, withNews } from '../incidents/arrange.ts';
import { recentDownsOf, unpaced } from '../incidents/flapping.ts';
import { refreshed } from '../incidents/groups.ts';
import { applyChanges, isOpen, prune } from '../incidents/incidents.ts';
import {
  type Alert,
  type Incident,
  isFiring,
  mapChanged,
  type ReportDetails,
  type Reported,
  reportedId,
  type Watching,
} from '../incidents/watch-state.ts';
import type { ReportedAlert } from './reported-alert.ts';
import { applyReport, type DeliveryIntake, type ReportEffect } from './reported-steps.ts';

/** A delivery, or a part of it. */
export interface IntakeDelivery {
  intake: DeliveryIntake;
  alerts: readonly ReportedAlert[];
  /** Alerts that the sender left out. */
  truncated: number;
}

/**
 * Most reported alerts that are kept. Alerts that are over are forgotten first. One intake may have as many active ones
 * as remain free for all others.
 */
export const MAX_REPORTED = { ofIntake: 10_000, ofAll: 20_000 } as const;

/** Shortest time between two updates of a sender's words. Some senders include a value that always changes. */
export const WORDS_EVERY_MS = 300_000;

/** Most characters that are kept of one alert, and of each if very many are active. */
const ROOM = { facts: 4_000, links: 4_000, labels: 20_000 } as const;
const LITTLE_ROOM = { facts: 400, links: 400, labels: 800 } as const;
const LITTLE_ROOM_FROM = 2_000;

export const NOTHING_WATCHED: Watching = { known: [], isLearned: false, shortLists: 0, alerts: [] };

/**
 * The state after some deliveries, in order. Returns the same object if nothing changes. `leftOut` counts firing alerts
 * without room, by delivery, and `dropped` counts undelivered alerts that were given up. The time needed grows with all
 * known alerts, and with the number of changes of one alert. Pure.
 */
export function applyReported(
  watching: Watching | undefined,
  deliveries: readonly IntakeDelivery[],
  around: ArrangeContext,
): { watching: Watching | undefined; dropped: number; leftOut: Map<IntakeDelivery, number> } {
  const { nowMs } = around;
  const book = openBook(watching?.reported);
  let now = watching ?? NOTHING_WATCHED;
  const leftOut = new Map<IntakeDelivery, number>();
  let round = newRound();
  const close = () => {
    const room = book.firing() > LITTLE_ROOM_FROM ? LITTLE_ROOM : ROOM;
    now = withRound(now, round, { ...around, room });
    round = newRound();
  };
  for (const delivery of deliveries) {
    const { intake, alerts, truncated } = delivery;
    for (const said of alerts) {
      const before = book.get(reportedId(intake.id, said.key));
      const heard = applyReport(before, said, { intake, nowMs });
      if (!heard) continue;
      const begins = isFiring(heard.now) && !(before && isFiring(before));
      if (begins && !book.hasRoom(intake.id)) {
        leftOut.set(delivery, (leftOut.get(delivery) ?? 0) + 1);
        continue;
      }
      book.set(heard.now);
      for (const change of heard.changes) {
        // A round has one change of each alert.
        if (round.changes.has(heard.now.id)) close();
        const monitor = monitorOf(heard.now, change, { said, intake });
        round.changes.set(heard.now.id, monitor);
      }
      if (isFiring(heard.now)) round.words.set(heard.now.id, { said, intake, truncated });
      if (heard.acknowledges) round.acknowledged.set(heard.now.id, intake.name);
    }
  }
  close();
  const reported = book.list();
  const { alerts, dropped } = prune(now.alerts, nowMs);
  const isSame = alerts === watching?.alerts && reported === watching.reported;
  if (isSame || (now === NOTHING_WATCHED && !reported)) return { watching, dropped, leftOut };
  return { watching: { ...now, alerts, ...(reported && { reported }) }, dropped, leftOut };
}

/** Reported alerts by id, with counts. The list stays the same array if nothing changes. */
function openBook(before: readonly Reported[] | undefined) {
  const byId = new Map(before?.map((one) => [one.id, one]));
  const firing = new Map<string, number>();
  let allFiring = 0;
  let isChanged = false;
  const count = (one: Reported | undefined, by: 1 | -1) => {
    if (!one || !isFiring(one)) return;
    firing.set(one.intake, (firing.get(one.intake) ?? 0) + by);
    allFiring += by;
  };
  for (const one of byId.values()) count(one, 1);
  return {
    get: (id: string) => byId.get(id),
    firing: () => allFiring,
    hasRoom: (intake: string) => (firing.get(intake) ?? 0) < MAX_REPORTED.ofAll - allFiring,
    set(one: Reported) {
      const old = byId.get(one.id);
      if (old === one) return;
      count(old, -1);
      count(one, 1);
      byId.set(one.id, one);
      isChanged = true;
    },
    list: () => (isChanged ? withinBounds([...byId.values()]) : before),
  };
}

/** Removes the oldest alerts that are over, beyond the limits. */
function withinBounds(all: Reported[]): Reported[] {
  if (all.length <= MAX_REPORTED.ofIntake) return all;
  const counts = new Map<string, number>();
  for (const { intake } of all) counts.set(intake, (counts.get(intake) ?? 0) + 1);
  let tooMany = all.length - MAX_REPORTED.ofAll;
  const isFull = tooMany > 0 || [...counts.values()].some((one) => one > MAX_REPORTED.ofIntake);
  if (!isFull) return all;
  const out = new Set<Reported>();
  const over = all
    .filter((one) => !isFiring(one))
    .sort((a, b) => a.lastReportAtMs - b.lastReportAtMs);
  for (const one of over) {
    const own = counts.get(one.intake) ?? 0;
    if (tooMany <= 0 && own <= MAX_REPORTED.ofIntake) continue;
    out.add(one);
    counts.set(one.intake, own - 1);
    tooMany -= 1;
  }
  return all.filter((one) => !out.has(one));
}

/** Changes that are applied together, at most one of each alert. */
interface Round {
  /** Reported alerts as monitors. */
  changes: Map<string, Monitor | undefined>;
  words: Map<string, Words>;
  /** By name. */
  acknowledged: Map<string, string>;
}

interface Words {
  said: ReportedAlert;
  intake: DeliveryIntake;
  truncated: number;
}

const newRound = (): Round => ({ changes: new Map(), words: new Map(), acknowledged: new Map() });

/** A reported alert as a monitor for the rules of incidents. `undefined` if it was lost. */
function monitorOf(
  { id, name }: Reported,
  { status, atMs }: ReportEffect['changes'][number],
  { said, intake }: Pick<Words, 'said' | 'intake'>,
): Monitor | undefined {
  if (status === 'LOST') return undefined;
  return {
    ...asMonitor({ id, name, status }, intake.name),
    status_changed_at: new Date(atMs).toISOString(),
    ...(said.summary !== undefined && { status_reason: said.summary }),
  };
}

/** Assumed for systems that push. */
const INTERVAL_SECONDS = 60;

export const asMonitor = (
  { id, name, status }: Pick<Reported, 'id' | 'name' | 'status'>,
  source: string,
): Monitor => ({
  ...{ id, name, status, target: source, check_type: 'ALERT', interval_seconds: INTERVAL_SECONDS },
});

interface RoundContext extends ArrangeContext {
  room: typeof ROOM | typeof LITTLE_ROOM;
}

function withRound(watching: Watching, round: Round, around: RoundContext): Watching {
  const { changes, words, acknowledged } = round;
  if (changes.size === 0) return withoutChanges(watching, round, around);
  const { nowMs } = around;
  const recent = recentDownsOf(changes, watching.downs, nowMs);
  const ids = new Set([...changes.keys(), ...words.keys(), ...acknowledged.keys()]);
  const arranged = withNews(watching.alerts, ids, around, (concerned) => {
    const applied = applyChanges(concerned, changes, {
      ...around,
      placesFor({ id }) {
        const place = words.get(id)?.intake.place;
        return place === undefined ? [] : [place];
      },
      recent,
      asking: new Set(),
    });
    return withWordsOfSenders(applied, round, around);
  });
  const alerts = refreshed(arranged, nowMs);
  const downs = recent.kept();
  const isSame = alerts === watching.alerts && (downs === watching.downs || !downs?.length);
  return isSame ? watching : { ...watching, alerts, ...(downs?.length && { downs }) };
}

/** Without changes, as most deliveries during a long outage. */
function withoutChanges(watching: Watching, round: Round, around: RoundContext): Watching {
  if (round.words.size + round.acknowledged.size === 0) return watching;
  const said = withWordsOfSenders(watching.alerts, round, around);
  return said === watching.alerts
    ? watching
    : { ...watching, alerts: refreshed(said, around.nowMs) };
}

/** Updates incidents with the sender's words and acknowledgements. */
function withWordsOfSenders(
  alerts: Alert[],
  { words, acknowledged }: Round,
  { nowMs, room }: RoundContext,
): Alert[] {
  return mapChanged(alerts, (alert) => {
    if (alert.kind !== 'incident') return alert;
    const own = words.get(alert.monitorId);
    const worded = own ? withWords(alert, own, { nowMs, room }) : alert;
    const by = acknowledged.get(alert.monitorId);
    if (by === undefined || !isOpen(worded) || worded.acknowledged) return worded;
    const version = worded.version + 1;
    return unpaced({ ...worded, version, acknowledged: { by, atMs: nowMs } });
  });
}

/** An incident that is over keeps its words. */
function withWords(
  incident: Incident,
  words: Words,
  { nowMs, room }: Pick<RoundContext, 'nowMs' | 'room'>,
): Incident {
  const { said, intake } = words;
  const details = detailsOf(words, room);
  const { name } = said;
  const reason = said.summary ?? incident.reason;
  const ofSender = { name, target: intake.name, reason };
  if (!incident.reported) {
    const reported = { ...details, wordsShownAtMs: nowMs };
    return { ...incident, ...ofSender, intake: intake.id, reported };
  }
  if (!isOpen(incident)) return incident;
  const { wordsShownAtMs = 0, hasNewWords = false, silentSinceMs, ...before } = incident.reported;
  const isSame =
    asText(before) === asText(details) && incident.name === name && incident.reason === reason;
  if (isSame && silentSinceMs === undefined) return incident;
  const isShown = silentSinceMs !== undefined || Math.abs(nowMs - wordsShownAtMs) >= WORDS_EVERY_MS;
  const heard = { ...incident, ...ofSender };
  if (!isShown) {
    const isNew = hasNewWords || !isSame;
    return {
      ...heard,
      reported: { ...details, wordsShownAtMs, ...(isNew && { hasNewWords: true }) },
    };
  }
  const reported = { ...details, wordsShownAtMs: nowMs };
  return { ...heard, version: incident.version + 1, reported };
}

function detailsOf({ said, intake, truncated }: Words, room: RoundContext['room']): ReportDetails {
  const facts = withinRoom(
    said.facts,
    room.facts,
    ({ label, value }) => label.length + value.length,
  );
  const links = withinRoom(said.links, room.links, ({ label, url }) => label.length + url.length);
  const leftOut = said.facts.length - facts.length;
  // A silence of some labels would silence other alerts.
  const hasLabels = said.labels && JSON.stringify(said.labels).length <= room.labels;
  return {
    ...{ place: intake.place, facts: facts.map(({ label, value }) => ({ label, value })) },
    ...(leftOut > 0 && { factsLeftOut: leftOut }),
    links: links.map(({ label, url }) => ({ label, url })),
    ...(hasLabels && { labels: { ...said.labels } }),
    ...(truncated > 0 && { truncated }),
  };
}

/** Sorted, because stored labels may have another order. */
const asText = ({ facts, factsLeftOut, links, labels = {}, truncated }: ReportDetails) =>
  JSON.stringify([
    ...facts.map(({ label, value }) => [label, value]),
    ...links.map(({ label, url }) => [label, url]),
    ...Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)),
    ...[factsLeftOut ?? 0, truncated ?? 0],
  ]);

/** The first items that fit into the room. */
function withinRoom<T>(all: readonly T[], room: number, lengthOf: (one: T) => number): T[] {
  let left = room;
  const kept: T[] = [];
  for (const one of all) {
    left -= lengthOf(one);
    if (left < 0) break;
    kept.push(one);
  }
  return kept;
}
