import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { CorruptDocumentError } from '../../src/store/errors.ts';
import { withChecksum } from '../../src/store/lowdb/checksum.ts';
import { DocumentFile, fileNameOf, prepare } from '../../src/store/lowdb/document-file.ts';
import { openQuarantine, quarantinedFiles } from '../../src/store/lowdb/quarantine.ts';
import { long } from '../helpers/long.ts';
import { openFiles } from '../helpers/lowdb-store.ts';
import { recordingLog } from '../helpers/recording-log.ts';
import { folderOnDisk } from '../helpers/temporary-folder.ts';

const Note = z.object({ text: z.string(), count: z.int() });
const notes = { name: 'notes', schema: Note, version: 1, whenCorrupt: 'refuse' } as const;
const first = { text: 'first ', count: 1 };
const second = { text: 'é'.repeat(950), count: 2 };

/** A closed store whose document `a` was written twice. */
async function writtenTwice() {
  const folder = await folderOnDisk();
  const { store } = await openFiles(folder);
  const collection = store.collection(notes);
  await collection.update('a', () => first);
  await collection.update('a', () => second);
  await store.close();
  const path = join(folder, 'notes', fileNameOf('a'));
  return { folder, path, previous: `${path}.bak`, quarantine: join(folder, 'quarantine') };
}

const wholeFile = (content: object) => Buffer.from(withChecksum(content));

/** Contents that a document's file must never have. */
const damages: Array<[string, (good: Buffer) => Buffer]> = [
  ['empty', () => Buffer.alloc(0)],
  ['null', () => Buffer.from('null')],
  ['0', () => Buffer.from('0')],
  ['[]', () => Buffer.from('[]')],
  ['{}', () => Buffer.from('{}')],
  ['full of NULs', (good) => Buffer.alloc(good.length)],
  ['cut in the middle', (good) => good.subarray(0, good.length / 2)],
  ['one line break too long', (good) => Buffer.concat([good, Buffer.from('\n')])],
  [
    'changed in one bit',
    (good) => {
      const bad = Buffer.from(good);
      bad[good.length - 200] = (bad[good.length - 200] ?? 0) ^ 1;
      return bad;
    },
  ],
  ['whole but of no schema', () => wholeFile({ id: 'a', version: 1, document: { text: 5 } })],
  ['whole but of another document', () => wholeFile({ id: 'b', version: 1, document: first })],
  ['whole but of no version', () => wholeFile({ id: 'a', document: first })],
];

