import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { diff } from '../../../src/bot/incidents/diff.ts';
import { isOpen } from '../../../src/bot/incidents/incidents.ts';
import type { Incident, Watching } from '../../../src/bot/incidents/watch-state.ts';
import { applyPoll } from '../../../src/bot/watch/apply-poll.ts';
import type { Monitor } from '../../../src/contracts/monitoring.ts';
import { long } from '../../helpers/long.ts';

/** A list as the service gives it, from `id: status`. */
function list(statuses: Record<string, string>): Monitor[] {
  return Object.entries(statuses).map(([id, status]) => ({
    id,
    name: `Name of ${id}`,
    check_type: 'HTTP',
    target: `https://${id}.example`,
    status,
    interval_seconds: 60,
  }));
}

/** Changes by list: `a DOWN`, `a gone`. */
function changesOf(...lists: Array<Record<string, string>>): string[][] {
  let snapshot: Parameters<typeof diff>[0];
  return lists.map((statuses) => {
    const result = diff(snapshot, list(statuses));
    snapshot = result.snapshot;
    return [...result.changes].map(([id, monitor]) => `${id} ${monitor ? monitor.status : 'gone'}`);
  });
}

describe('comparing two lists', () => {
  const abc = { a: 'UP', b: 'UP', c: 'UP' };

  test('reports of the first list ever only what is down', () => {
    const first = { a: 'DOWN', b: 'UP', c: 'Zombie', d: 'down' };
    expect(changesOf(first, first)).toEqual([['a DOWN', 'c Zombie', 'd down'], []]);
    expect(changesOf({}, { a: 'DOWN' })).toEqual([[], ['a DOWN']]);
  });

  test('keeps a status it does not know as it is written', () => {
    expect(changesOf(abc, { ...abc, a: 'Zømbie' }, { ...abc, a: 'zombie' })).toEqual([
      [],
      ['a Zømbie'],
      ['a zombie'],
    ]);
  });

  test('needs two polls for a monitor to be gone', () => {
    const without = { a: 'UP', b: 'UP' };
    expect(changesOf(abc, without, abc, without, without, without)).toEqual([
      [],
      [],
      [],
      [],
      ['c gone'],
      [],
    ]);
  });

  test('holds an empty or halved list for two polls, then needs two more', () => {
    expect(changesOf(abc, {}, {}, {}, {}, {})).toEqual([
      [],
      [],
      [],
      [],
      ['a gone', 'b gone', 'c gone'],
      [],
    ]);
    expect(changesOf(abc, { a: 'UP' }, { a: 'UP' }, abc, { a: 'UP' }, { a: 'UP' })).toEqual(
      Array.from({ length: 6 }, () => []),
    );
  });

  test('believes the statuses that a short list shows', () => {
    expect(changesOf(abc, { a: 'DOWN' })).toEqual([[], ['a DOWN']]);
  });

  test('returns the same snapshot when nothing is different', () => {
    const { snapshot } = diff(undefined, list(abc));
    expect(diff(snapshot, list(abc)).snapshot).toBe(snapshot);
  });
});

/** Outages by the book, one monitor at a time: how many it had, and whether one goes on. */
function outagesOf(lists: Array<Record<string, string>>, id: string) {
  let shortLists = 0;
  let listedBefore = new Set<string>();
  const missing = new Map<string, number>();
  let status: string | undefined;
  let open = false;
  let count = 0;
  for (const statuses of lists) {
    const lost = [...listedBefore].filter((one) => !(one in statuses));
    shortLists = lost.length * 2 > listedBefore.size ? shortLists + 1 : 0;
    const held = shortLists === 1 || shortLists === 2;
    for (const one of Object.keys(statuses)) missing.delete(one);
    const now = statuses[id];
    if (now !== undefined) {
      if (open && now === 'UP') open = false;
      if (!open && now === 'DOWN' && status !== 'DOWN') {
        open = true;
        count += 1;
      }
      status = now;
    }
    for (const one of Object.keys(statuses)) listedBefore.add(one);
    if (held) continue;
    for (const one of lost) {
      missing.set(one, (missing.get(one) ?? 0) + 1);
      if (missing.get(one) !== 2) continue;
      missing.delete(one);
      listedBefore = new Set([...listedBefore].filter((other) => other !== one));
      if (one === id) {
        status = undefined;
        open = false;
      }
    }
  }
  return { count, open };
}

