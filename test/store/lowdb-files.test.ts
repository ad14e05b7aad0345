import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { createBoundedCache } from '../../src/store/lowdb/bounded-cache.ts';
import { openLowdbStore } from '../../src/store/lowdb/lowdb-store.ts';
import { long } from '../helpers/long.ts';
import { recordingLog } from '../helpers/recording-log.ts';
import { folderOnDisk } from '../helpers/temporary-folder.ts';

const Note = z.object({ text: z.string() });
const notes = { name: 'notes', schema: Note, version: 1, whenCorrupt: 'refuse' } as const;
const results = { name: 'results', schema: z.object({ atMs: z.number() }) };

async function openAt(folder: string) {
  const store = await openLowdbStore({ folder, log: recordingLog().log });
  onTestFinished(() => store.close());
  return store;
}

async function everythingIn(folder: string): Promise<string[]> {
  return (await readdir(folder, { recursive: true })).sort();
}

test('files are for their owner only, and so are folders, whatever the umask', async () => {
  const old = process.umask(0);
  onTestFinished(() => {
    process.umask(old);
  });
  const folder = join(await folderOnDisk(), 'deep', 'down');
  const store = await openAt(folder);
  const collection = store.collection(notes);
  await collection.update('a', () => ({ text: 'one' }));
  await collection.update('a', () => ({ text: 'two' }));
  await store.journal(results).append({ atMs: 5 });
  await store.lease('poller');
  await store.check();
  const names = await everythingIn(folder);
  expect(names).toHaveLength(9);
  for (const name of ['.', '..', ...names]) {
    const found = await stat(join(folder, name));
    expect(`${name} ${(found.mode & 0o777).toString(8)}`).toBe(
      `${name} ${found.isDirectory() ? '700' : '600'}`,
    );
  }
});

test('a document that is written while the folder is listed is there afterwards', async () => {
  const store = await openAt(await folderOnDisk());
  // A write takes some ten steps: whichever of them the listing falls into.
  for (let turns = 0; turns < 40; turns += 1) {
    const collection = store.collection({ ...notes, name: `notes-${turns}` });
    const written = collection.update('a', () => ({ text: 'one' }));
    for (let turn = 0; turn < turns; turn += 1) await nextTurn();
    await Promise.all([written, collection.list()]);
    const seen: unknown[] = [await collection.get('a')];
    await collection.update('a', (current) => {
      seen.push(current);
      return current;
    });
    expect(seen, `after ${turns} turns`).toEqual([{ text: 'one' }, { text: 'one' }]);
  }
});

test('no text of a user stands in a path', async () => {
  const folder = await folderOnDisk();
  const store = await openAt(folder);
  await store.collection(notes).update('../secret', () => ({ text: '' }));
  await store.lease('secret');
  expect((await everythingIn(folder)).join(' ')).not.toContain('secret');
});

test('files that a killed process left half written are removed at the next start, and nothing else is', async () => {
  const folder = await folderOnDisk();
  const store = await openAt(folder);
  await store.collection(notes).update('a', () => ({ text: 'one' }));
  await store.close();
  const before = await everythingIn(folder);
  await writeFile(join(folder, 'notes', '.x.json.0b1c.tmp'), 'half');
  await writeFile(join(folder, '.check.0b1c.tmp'), 'half');
  await (await openAt(folder)).close();
  expect(await everythingIn(folder)).toEqual(before);
});

test('an update that changes nothing writes nothing', async () => {
  const folder = await folderOnDisk();
  const store = await openAt(folder);
  const collection = store.collection(notes);
  await collection.update('a', () => ({ text: 'one' }));
  await collection.update('a', (now) => now);
  const [name = ''] = await readdir(join(folder, 'notes'));
  const { ino } = await stat(join(folder, 'notes', name));
  await collection.update('a', (now) => now);
  expect((await stat(join(folder, 'notes', name))).ino).toBe(ino);
  expect(await readdir(join(folder, 'notes'))).toHaveLength(1);
});

