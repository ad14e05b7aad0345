import { describe, expect, test } from 'vitest';
import { type HistoryEntry, resultEntry } from '../../../src/monitoring/history/result-record.ts';
import { createSeriesWriter } from '../../../src/monitoring/history/series-writer.ts';
import type { SeriesRow } from '../../../src/store/series.ts';
import { hasPostgres, testDatabase } from '../../helpers/postgres/test-database.ts';

const NOON = Date.UTC(2027, 0, 15, 12);

const look = (monitor: string, atMs: number, tookMs = 5) =>
  resultEntry(
    monitor,
    atMs,
    { ok: true, outcome: 'ok', responseTimeMs: tookMs },
    { found: 'UP', everyMs: 60_000, covered: false },
  );

async function startWriter() {
  const { open, log } = await testDatabase();
  const { series } = await open();
  const forgotten = new Set<string>();
  const replaced: string[] = [];
  const writer = createSeriesWriter({
    series,
    isForgotten: (monitor) => forgotten.has(monitor),
    onReplaced: (monitor) => replaced.push(monitor),
    log,
  });
  const all = (monitor: string) =>
    series.between([{ monitor, fromMs: NOON - 1_000, toMs: Number.POSITIVE_INFINITY }]);
  const timesOf = (monitor: string) => (entriesOf: (monitor: string) => HistoryEntry[]) =>
    entriesOf(monitor).map(({ atMs }) => atMs - NOON);
  return { series, writer, forgotten, replaced, all, timesOf };
}

describe.skipIf(!hasPostgres)('a reading of rows', () => {
  test('has once what was waiting, is written, or comes while it goes on', async () => {
    const { writer, all, timesOf } = await startWriter();
    await writer.add(look('a', NOON));
    const waiting = writer.add(look('a', NOON + 10));
    const ask = async () => {
      // It is durable before the rows are read, and what comes after them is not.
      await waiting;
      const rows = await all('a');
      void writer.add(look('a', NOON + 30));
      void writer.add(look('a', NOON + 20));
      void writer.add(look('b', NOON + 25));
      return rows;
    };
    expect(await writer.read(['a'], ask, timesOf('a'))).toEqual([0, 10, 20, 30]);
    expect(await writer.read(['a', 'b'], async () => [], timesOf('b'))).toEqual([25]);
    await writer.close();
    expect(await writer.read(['a'], async () => [], timesOf('a'))).toEqual([]);
    expect(await writer.read(['a'], () => all('a'), timesOf('a'))).toEqual([0, 10, 20, 30]);
  });

  test('has of each slot what stands in the table', async () => {
    const { series, writer, replaced, all } = await startWriter();
    const slotMs = NOON;
    const other: SeriesRow = { ...look('a', NOON + 7, 99), slotMs };
    await series.append([other]);
    const written = Promise.all([
      writer.add(look('a', NOON + 5, 1), slotMs),
      writer.add(look('a', NOON + 6, 2), slotMs),
    ]);
    const took = (entriesOf: (monitor: string) => HistoryEntry[]) =>
      entriesOf('a').map((entry) => entry.took);
    expect(await writer.read(['a'], () => all('a'), took)).toEqual([990]);
    await written;
    expect(replaced).toEqual(['a', 'a']);
    expect(await all('a')).toHaveLength(1);
  });

  test('keeps the order of what came in one millisecond', async () => {
    const { writer, all } = await startWriter();
    const tooks = Array.from({ length: 20 }, (_, index) => index);
    await Promise.all(tooks.map((took) => writer.add(look('a', NOON, took))));
    const stored = (await all('a')).map(({ took }) => took / 10);
    expect([...stored].sort((a, b) => a - b)).toEqual(tooks);
    // The microseconds start again after the last one.
    const first = stored.indexOf(0);
    expect([...stored.slice(first), ...stored.slice(0, first)]).toEqual(tooks);
  });
});

describe.skipIf(!hasPostgres)('a forgotten monitor', () => {
  test('has nothing on its way once that resolves', async () => {
    const { series, writer, forgotten, all } = await startWriter();
    // Many, so that the first ones are being written.
    const writes = Array.from({ length: 1_200 }, (_, index) => writer.add(look('a', NOON + index)));
    await writes[0];
    forgotten.add('a');
    await writer.forget('a');
    await series.forget('a');
    await Promise.all(writes);
    expect(await all('a')).toEqual([]);
  });
});
