import { expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { keyOf } from '../../src/store/claims.ts';
import { Bucket } from '../../src/store/lowdb/claims.ts';
import { openLowdbStore } from '../../src/store/lowdb/lowdb-store.ts';
import { recordingLog } from '../helpers/recording-log.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

const DAY_MS = 86_400_000;

const jobs = { name: 'jobs', schema: z.null(), keptMs: DAY_MS };

/** Stores on one folder, one after another, on a wall clock that stands still but when time is to pass. */
async function folderWithClock() {
  const { log } = recordingLog();
  const folder = await temporaryFolder();
  let nowMs = Date.UTC(2026, 10, 26);
  vi.spyOn(Date, 'now').mockImplementation(() => nowMs);
  onTestFinished(() => void vi.restoreAllMocks());
  return {
    open: () => openLowdbStore({ folder, log }),
    pass(ms: number) {
      nowMs += ms;
    },
  };
}

/** Ids whose claims stand in one document. */
function neighbours(count: number): string[] {
  const bucketOf = (id: string) => Number.parseInt(keyOf(id).slice(0, 4), 16) % 256;
  return Array.from({ length: count * 500 }, (_, no) => `id ${no}`)
    .filter((id) => bucketOf(id) === 0)
    .slice(0, count);
}

test('What is over of claims goes with the next one beside it: done after its time, and unfinished after a week', async () => {
  const { open, pass } = await folderWithClock();
  const [done = '', left = '', shortly = '', other = ''] = neighbours(4);

  /** The keys that are stored, once a claim beside them was written. */
  async function storedAfter(id: string) {
    const store = await open();
    const claims = store.claims(jobs);
    await claims.once(id, null);
    await claims.finish(id);
    await store.close();
    const again = await open();
    const found = await again
      .collection({ ...{ name: 'jobs', schema: Bucket, version: 1 }, whenCorrupt: 'refuse' })
      .list();
    await again.close();
    return found.flatMap(({ document }) => Object.keys(document.entries)).sort();
  }
  const keys = (...ids: string[]) => ids.map(keyOf).sort();

  const store = await open();
  const claims = store.claims(jobs);
  for (const id of [done, left, shortly]) expect(await claims.once(id, null)).toBeTruthy();
  await claims.finish(done, 10 * DAY_MS);
  await claims.finish(shortly, 1);
  await store.close();
  pass(6 * DAY_MS);
  expect(await storedAfter(other)).toEqual(keys(done, left, other));
  pass(2 * DAY_MS);
  expect(await storedAfter(other)).toEqual(keys(done, other));
});

test('What is left unfinished for more than a week is not gone on with', async () => {
  const { open, pass } = await folderWithClock();
  const store = await open();
  await store.claims(jobs).once('old', null);
  pass(6 * DAY_MS);
  await store.claims({ ...jobs, name: 'others' }).once('newer', null);
  await store.close();
  pass(2 * DAY_MS);
  const again = await open();
  expect(await again.claims(jobs).abandoned()).toEqual([]);
  expect(await again.claims({ ...jobs, name: 'others' }).abandoned()).toHaveLength(1);
  await again.close();
});