describe.each(damages)('when the file of a document is %s', (_name, damage) => {
  test('the previous version is used, the bad file is moved to quarantine, and the log says so', async () => {
    const { folder, path, quarantine } = await writtenTwice();
    const bad = damage(await readFile(path));
    await writeFile(path, bad);

    const { store, lines } = await openFiles(folder);
    const collection = store.collection(notes);
    expect(await collection.list()).toEqual([{ id: 'a', document: first }]);
    expect(await collection.get('a')).toEqual(first);
    const [moved = ''] = await readdir(quarantine);
    expect(moved).toMatch(/^notes\.[0-9a-f]{40}\.json\.\d{4}-\d\d-\d\dT/);
    expect(await readFile(join(quarantine, moved))).toEqual(bad);
    expect(lines).toContainEqual(expect.objectContaining({ level: 50, file: path }));

    await collection.update('a', () => ({ text: 'third', count: 3 }));
    await store.close();
    const again = await openFiles(folder);
    expect(await again.store.collection(notes).get('a')).toEqual({ text: 'third', count: 3 });
    expect(again.lines).toEqual([]);
  });

  test('every use is refused if the previous version is bad too, also after a restart, and no file is moved', async () => {
    const { folder, path, previous, quarantine } = await writtenTwice();
    const bad = damage(await readFile(path));
    await writeFile(path, bad);
    await writeFile(previous, bad);
    for (let start = 0; start < 2; start += 1) {
      const { store } = await openFiles(folder);
      const collection = store.collection(notes);
      await expect(collection.get('a')).rejects.toThrow(CorruptDocumentError);
      await expect(collection.list()).rejects.toThrow(CorruptDocumentError);
      await expect(collection.update('a', () => first)).rejects.toThrow(path);
      await collection.update('b', () => first);
      expect(await collection.get('b')).toEqual(first);
      await store.close();
    }
    expect(await readFile(path)).toEqual(bad);
    await expect(stat(quarantine)).rejects.toThrow('ENOENT');
  });

  test('every use is refused if there is no previous version', async () => {
    const { folder, path, previous } = await writtenTwice();
    await writeFile(path, damage(await readFile(path)));
    await rm(previous);
    const { store } = await openFiles(folder);
    await expect(store.collection(notes).get('a')).rejects.toThrow(CorruptDocumentError);
  });

  test('a document that may be forgotten counts as never written, and both files are moved to quarantine', async () => {
    const { folder, path, previous, quarantine } = await writtenTwice();
    const bad = damage(await readFile(path));
    await writeFile(path, bad);
    await writeFile(previous, bad);
    const { store, lines } = await openFiles(folder);
    const collection = store.collection({ ...notes, whenCorrupt: 'forget' });
    expect(await collection.list()).toEqual([]);
    expect(await collection.get('a')).toBeUndefined();
    expect(await readdir(quarantine)).toHaveLength(2);
    expect(lines).toContainEqual(expect.objectContaining({ level: 50, file: path }));
    await collection.update('a', () => first);
    expect(await collection.get('a')).toEqual(first);
  });
});

test('a document of which only the version before is left is found again', async () => {
  const { folder, path } = await writtenTwice();
  await rm(path);
  const { store, lines } = await openFiles(folder);
  const collection = store.collection(notes);
  expect(await collection.list()).toEqual([{ id: 'a', document: first }]);
  expect(lines).toContainEqual(expect.objectContaining({ level: 50, reason: 'it is missing' }));
});

test('a document that was removed leaves nothing behind, and a new one has no older version', async () => {
  const { folder, path, previous } = await writtenTwice();
  const { store } = await openFiles(folder);
  const collection = store.collection(notes);
  await Promise.all([
    collection.update('a', () => undefined),
    collection.update('a', () => ({ text: 'new life', count: 1 })),
  ]);
  await expect(stat(previous)).rejects.toThrow('ENOENT');
  await collection.update('a', () => ({ text: 'changed', count: 2 }));
  await collection.update('a', () => undefined);
  await expect(stat(path)).rejects.toThrow('ENOENT');
  await expect(stat(previous)).rejects.toThrow('ENOENT');
});

test('a file that cannot be read is no damage: it is left where it is and the reason is told', async () => {
  const { folder, path, quarantine } = await writtenTwice();
  const { store } = await openFiles(folder);
  await rm(path);
  await mkdir(path);
  await expect(store.collection(notes).get('a')).rejects.toThrow('EISDIR');
  expect((await stat(path)).isDirectory()).toBe(true);
  await expect(stat(quarantine)).rejects.toThrow('ENOENT');
});

