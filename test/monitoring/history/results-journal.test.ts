import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import {
  coveredEntry,
  forgottenEntry,
  type HistoryEntry,
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

async function collect(entries: AsyncIterable<HistoryEntry[]>): Promise<HistoryEntry[]> {
  const all: HistoryEntry[] = [];
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
        reason,
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
      const times = (batch: HistoryEntry[]) => Math.max(...batch.map(({ atMs }) => atMs));
      const inOrder = [...all].sort((a, b) => times(a) - times(b));
      expect(await collect(reader.read(ALL))).toEqual(inOrder.flat());
    }),
    { numRuns: long ? 20 : 8 },
  );
});

test('entries of this run are left out on request', async () => {
  const { store } = await openFolder();
  const journal = openResultsJournal(store, 'now');
  await journal.append([coveredEntry('a', NOON)]);
  expect(await collect(journal.read({ ...ALL, ownToo: false }))).toEqual([]);
  expect(await collect(journal.read(ALL))).toEqual([coveredEntry('a', NOON)]);
});
