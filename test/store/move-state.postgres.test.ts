import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { specialParts } from '../../src/cli/move-state-parts.ts';
import { CorruptDocumentError, StateMovedError, StoreInUseError } from '../../src/store/errors.ts';
import { openLowdbForMove, openLowdbStore } from '../../src/store/lowdb/lowdb-store.ts';
import type { MovableStore } from '../../src/store/move-mark.ts';
import { compareState, isSame, moveState, openParts } from '../../src/store/move-state.ts';
import { openPostgresForMove } from '../../src/store/postgres/postgres-store.ts';
import type { Store } from '../../src/store/store.ts';
import { hasPostgres, testDatabase } from '../helpers/postgres/test-database.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

const Note = z.object({ text: z.string() });
const notes = { name: 'notes', schema: Note, version: 1, whenCorrupt: 'refuse' } as const;
const newer = { ...notes, name: 'newer-notes', version: 3 };
const lines = { name: 'lines', schema: z.object({ atMs: z.number(), text: z.string() }) };

const NOON = Date.UTC(2026, 10, 20, 12);
const DAY_MS = 86_400_000;

/** Half surrogates, the character zero, names that objects have, and as long as an id may be. */
const ODD_IDS = [
  'a',
  '',
  '\u0000',
  '\ud800',
  '\udc00x',
  '__proto__',
  '../..',
  "'; --",
  'é',
  'e\u0301',
];
const LONG_ID = 'x'.repeat(500);

/** Fills a store with all that moves, and closes it. */
async function filled(store: Store): Promise<void> {
  const [first, second] = [store.collection(notes), store.collection(newer)];
  for (const id of [...ODD_IDS, LONG_ID]) await first.update(id, () => ({ text: `of ${id}` }));
  await second.update('one', () => ({ text: 'before' }));
  await second.update('one', () => ({ text: 'after \u0000 \ud83d\ude00 \udc00' }));
  await first.update('gone', () => ({ text: 'gone' }));
  await first.update('gone', () => undefined);
  const journal = store.journal(lines);
  for (const [at, text] of [
    [NOON, 'b'],
    [NOON, 'a'],
    [NOON - 5, 'late'],
    [NOON, 'a'],
    [NOON + 0.5, 'half'],
    [NOON + DAY_MS, 'next day \ud800'],
  ] as const) {
    await journal.append({ atMs: at, text });
  }
  await store.lease('poller');
  await (await store.lease('sender'))?.release();
  await store.lease('sender');
  await store.key.make();
  await store.close();
}

/** All that a program would find. */
async function contentOf(store: Store) {
  const documents = [];
  for (const declaration of [notes, newer])
    documents.push(await store.collection(declaration).list());
  const records: unknown[] = [];
  for await (const record of store.journal(lines).read()) records.push(record);
  const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1);
  return {
    documents: documents.map((all) => all.sort(byId)),
    records,
    key: await store.key.read(),
  };
}

