import { setImmediate as nextTurn } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LeaseLostError } from '../../src/store/errors.ts';
import type { Journal, JournalRecord, Lease, Store } from '../../src/store/store.ts';
import { eventually } from '../helpers/eventually.ts';
import { long } from '../helpers/long.ts';

/** A store on fresh data, and a way to open the same data again. */
export interface OpenedStore {
  store: Store;
  reopen(): Promise<Store>;
}

const Note = z.object({ text: z.string(), count: z.int(), tags: z.array(z.string()).optional() });
type Note = z.infer<typeof Note>;
const notes = { name: 'notes', schema: Note, version: 1, whenCorrupt: 'refuse' } as const;

const Result = z.object({ atMs: z.number(), value: z.string() });
const results = { name: 'results', schema: Result };

const items = { name: 'items', schema: Note, whenCorrupt: 'refuse' } as const;

const Job = z.object({ text: z.string() });
const jobs = { name: 'jobs', schema: Job, keptMs: 60_000 };

const DAY_MS = 86_400_000;
const NOON_MS = Date.UTC(2026, 10, 20, 12);

async function all<T extends JournalRecord>(
  journal: Journal<T>,
  range?: { fromMs?: number; toMs?: number },
): Promise<T[]> {
  const records: T[] = [];
  for await (const record of journal.read(range)) records.push(record);
  return records;
}

