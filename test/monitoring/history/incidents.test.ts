import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { addChange, openIncidents } from '../../../src/monitoring/history/incidents.ts';
import type { StatusChange } from '../../../src/monitoring/state/state.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { openTestStore } from '../../helpers/test-store.ts';

const START = Date.UTC(2027, 0, 15);
const statuses = ['UP', 'DOWN', 'DEGRADED', 'PAUSED', 'MAINTENANCE'] as const;

/** Changes as a monitor makes them: each begins with the status that the one before ended with. */
const changes = fc
  .array(fc.record({ step: fc.integer({ min: 1, max: 4 }), beforeMs: fc.nat({ max: 5_000 }) }), {
    maxLength: 30,
  })
  .map((steps) => {
    let at = 0;
    return steps.map(({ step, beforeMs }, index): StatusChange => {
      const from = statuses[at] ?? 'UP';
      at = (at + step) % statuses.length;
      const to = statuses[at] ?? 'UP';
      const atMs = START + 1_000 * index;
      const reason = `reason ${index + 1}`;
      return { atMs, sinceMs: atMs - beforeMs, from, to, number: index + 1, reason };
    });
  });

test('incidents are the times of DOWN, one after another, also when a change is reported twice', () => {
  fc.assert(
    fc.property(changes, fc.array(fc.nat({ max: 29 })), (all, repeats) => {
      let kept: ReturnType<typeof addChange>;
      for (const [index, change] of all.entries()) {
        kept = addChange(kept, change);
        for (const repeat of repeats) {
          const told = all[repeat];
          if (told && repeat <= index) kept = addChange(kept, told);
        }
      }
      const downs = all.filter(({ to }) => to === 'DOWN');
      const incidents = kept?.incidents ?? [];
      expect(incidents.map(({ number }) => number)).toEqual(downs.map(({ number }) => number));
      for (const [index, incident] of incidents.entries()) {
        const end = all[incident.number];
        expect(incident.cause).toBe(`reason ${incident.number}`);
        expect(incident.endedAs).toBe(end?.to);
        expect(incident.endedMs).toBe(end?.atMs);
        // None begins within the one before.
        const beforeMs = incidents[index - 1]?.endedMs ?? 0;
        expect(incident.startedMs).toBeGreaterThanOrEqual(beforeMs);
      }
    }),
  );
});

test('a list of incidents holds every change that was reported before it', async () => {
  const { log } = recordingLog();
  const store = await openTestStore({ log });
  onTestFinished(() => store.close());
  const incidents = openIncidents(store, () => false);
  const change = { atMs: START, sinceMs: START, from: 'UP', to: 'DOWN', number: 1 } as const;
  const added = incidents.add('a', [change]);
  expect(await incidents.list('a', 10)).toMatchObject([{ id: 'a:1', ended_at: null }]);
  await added;
  const up = { ...change, atMs: START + 5, from: 'DOWN', to: 'UP', number: 2 } as const;
  // A start repeats a change that may already be added.
  await incidents.add('a', [change, up]);
  expect(await incidents.list('a', 10)).toMatchObject([{ id: 'a:1', ended_as: 'UP' }]);
});

/** The incidents of a monitor `a`, each from one of these seconds to another; the last may go on. */
async function withIncidents(...times: Array<[fromSecond: number, toSecond?: number]>) {
  const { log } = recordingLog();
  const store = await openTestStore({ log });
  onTestFinished(() => store.close());
  const incidents = openIncidents(store, () => false);
  const ends = times.flatMap(([from, to]) => (to === undefined ? [from] : [from, to]));
  const all = ends.map((second, index): StatusChange => {
    const atMs = START + second * 1_000;
    const [from, to] = index % 2 ? (['DOWN', 'UP'] as const) : (['UP', 'DOWN'] as const);
    return { atMs, sinceMs: atMs, from, to, number: index + 1 };
  });
  await incidents.add('a', all);
  return (from: number, to: number) =>
    incidents.during('a', { fromMs: START + from * 1_000, toMs: START + to * 1_000 });
}

test('incidents of a time are not complete once older ones of it may be gone', async () => {
  const times = (count: number) =>
    Array.from({ length: count }, (_, at): [number, number] => [10 * at + 1, 10 * at + 2]);
  const none = { incidents: [], complete: true };
  expect(await (await withIncidents())(Number.NEGATIVE_INFINITY, 9)).toEqual(none);
  const few = await withIncidents(...times(99));
  expect((await few(Number.NEGATIVE_INFINITY, 2_000)).complete).toBe(true);
  // The first of 101 is dropped; the second began at second 11.
  const many = await withIncidents(...times(101));
  expect(await many(10.999, 2_000)).toMatchObject({ complete: false });
  expect(await many(11, 2_000)).toMatchObject({ complete: true });
  expect((await many(11, 2_000)).incidents).toHaveLength(100);
});

test('the newest hundred incidents are kept', () => {
  let kept: ReturnType<typeof addChange>;
  for (let number = 1; number <= 300; number += 1) {
    const [from, to] = number % 2 ? (['UP', 'DOWN'] as const) : (['DOWN', 'UP'] as const);
    kept = addChange(kept, { atMs: START + number, sinceMs: START + number, from, to, number });
  }
  expect(kept?.incidents.map(({ number }) => number)).toEqual(
    Array.from({ length: 100 }, (_, index) => 101 + 2 * index),
  );
});
