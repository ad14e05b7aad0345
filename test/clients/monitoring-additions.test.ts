import { expect, onTestFinished, test } from 'vitest';
import { StatusError } from '../../src/clients/errors.ts';
import { createMonitoringClient } from '../../src/clients/monitoring.ts';
import { addedPath } from '../../src/contracts/monitoring-additions.ts';
import { startWebTarget } from '../fakes/web-target.ts';
import { eventually } from '../helpers/eventually.ts';
import { startService } from '../helpers/monitoring/service.ts';

async function start() {
  const { url, key, call } = await startService();
  const client = createMonitoringClient({ baseUrl: url, apiKey: key });
  onTestFinished(() => client.close());
  return { client, call };
}

test('a monitor is made, changed, paused, resumed, checked and removed', async () => {
  const { client, call } = await start();
  const target = await startWebTarget();
  const site = { name: 'Shop', check_type: 'HTTP', target: target.url } as const;
  const { id } = await client.create(site, { idempotencyKey: 'once' });
  expect((await client.create(site, { idempotencyKey: 'once' })).id).toBe(id);
  expect(await client.show(id)).toMatchObject({ id, name: 'Shop', config: { method: 'GET' } });
  const change = { name: 'Cart', config: { interval_seconds: 30 } };
  expect((await call('PATCH', addedPath('monitor', { id }), { json: change })).status).toBe(200);
  expect(await client.show(id)).toMatchObject({ name: 'Cart', interval_seconds: 30 });
  await client.check(id);
  const cursors: string[] = [];
  await client.list({ onCursor: (cursor) => cursors.push(cursor) });
  expect((await client.pause(id)).status).toBe('PAUSED');
  expect(await client.list()).toMatchObject([{ id, status: 'PAUSED' }]);
  expect(await client.changes(cursors[0] ?? '')).toMatchObject({
    monitors: [{ id, status: 'PAUSED' }],
    removed: [],
  });
  expect((await client.resume(id)).status).toBe('UP');
  expect((await client.check(id)).last_checked_at).toEqual(expect.any(String));
  const windows = [{ cron: '0 3 * * *', timezone: 'Europe/Berlin', duration_minutes: 60 }];
  await call('PUT', addedPath('maintenance', { id }), { json: { windows } });
  expect((await client.show(id)).maintenance).toEqual(windows);
  expect((await client.planned({ days: 2, limit: 5 })).windows).toMatchObject([{ monitor: id }]);
  expect((await client.planMaintenance({ monitors: [id], window: null })).planned).toEqual([id]);
  expect(await client.planned()).toEqual({ windows: [], total: 0 });
  await client.remove(id);
  await expect(client.show(id)).rejects.toMatchObject({ status: 404 });
});

test('history is read with the limits and times that the caller sets', async () => {
  const { client } = await start();
  const target = await startWebTarget();
  const { id } = await client.create({ name: 'Shop', check_type: 'HTTP', target: target.url });
  await client.check(id);
  expect(await client.results(id, { limit: 1 })).toMatchObject([{ ok: true, outcome: 'ok' }]);
  expect(await client.incidents(id, { limit: 1 })).toEqual([]);
  const from = new Date(Date.now() - 60_000).toISOString();
  expect(await client.rollups(id, { by: 'minute', from })).toMatchObject({ by: 'minute' });
  expect(await client.uptime(id, { from })).toMatchObject({ from, down_ms: 0 });
  const today = new Date().toISOString().slice(0, 10);
  const { last, monitors, next } = await client.days({ days: 2 });
  expect([today, new Date().toISOString().slice(0, 10)]).toContain(last);
  expect(monitors).toMatchObject([{ id, down_ms: [0] }]);
  expect(next).toBeNull();
  expect((await client.days({ after: id })).monitors).toEqual([]);
  expect(await client.recentIncidents({ limit: 1 })).toEqual([]);
  const wrong = await client.uptime(id, { from: '2999-01-01T00:00:00Z' }).catch((error) => error);
  expect(wrong).toBeInstanceOf(StatusError);
  expect(wrong).toMatchObject({ status: 400, param: 'from' });
  expect((await client.uptime(`${id}?x`).catch((error) => error)).status).toBe(404);
});

test('incidents of a time are read of one monitor and of all, with how many they are', async () => {
  const { client, call } = await start();
  const job = { name: 'Job', check_type: 'HEARTBEAT', target: 'job' } as const;
  const { id, push_url = '' } = await client.create(job);
  const { pathname } = new URL(push_url);
  for (const signal of ['/fail', '', '/fail']) await call('POST', pathname + signal);
  const from = new Date(Date.now() - 3_600_000).toISOString();
  const read = () => client.incidentList({ from });
  const { incidents, ...rest } = await eventually(async () => {
    const list = await read();
    return list.total === 2 && list;
  });
  expect(rest).toEqual({ total: 2, complete: true });
  expect(incidents).toMatchObject([
    { monitor: id, name: 'Job', ended_at: null },
    { monitor: id, name: 'Job', ended_as: 'UP' },
  ]);
  const [newest] = incidents;
  expect(await client.incidentList({ from, limit: 1 })).toEqual({ ...rest, incidents: [newest] });
  const { monitor: _, name: __, ...own } = newest ?? {};
  const ofOne = await client.incidentList({ monitor: id, from, limit: 1 });
  expect(ofOne).toEqual({ ...rest, incidents: [own] });
  // The monitor's own route lists no more than are kept.
  expect((await client.incidentList({ monitor: id, from, limit: 1_000 })).incidents).toHaveLength(
    2,
  );
  const none = { incidents: [], total: 0, complete: true };
  expect(await client.incidentList({ to: from })).toEqual(none);
  expect(await client.incidentList({ monitor: id, to: from })).toEqual(none);
});
