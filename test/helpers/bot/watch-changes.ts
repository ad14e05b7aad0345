import fc from 'fast-check';
import { newDelivery } from '../../../src/bot/incidents/incidents.ts';
import {
  type Alert,
  type Group,
  type Incident,
  type Reported,
  reportedId,
  type Watching,
} from '../../../src/bot/incidents/watch-state.ts';

const START = Date.UTC(2027, 0, 15);

export const NOTHING_WATCHED: Watching = { known: [], isLearned: true, shortLists: 0, alerts: [] };

type Members = Group['members'];

export const known = (id: string, status = 'UP') => ({ id, status, missing: 0 });

export const incident = (id: string, version = 1): Incident => ({
  ...{
    kind: 'incident',
    id,
    version,
    openedAtMs: START,
    deliveries: [newDelivery('slack:C1', id)],
  },
  ...{ monitorId: `of ${id}`, name: 'Shop “é”', target: 'https://shop.example', checkType: 'HTTP' },
  ...{ status: 'DOWN', startedAtMs: START },
});

const down = (monitorId: string, atMs: number) => ({ monitorId, atMs, seenAtMs: atMs });

export const member = (monitorId: string, status = 'DOWN'): Members[number] => ({
  ...{ incidentId: `i-${monitorId}`, monitorId, name: monitorId, status },
  ...{ startedAtMs: START, times: 1, version: 1 },
});

export const group = (id: string, members: Members, version = 1): Group => ({
  ...{ kind: 'group', id, version, openedAtMs: START, place: 'slack:C1' },
  ...{ deliveries: [newDelivery('slack:C1', id)], members },
});

const id = fc.constantFrom('a', 'b', 'c', 'd', 'e');
const status = fc.constantFrom('UP', 'DOWN', 'DEGRADED');
const members = fc.uniqueArray(fc.tuple(id, status), { selector: ([monitor]) => monitor });
const alert: fc.Arbitrary<Alert> = fc.oneof(
  fc.tuple(id, fc.integer({ min: 1, max: 3 })).map(([one, version]) => incident(one, version)),
  fc.tuple(id, members, fc.integer({ min: 1, max: 3 })).map(([one, all, version]) =>
    group(
      one,
      all.map(([monitor, now]) => member(monitor, now)),
      version,
    ),
  ),
);

/** Puts an item in the place of the one with its id, or last, or takes it out. */
function changed<T>(list: readonly T[], item: T, how: string, idOf: (item: T) => string): T[] {
  const others = list.filter((other) => idOf(other) !== idOf(item));
  if (how === 'remove') return others;
  const isThere = how === 'replace' && others.length < list.length;
  if (!isThere) return [...others, item];
  return list.map((other) => (idOf(other) === idOf(item) ? item : other));
}

const how = fc.constantFrom('replace', 'append', 'remove');

type List = 'known' | 'alerts' | 'closed' | 'reported' | 'held';
type ItemOf<Name extends List> = NonNullable<Watching[Name]>[number];

const inList = <Name extends List>(
  name: Name,
  item: fc.Arbitrary<ItemOf<Name>>,
  idOf: (item: ItemOf<Name>) => string,
) =>
  fc.tuple(item, how).map(([one, way]) => (now: Watching): Watching => {
    const list = changed<ItemOf<Name>>(now[name] ?? [], one, way, idOf);
    const isNeeded = name === 'known' || name === 'alerts' || list.length > 0;
    return { ...now, [name]: isNeeded ? list : undefined };
  });

/** A change of what is watched that leaves most of it the same objects, as the program's own do. */
export const change: fc.Arbitrary<(now: Watching) => Watching> = fc.oneof(
  inList(
    'known',
    fc.tuple(id, status).map(([one, next]) => known(one, next)),
    (one) => one.id,
  ),
  inList('alerts', alert, (one) => one.id),
  inList(
    'closed',
    fc.tuple(id, fc.nat({ max: 2 })).map(([place, tries]) => closedPlace(place, tries)),
    ({ place }) => place,
  ),
  inList(
    'reported',
    fc
      .tuple(id, fc.constantFrom('FIRING' as const, 'RESOLVED' as const))
      .map(([key, next]) => reportedAlert(key, next)),
    (one) => one.id,
  ),
  inList(
    'held',
    fc.tuple(id, fc.nat({ max: 2 })).map(([one, count]) => heldBack(one, count)),
    ({ monitor }) => monitor.id,
  ),
  fc.tuple(id, status, how).map(([one, next, way]) => (now: Watching) => ({
    ...now,
    alerts: now.alerts.map((other) =>
      other.kind === 'group'
        ? {
            ...{ ...other, version: other.version + 1 },
            members: changed(other.members, member(one, next), way, (of) => of.monitorId),
          }
        : other,
    ),
  })),
  fc.constant((now: Watching) => ({
    ...now,
    known: [...now.known].reverse(),
    alerts: [...now.alerts].reverse(),
  })),
  fc.nat({ max: 3 }).map((shortLists) => (now: Watching) => ({ ...now, shortLists })),
  fc.tuple(id, fc.nat({ max: 2 })).map(([one, count]) => (now: Watching) => {
    const others = (now.downs ?? []).filter(({ monitorId }) => monitorId !== one);
    const downs = [...others, ...Array.from({ length: count }, (_, at) => down(one, START + at))];
    return { ...now, downs: downs.length > 0 ? downs : undefined };
  }),
  fc.constant((now: Watching) => now),
);

function reportedAlert(key: string, status: Reported['status']): Reported {
  return {
    ...{ id: reportedId('i1', key), intake: 'i1', place: 'slack:C1', key, name: `Alert “${key}”` },
    ...{ status, startedAtMs: START, senderStartMs: START, lastReportAtMs: START },
  };
}

function heldBack(id: string, count: number) {
  const monitor = {
    ...{ id, name: id, check_type: 'HTTP', target: 'https://shop.example', status: 'DOWN' },
    interval_seconds: 60,
  };
  const behind = Array.from({ length: count }, (_, at) => `p${at}`);
  return { monitor, heldAtMs: START, behind };
}

function closedPlace(place: string, tries: number) {
  return {
    ...{ place, tries, refused: ['new' as const], sinceMs: START },
    ...{ triedAtMs: START, nextTryAtMs: START + tries },
  };
}
