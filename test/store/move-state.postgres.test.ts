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

  test('has what was done once, which is refused there, and what was not finished, of which it tells', async () => {
    const { openFolder, open, move, differences } = await bothSides();
    const seen = { name: 'seen', schema: z.null(), keptMs: 3_600_000 };
    const files = await openFolder();
    const claims = files.claims(seen);
    await claims.claim('done', null);
    await claims.finish('done');
    await claims.claim('begun', null);
    await files.close();
    expect((await move()).every(isSame)).toBe(true);
    expect(await differences()).toEqual([]);

    const tables = await open();
    const moved = tables.claims(seen);
    expect(await moved.claim('done', null)).toBe(false);
    expect(await moved.claim('begun', null)).toBe(false);
    expect(await moved.unfinished()).toEqual([null]);
    await moved.claim('more', null);
    await moved.finish('more', 60_000);
    await tables.close();
    const elsewhere = join(await temporaryFolder(), 'data');
    expect((await move({ back: true, at: elsewhere })).every(isSame)).toBe(true);
    expect(await differences(elsewhere)).toEqual([]);

    const back = (await openFolder(elsewhere)).claims(seen);
    expect([await back.claim('done', null), await back.claim('more', null)]).toEqual([
      false,
      false,
    ]);
    expect(await back.unfinished()).toEqual([null]);
  });

  test('a lease has a higher fence on the other side, and back', async () => {
    const { openFolder, open, move } = await bothSides();
    const files = await openFolder();
    await files.collection(notes).update('a', () => ({ text: 'a' }));
    const first = await files.lease('bot');
    await files.close();
    await move();
    const tables = await open();
    const second = await tables.lease('bot');
    expect(second?.fence).toBeGreaterThan(first?.fence ?? Number.NaN);
  });

  test('keyed maps and shared values are moved, and come back the same', async () => {
    const { openFolder, open, move, differences } = await bothSides();
    const items = { name: 'items', schema: Note, whenCorrupt: 'refuse' } as const;
    const files = await openFolder();
    const written = new Map(ODD_IDS.map((id) => [id, { text: `of ${id}` }]));
    await (await files.keyed(items)).write(written);
    const open1 = async (store: Store, value?: { state: string }) => {
      const values = new Map<string, unknown>(value && [['a', value]]);
      const shared = await store.sharedValues<unknown>({
        name: 'monitor-states',
        schema: z.unknown(),
        current: (id) => ({ value: values.get(id), onEnd() {} }),
        onStored: (id, stored) => void values.set(id, stored.value),
      });
      if (value) await shared.save('a');
      return values;
    };
    await open1(files, { state: 'x' });
    await files.close();
    await move();
    expect(await differences()).toEqual([]);
    const tables = await open();
    expect((await tables.keyed(items)).items()).toEqual(written);
    expect(await open1(tables)).toEqual(new Map([['a', { state: 'x' }]]));
    await tables.close();
    const elsewhere = join(await temporaryFolder(), 'data');
    await move({ back: true, at: elsewhere });
    expect(await differences(elsewhere)).toEqual([]);
    expect((await (await openFolder(elsewhere)).keyed(items)).items()).toEqual(written);
  });

  test('keeps the word of an operator that the key is gone for good', async () => {
    const { folder, openFolder, open, move } = await bothSides();
    await filled(await openFolder());
    await writeFile(join(folder, 'secret.key'), 'lost\n');
    await move();
    const on = await open();
    expect(await on.key.read()).toBe('given up');
    await on.close();
    const second = join(await temporaryFolder(), 'data');
    await move({ back: true, at: second });
    expect(await readFile(join(second, 'secret.key'), 'utf8')).toBe('lost\n');
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

  test('is refused while a copy is unfinished, and the copy is gone on with although the folder was used in between', async () => {
    const { openFolder, open, move, query } = await bothSides();
    await filled(await openFolder());
    await move({ until: 'notes' });
    await expect(open()).rejects.toThrow(/unfinished copy.*npx askwatch move-state.*drop schema/);

    const used = await openFolder();
    const collection = used.collection(notes);
    await collection.update('a', () => undefined);
    await collection.update('new', () => ({ text: 'new' }));
    await used.close();
    // A record that is only in the copy is deleted.
    await query(`insert into #.record values ('old', 1, 1, gen_random_uuid(), '{"atMs":1}')`);
    await move();
    const on = await open();
    const ids = (await on.collection(notes).list()).map(({ id }) => id);
    expect(ids).toHaveLength(ODD_IDS.length + 1);
    expect(ids).toContain('new');
    expect(ids).not.toContain('a');
    expect(await query(`select 1 from #.record where journal = 'old'`)).toEqual([]);
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

  test('is refused in a folder that holds an unfinished copy of a database, which is gone on with although that was used in between', async () => {
    const { openFolder, open, move } = await bothSides();
    await filled(await open());
    await move({ back: true, until: 'notes' });
    await expect(openFolder()).rejects.toThrow(
      /unfinished copy.*move-state --back.*empty the folder/,
    );
    const used = await open();
    const collection = used.collection(notes);
    await collection.update('a', () => undefined);
    await collection.update('new', () => ({ text: 'new' }));
    await used.close();
    await move({ back: true });
    const there = await (await openFolder()).collection(notes).list();
    const ids = there.map(({ id }) => id);
    expect(ids).toHaveLength(ODD_IDS.length + 1);
    expect(ids).toContain('new');
    expect(ids).not.toContain('a');
  });

  test('is not moved over other state', async () => {
    const { openFolder, open, move } = await bothSides();
    const there = await open();
    await there.key.make();
    await there.close();
    await filled(await openFolder());
    await expect(move()).rejects.toThrow(/is not empty.*drop schema/);
    await expect(move({ back: true })).rejects.toThrow(/is not empty.*empty the folder/);
  });

  test('is not moved into the unfinished copy of something else', async () => {
    const [one, other] = [await bothSides(), await bothSides()];
    for (const { open } of [one, other]) await filled(await open());
    await one.move({ back: true, until: 'notes' });
    await expect(other.move({ back: true, at: one.folder })).rejects.toThrow(
      /copy of another source.*empty the folder/,
    );
    await one.move({ back: true });
  });

  test('is moved once more where what it was moved to is gone', async () => {
    const { openFolder, open, move, query } = await bothSides();
    await filled(await openFolder());
    await move();
    await query('drop schema # cascade');
    await move();
    expect(await (await open()).collection(notes).list()).toHaveLength(ODD_IDS.length + 1);
  });

  test('is nothing where there is none', async () => {
    const { move } = await bothSides();
    await expect(move()).rejects.toThrow('Nothing to move in the data folder');
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

  test('is compared without a change on either side, and what differs is named', async () => {
    const { openFolder, open, move, differences, query } = await bothSides();
    await filled(await openFolder());
    await expect(differences()).rejects.toThrow('has no Askwatch data yet');
    await move();
    const tables = ['document', 'record', 'lease'];
    const dump = async () =>
      await Promise.all(tables.map((table) => query(`select * from #.${table}`)));
    const before = await dump();
    expect(await differences()).toEqual([]);
    expect(await dump()).toEqual(before);

    for (const [change, group] of [
      [`update #.document set version = 2 where collection = 'newer-notes'`, 'newer-notes'],
      [`update #.document set body = '{"text":"x"}' where id::text = '"a"'`, 'notes'],
      [`update #.record set body = '{"atMs":1}' where body::text like '%"b"%'`, 'lines'],
      [`delete from #.document where collection = 'secret-key'`, 'secret-key'],
    ] as const) {
      expect(await differences()).not.toContain(group);
      await query(change);
      expect(await differences()).toContain(group);
    }
    const on = await open();
    expect(await differences()).toHaveLength(4);
    await on.close();
  });

  test('is moved from the version before where a file is damaged', async () => {
    const { folder, openFolder, open, move } = await bothSides();
    await filled(await openFolder());
    const [file = ''] = await filesOf(folder, /^newer-notes\/[0-9a-f]+\.json$/);
    await writeFile(join(folder, file), 'rubbish');
    await move();
    expect(await (await open()).collection(newer).get('one')).toEqual({ text: 'before' });
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
