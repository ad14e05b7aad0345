import fc from 'fast-check';
import { expect, test } from 'vitest';
import { byMonitor } from '../../../src/monitoring/history/by-monitor.ts';
import {
  coveredEntry,
  type Entry,
  resultEntry,
} from '../../../src/monitoring/history/result-record.ts';

const entry = fc
  .record({
    monitor: fc.constantFrom('a', 'b', 'c', 'd'),
    atMs: fc.integer({ min: 0, max: 1_900_000_000_000 }),
    everyMs: fc.constantFrom(60_000, 400 * 86_400_000),
    reason: fc.constantFrom(undefined, 'too slow', 'no answer'),
    isResult: fc.boolean(),
  })
  .map(({ monitor, atMs, everyMs, reason, isResult }) =>
    isResult
      ? resultEntry(
          monitor,
          atMs,
          { ok: false, outcome: 'failed', responseTimeMs: 0.1, ...(reason && { reason }) },
          { found: 'DOWN', everyMs, covered: false },
        )
      : coveredEntry(monitor, atMs),
  );

async function* from(batches: Entry[][]) {
  yield* batches;
}

async function collect(batches: Entry[][], gatheredCount: number): Promise<Entry[]> {
  const all: Entry[] = [];
  for await (const part of byMonitor(from(batches), gatheredCount)) all.push(...part);
  return all;
}

const of = (monitor: string, entries: Entry[]) =>
  entries.filter((each) => each.monitor === monitor);

test('each monitor keeps its entries and their order, however many are put together', async () => {
  const batches = fc.array(fc.array(entry, { maxLength: 30 }), { maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(batches, fc.integer({ min: 1, max: 200 }), async (all, gatheredCount) => {
      const given = await collect(all, gatheredCount);
      expect(given).toHaveLength(all.flat().length);
      for (const monitor of ['a', 'b', 'c', 'd']) {
        expect(of(monitor, given)).toEqual(of(monitor, all.flat()));
      }
    }),
  );
});

test('entries near each other are kept together, also when more come than there was room for', async () => {
  const rounds = Array.from({ length: 20 }, (_, round) =>
    Array.from({ length: 300 }, (_, index) => coveredEntry(`m${index}`, round)),
  );
  const names = (await collect(rounds, 3_000)).map(({ monitor }) => monitor);
  const changes = names.filter((name, index) => name !== names[index - 1]);
  // Ten rounds at a time.
  expect(changes).toHaveLength(2 * 300);
});
