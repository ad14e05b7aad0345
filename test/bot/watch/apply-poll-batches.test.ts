import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isOpen } from '../../../src/bot/incidents/incidents.ts';
import type { Watching } from '../../../src/bot/incidents/watch-state.ts';
import { applyPoll, batchesOf } from '../../../src/bot/watch/apply-poll.ts';
import type { Monitor } from '../../../src/contracts/monitoring.ts';
import { long } from '../../helpers/long.ts';

const NOW_MS = 1_800_000_000_000;
const PLACES = ['slack:C1', 'discord:D1'];

/** Monitors from `id: status`. */
function list(statuses: Record<string, string>): Monitor[] {
  return Object.entries(statuses).map(([id, status]) => ({
    ...{ id, name: `Name of ${id}`, check_type: 'HTTP', target: `https://${id}.example` },
    ...{ status, interval_seconds: 60 },
  }));
}

const all = (count: number, status: string) =>
  list(Object.fromEntries(Array.from({ length: count }, (_, at) => [`m${at}`, status])));

let ids = 0;

/** The state after so many batches of a poll, or after all. */
function pollInBatches(
  before: Watching | undefined,
  monitors: readonly Monitor[],
  { count, made = Number.POSITIVE_INFINITY }: { count?: number; made?: number } = {},
) {
  const around = { nowMs: NOW_MS, newId: () => `id-${++ids}`, placesFor: () => PLACES };
  let watching = before;
  const batches = batchesOf(before, monitors, [], count);
  for (const batch of batches.slice(0, made)) {
    watching = applyPoll(watching, batch.monitors, around, { ...batch, later: new Set() }).watching;
  }
  return { watching, batches };
}

/** New monitors keep the order of their batches. */
const known = (watching: Watching | undefined) =>
  (watching?.known ?? []).toSorted((a, b) => a.id.localeCompare(b.id));

/** Monitors with an open incident. */
const down = (watching: Watching | undefined) =>
  (watching?.alerts ?? []).flatMap((alert) => (isOpen(alert) ? [alert.monitorId] : [])).sort();

/** Monitors by place, in their own messages or in groups. */
const told = (watching: Watching | undefined) =>
  (watching?.alerts ?? [])
    .flatMap((alert) => {
      if (alert.kind === 'group') {
        return alert.members.map(({ monitorId }) => `${alert.place} ${monitorId}`);
      }
      return isOpen(alert) ? alert.deliveries.map((one) => `${one.place} ${alert.monitorId}`) : [];
    })
    .sort();

test('thousands going down together are one message a place, from batches of few', () => {
  const count = long ? 10_000 : 2_000;
  const first = pollInBatches(undefined, all(count, 'UP'));
  const { watching, batches } = pollInBatches(first.watching, all(count, 'DOWN'));
  expect(batches.length).toBeGreaterThan(count / 1000);
  expect(batches.filter(({ monitors, isPart }) => isPart && monitors.length > 500)).toEqual([]);
  const messages = (watching?.alerts ?? []).filter(({ deliveries }) => deliveries.length > 0);
  expect(messages.map(({ kind, deliveries }) => [kind, deliveries.length])).toEqual([
    ['group', 1],
    ['group', 1],
  ]);
  expect(messages.map((alert) => alert.kind === 'group' && alert.members.length)).toEqual([
    count,
    count,
  ]);
});

const numRuns = long ? 500 : 40;

const statuses = fc.dictionary(
  fc.constantFrom(...'abcdefghijkl'),
  fc.constantFrom('UP', 'DOWN', 'DEGRADED'),
  { noNullPrototype: true },
);
const polls = fc.array(statuses, { minLength: 1, maxLength: 8 });

