import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Watching } from '../../../src/bot/incidents/watch-state.ts';
import { openWatchState } from '../../../src/bot/watch/watch-store.ts';
import type { Store } from '../../../src/store/store.ts';
import {
  change,
  group,
  incident,
  known,
  member,
  NOTHING_WATCHED,
} from '../../helpers/bot/watch-changes.ts';
import { long } from '../../helpers/long.ts';
import { createMemoryData, openMemoryStore } from '../../helpers/memory-store/memory-store.ts';

/** A store whose writes fail on demand, and are counted with the number of their items. */
function watchedStore() {
  const data = createMemoryData();
  const real = openMemoryStore({ data });
  const writes: number[] = [];
  const failing = { is: false };
  const store: Store = {
    ...real,
    async keyed(declaration) {
      const keyed = await real.keyed(declaration);
      const written =
        (write: typeof keyed.write): typeof write =>
        async (changes) => {
          if (failing.is) throw new Error('ENOSPC');
          writes.push(changes.size);
          await write(changes);
        };
      return { ...keyed, write: written(keyed.write), erase: written(keyed.erase) };
    },
  };
  const stored = async () => (await openWatchState(openMemoryStore({ data }))).current();
  return { store, failing, writes, stored };
}

test('the state is there at the next start as it was last changed, in its order', async () => {
  const updates = fc.array(fc.array(change, { minLength: 1, maxLength: 3 }), { maxLength: 15 });
  await fc.assert(
    fc.asyncProperty(updates, fc.integer({ min: 0, max: 20 }), async (all, failsAt) => {
      const { store, failing, stored } = watchedStore();
      const state = await openWatchState(store);
      for (const [at, changes] of all.entries()) {
        const before = state.current();
        failing.is = at === failsAt;
        const write = at % 4 === 3 ? state.erase : state.update;
        const outcomes = await Promise.allSettled(
          changes.map((make) => write((now) => make(now ?? NOTHING_WATCHED))),
        );
        if (outcomes.some(({ status }) => status === 'rejected')) {
          expect(state.current()).toBe(before);
        }
      }
      expect(await stored()).toEqual(state.current());
    }),
    { numRuns: long ? 500 : 60 },
  );
});

test('an update that could not be written changes nothing, and only its caller gets the error', async () => {
  const { store, failing } = watchedStore();
  const state = await openWatchState(store);
  await state.update(() => ({ ...NOTHING_WATCHED, known: [known('a')] }));
  const before = state.current();
  failing.is = true;
  const seen: unknown[] = [];
  const outcomes = await Promise.allSettled([
    state.update((now) => now),
    state.update(() => ({ ...NOTHING_WATCHED, known: [known('b')] })),
    state.update((now) => {
      seen.push(now?.known);
      throw new Error('no');
    }),
    state.update((now) => now && { ...now, shortLists: 1 }),
  ]);
  expect(outcomes.map((one) => (one.status === 'rejected' ? one.reason.message : 'done'))).toEqual([
    ...['done', 'ENOSPC', 'no', 'ENOSPC'],
  ]);
  expect(seen).toEqual([[known('b')]]);
  expect(state.current()).toBe(before);
  failing.is = false;
  await state.update((now) => now && { ...now, shortLists: 2 });
  expect(state.current()).toEqual({ ...NOTHING_WATCHED, known: [known('a')], shortLists: 2 });
});

test('a stored item cannot be altered in place, and a state cannot be removed', async () => {
  const state = await openWatchState(watchedStore().store);
  await state.update(() => ({ ...NOTHING_WATCHED, alerts: [incident('a')] }));
  const alter = () => {
    const [alert] = state.current()?.alerts ?? [];
    if (alert?.deliveries[0]) alert.deliveries[0].failures = 7;
  };
  expect(alter).toThrow(TypeError);
  await expect(state.update(() => undefined)).rejects.toThrow('not removed');
});

test('an item that does not fit its schema is refused', async () => {
  const { store, stored } = watchedStore();
  const state = await openWatchState(store);
  const bad = { ...NOTHING_WATCHED, alerts: [{ ...incident('a'), version: Number.NaN }] };
  await expect(state.update(() => bad)).rejects.toThrow('version');
  expect(await stored()).toBeUndefined();
});

test('an update writes the items that it changes, not all there are', async () => {
  const { store, writes } = watchedStore();
  const state = await openWatchState(store);
  const all = Array.from({ length: 500 }, (_, at) => `m${at}`);
  const members = all.map((id) => member(id));
  const watching: Watching = {
    ...NOTHING_WATCHED,
    known: all.map((id) => known(id)),
    alerts: [...all.map((id) => incident(id)), group('g', members)],
  };
  await state.update(() => watching);
  await state.update(() => ({
    ...watching,
    alerts: watching.alerts.map((alert) =>
      alert.kind === 'group'
        ? { ...alert, members: [...members.slice(0, -1), member('m499', 'UP')] }
        : alert,
    ),
  }));
  // One member, its group, and the rest of the state.
  expect(writes).toEqual([1_502, 3]);
});

test('updates that come together share one write', async () => {
  const { store, writes } = watchedStore();
  const state = await openWatchState(store);
  await Promise.all(
    ['a', 'b', 'c'].map((id) =>
      state.update((now = NOTHING_WATCHED) => ({ ...now, known: [...now.known, known(id)] })),
    ),
  );
  expect(writes).toEqual([4]);
});
