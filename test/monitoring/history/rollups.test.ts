import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { openHistory } from '../../../src/monitoring/history/history.ts';
import {
  coveredEntry,
  type HistoryEntry,
  resultEntry,
} from '../../../src/monitoring/history/result-record.ts';
import { openRollups } from '../../../src/monitoring/history/rollups.ts';
import type { Tally } from '../../../src/monitoring/history/uptime-accounting.ts';
import { long } from '../../helpers/long.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';
import { openTestStore } from '../../helpers/test-store.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const START = Date.UTC(2027, 0, 1);
const DAYS = 450;

/** An hour with a minute of down time. */
const hourAt = (startMs: number): Tally => ({
  startMs,
  spans: undefined,
  checks: 60,
  failures: 1,
  upMs: 59 * 60_000,
  downMs: 60_000,
  minMs: 11.5,
  sumMs: 900.1,
  maxMs: 80,
});

test('hours are kept 90 days and days 400, and uptime reaches over both', async () => {
  const folder = await temporaryFolder();
  const { log } = recordingLog();
  const endMs = START + DAYS * DAY;
  const before = await openTestStore({ folder, log });
  const rollups = openRollups(before, () => false);
  // Hours move at odd times of the day.
  const stepMs = (long ? 337 : 1_009) * HOUR;
  for (let fromMs = START; fromMs < endMs; fromMs += stepMs) {
    const finalMs = Math.min(fromMs + stepMs, endMs);
    const hours = [];
    for (let startMs = fromMs; startMs < finalMs; startMs += HOUR) hours.push(hourAt(startMs));
    await rollups.add('a', { finalMs, last: undefined, hours, entries: [] });
    // EntriesOfTime twice, as after a crash.
    await rollups.add('a', { finalMs, last: undefined, hours, entries: [] });
  }
  const stored = await rollups.read('a');
  expect(stored.finalMs).toBe(endMs);
  expect(stored.hours).toHaveLength(90 * 24);
  expect(stored.hours.at(-1)).toEqual(hourAt(endMs - HOUR));
  expect(stored.days).toHaveLength(400);
  expect(stored.days.at(-1)).toMatchObject({
    checks: 24 * 60,
    failures: 24,
    minMs: 11.5,
    maxMs: 80,
  });
  expect(stored.days.at(-1)?.sumMs).toBeCloseTo(24 * 900.1, 3);
  await before.close();

  // Written each hour, so it must not hold the hours of long ago.
  const Small = z.object({ hours: z.string() });
  const kept = {
    name: 'monitor-rollups',
    schema: Small,
    version: 1,
    whenCorrupt: 'refuse',
  } as const;
  const reader = await openTestStore({ folder, log });
  const small = await reader.collection(kept).get('a');
  expect(small?.hours.split(';').length).toBeLessThan(24);
  await reader.close();

  const store = await openTestStore({ folder, log });
  const history = await openHistory({ store, wallMs: () => endMs, log });
  onTestFinished(async () => {
    await history.close();
    await store.close();
  });
  for (const days of [1, 89, 90, 91, 399]) {
    const range = { fromMs: endMs - days * DAY, toMs: endMs };
    const downMs = days * 24 * 60_000;
    expect(await history.uptime('a', range)).toEqual({
      upMs: 59 * downMs,
      downMs,
      unseenMs: 0,
    });
  }
  // The range cuts a day without hours.
  const fromMs = endMs - 200 * DAY - 12 * HOUR;
  expect(await history.uptime('a', { fromMs, toMs: fromMs + DAY })).toMatchObject({
    downMs: 24 * 60_000,
    unseenMs: 0,
  });
});

test('counting goes on where stored hours end, and with what they ended with', async () => {
  const { log } = recordingLog();
  const store = await openTestStore({ log });
  onTestFinished(() => store.close());
  const rollups = openRollups(store, () => false);
  const hours = [hourAt(START), hourAt(START + HOUR)];
  const last = { atMs: START + HOUR + 5, worthMs: 120_000, as: 'down' } as const;
  await rollups.add('a', { finalMs: START + 2 * HOUR, last, hours, entries: [] });
  expect(await rollups.begin('a')).toMatchObject({ finalMs: START + 2 * HOUR, last });
  expect((await rollups.read('a')).hours).toEqual(hours);
  await rollups.forget('a');
  expect(await rollups.begin('a')).toMatchObject({ finalMs: 0, last: undefined });
});

test('hours that a crash left in both documents count once, and so do hours that come again', async () => {
  const { log } = recordingLog();
  const folder = await temporaryFolder();
  const StoredRollups = z.object({ finalMs: z.int(), hours: z.string(), days: z.string() });
  const kept = {
    name: 'monitor-rollups',
    schema: StoredRollups,
    version: 1,
    whenCorrupt: 'refuse',
  } as const;
  const before = await openTestStore({ folder, log });
  const rollupsBefore = openRollups(before, () => false);
  const day = Array.from({ length: 24 }, (_, hour) => hourAt(START + hour * HOUR));
  await rollupsBefore.add('a', { finalMs: START + DAY, last: undefined, hours: day, entries: [] });
  await before.close();
  // The crash came before the hours were taken out of the small document.
  const writer = await openTestStore({ folder, log });
  const documents = writer.collection(kept);
  const old = await documents.get('a/old');
  await documents.update('a', (small) => small && { ...small, hours: old?.hours ?? '' });
  await writer.close();

  const store = await openTestStore({ folder, log });
  onTestFinished(() => store.close());
  const rollups = openRollups(store, () => false);
  expect((await rollups.read('a')).hours).toEqual(day);
  const next = hourAt(START + DAY);
  await rollups.add('a', {
    finalMs: START + DAY + HOUR,
    last: undefined,
    hours: [...day, next],
    entries: [],
  });
  const { hours, days } = await rollups.read('a');
  expect(hours).toEqual([...day, next]);
  expect(days.map(({ checks }) => checks)).toEqual([24 * 60, 60]);
});

test('the newest twenty results are stored, and what stands between them, and it is known whether these are all', async () => {
  const { log } = recordingLog();
  const store = await openTestStore({ log });
  onTestFinished(() => store.close());
  const rollups = openRollups(store, () => false);
  const ok = { ok: true, outcome: 'ok', responseTimeMs: 7 } as const;
  const look = (atMs: number) =>
    resultEntry('a', atMs, ok, { found: 'UP', everyMs: 60_000, covered: false });
  const first = Array.from({ length: 18 }, (_, at) => look(START + at));
  const close = (hour: number, entries: HistoryEntry[]) =>
    rollups.add('a', {
      ...{ finalMs: START + hour * HOUR, last: undefined, entries },
      hours: [hourAt(START + (hour - 1) * HOUR)],
    });
  expect((await rollups.begin('a')).newest).toEqual({ entries: [], isAll: true });
  await close(1, [...first, coveredEntry('a', START + 100)]);
  const all = [...first, coveredEntry('a', START + 100)];
  expect((await rollups.begin('a')).newest).toEqual({ entries: all, isAll: true });
  const later = [look(START + HOUR), look(START + HOUR + 1), look(START + HOUR + 2)];
  await close(2, later);
  const kept = [...all.slice(1), ...later];
  expect((await rollups.begin('a')).newest).toEqual({ entries: kept, isAll: false });
  expect(await rollups.newest('a')).toEqual([...first.slice(1), ...later]);
  // Version 0.1 stored hours without entries.
  await rollups.add('b', {
    finalMs: START + HOUR,
    last: undefined,
    hours: [hourAt(START)],
    entries: [],
  });
  expect((await rollups.begin('b')).newest).toEqual({ entries: [], isAll: false });
});