test('a poll in batches comes to the same as one at once, whatever the lists', () => {
  fc.assert(
    fc.property(polls, fc.integer({ min: 2, max: 4 }), (lists, count) => {
      let inBatches: Watching | undefined;
      let atOnce: Watching | undefined;
      for (const one of lists) {
        inBatches = pollInBatches(inBatches, list(one), { count }).watching;
        atOnce = pollInBatches(atOnce, list(one), { count: 1_000 }).watching;
        const seen = (watching: Watching | undefined) => ({
          known: known(watching),
          shortLists: watching?.shortLists,
          down: down(watching),
        });
        expect(seen(inBatches)).toEqual(seen(atOnce));
      }
    }),
    {
      numRuns,
      examples: [
        // All are lost for good, and then there are many new ones.
        [[{ a: 'UP' }, {}, {}, {}, {}, { a: 'UP', d: 'UP', f: 'UP' }], 2],
        // The last is lost for good by the list that has the many new ones.
        [[{ a: 'UP' }, {}, {}, {}, { k: 'UP', l: 'UP', i: 'UP' }], 2],
      ],
    },
  );
});

test('a crash between two batches loses nothing: the next poll sees the rest', () => {
  fc.assert(
    fc.property(statuses, statuses, fc.nat({ max: 4 }), (first, after, wanted) => {
      const isLearned = pollInBatches(undefined, list(first), { count: 3 }).watching;
      const { batches, watching: inOne } = pollInBatches(isLearned, list(after), { count: 3 });
      // Behind the whole list, another look at it would count once more who is missing.
      const before = batches.findIndex(({ isPart }) => !isPart);
      const made = Math.min(wanted, before);
      const cut = pollInBatches(isLearned, list(after), { count: 3, made }).watching;
      const inTwo = pollInBatches(cut, list(after), { count: 3 }).watching;
      expect(down(inTwo)).toEqual(down(inOne));
      expect(told(inTwo)).toEqual(told(inOne));
    }),
    { numRuns },
  );
});

/** Every message with its text about each monitor, since the first poll ever. */
const messages = (watching: Watching | undefined) =>
  (watching?.alerts ?? [])
    .filter(({ deliveries }) => deliveries.length > 0)
    .map((alert) => {
      const outages = alert.kind === 'group' ? alert.members : isOpen(alert) ? [alert] : [];
      const said = outages.map((one) => `${one.monitorId} ${one.foundAtStart} ${one.unseenFromMs}`);
      return [alert.deliveries.map(({ place }) => place), said.sort()];
    });

const firstList = fc.dictionary(
  fc.constantFrom(...'abcdefghijkl'),
  fc.constantFrom('UP', 'DOWN', 'DEGRADED'),
  { noNullPrototype: true, minKeys: 1 },
);

test('the first poll ever in batches, with a crash between two of them, says the same as one at once', () => {
  fc.assert(
    fc.property(firstList, fc.nat({ max: 5 }), (statuses, wanted) => {
      const monitors = list(statuses);
      const { batches, watching: inBatches } = pollInBatches(undefined, monitors, { count: 2 });
      const { watching: atOnce } = pollInBatches(undefined, monitors, { count: 1_000 });
      const made = Math.min(wanted, batches.length - 1);
      const { watching: cut } = pollInBatches(undefined, monitors, { count: 2, made });
      expect(cut?.isLearned ?? false).toBe(false);
      const { watching: inTwo } = pollInBatches(cut, monitors, { count: 2 });
      for (const watching of [inBatches, inTwo]) {
        expect(watching?.isLearned).toBe(true);
        expect(known(watching)).toEqual(known(atOnce));
        expect(messages(watching)).toEqual(messages(atOnce));
      }
    }),
    { numRuns },
  );
});

test('a change during a first poll that is cut off is not lost', () => {
  fc.assert(
    fc.property(firstList, firstList, fc.integer({ min: 1, max: 5 }), (first, after, wanted) => {
      const { batches } = pollInBatches(undefined, list(first), { count: 2 });
      const made = Math.min(wanted, batches.length - 1);
      const { watching: cut } = pollInBatches(undefined, list(first), { count: 2, made });
      const { watching } = pollInBatches(cut, list(after), { count: 2 });
      const open = down(watching);
      const plain = Object.entries(after).filter(([, status]) => status !== 'DEGRADED');
      expect(plain.map(([id]) => [id, open.includes(id)])).toEqual(
        plain.map(([id, status]) => [id, status === 'DOWN']),
      );
      const seen = known(watching).map(({ id }) => id);
      expect(seen).toEqual(
        [...new Set([...known(cut).map(({ id }) => id), ...Object.keys(after)])].sort(),
      );
    }),
    { numRuns },
  );
});
