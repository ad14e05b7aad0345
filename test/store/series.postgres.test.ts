import { describe, expect, test } from 'vitest';
import type { Series, SeriesRow } from '../../src/store/series.ts';
import { hasPostgres, testDatabase } from '../helpers/postgres/test-database.ts';

const SECOND = 1_000;
const DAY = 86_400_000;
/** Shortly before a midnight. */
const EVENING = Date.UTC(2027, 0, 15, 23, 59, 50);

const row = (monitor: string, slotMs: number, more: Partial<SeriesRow> = {}): SeriesRow => ({
  ...{ monitor, slotMs, atMs: Math.floor(slotMs), kind: 16, took: 71, everyMs: 60_000 },
  reason: undefined,
  ...more,
});

const all = (series: Series, monitor: string) =>
  series.between([{ monitor, fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY }]);

async function openSeries() {
  const database = await testDatabase();
  const partitions = async () =>
    (
      await database.query(
        `select relname as name from pg_class c join pg_inherits on inhrelid = c.oid
         where relnamespace = '#'::regnamespace and relkind = 'r' order by relname`,
      )
    ).map(({ name }) => name);
  return { ...database, partitions, openSeries: async () => (await database.open()).series };
}

describe.skipIf(!hasPostgres)('a series', () => {
  test('gives back what was appended, exactly, to every process', async () => {
    const { openSeries: open } = await openSeries();
    const [one, other] = [await open(), await open()];
    const rows = [
      row('a', EVENING, { reason: 'a "reason", {with} \\ all; of it\n' }),
      // To the microsecond, in one millisecond.
      ...[1, 2, 998, 999].map((micros) => row('a', EVENING + 1 + micros / 1000)),
      row('a', EVENING + 5 * SECOND, { atMs: EVENING + 9_007, took: 2 ** 40, everyMs: 2 ** 41 }),
      row('b', EVENING + 7, { kind: 0, reason: '' }),
    ];
    expect(await one.append(rows.toReversed())).toEqual([]);
    for (const series of [one, other]) {
      const found = await all(series, 'a');
      expect(found.map(({ slotMs, ...rest }) => [Math.round(slotMs * 1000), rest])).toEqual(
        rows.slice(0, 6).map(({ slotMs, ...rest }) => [Math.round(slotMs * 1000), rest]),
      );
      expect(await all(series, 'b')).toEqual([rows[6]]);
      expect(await all(series, 'c')).toEqual([]);
    }
  });

  test('keeps a reason with a character that PostgreSQL refuses, without that character', async () => {
    const { openSeries: open } = await openSeries();
    const series = await open();
    await series.append([row('a', EVENING, { reason: 'zero \0, half \ud800' }), row('b', EVENING)]);
    expect((await all(series, 'a'))[0]?.reason).toBe('zero \ufffd, half \ufffd');
    expect(await all(series, 'b')).toHaveLength(1);
  });

  test('gives the newest rows of a kind before a time, and those between two times', async () => {
    const { openSeries: open } = await openSeries();
    const series = await open();
    const slots = Array.from({ length: 40 }, (_, index) => EVENING + index * SECOND);
    await series.append(slots.map((slotMs, index) => row('a', slotMs, { kind: index % 4 })));
    await series.append(slots.map((slotMs) => row('b', slotMs)));
    const slotsOf = (rows: SeriesRow[]) => rows.map(({ slotMs }) => (slotMs - EVENING) / SECOND);
    expect(slotsOf(await series.newest('a', { count: 3 }))).toEqual([37, 38, 39]);
    expect(slotsOf(await series.newest('a', { count: 3, minKind: 2 }))).toEqual([35, 38, 39]);
    const beforeMs = EVENING + 10 * SECOND;
    expect(slotsOf(await series.newest('a', { count: 2, beforeMs }))).toEqual([8, 9]);
    expect(await series.newest('a', { count: 2, beforeMs: EVENING })).toEqual([]);
    const found = await series.between([
      { monitor: 'b', fromMs: EVENING + 38 * SECOND, toMs: Number.POSITIVE_INFINITY },
      { monitor: 'a', fromMs: EVENING + 9 * SECOND, toMs: EVENING + 12 * SECOND },
      { monitor: 'nobody', fromMs: 0, toMs: Number.POSITIVE_INFINITY },
    ]);
    expect(found.map(({ monitor }) => monitor)).toEqual(['a', 'a', 'a', 'b', 'b']);
    expect(slotsOf(found)).toEqual([9, 10, 11, 38, 39]);
  });

  test('stores a slot once, whoever comes first, and tells the other one that its row is not there', async () => {
    const { openSeries: open } = await openSeries();
    const both = await Promise.all([open(), open()]);
    const slots = Array.from({ length: 300 }, (_, index) => EVENING + index * 100);
    const rowsOf = (took: number) => slots.map((slotMs) => row('a', slotMs, { took }));
    const [first = [], second = []] = await Promise.all(
      both.map((series, took) => series.append(took === 0 ? rowsOf(0) : rowsOf(1).toReversed())),
    );
    const stored = await all(await open(), 'a');
    expect(stored.map(({ slotMs }) => slotMs)).toEqual(slots);
    const winners = stored.map(({ took }) => took);
    expect(first).toHaveLength(winners.filter((took) => took === 1).length);
    expect(second).toHaveLength(winners.filter((took) => took === 0).length);
    // A repeated row is stored once.
    const again = stored.slice(0, 1);
    const other = row('a', EVENING, { took: 2 });
    expect(await both[0].append([...again, other])).toEqual([other]);
  });

  test('drops what is older in whole days, also while others do and read, and takes late rows of a dropped day', async () => {
    const { openSeries: open, partitions } = await openSeries();
    const both = await Promise.all([open(), open()]);
    const [one, other] = both;
    const slots = [0, 1, 2, 3].map((day) => EVENING + day * DAY);
    await one.append(slots.map((slotMs) => row('a', slotMs)));
    let isOver = false;
    const reading = (async () => {
      while (!isOver) await all(other, 'a');
    })();
    await Promise.all(both.map((series) => series.prune(EVENING + 2 * DAY)));
    isOver = true;
    await reading;
    expect((await all(one, 'a')).map(({ slotMs }) => slotMs)).toEqual(slots.slice(2));
    expect(await partitions()).toEqual(
      expect.not.arrayContaining(['check_result_20270115', 'check_result_20270116']),
    );
    // Both knew its partition.
    for (const series of both) await series.append([row('late', EVENING)]);
    expect(await all(other, 'late')).toHaveLength(1);
    await one.prune(EVENING + 2 * DAY);
    expect(await all(other, 'late')).toEqual([]);
  });

  test('removes for good what a kill left of a partition that was being dropped', async () => {
    const { openSeries: open, partitions, query } = await openSeries();
    const series = await open();
    await series.append([row('a', EVENING), row('a', EVENING + DAY), row('a', EVENING + 2 * DAY)]);
    // Detached and not yet dropped; and cut off while it was being detached.
    await query('alter table #.check_result detach partition #.check_result_20270115');
    await query(`update pg_inherits set inhdetachpending = true
      where inhrelid = '#.check_result_20270116'::regclass`);
    await series.append([row('a', EVENING + 1)]);
    expect((await all(series, 'a')).map(({ slotMs }) => slotMs)).toEqual([
      EVENING + 1,
      EVENING + 2 * DAY,
    ]);
    await query(`alter table #.check_result detach partition #.check_result_20270115`);
    await series.prune(EVENING + 2 * DAY);
    const left = await query(
      `select relname from pg_class where relnamespace = '#'::regnamespace and relname ~ '^check_result_2027011[56]$'`,
    );
    expect(left).toEqual([]);
    expect(await partitions()).toContain('check_result_20270117');
  });

  test('forgets a monitor in all partitions, and no other one', async () => {
    const { openSeries: open } = await openSeries();
    const series = await open();
    await series.append([row('a', EVENING), row('a', EVENING + DAY), row('ab', EVENING)]);
    await series.forget('a');
    expect(await all(series, 'a')).toEqual([]);
    expect(await all(series, 'ab')).toHaveLength(1);
  });
});
