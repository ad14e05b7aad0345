import { expect, test } from 'vitest';
import { z } from 'zod';
import type { MovableStore, StateMark } from '../../src/store/move-mark.ts';
import { moveState, openParts, type StatePart } from '../../src/store/move-state.ts';
import {
  createMemoryData,
  type MemoryData,
  openMemoryStore,
} from '../helpers/memory-store/memory-store.ts';

const notes = {
  name: 'notes',
  schema: z.object({ text: z.string() }),
  version: 3,
  whenCorrupt: 'refuse',
} as const;
const lines = { name: 'lines', schema: z.object({ atMs: z.int() }) };
const items = {
  name: 'items',
  schema: z.object({ count: z.int() }),
  whenCorrupt: 'refuse',
} as const;

/** Data in memory that can be moved, with its marks. */
function createSide(place: string, data: MemoryData = createMemoryData()) {
  const marks: Array<StateMark | undefined> = [];
  const open = (): MovableStore => ({
    store: openMemoryStore({ data }),
    place,
    howToEmpty: `empty ${place}`,
    lost: new AbortController().signal,
    mark: async () => marks.at(-1),
    setMark: async (mark) => void marks.push(mark),
  });
  return { data, marks, open };
}

async function filledSide() {
  const side = createSide('one');
  const store = openMemoryStore({ data: side.data });
  const collection = store.collection(notes);
  for (const id of ['a', '\ud800']) await collection.update(id, () => ({ text: `of ${id}` }));
  const journal = store.journal(lines);
  for (const atMs of [5, 5, 1]) await journal.append({ atMs });
  await (await store.keyed(items)).write(new Map([['x', { count: 1 }]]));
  await store.key.make();
  return side;
}

async function move(from: MovableStore, to: MovableStore, change = (part: StatePart) => part) {
  const special = { sharedValues: [], names: [], open: async () => [] };
  const parts = (await openParts(from, to, special)).map(change);
  const moved: string[] = [];
  for await (const { kind, name, to: digest } of moveState(from, to, parts)) {
    moved.push(`${kind} ${name} ${digest.count}`);
  }
  return moved;
}

test('everything is moved with its versions, and the marks say where it is', async () => {
  const [from, to] = [await filledSide(), createSide('other')];
  expect(await move(from.open(), to.open())).toEqual([
    'keys of secrets secret-key 1',
    'documents notes 2',
    'records lines 3',
    'items items 1',
  ]);
  expect(to.data).toEqual({
    ...from.data,
    documents: expect.anything(),
    records: expect.anything(),
  });
  expect(to.data.documents.get('notes')).toEqual(from.data.documents.get('notes'));
  expect(from.marks).toMatchObject([{ state: 'moved', to: 'other' }]);
  expect(to.marks).toEqual([{ state: 'copying', from: 'one' }, undefined]);
});

test('a part that differs after it was copied ends the move, and the source stays in use', async () => {
  const [from, to] = [await filledSide(), createSide('other')];
  const moving = move(from.open(), to.open(), (part) => ({ ...part, copy: async () => {} }));
  await expect(moving).rejects.toThrow(/differs after it was copied: 1 and 0/);
  expect(from.marks).toEqual([]);
  expect(to.marks).toEqual([{ state: 'copying', from: 'one' }]);
});

test('an unfinished copy is continued, and loses what the source has lost since', async () => {
  const [from, to] = [await filledSide(), createSide('other')];
  const broken = move(from.open(), to.open(), (part) =>
    part.kind === 'records' ? { ...part, copy: () => Promise.reject(new Error('killed')) } : part,
  );
  await expect(broken).rejects.toThrow('killed');
  await openMemoryStore({ data: from.data })
    .collection(notes)
    .update('a', () => undefined);
  await move(from.open(), to.open());
  expect([...(to.data.documents.get('notes') ?? new Map()).keys()]).toEqual(['\ud800']);
});

test('existing state and the copy of another source are never overwritten', async () => {
  const [from, to] = [await filledSide(), await filledSide()];
  await expect(move(from.open(), to.open())).rejects.toThrow(/is not empty.*empty one/);
  to.marks.push({ state: 'copying', from: 'elsewhere' });
  await expect(move(from.open(), to.open())).rejects.toThrow(/another source, elsewhere/);
  await expect(move(createSide('none').open(), createSide('x').open())).rejects.toThrow(
    'Nothing to move in none',
  );
});
