import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import {
  coveredEntry,
  type Entry,
  forgottenEntry,
  resultEntry,
} from '../../../src/monitoring/history/result-record.ts';
import { openResultsJournal } from '../../../src/monitoring/history/results-journal.ts';
import { openLowdbStore } from '../../../src/store/lowdb/lowdb-store.ts';
import { long } from '../../helpers/long.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const HOUR = 3_600_000;
const NOON = Date.UTC(2027, 0, 15, 12);
const ALL = { fromMs: NOON - 24 * HOUR, toMs: NOON + 24 * HOUR, ownToo: true };

async function openFolder() {
  const folder = await temporaryFolder();
  const { log } = recordingLog();
  const open = () => openLowdbStore({ folder, log });
  let store = await open();
  onTestFinished(() => store.close());
  return {
    get store() {
      return store;
    },
    async restart() {
      await store.close();
      store = await open();
    },
  };
}

async function collect(entries: AsyncIterable<Entry[]>): Promise<Entry[]> {
  const all: Entry[] = [];
  for await (const each of entries) all.push(...each);
  return all;
}

const result = fc
  .record({
    monitor: fc.constantFrom('a', 'mon_0123456789abcdef', 'mon_fedcba9876543210'),
    agoMs: fc.integer({ min: 0, max: HOUR - 1 }),
    ok: fc.boolean(),
    took: fc.integer({ min: 0, max: 6_000_000 }),
    everyMs: fc.integer({ min: 1, max: 400 * 24 * HOUR }),
    reason: fc.option(fc.constantFrom('too slow', 'a, b; "c"', 'ü'), { nil: undefined }),
  })
  .map(({ monitor, agoMs, ok, took, everyMs, reason }) =>
    resultEntry(
      monitor,
      NOON + HOUR - 1 - agoMs,
      {
        ok,
        outcome: ok ? 'ok' : 'failed',
        responseTimeMs: took / 10,
        ...(reason !== undefined && { reason }),
      },
      { found: ok ? 'UP' : 'DOWN', everyMs, covered: false },
    ),
  );

test('entries are read as they were written', async () => {
  const entry = fc.oneof(
    { weight: 5, arbitrary: result },
    { weight: 1, arbitrary: fc.constant(coveredEntry('a', NOON)) },
    { weight: 1, arbitrary: fc.constant(forgottenEntry('b', NOON + 1)) },
  );
  const batches = fc.array(fc.array(entry, { minLength: 1, maxLength: 60 }), { maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(batches, async (all) => {
      const folder = await openFolder();
      const journal = openResultsJournal(folder.store, 'before');
      for (const batch of all) await journal.append(batch);
      await folder.restart();
      const reader = openResultsJournal(folder.store, 'now');
      const times = (batch: Entry[]) => Math.max(...batch.map(({ atMs }) => atMs));
      const inOrder = [...all].sort((a, b) => times(a) - times(b));
      expect(await collect(reader.read(ALL))).toEqual(inOrder.flat());
    }),
    { numRuns: long ? 20 : 8 },
  );
});

test('entries of an earlier version are read, and columns that a later version may add are left out', async () => {
  const folder = await openFolder();
  const schema = z.looseObject({ atMs: z.int() });
  // By hand, as it stands on the disks of others: the format does not change unnoticed.
  await folder.store.journal({ name: 'monitor-results-12', schema }).append({
    atMs: NOON + 5_000,
    run: 'before',
    reasons: ['no answer within 5 s'],
    entries:
      'mon_1,0,17,123,60000;mon_2,4999,66,50000,86400000,1;mon_1,5,0;mon_4,1,17,1,2,,9;mon_3,7,1',
  });
  await folder.restart();
  const journal = openResultsJournal(folder.store, 'now');
  const ok = { ok: true, outcome: 'ok' } as const;
  const up = { found: 'UP', covered: false } as const;
  const reason = 'no answer within 5 s';
  expect(await collect(journal.read({ ...ALL, ownToo: false }))).toEqual([
    resultEntry('mon_1', NOON + 5_000, { ...ok, responseTimeMs: 12.3 }, { ...up, everyMs: 60_000 }),
    resultEntry(
      'mon_2',
      NOON + 1,
      { ok: false, outcome: 'timeout', reason, responseTimeMs: 5_000 },
      { found: 'DOWN', everyMs: 86_400_000, covered: false },
    ),
    coveredEntry('mon_1', NOON + 4_995),
    resultEntry('mon_4', NOON + 4_999, { ...ok, responseTimeMs: 0.1 }, { ...up, everyMs: 2 }),
    forgottenEntry('mon_3', NOON + 4_993),
  ]);
});

test('entries of this run are left out on request', async () => {
  const { store } = await openFolder();
  const journal = openResultsJournal(store, 'now');
  await journal.append([coveredEntry('a', NOON)]);
  expect(await collect(journal.read({ ...ALL, ownToo: false }))).toEqual([]);
  expect(await collect(journal.read(ALL))).toEqual([coveredEntry('a', NOON)]);
});
