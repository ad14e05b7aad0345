import { describe, expect, test } from 'vitest';
import type { CheckResult } from '../../../src/monitoring/checks/check-result.ts';
import type { MonitorHistory } from '../../../src/monitoring/history/history.ts';
import { openSharedHistory } from '../../../src/monitoring/history/shared-history.ts';
import { StoreUnavailableError } from '../../../src/store/errors.ts';
import type { PostgresOptions } from '../../../src/store/postgres/postgres-store.ts';
import { eventually } from '../../helpers/eventually.ts';
import { long } from '../../helpers/long.ts';
import { startPostgres } from '../../helpers/postgres/server.ts';
import { hasPostgres, testDatabase } from '../../helpers/postgres/test-database.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const NOON = Date.UTC(2027, 0, 15, 12);

const passed: CheckResult = { ok: true, outcome: 'ok', responseTimeMs: 20 };
const timedOut: CheckResult = { ok: false, outcome: 'timeout', responseTimeMs: 5_000 };

/** Processes with one clock; each owns all monitors unless it is said otherwise. */
async function startWorld(startMs = NOON) {
  const database = await testDatabase();
  let nowMs = startMs;
  const wallMs = () => nowMs;
  /** Open hours, as stored with the states. */
  const texts = new Map<string, unknown>();
  const handed = {
    of: async (monitors: readonly string[]) =>
      new Map(monitors.map((monitor) => [monitor, texts.get(monitor)])),
    async *all() {
      yield texts;
    },
  };
  return {
    ...database,
    texts,
    at(ms: number) {
      nowMs = ms;
    },
    async start(
      owns: (monitor: string) => boolean = () => true,
      options: Partial<PostgresOptions> = {},
    ) {
      const store = await database.open(options);
      const history = openSharedHistory({
        ...{ store, series: store.series, handed, owns, wallMs },
        log: database.log,
      });
      return {
        history,
        add(monitor: string, atMs: number, result = passed, slotMs?: number) {
          nowMs = Math.max(nowMs, atMs);
          const found = result.ok ? 'UP' : 'DOWN';
          return history.add(monitor, atMs, result, {
            ...{ found, everyMs: MINUTE, covered: false, slotMs },
          });
        },
        async stop() {
          await history.close();
          await store.close();
        },
      };
    },
    errors: () => database.lines.filter(({ level }) => Number(level) > 30),
    partitions: async () =>
      (
        await database.query(
          `select relname as name from pg_class c join pg_inherits on inhrelid = c.oid
           where relnamespace = '#'::regnamespace and relkind = 'r' order by relname`,
        )
      ).map(({ name }) => name),
  };
}

const lastDays = { by: 'hour', fromMs: NOON - 5 * DAY, toMs: NOON + 5 * DAY } as const;
const checksOf = async (history: MonitorHistory, monitor: string) =>
  (await history.rollups(monitor, lastDays)).reduce((sum, { checks }) => sum + checks, 0);