/** A data folder, and a database, and what moves state between them. */
async function bothSides() {
  const folder = join(await temporaryFolder(), 'data');
  const database = await testDatabase();
  const { url, schema, log } = database;
  const openFolder = (at = folder) => openLowdbStore({ folder: at, log });
  const open = async (at: string, isCompared: boolean) => {
    const files = await openLowdbForMove({ folder: at, log });
    onTestFinished(() => files.store.close());
    const tables = await openPostgresForMove({ url, schema, version: '0', isCompared, log }).catch(
      async (error: unknown) => {
        await files.store.close();
        throw error;
      },
    );
    onTestFinished(() => tables.store.close().catch(() => {}));
    return { files, tables };
  };
  const partsOf = (from: MovableStore, to: MovableStore) => openParts(from, to, specialParts(log));
  const closeAll = async (...sides: MovableStore[]) => {
    for (const { store } of sides) await store.close();
  };
  return {
    ...database,
    folder,
    openFolder,
    openSides: (at = folder) => open(at, false),
    closeAll,
    /** Moves everything, or up to a part. */
    async move({ back = false, at = folder, until = '' } = {}) {
      const { files, tables } = await open(at, false);
      const [from, to] = back ? [tables, files] : [files, tables];
      const moved = [];
      try {
        for await (const compared of moveState(from, to, await partsOf(from, to))) {
          moved.push(compared);
          if (compared.name === until) break;
        }
        return moved;
      } finally {
        await closeAll(files, tables);
      }
    },
    async differences(at = folder) {
      const { files, tables } = await open(at, true);
      try {
        const compared = await all(compareState(await partsOf(files, tables)));
        return compared.filter((one) => !isSame(one)).map(({ name }) => name);
      } finally {
        await closeAll(files, tables);
      }
    },
    partsOf,
  };
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

describe.skipIf(!hasPostgres)('state that is moved from a data folder to PostgreSQL', () => {
  test('is there as it was, with its versions, odd ids, records in order, fences and key, and comes back the same', async () => {
    const { openFolder, open, move, differences, query } = await bothSides();
    await filled(await openFolder());
    const before = await openFolder();
    const content = await contentOf(before);
    await before.close();
    expect(content.documents[0]).toHaveLength(ODD_IDS.length + 1);
    expect(content.records.map((record) => (record as { text: string }).text)).toEqual([
      ...['late', 'b', 'a', 'a', 'half', 'next day \ud800'],
    ]);

    await move();
    expect(await differences()).toEqual([]);
    const versions = await query('select distinct collection, version from #.document order by 1');
    expect(versions).toContainEqual({ collection: 'newer-notes', version: 3 });
    const on = await open();
    expect(await contentOf(on)).toEqual(content);
    await on.close();

    const second = join(await temporaryFolder(), 'data');
    await move({ back: true, at: second });
    const after = await openFolder(second);
    expect(await contentOf(after)).toEqual(content);
    await after.close();
  });

  test('is refused where it was from then on, with where it is and what to set', async () => {
    const { url, openFolder, open, move } = await bothSides();
    await filled(await openFolder());
    await move();
    const today = new Date().toISOString().slice(0, 10);
    const left = await openFolder().catch((error: Error) => error);
    expect(left).toBeInstanceOf(StateMovedError);
    const { host } = new URL(url);
    expect((left as Error).message).toMatch(
      new RegExp(`was moved to PostgreSQL at ${host}.* on ${today}.*set DATABASE_URL`),
    );
    expect(await move()).toEqual([]);

    const second = join(await temporaryFolder(), 'data');
    await move({ back: true, at: second });
    const refusal = await open().catch((error: Error) => error);
    expect(refusal).toBeInstanceOf(StateMovedError);
    expect((refusal as Error).message).toContain(second);
    expect((refusal as Error).message).toContain('unset DATABASE_URL');
    await (await openFolder(second)).close();
    // Neither goes over what the other has kept.
    await expect(move({ at: second })).rejects.toThrow(/is not empty.*drop schema/);
    await expect(move({ back: true })).rejects.toThrow(/already/);
    expect(await move({ back: true, at: second })).toEqual([]);
  });

  test('is used by nobody when its mover was killed between its two last marks, until it is run again', async () => {
    const { openFolder, openSides, closeAll, partsOf, open, move } = await bothSides();
    await filled(await openFolder());
    const { files, tables } = await openSides();
    const setMark = tables.setMark;
    let marks = 0;
    const killed = {
      ...tables,
      setMark: async (mark: Parameters<typeof setMark>[0]) => {
        marks += 1;
        if (marks === 2) throw new Error('killed');
        await setMark(mark);
      },
    };
    const moving = moveState(files, killed, await partsOf(files, killed));
    await expect(all(moving)).rejects.toThrow('killed');
    await closeAll(files, tables);
    await expect(openFolder()).rejects.toThrow(StateMovedError);
    await expect(open()).rejects.toThrow(StateMovedError);
    await move();
    await expect(openFolder()).rejects.toThrow(StateMovedError);
    await open();
  });

  test('is moved by nobody while a program runs on either side, and no program starts meanwhile', async () => {
    const { openFolder, openSides, open } = await bothSides();
    const onFolder = await openFolder();
    await expect(openSides()).rejects.toThrow(StoreInUseError);
    await onFolder.close();
    const onTables = await open();
    const refused = openSides();
    await expect(refused).rejects.toThrow(/in use by \S+:\d+.*Stop/);
    await onTables.close();
    const { tables } = await openSides(join(await temporaryFolder(), 'data'));
    await expect(open()).rejects.toThrow(/is being moved by/);
    await tables.store.close();
    await open();
  });

  test('stays where it is when whoever moves it was thought dead meanwhile', async () => {
    const { openFolder, openSides, closeAll, open, query } = await bothSides();
    await filled(await open());
    const { files, tables } = await openSides();
    await query('delete from #.member');
    await expect(tables.setMark({ state: 'moved', to: 'x', atMs: 0 })).rejects.toThrow(
      'others may use it again',
    );
    await closeAll(files, tables);
    await open();
    await (await openFolder()).close();
  });

  test('is not moved where something is damaged that nobody could miss later, and the file is named', async () => {
    const { folder, openFolder, move } = await bothSides();
    await filled(await openFolder());
    const [file = ''] = await filesOf(folder, /^newer-notes\/[0-9a-f]+\.json$/);
    const previous = await readFile(join(folder, `${file}.bak`));
    await writeFile(join(folder, file), 'rubbish');
    await writeFile(join(folder, `${file}.bak`), 'rubbish');
    await expect(move()).rejects.toThrow(CorruptDocumentError);
    await expect(move()).rejects.toThrow(/newer-notes.*damaged.*Restore the file from a backup/);
    await writeFile(join(folder, `${file}.bak`), previous);
  });
});

/** Files below a folder, by their names from there. */
async function filesOf(folder: string, wanted: RegExp): Promise<string[]> {
  return (await readdir(folder, { recursive: true })).filter((name) => wanted.test(name)).sort();
}
