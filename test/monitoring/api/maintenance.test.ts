import { expect, test } from 'vitest';
import { createChangesReader } from '../../helpers/monitoring/changes-reader.ts';
import { createFakeClock } from '../../helpers/monitoring/fake-clock.ts';
import { startService } from '../../helpers/monitoring/service.ts';

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

test('a list shows a window to the millisecond, even before its timer', async () => {
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
    [-1, 'PENDING', 'PENDING'],
    [0, 'MAINTENANCE', 'MAINTENANCE'],
    [30 * MINUTE_MS - 1, 'MAINTENANCE', 'MAINTENANCE'],
    [30 * MINUTE_MS, 'PENDING', 'PENDING'],
    // The clock was set back, twice.
    [5, 'MAINTENANCE', 'MAINTENANCE'],
    [-1, 'PENDING', 'PENDING'],
  ]);
});

test('the changes show a window, too', async () => {
  const { at, ...service } = await withWindow();
  const reader = createChangesReader();
  await reader.read(service);
  at(START_MS + 60 * MINUTE_MS);
  const begun = await reader.read(service);
  expect(begun?.monitors.map(({ status }) => status)).toEqual(['MAINTENANCE']);
  expect((await reader.read(service))?.monitors).toEqual([]);
  at(START_MS + 90 * MINUTE_MS);
  const ended = await reader.read(service);
  expect(ended?.monitors.map(({ status }) => status)).toEqual(['PENDING']);
});

test('the answer shows a window that is set while it is open', async () => {
  const { put, at, status } = await withWindow();
  at(START_MS + 2 * 60 * MINUTE_MS);
  expect(await status()).toBe('PENDING');
  const open = { starts_at: '2027-03-28T04:00', timezone: 'Europe/Berlin', duration_minutes: 1 };
  expect((await put([weekly, open])).body.status).toBe('MAINTENANCE');
  expect(await status()).toBe('MAINTENANCE');
  expect((await put([weekly])).body.status).toBe('PENDING');
});

test('a failure during a window shows when the window is over, and not before', async () => {
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

const PLANNED = '/api/v1/public/maintenance';

/** A service whose clock stands at a Wednesday, 12:00 UTC, with some monitors. */
async function withMonitors(names: string[]) {
  const clock = createFakeClock(Date.parse('2026-12-02T12:00:00.000Z'));
  const service = await startService({ clock });
  const ids: Record<string, string> = {};
  for (const name of names) ids[name] = (await service.create({ ...job, name })).id;
  const plan = (monitors: unknown, window: unknown) =>
    service.call('POST', PLANNED, { json: { monitors, window } });
  const planned = async (query = '') => (await service.get(PLANNED + query)).body;
  return { ...service, clock, ids, plan, planned };
}

const saturdays = {
  ...{ weekly: ['sat'], from: '02:00', timezone: 'Europe/Berlin', duration_minutes: 120 },
  reason: 'updates',
};
const soon = { starts_at: '2026-12-02T13:30', timezone: 'Europe/Berlin', duration_minutes: 30 };
const late = { starts_at: '2026-12-20T13:30:00Z', ends_at: '2026-12-20T14:00:00Z' };

test('windows are told in the order of their begins, each once, with those of a week', async () => {
  const { clock, ids, plan, planned, call } = await withMonitors(['Shop', 'Cart', 'Wiki']);
  await plan([ids.Shop], saturdays);
  await plan([ids.Cart, ids.Shop], soon);
  await plan([ids.Wiki], late);
  const shop = { monitor: ids.Shop, name: 'Shop', timezone: 'Europe/Berlin' };
  const ofSoon = {
    ...{ starts_at: '2026-12-02T12:30:00.000Z', ends_at: '2026-12-02T13:00:00.000Z' },
    repeats: false,
  };
  const ofSaturday = {
    ...{ starts_at: '2026-12-05T01:00:00.000Z', ends_at: '2026-12-05T03:00:00.000Z' },
    ...{ repeats: true, reason: 'updates' },
  };
  expect(await planned()).toEqual({
    windows: [
      { ...shop, monitor: ids.Cart, name: 'Cart', ...ofSoon },
      { ...shop, ...ofSoon },
      { ...shop, ...ofSaturday },
    ],
    total: 3,
  });
  expect(await planned('?limit=1')).toMatchObject({ windows: [{ name: 'Cart' }], total: 3 });
  expect(await planned('?days=31')).toMatchObject({ total: 4 });
  expect(await planned('?days=2')).toMatchObject({ total: 2 });
  // An active window has its start, and one that is over is absent.
  clock.jump(3 * 24 * 60 * MINUTE_MS - 10 * 60 * MINUTE_MS);
  expect(await planned()).toMatchObject({ windows: [ofSaturday], total: 1 });
  await call('POST', `${MONITORS}/${ids.Shop}/pause`);
  expect(await planned()).toEqual({ windows: [], total: 0 });
});

test('windows are planned together, once however often that is sent, and taken away together', async () => {
  const { ids, plan, planned, list, clock } = await withMonitors(['Shop', 'Cart']);
  const both = [ids.Shop, ids.Cart];
  for (let time = 0; time < 2; time += 1) {
    const answer = await plan([...both, 'mon_0', ids.Shop], soon);
    expect(answer.body).toEqual({
      ...{ planned: both, full: [] },
      ...{ declared: [], missing: ['mon_0'] },
    });
  }
  expect(await planned()).toMatchObject({ total: 2 });
  clock.jump(30 * MINUTE_MS);
  expect((await list()).map(({ status }) => status)).toEqual(['MAINTENANCE', 'MAINTENANCE']);
  expect((await plan(both, null)).body).toMatchObject({ planned: both });
  expect((await list()).map(({ status }) => status)).toEqual(['PENDING', 'PENDING']);
  expect(await planned()).toMatchObject({ total: 0 });
});

test('windows are at most twenty of a monitor, of which those that are over make room', async () => {
  const { ids, plan, clock, get } = await withMonitors(['Shop']);
  const nth = (minutes: number) => ({ ...soon, duration_minutes: minutes });
  for (let minutes = 1; minutes <= 20; minutes += 1) await plan([ids.Shop], nth(minutes));
  expect((await plan([ids.Shop], nth(21))).body).toMatchObject({ full: [ids.Shop] });
  clock.jump(35 * MINUTE_MS);
  expect((await plan([ids.Shop], nth(21))).body).toMatchObject({ planned: [ids.Shop] });
  const { maintenance } = (await get(`${MONITORS}/${ids.Shop}`)).body;
  expect(maintenance).toHaveLength(16);
});

test('windows that can never be are refused by name, and nothing changes', async () => {
  const { ids, plan, planned } = await withMonitors(['Shop']);
  const over = { ...soon, starts_at: '2026-12-02T12:00' };
  for (const [monitors, window, param] of [
    [[], soon, 'monitors'],
    [Array(501).fill(ids.Shop), soon, 'monitors'],
    [[ids.Shop], undefined, 'window'],
    [[ids.Shop], { ...soon, timezone: 'Mars/Base' }, 'window.timezone'],
    [[ids.Shop], { ...saturdays, weekly: ['someday'] }, 'window.weekly.0'],
    [[ids.Shop], over, 'window'],
  ]) {
    const { status, body } = await plan(monitors, window);
    expect([status, body.error?.param], JSON.stringify(window)).toEqual([400, param]);
  }
  expect(await planned()).toMatchObject({ total: 0 });
});