const ids = ['a', 'b', 'c', 'd'];
const status = fc.constantFrom('UP', 'UP', 'DOWN', 'DOWN', 'DEGRADED', 'PENDING');
const lists = fc.array(
  fc.record(Object.fromEntries(ids.map((id) => [id, status])), {
    requiredKeys: [],
  }) as fc.Arbitrary<Record<string, string>>,
  { maxLength: 25 },
);

function pollAt(histories: Array<Record<string, string>>) {
  let watching: Watching | undefined;
  let made = 0;
  let nowMs = 1000;
  for (const statuses of histories) {
    // Rare enough that nothing flaps.
    nowMs += 4 * 60_000;
    watching = applyPoll(watching, list(statuses), {
      nowMs,
      newId: () => {
        made += 1;
        return `incident-${made}`;
      },
      placesFor: () => ['slack:C1'],
    }).watching;
  }
  return watching;
}

test('takes PENDING neither for trouble nor for its end', () => {
  const quiet = ['PENDING', 'UP', 'PENDING', 'UP'].map((a) => ({ a }));
  expect(pollAt(quiet)?.alerts).toEqual([]);
  const down = pollAt(['PENDING', 'DOWN', 'PENDING'].map((a) => ({ a })));
  expect(down?.alerts).toMatchObject([{ monitorId: 'a' }]);
  expect(down?.alerts[0]).toMatchObject({ kind: 'incident', degraded: undefined });
  expect(down?.alerts.filter(isOpen)).toHaveLength(1);
});

test('opens one incident for each outage and ends it with the outage, whatever the history', () => {
  fc.assert(
    fc.property(lists, (histories) => {
      const alerts = pollAt(histories)?.alerts ?? [];
      const seen: unknown[] = [];
      for (const id of ids) {
        const own = alerts.filter(
          (alert): alert is Incident =>
            alert.kind === 'incident' && alert.monitorId === id && alert.degraded === undefined,
        );
        // An outage counts earlier ones that weren't posted. Outages that begin together share a message.
        const alone = own
          .flatMap(({ deliveries }) => deliveries)
          .reduce((sum, { earlier }) => sum + 1 + (earlier?.count ?? 0), 0);
        const together = alerts
          .flatMap((alert) => (alert.kind === 'group' ? alert.members : []))
          .filter(({ monitorId, degraded }) => monitorId === id && degraded === undefined)
          .reduce((sum, { times }) => sum + times, 0);
        const open = own.some(({ endedAtMs }) => endedAtMs === undefined);
        const told = own.filter(({ deliveries }) => deliveries.length > 0).length;
        seen.push({ id, count: alone + together, open, isToldOnce: told <= 1 });
      }
      expect(seen).toEqual(
        ids.map((id) => ({ id, ...outagesOf(histories, id), isToldOnce: true })),
      );
    }),
    { numRuns: long ? 20_000 : 100 },
  );
});

test('takes the times of an outage from the service where it gives them, and never from the future', () => {
  const [up, down, upAgain] = ['UP', 'DOWN', 'UP'].map((now, index) => ({
    ...list({ a: now })[0],
    status_changed_at: new Date(index * 10_000).toISOString(),
    ...(now === 'DOWN' ? { status_reason: 'answered 503' } : {}),
  })) as Monitor[];
  const around = (nowMs: number) => ({ nowMs, newId: () => 'i', placesFor: () => [] });
  let { watching } = applyPoll(undefined, [up as Monitor], around(1000));
  ({ watching } = applyPoll(watching, [down as Monitor], around(15_000)));
  ({ watching } = applyPoll(watching, [upAgain as Monitor], around(18_000)));
  expect(watching.alerts[0]).toMatchObject({
    startedAtMs: 10_000,
    endedAtMs: 18_000,
    reason: 'answered 503',
  });
});
