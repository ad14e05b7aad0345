import { describe, expect, test } from 'vitest';
import { createChangesReader } from '../../helpers/monitoring/changes-reader.ts';
import { createFakeClock } from '../../helpers/monitoring/fake-clock.ts';
import { startService } from '../../helpers/monitoring/service.ts';
import { expectWindowToShow } from '../../helpers/monitoring/window-shown.ts';

const MONITORS = '/api/v1/public/monitors';
const START_MS = Date.parse('2027-03-28T00:00:00.000Z');
const MINUTE_MS = 60_000;

const job = { name: 'Backup', check_type: 'HEARTBEAT', target: 'backup' };
/** On the night in which Berlin has no 02:30: from 03:00 summer time, 01:00 UTC, for half an hour. */
const weekly = {
  ...{ weekly: ['sun'], from: '02:30', timezone: 'Europe/Berlin' },
  duration_minutes: 30,
};

/** A service whose clock stands still, with a monitor that has a window. */
async function withWindow() {
  const clock = createFakeClock(START_MS);
  const service = await startService({ clock });
  const { id } = await service.create(job);
  const path = `${MONITORS}/${id}`;
  const put = (windows: object[]) =>
    service.call('PUT', `${path}/maintenance`, { json: { windows } });
  expect((await put([weekly])).status).toBe(200);
  const status = async () => (await service.list())[0]?.status;
  const shown = async () => (await service.get(path)).body.status;
  const at = (ms: number) => clock.jump(ms - clock.wallMs());
  return { ...service, clock, put, status, shown, at, path };
}

describe('a window is judged when somebody asks', () => {
  test('to the millisecond, though no timer has come since', async () => {
    const { status, shown, at } = await withWindow();
    const beginMs = START_MS + 60 * MINUTE_MS;
    const endMs = beginMs + 30 * MINUTE_MS;
    const seen: unknown[] = [];
    for (const ms of [beginMs - 1, beginMs, endMs - 1, endMs, beginMs + 5, beginMs - 1]) {
      at(ms);
      // One that reads a single monitor, and the next one that reads the list.
      seen.push([ms - beginMs, await shown(), await status()]);
    }
    expect(seen).toEqual([
      [-1, 'UP', 'UP'],
      [0, 'MAINTENANCE', 'MAINTENANCE'],
      [30 * MINUTE_MS - 1, 'MAINTENANCE', 'MAINTENANCE'],
      [30 * MINUTE_MS, 'UP', 'UP'],
      // The clock was set back, twice.
      [5, 'MAINTENANCE', 'MAINTENANCE'],
      [-1, 'UP', 'UP'],
    ]);
  });

  test('by whoever follows the changes, too', async () => {
    const { at, ...service } = await withWindow();
    const reader = createChangesReader();
    await reader.read(service);
    at(START_MS + 60 * MINUTE_MS);
    const begun = await reader.read(service);
    expect(begun?.monitors.map(({ status }) => status)).toEqual(['MAINTENANCE']);
    expect((await reader.read(service))?.monitors).toEqual([]);
    at(START_MS + 90 * MINUTE_MS);
    const ended = await reader.read(service);
    expect(ended?.monitors.map(({ status }) => status)).toEqual(['UP']);
  });

  test('of a window that is set while it is open, in the answer itself', async () => {
    const { put, at, status } = await withWindow();
    at(START_MS + 2 * 60 * MINUTE_MS);
    expect(await status()).toBe('UP');
    const open = { starts_at: '2027-03-28T04:00', timezone: 'Europe/Berlin', duration_minutes: 1 };
    expect((await put([weekly, open])).body.status).toBe('MAINTENANCE');
    expect(await status()).toBe('MAINTENANCE');
    expect((await put([weekly])).body.status).toBe('UP');
  });

  test('and what failed in it shows when it is over, and not before', async () => {
    const { at, status, call, get, path } = await withWindow();
    const { push_url = '' } = (await call('POST', `${path}/push-token`)).body as Record<
      string,
      string
    >;
    at(START_MS + 60 * MINUTE_MS);
    const signal = await call('POST', `${new URL(push_url).pathname}/fail`, { key: null });
    expect(signal.status).toBe(200);
    expect(await status()).toBe('MAINTENANCE');
    const incidents = async () => (await get(`${path}/incidents`)).body.incidents;
    expect(await incidents()).toEqual([]);
    at(START_MS + 90 * MINUTE_MS);
    expect(await status()).toBe('DOWN');
    expect(await incidents()).toMatchObject([{ ended_at: null }]);
  });
});

test('by the clock of the machine a list says what it must, from the first to the last moment', async () => {
  const service = await startService();
  const ids = [];
  for (let at = 0; at < 5; at += 1) ids.push((await service.create(job)).id);
  await expectWindowToShow([service], ids);
});
