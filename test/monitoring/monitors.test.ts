import { describe, expect, test } from 'vitest';
import { MonitorCreate } from '../../src/contracts/monitoring.ts';
import {
  ChangeRecord,
  type MonitorJournals,
  openMonitorJournals,
  ResultRecord,
} from '../../src/monitoring/journals.ts';
import { openMonitors } from '../../src/monitoring/monitors.ts';
import { next, type StatusChange } from '../../src/monitoring/state.ts';
import { openLowdbStore } from '../../src/store/lowdb/lowdb-store.ts';
import type { Collection, Store } from '../../src/store/store.ts';
import { recordingLog } from '../support/recording-log.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const site = (name: string) =>
  MonitorCreate.parse({ name, check_type: 'HTTP', target: 'http://192.0.2.1/' });
const failed = { ok: false, outcome: 'status', reason: 'answered 500', responseTimeMs: 1 } as const;
const passed = { ok: true, outcome: 'ok', responseTimeMs: 1 } as const;

async function all<T>(source: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of source) found.push(item);
  return found;
}

/** A real store whose writes to documents fail while `broken.is` is true, as on a full disk. */
async function setUp(options: { limit?: number } = {}) {
  const { log } = recordingLog();
  const folder = await temporaryFolder();
  const real = await openLowdbStore({ folder, log });
  const broken = { is: false };
  let writes = 0;
  const store: Store = {
    ...real,
    collection<T>(declaration: Parameters<typeof real.collection<T>>[0]): Collection<T> {
      const collection = real.collection(declaration);
      return {
        ...collection,
        async update(id, change) {
          if (broken.is) throw new Error('ENOSPC: no space left on device');
          writes += 1;
          return await collection.update(id, change);
        },
      };
    },
  };
  const changes: StatusChange[] = [];
  const journals: MonitorJournals = {
    ...openMonitorJournals(store),
    addChange: async (_id, change) => void changes.push(change),
  };
  const tools = { store, journals, wallMs: () => 1_000, log, ...options };
  const monitors = await openMonitors(tools);
  return { monitors, broken, changes, writes: () => writes, real, folder, log };
}

test('refuses more monitors than its limit with a sentence, also when they come together', async () => {
  const { monitors } = await setUp({ limit: 3 });
  const answers = await Promise.allSettled(
    ['a', 'b', 'c', 'd', 'e'].map((name) => monitors.add(site(name))),
  );
  expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
  expect(monitors.count()).toBe(3);
  await expect(monitors.add(site('f'))).rejects.toMatchObject({
    status: 409,
    code: 'limit_reached',
    message: expect.stringContaining('3 monitors'),
  });
});

test('a monitor that could not be stored does not exist, and the next one does', async () => {
  const { monitors, broken } = await setUp({ limit: 1 });
  broken.is = true;
  await expect(monitors.add(site('a'))).rejects.toThrow('ENOSPC');
  expect(monitors.all()).toEqual([]);
  broken.is = false;
  await monitors.add(site('b'));
  expect(monitors.count()).toBe(1);
});

describe('what a check found', () => {
  test('is written when it is news, and not at every check', async () => {
    const { monitors, writes } = await setUp();
    const { monitor } = await monitors.add(site('a'));
    const settle = async (result: typeof passed | typeof failed, nowMs: number) => {
      const before = writes();
      await monitors.settle(monitor.id, next(monitor.state, result, nowMs));
      return writes() - before;
    };
    expect(await settle(passed, 1)).toBe(0);
    expect(monitor.state.lastCheckedMs).toBe(1);
    expect(await settle(failed, 2)).toBe(1);
    expect(await settle(failed, 3)).toBe(1);
    expect(monitor.state.status).toBe('DOWN');
    expect(await settle(failed, 4)).toBe(0);
    expect(await settle(passed, 5)).toBe(1);
    expect(await settle(passed, 6)).toBe(0);
  });

  test('that could not be stored is kept and stored with the next check, changes in order and once', async () => {
    const { monitors, broken, changes, real, folder, log } = await setUp();
    const { monitor } = await monitors.add(site('a'));
    const settle = (result: typeof passed | typeof failed, nowMs: number) =>
      monitors.settle(monitor.id, next(monitor.state, result, nowMs));
    await settle(failed, 2);
    broken.is = true;
    await expect(settle(failed, 3)).rejects.toThrow('ENOSPC');
    await expect(settle(passed, 4)).rejects.toThrow('ENOSPC');
    expect(monitor.state).toMatchObject({ status: 'UP', changes: 2 });
    broken.is = false;
    await settle(passed, 5);
    expect(changes.map(({ number, to }) => `${number} ${to}`)).toEqual(['1 DOWN', '2 UP']);
    await real.close();

    const store = await openLowdbStore({ folder, log });
    const again = await openMonitors({
      store,
      journals: openMonitorJournals(store),
      wallMs: () => 9,
      log,
    });
    expect(again.get(monitor.id)?.state).toMatchObject({ status: 'UP', changes: 2, sinceMs: 4 });
    await store.close();
  });
});

test('results are kept for seven days, changes for 400', async () => {
  const { log } = recordingLog();
  const folder = await temporaryFolder();
  const store = await openLowdbStore({ folder, log });
  const journals = openMonitorJournals(store);
  const nowMs = Date.parse('2026-12-20T12:00:00Z');
  const daysAgo = (days: number) => nowMs - days * 86_400_000;
  for (const days of [30, 9, 6, 0]) {
    await journals.addResult(`mon_${days}`, daysAgo(days), days === 0 ? failed : passed);
  }
  const change = { sinceMs: 1, from: 'UP', to: 'DOWN', number: 1 } as const;
  for (const days of [402, 398]) {
    await journals.addChange(`mon_${days}`, { atMs: daysAgo(days), ...change });
  }
  await journals.prune(nowMs);
  await store.close();

  const again = await openLowdbStore({ folder, log });
  const results = again.journal({ name: 'monitor-results', schema: ResultRecord });
  const changes = again.journal({ name: 'monitor-changes', schema: ChangeRecord });
  const kept = await all(results.read());
  expect(kept.map(({ monitor }) => monitor)).toEqual(['mon_6', 'mon_0']);
  expect(kept.at(-1)).toEqual({ atMs: nowMs, monitor: 'mon_0', ...failed });
  expect(await all(changes.read())).toEqual([
    { atMs: daysAgo(398), monitor: 'mon_398', ...change },
  ]);
  await again.close();
});