describe.skipIf(!hasPostgres)('a shared history', () => {
  test('goes on with what another process has counted, and works out what is none', async () => {
    const { start, texts } = await startWorld();
    const [one, other, asked] = [await start(), await start(), await start(() => false)];
    await one.add('a', NOON);
    await one.add('a', NOON + MINUTE, timedOut);
    const text = one.history.openHours('a');
    expect(text).toEqual(expect.stringMatching(/^1\|/));
    const wanted = await one.history.rollups('a', lastDays);
    expect(wanted).toMatchObject([{ checks: 2, failures: 1, up_ms: MINUTE }]);
    for (const value of [text, undefined, null, 'nonsense', { version: 9 }]) {
      texts.set('a', value);
      other.history.takeOpenHours('a', value);
      for (const { history } of [other, asked]) {
        expect(await history.rollups('a', lastDays)).toEqual(wanted);
      }
    }
    // The handed-over hours count without reading rows.
    const seven = String(text).replace(/\|[\d.]+,2,1,/, (row) => row.replace(',2,1,', ',7,1,'));
    texts.set('a', seven);
    const next = await start();
    other.history.takeOpenHours('a', seven);
    await next.history.takeOver(['a', 'nobody']);
    for (const { history } of [other, next]) {
      expect(await history.rollups('a', lastDays)).toMatchObject([{ checks: 7 }]);
      expect(history.openHours('a')).toEqual(expect.stringContaining(',7,1,'));
      expect(history.openHours('nobody')).toBeNull();
    }
    expect(await asked.history.rollups('a', lastDays)).toMatchObject([{ checks: 7 }]);
    // A process that doesn't check it neither counts nor keeps anything.
    await asked.add('a', NOON + 2 * MINUTE);
    expect(asked.history.openHours('a')).toBeNull();
    next.history.leave('a');
    expect(next.history.openHours('a')).toBeNull();
  });

  test('drops results after two days, once the hours of all monitors are stored', async () => {
    const { start, at, texts, partitions, errors } = await startWorld();
    const owner = await start();
    const other = await start(() => false);
    await Promise.all([owner.add('a', NOON), owner.add('paused', NOON)]);
    // The paused monitor's text never says that its hours are stored.
    for (const monitor of ['a', 'paused']) texts.set(monitor, owner.history.openHours(monitor));
    const laterMs = NOON + 4 * DAY;
    await owner.add('a', laterMs);
    at(laterMs);
    expect(await partitions()).toContain('check_result_20270115');
    await other.history.prune(laterMs);
    expect(await partitions()).toContain('check_result_20270115');
    await owner.history.prune(laterMs);
    expect(await partitions()).toEqual(['check_result_20270119', 'check_result_20270120']);
    await other.history.prune(laterMs);
    for (const { history } of [owner, other]) {
      // Seen twenty newest results stay with the hours.
      expect(await history.results('paused', 10)).toHaveLength(1);
      expect(await checksOf(history, 'paused')).toBe(1);
    }
    expect(errors()).toEqual([]);
  });

  test('knows what minutes begin with when that result is dropped already', async () => {
    const { start, at, partitions } = await startWorld();
    const { history } = await start();
    const weekly = { found: 'UP', everyMs: 7 * DAY, covered: false } as const;
    await history.add('a', NOON, passed, weekly);
    // The room for the next day is made in the background.
    await eventually(async () => (await partitions()).length === 2);
    const laterMs = NOON + 4 * DAY;
    at(laterMs);
    await history.prune(laterMs);
    expect(await partitions()).toEqual([]);
    const range = { fromMs: laterMs - 2 * MINUTE, toMs: laterMs };
    expect(await history.rollups('a', { by: 'minute', ...range })).toMatchObject([
      { checks: 0, up_ms: MINUTE },
      { checks: 0, up_ms: MINUTE },
    ]);
  });

  test('drops results a day later, though the hours of a monitor cannot be stored', async () => {
    const { start, at, query, texts, partitions, lines } = await startWorld();
    const { history, add } = await start();
    await add('a', NOON);
    texts.set('a', undefined);
    await query(`insert into #.document (collection, key, id, version, revision, body)
      values ('monitor-rollups', sha256('"a"'), '"a"', 99, gen_random_uuid(), '{}')`);
    for (const [laterMs, isThere] of [
      [4 * DAY, true],
      [4 * DAY + 20 * HOUR, true],
      [5 * DAY + HOUR, false],
    ] as const) {
      at(NOON + laterMs);
      await history.prune(NOON + laterMs);
      expect((await partitions()).includes('check_result_20270115')).toBe(isThere);
    }
    const told = lines.filter(({ level }) => Number(level) > 30).map(({ msg }) => msg);
    expect(told).toContain('could not store hourly results; retrying');
    expect(told.at(-1)).toBe('dropping results whose hours could not all be stored');
  });

  test('loses and doubles nothing when connections are ended in the middle of writes', async () => {
    const { start, query, endConnections, errors } = await startWorld();
    const { history, add } = await start();
    let isOver = false;
    const ending = (async () => {
      let ended = 0;
      while (!isOver) {
        ended += await endConnections('%check_result%');
        await new Promise((resolve) => setTimeout(resolve, 15));
      }
      return ended;
    })();
    const rounds = long ? 60 : 8;
    const monitors = Array.from({ length: 100 }, (_, no) => `m${no}`);
    for (let round = 0; round < rounds; round += 1) {
      // A refused one is kept, and tried again.
      await Promise.allSettled(monitors.map((monitor) => add(monitor, NOON + round * MINUTE)));
    }
    isOver = true;
    expect(await ending).toBeGreaterThan(0);
    const count = async () => (await query('select count(*)::int as n from #.check_result'))[0]?.n;
    await eventually(async () => (await count()) === rounds * monitors.length);
    for (const monitor of monitors.slice(0, 20)) {
      expect(await checksOf(history, monitor)).toBe(rounds);
      expect(await history.results(monitor, 100)).toHaveLength(rounds);
    }
    expect(errors().filter(({ msg }) => !/they are kept in memory$/.test(String(msg)))).toEqual([]);
  });

  test('keeps what comes while the database is away, and says that it cannot be asked', async () => {
    const server = await startPostgres({ durable: true });
    try {
      const { start, errors } = await startWorld();
      const { history, add } = await start(() => true, { url: server.url });
      await add('a', NOON);
      await server.stop();
      const refused = await Promise.allSettled(
        [1, 2, 3].map((minute) => add('a', NOON + minute * MINUTE)),
      );
      for (const each of refused) {
        expect(each).toMatchObject({ reason: expect.any(StoreUnavailableError) });
      }
      await expect(history.results('a', 10)).rejects.toThrow(StoreUnavailableError);
      await server.start();
      // Before they are written, and after.
      const results = await eventually(() => history.results('a', 10));
      expect(results).toHaveLength(4);
      const other = await start(() => true, { url: server.url });
      await eventually(async () => (await other.history.results('a', 10)).length === 4);
      expect(await checksOf(other.history, 'a')).toBe(4);
      // After a long outage of the database, this process also learns that it counted as dead.
      const told = errors().filter(({ msg }) => !/does not count as alive/.test(String(msg)));
      expect(told.map(({ msg }) => msg)).toEqual([
        'could not store check results; they are kept in memory',
      ]);
      await other.stop();
    } finally {
      await server.remove();
    }
  });

  test('forgets a monitor for good, also what another process still writes of it, and after a kill', async () => {
    const { start, query } = await startWorld();
    const [one, other] = [await start(), await start()];
    await Promise.all([one.add('a', NOON), one.add('b', NOON)]);
    const change = { atMs: NOON, sinceMs: NOON, from: 'UP', to: 'DOWN', number: 1 } as const;
    await one.history.addChanges('a', [change]);
    // On their way while it is forgotten.
    const late = [one.add('a', NOON + MINUTE), other.add('a', NOON + MINUTE + 1)];
    await one.history.forget('a');
    await Promise.all(late);
    await one.add('a', NOON + 2 * MINUTE);
    await other.history.forget('a');
    const third = await start();
    for (const { history } of [one, other, third]) {
      expect(await history.results('a', 10)).toEqual([]);
      expect(await history.rollups('a', lastDays)).toEqual([]);
      expect(await history.incidents('a', 10)).toEqual([]);
      expect(await history.results('b', 10)).toHaveLength(1);
    }
    expect(await query(`select monitor from #.check_result where monitor = 'a'`)).toEqual([]);
    expect(
      await query(`select 1 from #.document where body is not null and id::text like '"a%'`),
    ).toEqual([]);
  });
});
