import type { Monitor } from '../../contracts/monitoring.ts';
import { type ArrangeContext, arranged, concernedBy, reshaped } from '../incidents/arrange.ts';
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
import { type DeliveryIntake, type Heard, heardOf } from './reported-steps.ts';

/** What came in at once, or a part of it. */
export interface Delivery {
  intake: DeliveryIntake;
  alerts: readonly ReportedAlert[];
  /** Alerts that the sender left out. */
  truncated: number;
}

/**
 * Alerts that are remembered, of one intake and of all: those that are over are forgotten first. An intake may have as many
 * active ones as there is room left for all others.
 */
export const MAX_REPORTED = { ofIntake: 10_000, ofAll: 20_000 } as const;

/** So often people see that a sender has other words for what goes on: some write a value into them that never stays. */
export const WORDS_EVERY_MS = 300_000;

/** What is kept of the words of one alert, in characters; of each when very many go on. */
const ROOM = { facts: 4_000, links: 4_000, labels: 20_000 } as const;
const LITTLE_ROOM = { facts: 400, links: 400, labels: 800 } as const;
const LITTLE_ROOM_FROM = 2_000;

/** What is known when nothing ever was. */
export const NOTHING_WATCHED: Watching = { known: [], learnt: false, shortLooks: 0, alerts: [] };

/**
 * What is known and to be told after deliveries, in their order; the same document when nothing is different. `leftOut` counts
 * the firing alerts of each delivery for which there was no room, `dropped` alerts that were not told everywhere and are given up.
 * The time taken grows with what is known and said, and with how often one alert changes in it. Pure.
 */
