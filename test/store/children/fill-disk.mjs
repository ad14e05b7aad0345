// Runs the store into a full disk and out of it again, and prints what happened as one line of JSON.
// Arguments: folder, size of what no longer fits, whether to fill the disk first (`fill`) or rely on a limit (`limit`).
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { z } from 'zod';
import { openLowdbStore } from '../../../src/store/lowdb/lowdb-store.ts';

const [folder, size, way] = process.argv.slice(2);
const log = pino({ level: 'silent' });
const Note = z.object({ text: z.string() });
const declaration = { name: 'notes', schema: Note, version: 1, whenCorrupt: 'refuse' };
const Result = z.object({ atMs: z.int(), text: z.string() });
const results = { name: 'results', schema: Result };

const codeOf = (promise) =>
  promise.then(
    () => 'done',
    (error) => error.code ?? error.message,
  );
async function textsOf(journal) {
  const texts = [];
  for await (const { text } of journal.read()) texts.push(text.slice(0, 10));
  return texts;
}

const big = 'x'.repeat(Number(size));
let store = await openLowdbStore({ folder, log });
let notes = store.collection(declaration);
let journal = store.journal(results);
await notes.update('a', () => ({ text: 'before' }));
await journal.append({ atMs: 1, text: 'before' });
let items = await store.keyed({ name: 'items', schema: Note, whenCorrupt: 'refuse' });
await items.write(new Map([['a', { text: 'before' }]]));

const filler = join(folder, 'filler');
if (way === 'fill') {
  // Small steps fill the last page too.
  for (const step of [65_536, 4_096, 512, 1]) {
    for (let full = false; !full; ) {
      full = (await codeOf(writeFile(filler, 'x'.repeat(step), { flag: 'a' }))) !== 'done';
    }
  }
}
// A batch of two; only the first record fits.
const [small, large] = [
  journal.append({ atMs: 2, text: 'part' }),
  journal.append({ atMs: 2, text: big }),
].map(codeOf);
const full = {
  update: await codeOf(notes.update('a', () => ({ text: big }))),
  create: await codeOf(notes.update('b', () => ({ text: big }))),
  append: [await small, await large],
  write: await codeOf(items.write(new Map([['a', { text: big }]]))),
  check: await codeOf(store.check()),
  memory: (await notes.get('a'))?.text,
  item: items.items().get('a')?.text,
  other: await notes.get('b'),
  journal: await textsOf(journal),
  leftovers: (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.tmp')),
};
if (way === 'fill') await rm(filler);
const after = way === 'fill' ? big : 'after';
const healed = {
  update: await codeOf(notes.update('a', (now) => ({ text: `${now?.text} ${after}` }))),
  append: await codeOf(journal.append({ atMs: 3, text: 'after' })),
  write: await codeOf(items.write(new Map([['b', { text: 'after' }]]))),
  check: await codeOf(store.check()),
};
await store.close();
store = await openLowdbStore({ folder, log });
notes = store.collection(declaration);
journal = store.journal(results);
items = await store.keyed({ name: 'items', schema: Note, whenCorrupt: 'refuse' });
const reopened = {
  ids: (await notes.list()).map(({ id }) => id),
  text: (await notes.get('a'))?.text.slice(0, 8),
  journal: await textsOf(journal),
  items: [...items.items()].map(([id, { text }]) => `${id} ${text}`),
};
await store.close();
console.log(JSON.stringify({ full, healed, reopened }));
