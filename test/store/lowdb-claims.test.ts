import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { claimBuckets, createClaims } from '../../src/store/claim-buckets.ts';
import { keyOf } from '../../src/store/claims.ts';
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

test('What is left unfinished for more than a week is told of no more, and may be done again', async () => {
  const { open, pass } = await folderWithClock();
  const store = await open();
  await store.claims(jobs).claim('old', null);
  pass(6 * DAY_MS);
  await store.claims({ ...jobs, name: 'others' }).claim('newer', null);
  await store.close();
  pass(2 * DAY_MS);
  const again = await open();
  const claims = again.claims(jobs);
  expect(await claims.unfinished()).toEqual([]);
  expect(await claims.claim('old', null)).toBe(true);
  expect(await again.claims({ ...jobs, name: 'others' }).unfinished()).toEqual([null]);
  await again.close();
});

test('A claim that could not be stored is free for the next one who asks, and lasts where it was stored all the same', async () => {
  const { open } = await folderWithClock();
  const { log } = recordingLog();
  const store = await open();
  const collection = store.collection(claimBuckets('jobs'));
  let failure: 'before' | 'after' | undefined;
  const failing =
    (write: typeof collection.update): typeof write =>
    async (id, make) => {
      if (failure === 'before') throw new Error('no room');
      const stored = await write(id, make);
      if (failure === 'after') throw new Error('the answer is lost');
      return stored;
    };
  const { update, erase } = collection;
  const failingWrites = { ...collection, update: failing(update), erase: failing(erase) };
  const claims = createClaims(jobs, { collection: failingWrites, log });
  for (failure of ['before', 'after'] as const) {
    const outcomes = await Promise.allSettled([
      claims.claim(failure, null),
      claims.claim('b', null),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  }
  expect(await createClaims(jobs, { collection, log }).unfinished()).toEqual([null, null]);
  failure = undefined;
  for (const id of ['before', 'after', 'b']) {
    expect(await Promise.all([claims.claim(id, null), claims.claim(id, null)])).toEqual([
      true,
      false,
    ]);
  }
  failure = 'before';
  await expect(claims.release('after')).rejects.toThrow('no room');
  failure = undefined;
  expect(await claims.claim('after', null)).toBe(true);
  await store.close();
});

test('Nothing in the folder holds the request of a claim once what is finished is erased', async () => {
  const { log } = recordingLog();
  const folder = await temporaryFolder();
  const store = await openLowdbStore({ folder, log });
  const claims = store.claims({ ...jobs, schema: z.string() });
  for (const id of ['a', 'b']) await claims.claim(id, 'SECRET');
  await claims.finish('a');
  await claims.release('b');
  await claims.eraseFinished();
  await store.close();
  const names = await readdir(join(folder, 'jobs'));
  const texts = await Promise.all(
    names.map((name) => readFile(join(folder, 'jobs', name), 'utf8')),
  );
  expect(texts.join('')).toContain(keyOf('a'));
  expect(texts.join('')).not.toContain('SECRET');
});
