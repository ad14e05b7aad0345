import { appendFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { fileNameOf } from '../../src/store/lowdb/document-file.ts';
import { openQuarantine, QUARANTINE_KEPT_MS } from '../../src/store/lowdb/quarantine.ts';
import type { Journal } from '../../src/store/store.ts';
import { openFiles } from '../helpers/lowdb-store.ts';
import { folderOnDisk } from '../helpers/temporary-folder.ts';
import { filesWith } from '../helpers/test-store.ts';

const MARKER = 'what-is-to-be-gone';
const Note = z.object({ text: z.string() });
const notes = { name: 'notes', schema: Note, version: 1, whenCorrupt: 'forget' } as const;
const Result = z.object({ atMs: z.number(), who: z.string(), value: z.string() });
const results = { name: 'results', schema: Result };
const DAY_MS = 86_400_000;

/** A store whose document `a` holds the marker in its file, in the one before, in a damaged copy and in half-written ones. */
async function markedEverywhere() {
  const folder = await folderOnDisk();
  const path = join(folder, 'notes', fileNameOf('a'));
  const before = await openFiles(folder);
  const collection = before.store.collection(notes);
  await collection.update('a', () => ({ text: `first ${MARKER}` }));
  await collection.update('a', () => ({ text: `second ${MARKER}` }));
  await before.store.close();
  await appendFile(path, 'damage');
  const { store } = await openFiles(folder);
  const opened = store.collection(notes);
  await opened.update('a', (now) => ({ text: `${now?.text}, changed` }));
  await opened.update('other', () => ({ text: `another with ${MARKER}` }));
  // Leftovers of a disk that refuses to write and then to delete.
  await writeFile(join(folder, 'notes', `.${fileNameOf('a')}.tmp`), `half ${MARKER}`);
  await writeFile(join(folder, 'notes', `.${fileNameOf('a')}.bak.tmp`), `half ${MARKER}`);
  expect(await filesWith(MARKER, folder)).toHaveLength(6);
  return { folder, store, collection: opened, path };
}

const OTHER = [`notes/${fileNameOf('other')}`];

test('an erased document leaves nothing in versions before, damaged copies and half-written files', async () => {
  const { folder, collection } = await markedEverywhere();
  await collection.erase('a', () => ({ text: 'rest' }));
  expect(await filesWith(MARKER, folder)).toEqual(OTHER);
  expect(await collection.get('a')).toEqual({ text: 'rest' });
});

test('a removed document leaves nothing in versions before, damaged copies and half-written files', async () => {
  const { folder, collection } = await markedEverywhere();
  await collection.update('a', () => undefined);
  expect(await filesWith(MARKER, folder)).toEqual(OTHER);
});

test('an update that is written together with an erasure leaves nothing of what it removed either', async () => {
  const { folder, collection } = await markedEverywhere();
  await Promise.all([
    collection.update('a', (now) => ({ text: `${now?.text}, more` })),
    collection.erase('a', () => ({ text: 'rest' })),
    collection.update('a', (now) => ({ text: `${now?.text}, and on` })),
  ]);
  expect(await filesWith(MARKER, folder)).toEqual(OTHER);
  expect(await collection.get('a')).toEqual({ text: 'rest, and on' });
});

test('the damaged copy of a document that counts as never written is removed when the document is erased', async () => {
  const { folder, store, collection, path } = await markedEverywhere();
  await collection.erase('a', () => ({ text: MARKER }));
  await store.close();
  for (const file of [path, `${path}.bak`]) await appendFile(file, 'damage');
  const again = (await openFiles(folder)).store.collection(notes);
  expect(await again.get('a')).toBeUndefined();
  expect(await filesWith(MARKER, join(folder, 'quarantine'))).toHaveLength(2);
  await again.erase('a', (now) => now && { text: '' });
  expect(await filesWith(MARKER, folder)).toEqual(OTHER);
});

test('erasing all documents that fit leaves nothing of them, and no damaged copy of their collection', async () => {
  const { folder, store, collection } = await markedEverywhere();
  const others = store.collection({ ...notes, name: 'others' });
  await others.update('a', () => ({ text: 'stays' }));
  await others.update('a', () => ({ text: 'stays, too' }));
  await appendFile(join(folder, 'others', fileNameOf('a')), 'damage');
  await store.close();
  const again = (await openFiles(folder)).store;
  expect(await again.collection({ ...notes, name: 'others' }).list()).toHaveLength(1);
  await again.collection(notes).eraseAll((id) => id === 'other');
  expect(await filesWith('another', folder)).toEqual([]);
  expect(await readdir(join(folder, 'quarantine'))).toEqual([expect.stringMatching(/^others\./)]);
  expect(await collection.get('a').catch(() => 'closed')).toBe('closed');
});

test('damaged files are kept for 30 days, and what else lies beside them stays', async () => {
  const folder = join(await folderOnDisk(), 'quarantine');
  await mkdir(folder);
  const old = `notes.${'0'.repeat(40)}.json.bak.2026-11-01T10-00-00.000Z.12345678`;
  const fresh = `notes.${'0'.repeat(40)}.json.2026-11-02T10-00-00.001Z.12345678`;
  for (const name of [old, fresh, 'READ.ME']) await writeFile(join(folder, name), '');
  const quarantine = await openQuarantine(folder);
  await quarantine.prune(Date.parse('2026-11-02T10:00:00.000Z') + QUARANTINE_KEPT_MS);
  expect((await readdir(folder)).sort()).toEqual(['READ.ME', fresh]);
  await quarantine.prune(Date.parse('2026-11-02T10:00:00.002Z') + QUARANTINE_KEPT_MS);
  expect(await readdir(folder)).toEqual(['READ.ME']);
});

/** A journal of three days; the first and last day have a record with the marker. */
async function markedJournal(declaration: Partial<typeof results> & object = {}) {
  const folder = await folderOnDisk();
  const opened = await openFiles(folder);
  const journal = opened.store.journal({ ...results, ...declaration });
  for (const [day, who] of [
    [1, 'ada'],
    [1, MARKER],
    [1, 'bob'],
    [2, 'ada'],
    [3, MARKER],
  ] as const) {
    await journal.append({ atMs: day * DAY_MS, who, value: `of day ${day}` });
  }
  return { folder, ...opened, journal };
}

async function whoIn(journal: Journal<z.infer<typeof Result>>): Promise<string[]> {
  const all: string[] = [];
  for await (const { who } of journal.read()) all.push(who);
  return all;
}

const without = (record: z.infer<typeof Result>) => (record.who === MARKER ? undefined : record);
const fileOf = (folder: string, day: number) =>
  join(folder, 'results', `1970-01-0${day + 1}.ndjson`);

test.each([[undefined], [[MARKER]]])(
  'erased records are in no file, and none is missed, where %j is mentioned',
  async (mentioning) => {
    const { folder, store, journal } = await markedJournal();
    await journal.erase(without, { mentioning });
    expect(await filesWith(MARKER, folder)).toEqual([]);
    expect((await readdir(join(folder, 'results'))).sort()).toEqual([
      '1970-01-02.ndjson',
      '1970-01-03.ndjson',
    ]);
    await journal.append({ atMs: DAY_MS, who: 'eve', value: '' });
    await store.close();
    const again = await openFiles(folder);
    const left = await whoIn(again.store.journal(results));
    expect(left).toEqual(['ada', 'bob', 'eve', 'ada']);
    expect(again.lines).toEqual([]);
  },
);

test('a record of which a part is erased stays, and files without any are not written', async () => {
  const { folder, journal } = await markedJournal();
  const second = await readFile(fileOf(folder, 2));
  await journal.erase((record) => (record.who === MARKER ? { ...record, who: 'gone' } : record));
  expect(await filesWith(MARKER, folder)).toEqual([]);
  const left = await whoIn(journal);
  expect(left).toEqual(['ada', 'gone', 'bob', 'ada', 'gone']);
  expect(await readFile(fileOf(folder, 2))).toEqual(second);
});

test('records that cannot be read, or were never finished, are removed when something is erased', async () => {
  const { folder, store } = await markedJournal();
  await store.close();
  const text = await readFile(fileOf(folder, 1), 'utf8');
  await writeFile(fileOf(folder, 1), text.replace(MARKER, MARKER.toUpperCase()));
  await appendFile(fileOf(folder, 2), `{"sum":"half of ${MARKER}`);
  const journal = (await openFiles(folder)).store.journal(results);
  await journal.erase((record) => (record.who === MARKER ? undefined : record), {
    mentioning: [MARKER],
  });
  expect(await filesWith(MARKER, folder)).toEqual([]);
  expect(await filesWith(MARKER.toUpperCase(), folder)).toEqual([]);
  expect(await whoIn(journal)).toEqual(['ada', 'bob', 'ada']);
});

test('records that are appended during an erasure are there afterwards', async () => {
  const { folder, store, journal } = await markedJournal();
  const many = Array.from({ length: 300 }, (_, n) => n);
  await Promise.all([
    ...many.slice(0, 150).map((n) => journal.append({ atMs: DAY_MS + n, who: `n${n}`, value: '' })),
    journal.erase(without),
    ...many.slice(150).map((n) => journal.append({ atMs: DAY_MS + n, who: `n${n}`, value: '' })),
  ]);
  await store.close();
  const again = await openFiles(folder);
  const left = new Set(await whoIn(again.store.journal(results)));
  for (const n of many) expect(left).toContain(`n${n}`);
  expect(left).not.toContain(MARKER);
  expect(again.lines).toEqual([]);
});