test('no prefix of a file and no flipped bit is ever taken for a document', async () => {
  const folder = await folderOnDisk();
  const { log } = recordingLog();
  const name = fileNameOf('a');
  const path = join(folder, name);
  const file = new DocumentFile(notes, {
    folder,
    name,
    quarantine: await openQuarantine(join(folder, 'quarantine')),
    log,
  });
  const good = Buffer.from(prepare(notes, 'a', second).text);
  const older = prepare(notes, 'a', first).text;
  expect(good.length).toBeGreaterThan(1900);

  const step = long ? 1 : 97;
  const cases: Buffer[] = [];
  for (let length = 0; length < good.length; length += step) cases.push(good.subarray(0, length));
  for (let bit = 0; bit < good.length * 8; bit += step * 8 + 1) {
    const bad = Buffer.from(good);
    bad[bit >> 3] = (bad[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    cases.push(bad);
  }
  for (const bad of cases) {
    await writeFile(path, bad);
    await rm(`${path}.bak`, { force: true });
    await expect(file.read()).rejects.toThrow(CorruptDocumentError);
    await writeFile(`${path}.bak`, older);
    expect((await file.read())?.document).toEqual(first);
  }
  await writeFile(path, good);
  expect((await file.read())?.document).toEqual(second);
});

describe('a damaged journal', () => {
  const Result = z.object({ atMs: z.number(), value: z.string() });
  const results = { name: 'results', schema: Result };
  const atMs = Date.UTC(2026, 10, 20, 12);

  async function valuesAt(folder: string, append?: string) {
    const { store, lines } = await openFiles(folder);
    const journal = store.journal(results);
    if (append !== undefined) await journal.append({ atMs, value: append });
    const values: string[] = [];
    for await (const { value } of journal.read()) values.push(value);
    await store.close();
    return { values, lines };
  }

  async function written() {
    const folder = await folderOnDisk();
    for (const value of ['one', 'two', 'thrée']) await valuesAt(folder, value);
    return { folder, path: join(folder, 'results', '2026-11-20.ndjson') };
  }

  test('loses only a last record that was torn, and takes the next on a line of its own', async () => {
    const { folder, path } = await written();
    const good = await readFile(path);
    const start = good.lastIndexOf('\n', -2) + 1;
    const step = long ? 1 : 11;
    // The longest lacks the line break alone.
    for (let length = good.length - 1; length >= start; length -= step) {
      await writeFile(path, good.subarray(0, length));
      expect((await valuesAt(folder)).values).toEqual(['one', 'two']);
      expect((await valuesAt(folder, 'four')).values).toEqual(['one', 'two', 'four']);
    }
  });

  test('leaves out a partial record that was never acknowledged, without a warning', async () => {
    const { folder, path } = await written();
    const good = await readFile(path);
    await writeFile(path, Buffer.concat([good, good.subarray(0, 20)]));
    for (const append of [undefined, 'next']) {
      const { lines } = await valuesAt(folder, append);
      expect(lines).toContainEqual(expect.objectContaining({ level: 30, bytes: 20 }));
      expect(lines.filter((line) => (line as { level: number }).level > 30)).toEqual([]);
    }
  });

  test('is repaired when nothing of it is a whole line', async () => {
    const { folder, path } = await written();
    await writeFile(path, Buffer.alloc(200_000));
    expect((await valuesAt(folder, 'new')).values).toEqual(['new']);
  });

  test('skips a record with a flipped bit, a line that is too long and one of no schema, and says how many', async () => {
    const { folder, path } = await written();
    const good = await readFile(path);
    const bad = Buffer.from(good);
    const at = good.indexOf('two');
    bad[at] = (bad[at] ?? 0) ^ 1;
    const garbage = Buffer.from(
      `${'x'.repeat(3_000_000)}\n${withChecksum({ record: { atMs: 'no' } })}\n\n`,
    );
    await writeFile(path, Buffer.concat([garbage, bad]));
    const { values, lines } = await valuesAt(folder);
    expect(values).toEqual(['one', 'thrée']);
    expect(lines).toContainEqual(expect.objectContaining({ level: 50, file: path, unreadable: 4 }));
    await valuesAt(folder);
    // One copy, however often the file is read.
    const [damaged, ...more] = await quarantinedFiles(folder);
    expect([damaged?.original, more]).toEqual(['results/2026-11-20.ndjson', []]);
    const copy = await readFile(join(folder, damaged?.copy ?? ''), 'utf8');
    expect(copy.split('\n').filter((line) => line.includes('(too long)'))).toHaveLength(1);
  });
});
