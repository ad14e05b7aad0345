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

export const ids = ['a', 'b', 'c', 'd', 'e'] as const;
const id = fc.constantFrom(...ids);
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

/** A change of what is watched that leaves most of it the same objects, as the program's own do. */
export const change: fc.Arbitrary<(now: Watching) => Watching> = fc.oneof(
  fc.tuple(id, status).map(([one, next]) => (now: Watching) => ({
    ...now,
    known: put(now.known, known(one, next), (other) => other.id),
  })),
  id.map((one) => (now: Watching) => ({
    ...now,
    known: now.known.filter((other) => other.id !== one),
  })),
  alert.map((next) => (now: Watching) => ({
    ...now,
    alerts: put(now.alerts, next, (other) => other.id),
  })),
  // A notice takes the place of the one before, but comes last.
  alert.map((next) => (now: Watching) => ({
    ...now,
    alerts: [...now.alerts.filter((other) => other.id !== next.id), next],
  })),
  id.map((one) => (now: Watching) => ({
    ...now,
    alerts: now.alerts.filter((other) => other.id !== one),
  })),
  fc.tuple(id, status).map(([one, next]) => (now: Watching) => ({
    ...now,
    alerts: now.alerts.map((other) =>
      other.kind === 'group'
        ? {
            ...other,
            version: other.version + 1,
            members: put(other.members, member(one, next), ({ monitorId }) => monitorId),
          }
        : other,
    ),
  })),
  id.map((one) => (now: Watching) => ({
    ...now,
    alerts: now.alerts.map((other) =>
      other.kind === 'group'
        ? { ...other, members: other.members.filter(({ monitorId }) => monitorId !== one) }
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
    const { downs = [], ...others } = now;
    const left = downs.filter(({ monitorId }) => monitorId !== one);
    const own = Array.from({ length: count }, (_, at) => down(one, START + at));
    return left.length + count === 0 ? others : { ...others, downs: [...left, ...own] };
  }),
  fc.tuple(id, fc.nat({ max: 2 })).map(([place, tries]) => (now: Watching) => {
    const { closed = [], ...others } = now;
    const left = closed.filter((one) => one.place !== place);
    const own = tries === 0 ? [] : [closedPlace(place, tries)];
    return left.length + own.length === 0 ? others : { ...others, closed: [...left, ...own] };
  }),
  fc
    .tuple(id, fc.constantFrom('FIRING' as const, 'RESOLVED' as const, undefined))
    .map(([key, next]) => (now: Watching) => {
      const { reported = [], ...others } = now;
      const item = reportedAlert(key, next);
      const all = next
        ? put(reported, item, (one) => one.id)
        : reported.filter((one) => one.id !== item.id);
      return all.length === 0 ? others : { ...others, reported: all };
    }),
  fc.tuple(id, fc.nat({ max: 2 })).map(([one, count]) => (now: Watching) => {
    const { held = [], ...others } = now;
    const left = held.filter(({ monitor }) => monitor.id !== one);
    const own = count === 0 ? [] : [heldBack(one, count)];
    return left.length + own.length === 0 ? others : { ...others, held: [...left, ...own] };
  }),
  fc.constant((now: Watching) => now),
);

const reportedAlert = (key: string, status: Reported['status'] = 'FIRING'): Reported => ({
  ...{ id: reportedId('i1', key), intake: 'i1', place: 'slack:C1', key, name: `Alert “${key}”` },
  ...{ status, startedAtMs: START, senderStartMs: START, lastReportAtMs: START },
});

const heldBack = (id: string, count: number) => ({
  monitor: {
    ...{ id, name: id, check_type: 'HTTP', target: 'https://shop.example', status: 'DOWN' },
    interval_seconds: 60,
  },
  ...{ heldAtMs: START, behind: Array.from({ length: count }, (_, at) => `p${at}`) },
});

const closedPlace = (place: string, tries: number) => ({
  ...{ place, tries, refused: ['new' as const], sinceMs: START },
  ...{ triedAtMs: START, nextTryAtMs: START + tries },
});

function put<T>(list: readonly T[], item: T, idOf: (item: T) => string): T[] {
  const isThere = list.some((other) => idOf(other) === idOf(item));
  return isThere
    ? list.map((other) => (idOf(other) === idOf(item) ? item : other))
    : [...list, item];
}
