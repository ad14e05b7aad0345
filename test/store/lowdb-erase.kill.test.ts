import { appendFile, cp } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { fileNameOf } from '../../src/store/lowdb/document-file.ts';
import { openFiles } from '../helpers/lowdb-store.ts';
import { folderOnDisk } from '../helpers/temporary-folder.ts';
import { filesWith } from '../helpers/test-store.ts';
import { mayTrace, startChild } from './children/start-child.ts';

const Note = z.object({ text: z.string() });
const notes = { name: 'notes', schema: Note, version: 1, whenCorrupt: 'refuse' } as const;
const results = { name: 'results', schema: z.object({ atMs: z.int(), who: z.string() }) };

/** System calls that change the disk. */
const STEPS = ['unlink', 'rename', 'fdatasync', 'fsync'];

/** Both documents hold a marker of their own in their file, the one before and a damaged copy, and so do records. */
async function marked(): Promise<string> {
  const folder = await folderOnDisk();
  for (const round of ['first', 'second', 'third']) {
    const { store } = await openFiles(folder);
    const collection = store.collection(notes);
    for (const id of ['part', 'whole']) {
      await collection.update(id, () => ({ text: `${round} gone-${id}` }));
      await collection.update(id, () => ({ text: `${round} gone-${id}, changed` }));
    }
    await store.close();
    if (round === 'third') continue;
    for (const id of ['part', 'whole'])
      await appendFile(join(folder, 'notes', fileNameOf(id)), 'x');
  }
  const { store } = await openFiles(folder);
  const journal = store.journal(results);
  for (const atMs of [1, 2, 86_400_000]) {
    await journal.append({ atMs, who: `stays ${atMs}` });
    await journal.append({ atMs, who: 'gone-records' });
  }
  await store.close();
  for (const marker of ['gone-part', 'gone-whole']) {
    // Two damaged copies; the second was made from the first.
    expect(await filesWith(marker, folder)).toHaveLength(4);
  }
  expect(await filesWith('gone-records', folder)).toHaveLength(2);
  return folder;
}

/** Erases all, and kills the process when it is about to make a step for the n-th time; whether it came to that. */
async function eraseAndKill(folder: string, step: string, n: number) {
  // With one thread for files, the steps come in one order and are counted as one.
  const inject = `inject=${step}:signal=KILL:when=${n}`;
  const child = startChild(
    'erase-once.mjs',
    [folder],
    `UV_THREADPOOL_SIZE=1 exec strace -f -qq -o /dev/null -e trace=${step} -e ${inject} "$@"`,
  );
  const { code } = await child.exit;
  return { acknowledged: child.lines, wasKilled: code !== 0 };
}

test('a kill at any step of erasing leaves all of it or nothing, and nothing of what was acknowledged', {
  skip: !process.env.CI && !mayTrace(),
  // Some forty programs, one after another.
  timeout: 300_000,
}, async () => {
  const before = await marked();
  let kills = 0;
  for (const step of STEPS) {
    for (let n = 1, wasKilled = true; wasKilled; n += 1) {
      const folder = await folderOnDisk();
      await cp(before, folder, { recursive: true });
      const run = await eraseAndKill(folder, step, n);
      wasKilled = run.wasKilled;
      kills += wasKilled ? 1 : 0;
      if (!wasKilled) expect(run.acknowledged).toEqual(['part', 'whole', 'records']);

      const { store, lines } = await openFiles(folder);
      const collection = store.collection(notes);
      const journal = store.journal(results);
      const who: string[] = [];
      for await (const record of journal.read()) who.push(record.who);
      const left = {
        part: (await collection.get('part'))?.text !== 'rest',
        whole: (await collection.get('whole')) !== undefined,
        records: who.some((one) => one === 'gone-records'),
      };
      for (const [name, isThere] of Object.entries(left)) {
        const about = `${name}, killed at ${step} ${n}`;
        if (run.acknowledged.includes(name)) expect(isThere, about).toBe(false);
        // No leftovers that nobody would look for.
        if (!isThere) expect(await filesWith(`gone-${name}`, folder), about).toEqual([]);
      }
      expect(who.filter((one) => one.startsWith('stays'))).toHaveLength(3);
      expect(lines.filter(({ level }) => Number(level) > 30)).toEqual([]);
      await store.close();
    }
  }
  // A step that was never stopped at would be counted as one that may be.
  expect(kills).toBeGreaterThan(20);
});
