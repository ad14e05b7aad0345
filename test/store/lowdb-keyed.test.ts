import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { CorruptDocumentError } from '../../src/store/errors.ts';
import { openLowdbKeyed } from '../../src/store/lowdb/keyed.ts';
import { openQuarantine } from '../../src/store/lowdb/quarantine.ts';
import { openFiles } from '../helpers/lowdb-store.ts';
import { recordingLog } from '../helpers/recording-log.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';
import { filesWith } from '../helpers/test-store.ts';

const Item = z.object({ text: z.string() });
const items = { name: 'items', schema: Item, whenCorrupt: 'refuse' } as const;
const put = (id: string, text: string) => new Map([[id, { text }]]);

/** A file of a snapshot of one item and a line for each of four writes. */
async function written() {
  const folder = await temporaryFolder();
  const { store } = await openFiles(folder);
  const keyed = await store.keyed(items);
  await keyed.erase(put('a', 'first'));
  for (const [id, text] of ['a second', 'b third', 'a fourth', 'c fifth'].map((one) =>
    one.split(' '),
  )) {
    await keyed.write(put(id ?? '', text ?? ''));
  }
  await store.close();
  const path = join(folder, 'items', 'items.ndjson');
  const lines = (await readFile(path, 'utf8')).split('\n').slice(0, -1);
  expect(lines).toHaveLength(5);
  return { folder, path, lines };
}

const refusalOf = async (folder: string) => {
  const { store } = await openFiles(folder);
  const error = await store.keyed(items).catch((reason: unknown) => reason);
  await store.close();
  return error as Error;
};

async function textsIn(folder: string) {
  const { store } = await openFiles(folder);
  const keyed = await store.keyed(items);
  const texts = [...keyed.items()].map(([id, { text }]) => `${id} ${text}`).sort();
  await store.close();
  return texts;
}

test('refuses a file with a damaged line, whichever it is, and leaves the file as it is', async () => {
  const { folder, path, lines } = await written();
  for (const [at, text] of ['first', 'second', 'third', 'fourth', 'fifth'].entries()) {
    const damaged = `${lines.with(at, lines[at]?.replace(text, 'wrong') ?? '').join('\n')}\n`;
    await writeFile(path, damaged);
    const error = await refusalOf(folder);
    expect(error).toBeInstanceOf(CorruptDocumentError);
    expect(error.message).toMatch(/items\.ndjson is damaged .*backup, or remove/);
    expect(await readFile(path, 'utf8')).toBe(damaged);
  }
});

test('refuses a file with a missing line', async () => {
  const { folder, path, lines } = await written();
  for (const at of [0, 2]) {
    await writeFile(path, `${lines.filter((_, other) => other !== at).join('\n')}\n`);
    expect((await refusalOf(folder)).message).toContain('a line is missing');
  }
});

test('leaves out a last line that was torn before it was acknowledged, and continues after it', async () => {
  const { folder, path, lines } = await written();
  const torn = `${lines.slice(0, -1).join('\n')}\n${lines.at(-1)?.slice(0, 40)}`;
  await writeFile(path, torn);
  expect(await textsIn(folder)).toEqual(['a fourth', 'b third']);
  const { store } = await openFiles(folder);
  await (await store.keyed(items)).write(put('d', 'new'));
  await store.close();
  expect(await textsIn(folder)).toEqual(['a fourth', 'b third', 'd new']);
});

test('sets a damaged file aside and continues with the other items if it may forget', async () => {
  const { folder, path, lines } = await written();
  const damaged = `${lines.with(2, 'rubbish').join('\n')}\n`;
  await writeFile(path, damaged);
  const { store, lines: log } = await openFiles(folder);
  const keyed = await store.keyed({ ...items, whenCorrupt: 'forget' });
  expect([...keyed.items().keys()].sort()).toEqual(['a', 'c']);
  const [copy = ''] = await readdir(join(folder, 'quarantine'));
  expect(await readFile(join(folder, 'quarantine', copy), 'utf8')).toBe(damaged);
  expect(log).toContainEqual(expect.objectContaining({ level: 50, file: path }));
  await store.close();
  expect(await textsIn(folder)).toEqual(['a fourth', 'c fifth']);
});

test('an erased value is in no file, also not in a damaged copy', async () => {
  const { folder, path, lines } = await written();
  await writeFile(path, `${lines.with(2, 'third').join('\n')}\n`);
  const { store } = await openFiles(folder);
  const keyed = await store.keyed({ ...items, whenCorrupt: 'forget' });
  await keyed.write(put('gone', 'fourth'));
  expect((await filesWith('fourth', folder)).length).toBeGreaterThan(1);
  await keyed.erase(
    new Map([
      ['gone', undefined],
      ['a', { text: 'rest' }],
    ]),
  );
  expect(await filesWith('fourth', folder)).toEqual([]);
});

test('the file stays small however often its items change', async () => {
  const folder = await temporaryFolder();
  const { log } = recordingLog();
  const quarantine = await openQuarantine(join(folder, 'quarantine'));
  const access = { assertOpen() {}, assertWritable() {} };
  const options = { ...access, folder: join(folder, 'items'), quarantine, log };
  const keyed = await openLowdbKeyed(items, { ...options, snapshotAfterBytes: 1_000 });
  await keyed.write(put('kept', 'from the start'));
  for (let turn = 0; turn < 200; turn += 1) await keyed.write(put('a', `turn ${turn}`));
  await keyed.close();
  expect((await stat(join(folder, 'items', 'items.ndjson'))).size).toBeLessThan(3_000);
  const again = await openLowdbKeyed(items, options);
  expect(again.items()).toEqual(
    new Map([
      ['kept', { text: 'from the start' }],
      ['a', { text: 'turn 199' }],
    ]),
  );
  await again.close();
});
