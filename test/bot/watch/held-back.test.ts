import { expect, test } from 'vitest';
import type { Monitor } from '../../../src/contracts/monitoring.ts';
import { counting, startAdditions, startSteppedWatch } from '../../helpers/bot/stepped-watch.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const START_MS = Date.parse('2026-11-27T12:00:00Z');
const at = (seconds: number) => new Date(START_MS + seconds * 1000).toISOString();

test('What is held back is told after a restart too, once, and with its real start', async () => {
  const parent = counting('db', 0, { last_checked_at: at(0) });
  const child = counting('shop', 0, { depends_on: ['db'], last_checked_at: at(0) });
  const monitors: Monitor[] = [parent, child];
  const service = await startAdditions(monitors);
  const folder = await temporaryFolder();
  let watch = await startSteppedWatch(service, { folder, nowMs: START_MS });
  const opened = () =>
    watch.incidents().map(({ monitorId, startedAtMs }) => [monitorId, startedAtMs]);
  const down = (seconds: number) => ({
    ...{ status: 'DOWN', status_changes: 1, status_changed_at: at(seconds) },
    last_checked_at: at(seconds),
  });
  Object.assign(parent, down(10));
  Object.assign(child, down(12));
  await watch.poll(START_MS + 15_000);
  const db = ['db', START_MS + 10_000];
  expect(opened()).toEqual([db]);
  await watch.close();

  watch = await startSteppedWatch(service, { folder, nowMs: START_MS + 25_000 });
  expect(opened()).toEqual([db]);
  const up = {
    status: 'UP',
    status_changes: 2,
    status_changed_at: at(30),
    last_checked_at: at(30),
  };
  Object.assign(parent, up);
  await watch.poll(START_MS + 32_000);
  expect(opened()).toEqual([db]);
  await watch.close();

  watch = await startSteppedWatch(service, { folder, nowMs: START_MS + 35_000 });
  expect(opened()).toEqual([db]);
  Object.assign(child, { last_checked_at: at(40) });
  await watch.poll(START_MS + 42_000);
  expect(opened()).toEqual([db, ['shop', START_MS + 12_000]]);
  await watch.poll(START_MS + 47_000);
  await watch.close();
  watch = await startSteppedWatch(service, { folder, nowMs: START_MS + 50_000 });
  expect(opened()).toHaveLength(2);
});
