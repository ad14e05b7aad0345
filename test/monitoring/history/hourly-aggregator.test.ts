import { expect, onTestFinished, test } from 'vitest';
import { createHourlyAggregator } from '../../../src/monitoring/history/hourly-aggregator.ts';
import { createRecentResults } from '../../../src/monitoring/history/recent-results.ts';
import { resultEntry } from '../../../src/monitoring/history/result-record.ts';
import { openRollups } from '../../../src/monitoring/history/rollups.ts';
import { openLowdbStore } from '../../../src/store/lowdb/lowdb-store.ts';
import { long } from '../../helpers/long.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NOON = Date.UTC(2027, 0, 15, 12);
/** More than are stored at once. */
const MANY = 300;

const look = (monitor: string, atMs: number) =>
  resultEntry(
    monitor,
    atMs,
    { ok: true, outcome: 'ok', responseTimeMs: 5 },
    { found: 'UP', everyMs: MINUTE, covered: false },
  );

async function startBooks(monitors: number) {
  const { log } = recordingLog();
  const store = await openLowdbStore({ folder: await temporaryFolder(), log });
  onTestFinished(() => store.close());
  const rollups = openRollups(store, () => false);
  const books = createHourlyAggregator(rollups, createRecentResults(), log);
  for (let index = 0; index < monitors; index += 1) books.add(look(`m${index}`, NOON));
  const storedCount = async () => {
    const all = Array.from({ length: monitors }, (_, index) => rollups.begin(`m${index}`));
    return (await Promise.all(all)).filter(({ finalMs }) => finalMs === NOON + HOUR).length;
  };
  return { books, storedCount, open: () => false };
}

test('monitors are stored at times of their own, all of them before the hour is over', async () => {
  const count = long ? MANY : 90;
  const { books, storedCount, open } = await startBooks(count);
  await books.storeDue(NOON + HOUR + MINUTE - 1, open);
  expect(await storedCount()).toBe(0);
  await books.storeDue(NOON + HOUR + 29 * MINUTE, open);
  // Half of the time has passed.
  expect(await storedCount()).toBeGreaterThan(count / 3);
  expect(await storedCount()).toBeLessThan((2 * count) / 3);
  expect(books.openSinceMs(NOON + HOUR + 29 * MINUTE)).toBe(NOON);
  await books.storeDue(NOON + HOUR + 56 * MINUTE, open);
  expect(await storedCount()).toBe(count);
  // What is stored is no longer held.
  expect(await books.open('m7', NOON + HOUR + 56 * MINUTE)).toEqual({
    hours: [],
    began: undefined,
  });
  expect(books.openSinceMs(NOON + 2 * HOUR)).toBe(NOON + 2 * HOUR);
});

test('after a long stop, hours are stored a part of the monitors at a time', async () => {
  const { books, open } = await startBooks(MANY);
  await books.storeDue(NOON + 5 * HOUR, open);
  expect(books.openSinceMs(NOON + 5 * HOUR)).toBe(NOON);
  await books.storeDue(NOON + 5 * HOUR, open);
  expect(books.openSinceMs(NOON + 5 * HOUR)).toBe(NOON + 5 * HOUR);
});

test('closing stops the aggregation', async () => {
  const { books } = await startBooks(1);
  await books.storeDue(NOON + 5 * HOUR, () => true);
  expect(books.openSinceMs(NOON + 5 * HOUR)).toBe(NOON);
});

test('the last stored entry counts until the first entry that came since', async () => {
  const { log } = recordingLog();
  const store = await openLowdbStore({ folder: await temporaryFolder(), log });
  onTestFinished(() => store.close());
  const rollups = openRollups(store, () => false);
  const last = { atMs: NOON - MINUTE, worthMs: 3 * HOUR, as: 'down' } as const;
  await rollups.add('a', { finalMs: NOON, last, hours: [], entries: [] });
  const books = createHourlyAggregator(rollups, createRecentResults(), log);
  books.add(look('a', NOON + 10 * MINUTE));
  books.add(look('a', NOON + 11 * MINUTE));
  const { hours, began } = await books.open('a', NOON + 12 * MINUTE);
  expect(hours).toMatchObject([{ checks: 2, downMs: 10 * MINUTE, upMs: 2 * MINUTE }]);
  expect(began).toEqual(last);
});