test('records go to the file of their own UTC day', async () => {
  const folder = await folderOnDisk();
  const journal = (await openAt(folder)).journal(results);
  const midnightMs = Date.UTC(2026, 11, 1);
  await Promise.all([midnightMs - 1, midnightMs].map((atMs) => journal.append({ atMs })));
  expect((await readdir(join(folder, 'results'))).sort()).toEqual([
    '2026-11-30.ndjson',
    '2026-12-01.ndjson',
  ]);
});

test('a journal of many days keeps one file open', {
  skip: process.platform !== 'linux',
}, async () => {
  const days = long ? 200 : 60;
  const folder = await folderOnDisk();
  const journal = (await openAt(folder)).journal(results);
  const openFiles = async () => (await readdir('/proc/self/fd')).length;
  const before = await openFiles();
  await Promise.all(
    Array.from({ length: days }, (_, day) => journal.append({ atMs: day * 86_400_000 })),
  );
  expect(await readdir(join(folder, 'results'))).toHaveLength(days);
  expect((await openFiles()) - before).toBeLessThan(10);
});

test('many documents written at once open few files at once', async () => {
  const documents = long ? 500 : 200;
  const folder = await folderOnDisk();
  const collection = (await openAt(folder)).collection(notes);
  let most = 0;
  const before = (await readdir('/proc/self/fd').catch(() => [])).length;
  let writing = true;
  const watching = (async () => {
    while (writing) {
      most = Math.max(most, (await readdir('/proc/self/fd').catch(() => [])).length - before);
    }
  })();
  await Promise.all(
    Array.from({ length: documents }, (_, n) =>
      collection.update(`${n}`, () => ({ text: `${n}` })),
    ),
  );
  writing = false;
  await watching;
  expect(most).toBeLessThan(80);
  expect(await collection.list()).toHaveLength(documents);
});

test('a full cache gives up what was unused for longest, and never holds more than it may', () => {
  const cache = createBoundedCache<string>(1_000);
  cache.set('a', 'A', 200);
  cache.set('b', 'B', 200);
  expect(cache.get('a')).toBe('A');
  expect(cache.hasRoomFor(0)).toBe(true);
  expect(cache.hasRoomFor(1)).toBe(false);
  cache.set('c', 'C', 200);
  expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual(['A', undefined, 'C']);
  cache.set('a', 'bigger', 800);
  expect([cache.get('a'), cache.get('c')]).toEqual(['bigger', undefined]);
  cache.set('huge', 'H', 5_000);
  expect(cache.get('huge')).toBeUndefined();
  expect(cache.hasRoomFor(800)).toBe(true);
});

test('documents that no longer fit in memory are read again from their files', async () => {
  const folder = await folderOnDisk();
  const collection = (await openAt(folder)).collection(notes);
  const text = 'x'.repeat(1024 * 1024);
  for (let n = 0; n < 10; n += 1) await collection.update(`${n}`, () => ({ text: `${n}${text}` }));
  for (let n = 0; n < 10; n += 1) {
    expect((await collection.get(`${n}`))?.text.slice(0, 2)).toBe(`${n}x`);
    await collection.update(`${n}`, (now) => ({ text: `again ${now?.text}` }));
  }
  const listed = await collection.list();
  expect(listed.map(({ document }) => document.text.slice(0, 7)).sort()).toEqual(
    Array.from({ length: 10 }, (_, n) => `again ${n}`),
  );
});

test('a journal is written in the form of the first version, and its files are read', async () => {
  const folder = await folderOnDisk();
  const line =
    '{"sum":"085f2716da97c46d","record":{"atMs":1795176000000,"value":"héllo \\ud800 \\"\\\\\\n"}}\n';
  const record = { atMs: Date.UTC(2026, 10, 20, 12), value: 'héllo \ud800 "\\\n' };
  const file = join(folder, 'results', '2026-11-20.ndjson');
  await mkdir(join(folder, 'results'));
  await writeFile(file, line);
  const store = await openAt(folder);
  const schema = z.object({ atMs: z.number(), value: z.string() });
  const journal = store.journal({ name: 'results', schema });
  for await (const read of journal.read()) expect(read).toEqual(record);
  await journal.append(record);
  expect(await readFile(file, 'utf8')).toBe(line + line);
});
