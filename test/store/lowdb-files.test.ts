import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { long } from '../helpers/long.ts';
import { openFiles } from '../helpers/lowdb-store.ts';
import { folderOnDisk } from '../helpers/temporary-folder.ts';

const Note = z.object({ text: z.string() });
const notes = { name: 'notes', schema: Note, version: 1, whenCorrupt: 'refuse' } as const;
const results = { name: 'results', schema: z.object({ atMs: z.number() }) };

async function everythingIn(folder: string): Promise<string[]> {
  return (await readdir(folder, { recursive: true })).sort();
}

test('files are for their owner only, and so are folders, whatever the umask', async () => {
  const old = process.umask(0);
  onTestFinished(() => {
    process.umask(old);
  });
  const folder = join(await folderOnDisk(), 'deep', 'down');
  const { store } = await openFiles(folder);
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
  const { store } = await openFiles(await folderOnDisk());
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
  const { store } = await openFiles(folder);
  await store.collection(notes).update('../secret', () => ({ text: '' }));
  await store.lease('secret');
  expect((await everythingIn(folder)).join(' ')).not.toContain('secret');
});

test('files that a killed process left half written are removed at the next start, and nothing else is', async () => {
  const folder = await folderOnDisk();
  const { store } = await openFiles(folder);
  await store.collection(notes).update('a', () => ({ text: 'one' }));
  await store.close();
  const before = await everythingIn(folder);
  await writeFile(join(folder, 'notes', '.x.json.0b1c.tmp'), 'half');
  await writeFile(join(folder, '.check.0b1c.tmp'), 'half');
  await (await openFiles(folder)).store.close();
  expect(await everythingIn(folder)).toEqual(before);
});

test('many documents written at once open few files at once', async () => {
  const documents = long ? 500 : 200;
  const folder = await folderOnDisk();
  const collection = (await openFiles(folder)).store.collection(notes);
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

test('a journal is written in the form of the first version, and its files are read', async () => {
  const folder = await folderOnDisk();
  const line =
    '{"sum":"085f2716da97c46d","record":{"atMs":1795176000000,"value":"héllo \\ud800 \\"\\\\\\n"}}\n';
  const record = { atMs: Date.UTC(2026, 10, 20, 12), value: 'héllo \ud800 "\\\n' };
  const file = join(folder, 'results', '2026-11-20.ndjson');
  await mkdir(join(folder, 'results'));
  await writeFile(file, line);
  const { store } = await openFiles(folder);
  const schema = z.object({ atMs: z.number(), value: z.string() });
  const journal = store.journal({ name: 'results', schema });
  for await (const read of journal.read()) expect(read).toEqual(record);
  await journal.append(record);
  expect(await readFile(file, 'utf8')).toBe(line + line);
});