export function applyReported(
  watching: Watching | undefined,
  deliveries: readonly Delivery[],
  around: ArrangeContext,
): { watching: Watching | undefined; dropped: number; leftOut: Map<Delivery, number> } {
  const { nowMs } = around;
  const book = openBook(watching?.reported);
  let now = watching ?? NOTHING_WATCHED;
  const leftOut = new Map<Delivery, number>();
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
      const heard = heardOf(before, said, { intake, nowMs });
      if (!heard) continue;
      const begins = isFiring(heard.now) && !(before && isFiring(before));
      if (begins && !book.hasRoom(intake.id)) {
        leftOut.set(delivery, (leftOut.get(delivery) ?? 0) + 1);
        continue;
      }
      book.set(heard.now);
      for (const change of heard.changes) {
        // A round has one change of each.
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

/** The reported alerts, as a list that is the same one when none changes. */
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

/** Without those that were over first, where there are too many. */
function withinBounds(all: Reported[]): Reported[] {
  if (all.length <= MAX_REPORTED.ofIntake) return all;
  const counts = new Map<string, number>();
  for (const { intake } of all) counts.set(intake, (counts.get(intake) ?? 0) + 1);
  let tooMany = all.length - MAX_REPORTED.ofAll;
  const isFull = tooMany > 0 || [...counts.values()].some((one) => one > MAX_REPORTED.ofIntake);
  if (!isFull) return all;
  const out = new Set<Reported>();
  const over = all.filter((one) => !isFiring(one)).sort((a, b) => a.heardAtMs - b.heardAtMs);
  for (const one of over) {
    const own = counts.get(one.intake) ?? 0;
    if (tooMany <= 0 && own <= MAX_REPORTED.ofIntake) continue;
    out.add(one);
    counts.set(one.intake, own - 1);
    tooMany -= 1;
  }
  return all.filter((one) => !out.has(one));
}

/** What is applied at once: at most one change of each alert. */
interface Round {
  /** As for monitors that a poll found changed. */
  changes: Map<string, Monitor | undefined>;
  words: Map<string, Words>;
  /** By whom, for people. */
  acknowledged: Map<string, string>;
}

interface Words {
  said: ReportedAlert;
  intake: DeliveryIntake;
  truncated: number;
}

const newRound = (): Round => ({ changes: new Map(), words: new Map(), acknowledged: new Map() });

/** A reported alert as the rules of incidents know monitors; `undefined` of one that is lost. */
function monitorOf(
  { id, name }: Reported,
  { status, atMs }: Heard['changes'][number],
  { said, intake }: Pick<Words, 'said' | 'intake'>,
): Monitor | undefined {
  if (status === 'LOST') return undefined;
  return {
    ...asMonitor({ id, name, status }, intake.name),
    status_changed_at: new Date(atMs).toISOString(),
    ...(said.summary !== undefined && { status_reason: said.summary }),
  };
}

/** How often what pushes is taken to look at what it reports on. */
const INTERVAL_SECONDS = 60;

/** What the rules of incidents take for a monitor. */
export const asMonitor = (
  { id, name, status }: Pick<Reported, 'id' | 'name' | 'status'>,
  source: string,
): Monitor => ({
  ...{ id, name, status, target: source, check_type: 'ALERT', interval_seconds: INTERVAL_SECONDS },
});

interface RoundContext extends ArrangeContext {
  /** How much of the words of each is kept. */
  room: typeof ROOM | typeof LITTLE_ROOM;
}

function withRound(watching: Watching, round: Round, around: RoundContext): Watching {
  const { changes, words, acknowledged } = round;
  if (changes.size === 0) return withoutChanges(watching, round, around);
  const { nowMs } = around;
  const recent = recentDownsOf(changes, watching.downs, nowMs);
  const ids = new Set([...changes.keys(), ...words.keys(), ...acknowledged.keys()]);
  const { concerned, withOthers } = concernedBy(ids, watching.alerts);
  const applied = applyChanges(concerned, changes, {
    ...around,
    placesFor({ id }) {
      const place = words.get(id)?.intake.place;
      return place === undefined ? [] : [place];
    },
    recent,
    asking: new Set(),
  });
  const decided = withSaid(applied, round, around);
  const before = new Set(concerned.map(({ id }) => id));
  const opened = new Set(
    decided.filter((alert) => isOpen(alert) && !before.has(alert.id)).map(({ id }) => id),
  );
  const shaped = withOthers(reshaped(arranged(decided, opened, around), concerned));
  const alerts = refreshed(shaped, nowMs);
  const downs = recent.kept();
  const isSame = alerts === watching.alerts && (downs === watching.downs || !downs?.length);
  return isSame ? watching : { ...watching, alerts, ...(downs?.length && { downs }) };
}

/** The same of a round in which nothing but words is new, as in most that come while much goes on. */
function withoutChanges(watching: Watching, round: Round, around: RoundContext): Watching {
  if (round.words.size + round.acknowledged.size === 0) return watching;
  const said = withSaid(watching.alerts, round, around);
  return said === watching.alerts
    ? watching
    : { ...watching, alerts: refreshed(said, around.nowMs) };
}

/** The alerts with what senders say of them, and that somebody looks after them over there. */
function withSaid(
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

/** An incident with what the sender says of it now; of one that is over it is known already. */
function withWords(
  incident: Incident,
  words: Words,
  { nowMs, room }: Pick<RoundContext, 'nowMs' | 'room'>,
): Incident {
  const { said, intake } = words;
  const details = detailsOf(words, room);
  const { name } = said;
  const reason = said.summary ?? incident.reason;
  const ofSender = { name, target: intake.name, ...(reason !== undefined && { reason }) };
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

/** What is kept of a sender's words, as far as there is room. */
function detailsOf({ said, intake, truncated }: Words, room: RoundContext['room']): ReportDetails {
  const facts = withinRoom(
    said.facts,
    room.facts,
    ({ label, value }) => label.length + value.length,
  );
  const links = withinRoom(said.links, room.links, ({ label, url }) => label.length + url.length);
  const leftOut = said.facts.length - facts.length;
  // A silence that names only some labels would silence others, too.
  const hasLabels = said.labels && JSON.stringify(said.labels).length <= room.labels;
  return {
    ...{ place: intake.place, facts: facts.map(({ label, value }) => ({ label, value })) },
    ...(leftOut > 0 && { factsLeftOut: leftOut }),
    links: links.map(({ label, url }) => ({ label, url })),
    ...(hasLabels && { labels: { ...said.labels } }),
    ...(truncated > 0 && { truncated }),
  };
}

/** All of it, in an order of its own: that of labels may be another when they were stored. */
const asText = ({ facts, factsLeftOut, links, labels = {}, truncated }: ReportDetails) =>
  JSON.stringify([
    ...facts.map(({ label, value }) => [label, value]),
    ...links.map(({ label, url }) => [label, url]),
    ...Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)),
    ...[factsLeftOut ?? 0, truncated ?? 0],
  ]);

/** The first of some, as many as take no more room than there is. */
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