/** The promises of `Store` that every engine keeps. `open` is called inside a test and cleans up after it. */
export function describeStore(engine: string, open: () => Promise<OpenedStore>): void {
  describe(`a collection of ${engine}`, () => {
    test('gives undefined for what was never written', async () => {
      const { store } = await open();
      expect(await store.collection(notes).get('a')).toBeUndefined();
      expect(await store.collection({ ...notes, name: 'others' }).list()).toEqual([]);
    });

    test('gives back what was written, also after it was opened again', async () => {
      const { store, reopen } = await open();
      const note = { text: 'héllo \u0000 \ud83d\ude00 "\\\n', count: 1, tags: ['x'] };
      expect(await store.collection(notes).update('a', () => note)).toEqual(note);
      const again = (await reopen()).collection(notes);
      expect(await again.get('a')).toEqual(note);
      expect(await again.list()).toEqual([{ id: 'a', document: note }]);
    });

    test('takes any text as an id, and keeps each apart', async () => {
      const { store, reopen } = await open();
      const ids = [
        ...['', '../../etc/passwd', 'a/b\\c', 'NUL\u0000', 'ÄÖ \u202e', 'a', 'A', '__proto__'],
        ...['x'.repeat(500), '😀'.repeat(250), '\ud800', '\ud801'],
      ];
      const collection = store.collection(notes);
      for (const [count, text] of ids.entries()) {
        await collection.update(text, () => ({ text, count }));
      }
      const again = (await reopen()).collection(notes);
      for (const [count, id] of ids.entries()) expect((await again.get(id))?.count).toBe(count);
      expect((await again.list()).map(({ id }) => id).sort()).toEqual(ids.sort());
    });

    test('refuses an id of more than 500 characters', async () => {
      const collection = (await open()).store.collection(notes);
      await expect(collection.get('x'.repeat(501))).rejects.toThrow(RangeError);
      await expect(collection.update('x'.repeat(501), () => undefined)).rejects.toThrow(RangeError);
    });

    test('removes a document when the change gives undefined, for good', async () => {
      const { store, reopen } = await open();
      const collection = store.collection(notes);
      await collection.update('a', () => ({ text: 'one', count: 1 }));
      await collection.update('a', () => ({ text: 'two', count: 2 }));
      expect(await collection.update('a', () => undefined)).toBeUndefined();
      expect(await collection.get('a')).toBeUndefined();
      const again = (await reopen()).collection(notes);
      expect(await again.get('a')).toBeUndefined();
      expect(await again.list()).toEqual([]);
    });

    test('erases as it updates: a part, a whole document, or nothing', async () => {
      const { store, reopen } = await open();
      const collection = store.collection(notes);
      const whole = { text: 'whole', count: 1, tags: ['x'] };
      await collection.update('a', () => whole);
      await collection.update('b', () => whole);
      const part = { text: 'part', count: 1 };
      expect(await collection.erase('a', () => part)).toEqual(part);
      expect(await collection.erase('b', () => undefined)).toBeUndefined();
      expect(await collection.erase('c', (now) => now)).toBeUndefined();
      await expect(collection.erase('a', () => ({ count: 1.5 }) as Note)).rejects.toThrow('count');
      const again = (await reopen()).collection(notes);
      expect(await again.list()).toEqual([{ id: 'a', document: part }]);
    });

    test('erases all documents that fit, as they are by then', async () => {
      const { store, reopen } = await open();
      const collection = store.collection(notes);
      for (const count of [1, 2, 3]) {
        await collection.update(`${count}`, () => ({ text: 'n', count }));
      }
      const changed = collection.update('3', () => ({ text: 'changed', count: 1 }));
      await collection.eraseAll((id, { count }) => id === '1' || count === 3);
      await changed;
      const again = (await reopen()).collection(notes);
      expect((await again.list()).map(({ id }) => id).sort()).toEqual(['2', '3']);
    });

    test('runs updates of one document one after another and loses none', async () => {
      const { store, reopen } = await open();
      const collection = store.collection(notes);
      const updates: Promise<Note | undefined>[] = [];
      for (let turn = 0; turn < 200; turn += 1) {
        updates.push(
          collection.update('a', (now) => ({ text: 'n', count: (now?.count ?? 0) + 1 })),
        );
        // Some come together, some while others are being written.
        if (turn % 7 === 0) await nextTurn();
      }
      expect((await Promise.all(updates)).map((result) => result?.count)).toEqual(
        Array.from({ length: 200 }, (_, index) => index + 1),
      );
      expect((await (await reopen()).collection(notes).get('a'))?.count).toBe(200);
    });

    test('a change that throws rejects its own caller only and changes nothing', async () => {
      const collection = (await open()).store.collection(notes);
      const add = () =>
        collection.update('a', (now) => ({ text: 'n', count: (now?.count ?? 0) + 1 }));
      const outcomes = await Promise.allSettled([
        add(),
        collection.update('a', () => {
          throw new Error('changed my mind');
        }),
        add(),
      ]);
      expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      expect((await collection.get('a'))?.count).toBe(2);
    });

    test('a document that does not fit the schema is refused before it is written', async () => {
      const { store, reopen } = await open();
      const collection = store.collection(notes);
      await collection.update('a', () => ({ text: 'good', count: 1 }));
      await expect(
        collection.update('a', () => ({ text: 'bad', count: 1.5 }) as Note),
      ).rejects.toThrow('count');
      await expect(
        collection.update('a', () => ({ text: 'bad', count: Number.NaN })),
      ).rejects.toThrow('count');
      expect(await collection.get('a')).toEqual({ text: 'good', count: 1 });
      expect(await (await reopen()).collection(notes).get('a')).toEqual({ text: 'good', count: 1 });
    });

    test('what is handed out or in cannot be used to alter what is stored', async () => {
      const { store } = await open();
      const collection = store.collection(notes);
      const mine: Note = { text: 'n', count: 1, tags: ['a'] };
      await collection.update('a', () => mine);
      mine.tags?.push('b');
      expect((await collection.get('a'))?.tags).toEqual(['a']);
      await collection
        .update('a', (now) => {
          now?.tags?.push('c');
          return now;
        })
        .catch(() => {});
      expect((await collection.get('a'))?.tags).toEqual(['a']);
    });

    test('a document of a newer version is refused and left as it is', async () => {
      const { store, reopen } = await open();
      const newer = { ...notes, version: 2 };
      await store.collection(newer).update('a', () => ({ text: 'new', count: 3 }));
      const older = (await reopen()).collection(notes);
      await expect(older.get('a')).rejects.toThrow(/version 2.*versions up to 1/);
      await expect(older.update('a', () => undefined)).rejects.toThrow('version 2');
      await expect(older.list()).rejects.toThrow('version 2');
      const again = (await reopen()).collection(newer);
      expect(await again.get('a')).toEqual({ text: 'new', count: 3 });
    });

    test('lists every document once while documents change', async () => {
      const { store } = await open();
      const collection = store.collection(notes);
      const ids = Array.from({ length: 60 }, (_, index) => `note ${index}`);
      await Promise.all(ids.map((id) => collection.update(id, () => ({ text: id, count: 0 }))));
      const [listed] = await Promise.all([
        collection.list(),
        ...ids.map((id) => collection.update(id, () => ({ text: id, count: 1 }))),
      ]);
      expect(listed.map(({ id }) => id).sort()).toEqual([...ids].sort());
      for (const { id, document } of listed) expect(document.text).toBe(id);
    });

    test('tells who follows it of all that is there, and then of every change before it is done', async () => {
      const { store, reopen } = await open();
      const before = store.collection(notes);
      await before.update('old', () => ({ text: 'old', count: 1 }));
      await before.update('gone', () => ({ text: 'gone', count: 1 }));
      await before.update('gone', () => undefined);
      const collection = (await reopen()).collection(notes);
      const memory = new Map<string, Note>();
      const following = await collection.follow((changed) => {
        for (const { id, document } of changed) {
          if (document) memory.set(id, document);
          else memory.delete(id);
        }
      });
      expect([...memory.keys()]).toEqual(['old']);
      await collection.update('new', () => ({ text: 'new', count: 1 }));
      expect(memory.get('new')?.text).toBe('new');
      await collection.update('old', (now) => now && { ...now, text: 'changed' });
      expect(memory.get('old')?.text).toBe('changed');
      await collection.erase('new', () => undefined);
      expect([...memory.keys()]).toEqual(['old']);
      await collection.eraseAll(() => true);
      expect(memory.size).toBe(0);
      expect(following.staleMs()).toBeLessThan(60_000);
      await expect(collection.follow(() => {})).rejects.toThrow('followed already');
      following.stop();
      await collection.update('after', () => ({ text: 'after', count: 1 }));
      expect(memory.size).toBe(0);
    });
  });

  describe(`a journal of ${engine}`, () => {
    test('is empty at first', async () => {
      expect(await all((await open()).store.journal(results))).toEqual([]);
    });

    test('gives records back in order of time, also when they came a little out of order', async () => {
      const { store, reopen } = await open();
      const journal = store.journal(results);
      const offsets = Array.from({ length: 300 }, (_, index) => (index * 7) % 300);
      await Promise.all(
        offsets.map((offset) => journal.append({ atMs: NOON_MS + offset, value: `${offset}` })),
      );
      const expected = Array.from({ length: 300 }, (_, index) => `${index}`);
      expect((await all(journal)).map(({ value }) => value)).toEqual(expected);
      const again = (await reopen()).journal(results);
      expect((await all(again)).map(({ value }) => value)).toEqual(expected);
    });

    test('reads a range: its start belongs to it, its end does not', async () => {
      const journal = (await open()).store.journal(results);
      for (const offset of [-DAY_MS, -1, 0, 1, 2, DAY_MS]) {
        await journal.append({ atMs: NOON_MS + offset, value: `${offset}` });
      }
      const values = async (range: { fromMs?: number; toMs?: number }) =>
        (await all(journal, range)).map(({ value }) => Number(value));
      expect(await values({ fromMs: NOON_MS, toMs: NOON_MS + 2 })).toEqual([0, 1]);
      expect(await values({ fromMs: NOON_MS + 2 })).toEqual([2, DAY_MS]);
      expect(await values({ toMs: NOON_MS })).toEqual([-DAY_MS, -1]);
    });

    test('prunes whole days and keeps the day of the moment named', async () => {
      const { store, reopen } = await open();
      const journal = store.journal(results);
      const midnightMs = Date.UTC(2026, 10, 20);
      for (const atMs of [midnightMs - DAY_MS, midnightMs - 1, midnightMs, NOON_MS]) {
        await journal.append({ atMs, value: new Date(atMs).toISOString() });
      }
      await journal.prune(NOON_MS);
      expect((await all(journal)).map(({ atMs }) => atMs)).toEqual([midnightMs, NOON_MS]);
      await journal.append({ atMs: midnightMs - 1, value: 'late' });
      const again = (await reopen()).journal(results);
      expect((await all(again)).map(({ atMs }) => atMs)).toEqual([
        midnightMs - 1,
        midnightMs,
        NOON_MS,
      ]);
    });

    test('is empty once it is cleared, and takes records again', async () => {
      const { store, reopen } = await open();
      const journal = store.journal(results);
      await journal.clear();
      for (const atMs of [NOON_MS - 2 * DAY_MS, NOON_MS]) {
        await journal.append({ atMs, value: 'before' });
      }
      // One that is under way may stay or go; it is not torn.
      const during = journal.append({ atMs: NOON_MS, value: 'during' });
      await journal.clear();
      await during;
      await journal.append({ atMs: NOON_MS + 1, value: 'after' });
      const values = (await all((await reopen()).journal(results))).map(({ value }) => value);
      expect(values.filter((value) => value !== 'during')).toEqual(['after']);
    });

    test('erases records, or parts of them, and keeps the others in order', async () => {
      const { store, reopen } = await open();
      const journal = store.journal(results);
      await journal.erase(() => undefined);
      for (const [at, value] of ['a "b" \n', 'keep', 'change', 'a "b" \n'].entries()) {
        await journal.append({ atMs: NOON_MS + at * DAY_MS, value });
      }
      await journal.erase(() => undefined, { mentioning: ['nowhere'] });
      await journal.erase(() => undefined, { mentioning: ['a "b" \n', 'nowhere'] });
      await journal.erase((now) => (now.value === 'change' ? { ...now, value: 'changed' } : now));
      await journal.append({ atMs: NOON_MS, value: 'after' });
      const again = (await reopen()).journal(results);
      expect((await all(again)).map(({ value }) => value)).toEqual(['after', 'keep', 'changed']);
    });

    test('refuses a record that fits now and would not fit when it is read', async () => {
      const journal = (await open()).store.journal({
        name: 'odd',
        schema: z.object({
          atMs: z.number(),
          when: z.date().optional(),
          list: z.array(z.int().optional()).optional(),
        }),
      });
      await expect(journal.append({ atMs: NOON_MS, when: new Date(0) })).rejects.toThrow('when');
      await expect(journal.append({ atMs: NOON_MS, list: [undefined] })).rejects.toThrow('list');
      await journal.append({ atMs: NOON_MS, when: undefined, list: [1] });
      expect(await all(journal)).toEqual([{ atMs: NOON_MS, list: [1] }]);
    });
  });

  describe(`a lease of ${engine}`, () => {
    test('has one holder, and its fence grows with every holder, also over a restart', async () => {
      const { store, reopen } = await open();
      const first = await store.lease('poller');
      expect(first?.signal.aborted).toBe(false);
      expect(await store.lease('poller')).toBeUndefined();
      const other = await store.lease('another');
      expect(other).toBeDefined();

      await first?.release();
      expect(first?.signal.aborted).toBe(true);
      const second = await store.lease('poller');
      expect(second?.fence).toBeGreaterThan(first?.fence ?? Number.NaN);
      await first?.release();
      expect(second?.signal.aborted).toBe(false);
      expect(await store.lease('poller')).toBeUndefined();

      const third = await (await reopen()).lease('poller');
      expect(second?.signal.aborted).toBe(true);
      expect(third?.fence).toBeGreaterThan(second?.fence ?? Number.NaN);
    });

    test('goes to one of those who ask at the same moment', async () => {
      const { store } = await open();
      const taken = await Promise.all(Array.from({ length: 10 }, () => store.lease('poller')));
      expect(taken.filter((lease) => lease !== undefined)).toHaveLength(1);
    });
  });

  describe(`shared values of ${engine}`, () => {
    /** Values in the memory of a process, as their user keeps them. */
    async function opened(store: Store, schema: z.ZodType<Note> = Note) {
      const memory = new Map<string, Note>();
      const ended: string[] = [];
      const values = await store.sharedValues<Note>({
        name: 'values',
        schema,
        current(id) {
          const value = memory.get(id);
          if (!value) return undefined;
          const onEnd = (isStored: boolean) => void ended.push(`${id} ${value.count} ${isStored}`);
          return { value, onEnd };
        },
        onStored: (id, { value }) => void memory.set(id, value),
      });
      return { memory, values, ended };
    }

    test('shared values are passed on at the next start as they were last saved', async () => {
      const { store, reopen } = await open();
      const { memory, values, ended } = await opened(store);
      expect(memory.size).toBe(0);
      for (const id of ['a', 'b']) memory.set(id, { text: id, count: 1 });
      await Promise.all([values.save('a'), values.save('b')]);
      memory.set('a', { text: 'again', count: 2 });
      await values.save('a');
      expect(ended).toEqual(['a 1 true', 'b 1 true', 'a 2 true']);
      expect((await opened(await reopen())).memory).toEqual(
        new Map([
          ['a', { text: 'again', count: 2 }],
          ['b', { text: 'b', count: 1 }],
        ]),
      );
    });

    test('saves that come together write the latest value once', async () => {
      const { store, reopen } = await open();
      const { memory, values, ended } = await opened(store);
      const saves: Promise<void>[] = [];
      for (let count = 1; count <= 50; count += 1) {
        memory.set('a', { text: 'a', count });
        saves.push(values.save('a'));
      }
      await Promise.all(saves);
      expect(ended).toEqual(['a 50 true']);
      expect((await opened(await reopen())).memory.get('a')?.count).toBe(50);
    });

    test('a deleted value is not written any more', async () => {
      const { store, reopen } = await open();
      const { memory, values } = await opened(store);
      for (const id of ['a', 'b', 'c']) memory.set(id, { text: id, count: 1 });
      await Promise.all(['a', 'b', 'c'].map((id) => values.save(id)));
      memory.delete('b');
      values.delete('b');
      const late = values.save('b');
      memory.set('c', { text: 'c', count: 2 });
      await Promise.all([late, values.save('c')]);
      await values.idle();
      const again = await opened(await reopen());
      expect([...again.memory.keys()].sort()).toEqual(['a', 'c']);
      expect(await again.values.catchUp({ notes: true })).toBeUndefined();
    });

    test('a value of saveLater ends at once or later, and need not survive a restart', async () => {
      const { store, reopen } = await open();
      const { memory, values, ended } = await opened(store);
      memory.set('a', { text: 'a', count: 1 });
      await values.save('a');
      memory.set('a', { text: 'a', count: 2 });
      values.saveLater('a');
      await eventually(() => ended.length === 2);
      expect(ended).toEqual(['a 1 true', 'a 2 true']);
      expect((await opened(await reopen())).memory.get('a')?.count).toBeGreaterThanOrEqual(1);
    });

    test('a value that does not fit the schema any more is left out', async () => {
      const { store, reopen } = await open();
      const { memory, values } = await opened(store, z.custom<Note>());
      memory.set('good', { text: 'good', count: 1 });
      memory.set('bad', { text: 'bad', count: 1.5 });
      await Promise.all([values.save('good'), values.save('bad')]);
      expect([...(await opened(await reopen())).memory.keys()]).toEqual(['good']);
    });
  });

  describe(`a keyed map of ${engine}`, () => {
    const note = (count: number, text = 'n'): Note => ({ text, count });

    test('a keyed map is there at the next start as it was written, whatever was written', async () => {
      const changes = fc.array(
        fc.tuple(fc.constantFrom('a', 'b', '\u0000', '\ud800', '__proto__'), fc.option(fc.nat(9))),
        { minLength: 1, maxLength: 4 },
      );
      const { store, reopen } = await open();
      const models: Array<Map<string, Note>> = [];
      const nameOf = (at: number) => ({ ...items, name: `items-${at}` });
      await fc.assert(
        fc.asyncProperty(fc.array(changes, { maxLength: 12 }), async (writes) => {
          const model = new Map<string, Note>();
          const keyed = await store.keyed(nameOf(models.push(model) - 1));
          for (const [at, write] of writes.entries()) {
            const made = new Map(
              write.map(([id, count]) => [id, count === null ? undefined : note(count)] as const),
            );
            for (const [id, value] of made) {
              if (value) model.set(id, value);
              else model.delete(id);
            }
            await (at % 4 === 3 ? keyed.erase(made) : keyed.write(made));
          }
          expect(keyed.items()).toEqual(model);
        }),
        { numRuns: long ? 100 : 10 },
      );
      const next = await reopen();
      for (const [at, model] of models.entries()) {
        expect((await next.keyed(nameOf(at))).items()).toEqual(model);
      }
    });

    test('a write with one value that does not fit changes nothing', async () => {
      const { store, reopen } = await open();
      const keyed = await store.keyed(items);
      await keyed.write(new Map([['a', note(1)]]));
      const write = keyed.write(
        new Map([
          ['a', undefined],
          ['b', note(2)],
          ['c', note(Number.NaN)],
        ]),
      );
      await expect(write).rejects.toThrow('count');
      expect((await (await reopen()).keyed(items)).items()).toEqual(new Map([['a', note(1)]]));
    });

    test('a stored item cannot be altered in place', async () => {
      const { store } = await open();
      const keyed = await store.keyed(items);
      await keyed.write(new Map([['a', { ...note(1), tags: ['x'] }]]));
      expect(() => keyed.items().get('a')?.tags?.push('y')).toThrow(TypeError);
    });

    test('a write may hold ten thousand items', async () => {
      const { store, reopen } = await open();
      const keyed = await store.keyed(items);
      const all = new Map(Array.from({ length: 10_000 }, (_, no) => [`n${no}`, note(no)]));
      await keyed.write(all);
      expect((await (await reopen()).keyed(items)).items()).toEqual(all);
    });
  });

  describe(`the parts of a whole in ${engine}`, () => {
    const holder = () => {
      const told: string[] = [];
      return {
        told,
        taken: (parts: readonly number[]) => void told.push(`taken ${parts.length}`),
        giving: (parts: readonly number[]) => void told.push(`giving ${parts.length}`),
        lost: (part: number) => void told.push(`lost ${part}`),
      };
    };

    test('are all held by the only process, and given back when it closes', async () => {
      const { store, reopen } = await open();
      const first = holder();
      const parts = store.leases('checks', 8, first);
      await eventually(() => parts.count() === 8);
      expect([parts.holds(0), parts.holds(7), parts.holds(8)]).toEqual([true, true, false]);
      await parts.close();
      expect(first.told).toEqual(['taken 8', 'giving 8']);
      expect([parts.count(), parts.holds(0)]).toEqual([0, false]);

      const again = (await reopen()).leases('checks', 8, holder());
      await eventually(() => again.count() === 8);
    });

    test('stay with a process that cannot do the work while nobody else could', async () => {
      const { store } = await open();
      const own = holder();
      const parts = store.leases('checks', 4, own);
      await eventually(() => parts.count() === 4);
      parts.setAble(false);
      await store.check();
      await store.check();
      expect([parts.count(), own.told]).toEqual([4, ['taken 4']]);
    });
  });

  describe(`windows of ${engine}`, () => {
    const WINDOW_MS = 1_200;
    const declaration = { name: 'asked', windowMs: WINDOW_MS };

    test('hold at most their limit, and are full again no sooner than a window later', async () => {
      const { store } = await open();
      const windows = store.windows(declaration);
      const startMs = performance.now();
      const [first, second] = [await windows.take('a', 2), await windows.take('a', 2)];
      expect([first.used, second.used]).toEqual([1, 2]);
      const refused = await windows.take('a', 2);
      expect([refused.place, refused.used]).toEqual([undefined, 2]);
      const nowMs = performance.now();
      expect(refused.window.used(nowMs)).toBe(2);
      expect(refused.window.waitMs(1, nowMs)).toBeGreaterThan(0);
      // A slot of it may be under way.
      expect(refused.window.emptyMs(nowMs)).toBeLessThanOrEqual(WINDOW_MS * (1 + 1 / 60));
      expect((await windows.take('b', 2)).used).toBe(1);
      await eventually(async () => (await windows.take('a', 2)).place !== undefined);
      expect(performance.now() - startMs).toBeGreaterThanOrEqual(WINDOW_MS);
    });

    test('count what is taken back no more', async () => {
      const { store } = await open();
      const windows = store.windows({ ...declaration, windowMs: 600_000 });
      const taken = await windows.take('a', 2);
      await windows.take('a', 2);
      expect((await windows.take('a', 2)).place).toBeUndefined();
      await windows.takeBack('a', taken);
      expect((await windows.look('a')).used(performance.now())).toBe(1);
      expect(windows.known('a')?.used(performance.now())).toBe(1);
      expect((await windows.take('a', 2)).used).toBe(2);
      const refused = await windows.take('a', 2);
      await windows.takeBack('a', refused);
      expect((await windows.take('a', 2)).place).toBeUndefined();
    });

    test('one process may take all of a high limit, and no more', async () => {
      const { store } = await open();
      const windows = store.windows({ ...declaration, windowMs: 600_000 });
      let granted = 0;
      for (let turn = 0; turn < 1_500; turn += 1) {
        const { place, used } = await windows.take('a', 1_000);
        if (place === undefined) continue;
        granted += 1;
        expect(used).toBe(granted);
      }
      expect(granted).toBe(1_000);
    });

    test('follow a limit that is changed, in both directions', async () => {
      const { store } = await open();
      const windows = store.windows({ ...declaration, windowMs: 600_000 });
      await windows.take('a', 2);
      expect((await windows.take('a', 1)).place).toBeUndefined();
      expect((await windows.take('a', 2)).place).toBeDefined();
      for (let turn = 0; turn < 50; turn += 1) await windows.take('a', 5_000);
      expect((await windows.take('a', 20)).place).toBeUndefined();
    });
  });

  describe(`claims of ${engine}`, () => {
    test('are refused only once the first one is stored', async () => {
      const { store } = await open();
      const claims = store.claims(jobs);
      const order: string[] = [];
      await Promise.all([
        claims.claim('a', { text: 'one' }).then((isGiven) => order.push(`first ${isGiven}`)),
        claims.claim('a', { text: 'one' }).then((isGiven) => order.push(`second ${isGiven}`)),
      ]);
      expect(order).toEqual(['first true', 'second false']);
    });

    test('claims without a request are refused while under way, and given again after a restart', async () => {
      const { store, reopen } = await open();
      const claims = store.claims(jobs);
      const asked = await Promise.all([claims.claim('a'), claims.claim('a')]);
      expect([...asked, await claims.claim('a')]).toEqual([true, false, false]);
      const again = (await reopen()).claims(jobs);
      expect(await again.unfinished()).toEqual([]);
      expect(await again.claim('a')).toBe(true);
    });

    test('are given once, however many want the same at once, and refused once it is done', async () => {
      const { store, reopen } = await open();
      const claims = store.claims(jobs);
      const asked = Array.from({ length: 30 }, () => claims.claim('a', { text: 'one' }));
      expect((await Promise.all(asked)).filter(Boolean)).toHaveLength(1);
      expect(await claims.claim('b', { text: 'another' })).toBe(true);
      await claims.finish('a');
      expect(await claims.claim('a', { text: 'again' })).toBe(false);
      expect(await (await reopen()).claims(jobs).claim('a', { text: 'again' })).toBe(false);
    });

    test('take any text as an id', async () => {
      const { store, reopen } = await open();
      const ids = ['', '__proto__', 'NUL\u0000', '\ud800', 'x'.repeat(5_000), '😀'];
      const claims = store.claims(jobs);
      for (const id of ids) expect(await claims.claim(id, { text: id })).toBe(true);
      const again = (await reopen()).claims(jobs);
      const left = (await again.unfinished()).map((job) => job?.text);
      expect(left.sort()).toEqual(ids.sort());
      for (const id of ids) await again.finish(id);
      for (const id of ids) expect(await again.claim(id, { text: id })).toBe(false);
    });

    test('refuse what is done for as long as was said', async () => {
      const claims = (await open()).store.claims({ ...jobs, keptMs: 300 });
      for (const [id, keptMs] of [['usual'], ['shorter', 1], ['longer', 60_000]] as const) {
        await claims.claim(id, { text: id });
        await claims.finish(id, keptMs);
      }
      const isFree = (id: string) => claims.claim(id, { text: id });
      await eventually(() => isFree('shorter'));
      await eventually(() => isFree('usual'));
      expect(await isFree('longer')).toBe(false);
    });

    test('refuse also what was done and never claimed', async () => {
      const { store, reopen } = await open();
      await store.claims(jobs).finish('a');
      expect(await (await reopen()).claims(jobs).claim('a', { text: 'one' })).toBe(false);
    });

    test('are given again when they were given back, done or not, also while that is being stored', async () => {
      const claims = (await open()).store.claims(jobs);
      await claims.claim('a', { text: 'one' });
      await claims.release('a');
      expect(await claims.claim('a', { text: 'two' })).toBe(true);
      const ids = Array.from({ length: 30 }, (_, no) => `n${no}`);
      await Promise.all(ids.map((id) => claims.finish(id)));
      const given = ids.map((id) => {
        void claims.release(id);
        return claims.claim(id, { text: 'three' });
      });
      expect(await Promise.all(given)).toEqual(ids.map(() => true));
      await claims.release('never claimed');
    });

    test('tell after a restart, oldest first, of what was begun, and refuse it until it is finished', async () => {
      const { store, reopen } = await open();
      const claims = store.claims(jobs);
      for (const id of ['a', 'b', 'c', 'd']) {
        await claims.claim(id, { text: `of ${id}` });
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
      await claims.finish('b');
      expect(await claims.unfinished()).toEqual([]);

      const second = (await reopen()).claims(jobs);
      expect(await second.claim('a', { text: 'again' })).toBe(false);
      expect(await second.claim('e', { text: 'of e' })).toBe(true);
      expect(await second.unfinished()).toEqual(
        ['a', 'c', 'd'].map((id) => ({ text: `of ${id}` })),
      );
      expect(await second.claim('a', { text: 'again' })).toBe(false);
      await second.finish('a');
      await second.release('c');
      await new Promise((resolve) => setTimeout(resolve, 2));
      expect(await second.claim('c', { text: 'anew' })).toBe(true);

      const third = (await reopen()).claims(jobs);
      expect(await third.unfinished()).toEqual([
        { text: 'of d' },
        { text: 'of e' },
        { text: 'anew' },
      ]);
      expect(await third.claim('a', { text: 'again' })).toBe(false);
    });

    test('tell of all that can be read when something cannot', async () => {
      const { store, reopen } = await open();
      const older = store.claims({ ...jobs, schema: z.unknown() });
      await older.claim('a', { words: 'of another version' });
      await older.claim('b', { text: 'one' });
      const newer = (await reopen()).claims(jobs);
      expect(await newer.unfinished()).toEqual([{ text: 'one' }]);
    });
  });

  describe(`a store of ${engine} under a lease`, () => {
    /** Everything that is opened by name, under a lease. */
    async function opened(store: Store, lease: Lease | undefined) {
      if (!lease) throw new Error('there is no lease');
      const own = store.under(lease);
      return {
        own,
        collection: own.collection(notes),
        journal: own.journal(results),
        claims: own.claims(jobs),
        keyed: await own.keyed(items),
        values: await own.sharedValues({
          name: 'values',
          schema: Note,
          current: () => ({ value: { text: 'a', count: 1 }, onEnd() {} }),
          onStored() {},
        }),
      };
    }

    /** Writes that a store is asked for. */
    const writesOf = (
      { collection, journal, claims, keyed, values }: Awaited<ReturnType<typeof opened>>,
      text: string,
    ) => [
      () => collection.update('a', () => ({ text, count: 1 })),
      () => collection.erase('b', () => ({ text, count: 1 })),
      () => collection.eraseAll((id) => id === 'b'),
      () => journal.append({ atMs: NOON_MS, value: text }),
      () => journal.erase((record) => ({ ...record, value: text })),
      () => claims.claim(text, { text }),
      () => claims.claim(`${text} again`),
      () => claims.finish(`done ${text}`),
      () => keyed.write(new Map([['a', { text, count: 1 }]])),
      () => keyed.erase(new Map([['b', { text, count: 1 }]])),
      () => values.save('a'),
    ];

    test('writes while the lease is held, and rejects writes when it is not, but not reading', async () => {
      const { store } = await open();
      const lease = await store.lease('bot');
      const under = await opened(store, lease);
      for (const write of writesOf(under, 'held')) await write();
      await lease?.release();
      for (const [no, write] of writesOf(under, 'lost').entries()) {
        const outcome = await write().catch((error: unknown) => error);
        expect([no, outcome instanceof LeaseLostError]).toEqual([no, true]);
      }
      expect(await under.collection.get('a')).toEqual({ text: 'held', count: 1 });
      expect(await all(under.journal)).toEqual([{ atMs: NOON_MS, value: 'held' }]);
      expect(under.keyed.items().get('b')?.text).toBe('held');
      expect(() => under.own.journal({ ...results, name: 'others' })).toThrow(LeaseLostError);
    });

    test('is opened anew under each lease, with all that is stored', async () => {
      const { store } = await open();
      const first = await store.lease('bot');
      const before = await opened(store, first);
      expect(() => before.own.collection(notes)).toThrow('twice');
      for (const write of writesOf(before, 'first')) await write();
      const late = before.collection.update('late', () => ({ text: 'late', count: 1 }));
      await Promise.all([first?.release(), late.catch(() => {})]);

      const second = await store.lease('bot');
      const now = await opened(store, second);
      expect(await now.collection.get('a')).toEqual({ text: 'first', count: 1 });
      expect(await all(now.journal)).toEqual([{ atMs: NOON_MS, value: 'first' }]);
      expect(now.keyed.items().get('a')?.text).toBe('first');
      expect(await now.claims.unfinished()).toEqual([{ text: 'first' }]);
      expect(await now.claims.claim('first again')).toBe(true);
      expect(await now.claims.claim('done first')).toBe(false);
      for (const write of writesOf(now, 'second')) await write();
      expect(await now.collection.get('a')).toEqual({ text: 'second', count: 1 });
      expect(await all(now.journal)).toHaveLength(2);
    });

    test('lets its data be opened without a lease once that has ended', async () => {
      const { store } = await open();
      const lease = await store.lease('bot');
      const under = await opened(store, lease);
      await under.collection.update('a', () => ({ text: 'a', count: 1 }));
      await lease?.release();
      const collection = store.collection(notes);
      await collection.update('a', (now) => now && { ...now, count: 2 });
      expect(await collection.get('a')).toEqual({ text: 'a', count: 2 });
    });

    test('tells who follows it of nothing more', async () => {
      const { store } = await open();
      const lease = await store.lease('bot');
      const told: string[] = [];
      const under = await opened(store, lease);
      await under.collection.follow((changed) => void told.push(...changed.map(({ id }) => id)));
      await under.collection.update('a', () => ({ text: 'a', count: 1 }));
      await lease?.release();
      const next = await opened(store, await store.lease('bot'));
      const following = await next.collection.follow(() => {});
      await next.collection.update('b', () => ({ text: 'b', count: 1 }));
      await following.catchUp();
      expect(told).toEqual(['a']);
    });
  });

  describe(`a store of ${engine}`, () => {
    test('passes its check, also when many ask at once', async () => {
      const { store } = await open();
      await Promise.all(Array.from({ length: 20 }, () => store.check()));
      await store.check();
    });

    test('finishes what was begun when it is closed, and then refuses', async () => {
      const { store, reopen } = await open();
      const collection = store.collection(notes);
      const journal = store.journal(results);
      const writes = [
        collection.update('a', () => ({ text: 'begun', count: 1 })),
        collection.update('a', (now) => ({ text: 'begun', count: (now?.count ?? 0) + 1 })),
        journal.append({ atMs: NOON_MS, value: 'begun' }),
      ];
      await Promise.all([store.close(), store.close()]);
      await Promise.all(writes);
      await expect(collection.get('a')).rejects.toThrow('closed');
      await expect(collection.list()).rejects.toThrow('closed');
      await expect(collection.update('a', () => undefined)).rejects.toThrow('closed');
      await expect(journal.append({ atMs: NOON_MS, value: '' })).rejects.toThrow('closed');
      await expect(store.check()).rejects.toThrow('closed');
      await expect(store.lease('x')).rejects.toThrow('closed');

      const again = await reopen();
      expect((await again.collection(notes).get('a'))?.count).toBe(2);
      expect(await all(again.journal(results))).toHaveLength(1);
    });

    test('names its stored data, except what is empty or belongs to the engine', async () => {
      const { store } = await open();
      await store.collection(notes).update('a', () => ({ text: 'a', count: 1 }));
      store.collection({ ...notes, name: 'empty' });
      await store.journal(results).append({ atMs: NOON_MS, value: 'a' });
      await (await store.keyed(items)).write(new Map([['a', { text: 'a', count: 1 }]]));
      await store.lease('bot');
      await store.key.make();
      expect(await store.names()).toEqual({
        collections: ['notes'],
        journals: ['results'],
        keyed: ['items'],
      });
    });

    test('restores a key that another store had', async () => {
      const { store } = await open();
      await store.key.restore({ key: 'k'.repeat(43) });
      expect([await store.key.read(), await store.key.make()]).toEqual([
        { key: 'k'.repeat(43) },
        'k'.repeat(43),
      ]);
      await store.key.restore('missing');
      expect(await store.key.read()).toBe('missing');
    });

    test('refuses a name that is used twice', async () => {
      const { store } = await open();
      store.collection(notes);
      expect(() => store.collection(notes)).toThrow('twice');
      expect(() => store.journal({ ...results, name: notes.name })).toThrow('twice');
    });
  });
}
