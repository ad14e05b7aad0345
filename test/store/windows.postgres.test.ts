import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Windows } from '../../src/store/windows.ts';
import { eventually } from '../helpers/eventually.ts';
import { long } from '../helpers/long.ts';
import { hasPostgres, testDatabase } from '../helpers/postgres/test-database.ts';

const REPLICAS = 4;
const TOGETHER = 60;

interface Granted {
  fromMs: number;
  toMs: number;
}

/** Asks without end, many side by side, until told; adds when each was asked that was granted, and when it was. */
async function askWithoutEnd(
  windows: Windows,
  limit: number,
  granted: Granted[],
  isOver: () => boolean,
): Promise<number> {
  let asked = 0;
  const ask = async () => {
    const fromMs = performance.now();
    const { place } = await windows.take('key', limit);
    asked += 1;
    if (place !== undefined) granted.push({ fromMs, toMs: performance.now() });
  };
  while (!isOver()) {
    // Together, so that on a busy machine, too, more ask than may.
    await Promise.all(Array.from({ length: TOGETHER }, ask));
    // A refused call takes no turn of the event loop.
    await pause(1);
  }
  return asked;
}

/** The most that were surely granted within one window: asked in it, and answered in it. */
function mostWithin(granted: readonly Granted[], windowMs: number): number {
  const sorted = [...granted].sort((a, b) => a.fromMs - b.fromMs);
  return Math.max(
    0,
    ...sorted.map(
      ({ fromMs }, at) => sorted.slice(at).filter(({ toMs }) => toMs <= fromMs + windowMs).length,
    ),
  );
}

describe.skipIf(!hasPostgres)('windows that several processes share', () => {
  // A minute in the long run, else about a second, with slots as many times smaller.
  test.each([
    { limit: 120, windowMs: long ? 60_000 : 1_000 },
    { limit: 650, windowMs: long ? 60_000 : 1_500 },
  ])(
    'never hold more than $limit in $windowMs ms, however often they ask, and give all of it out',
    async ({ limit, windowMs }) => {
      const { open } = await testDatabase();
      const all = await Promise.all(
        Array.from({ length: REPLICAS }, async () =>
          (await open()).windows({ name: 'asked', windowMs }),
        ),
      );
      const granted: Granted[] = [];
      let isOver = false;
      const asking = all.map((windows) => askWithoutEnd(windows, limit, granted, () => isOver));
      await pause(windowMs * 3.5);
      // All of it three times over, however long that takes here.
      await eventually(() => granted.length >= limit * 3 * 0.95);
      isOver = true;
      const asked = (await Promise.all(asking)).reduce((sum, each) => sum + each, 0);
      expect(asked).toBeGreaterThan(granted.length);
      expect(mostWithin(granted, windowMs)).toBeLessThanOrEqual(limit);
      expect(granted.length).toBeGreaterThanOrEqual(limit * 3 * 0.95);
    },
  );

  test('ask the database seldom for who is refused', async () => {
    const { open, query } = await testDatabase();
    const store = await open();
    const windows = store.windows({ name: 'asked', windowMs: 600_000 });
    await windows.take('key', 1);
    await windows.take('key', 1);
    await query('alter table #.rate_window rename to hidden');
    for (let turn = 0; turn < 1_000; turn += 1) {
      expect((await windows.take('key', 1)).place).toBeUndefined();
    }
    await expect(windows.take('other', 1)).rejects.toThrow('rate_window');
    await query('alter table #.hidden rename to rate_window');
    await eventually(async () => (await windows.take('other', 1)).place !== undefined);
  });
});
