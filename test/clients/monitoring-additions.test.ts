import { expect, onTestFinished, test } from 'vitest';
import { StatusError } from '../../src/clients/errors.ts';
import { createMonitoringClient } from '../../src/clients/monitoring.ts';
import { startMonitoringService } from '../fakes/monitoring-service.ts';
import { startWebTarget } from '../fakes/web-target.ts';
import { startService } from '../helpers/monitoring/service.ts';

async function start() {
  const { url, key } = await startService();
  const client = createMonitoringClient({ baseUrl: url, apiKey: key });
  onTestFinished(() => client.close());
  return client;
}

test('a monitor is made, changed, paused, resumed, looked at and removed', async () => {
  const client = await start();
  const target = await startWebTarget();
  const site = { name: 'Shop', check_type: 'HTTP', target: target.url } as const;
  const { id } = await client.create(site, { idempotencyKey: 'once' });
  expect((await client.create(site, { idempotencyKey: 'once' })).id).toBe(id);
  expect(await client.show(id)).toMatchObject({ id, name: 'Shop', config: { method: 'GET' } });
  const changed = await client.change(id, { name: 'Cart', config: { interval_seconds: 30 } });
  expect(changed).toMatchObject({ name: 'Cart', interval_seconds: 30 });
  expect((await client.pause(id)).status).toBe('PAUSED');
  expect(await client.list()).toEqual([]);
  expect(await client.list({ includePaused: true })).toMatchObject([{ id, status: 'PAUSED' }]);
  expect((await client.resume(id)).status).toBe('UP');
  expect((await client.check(id)).last_checked_at).toEqual(expect.any(String));
  const windows = [{ cron: '0 3 * * *', timezone: 'Europe/Berlin', duration_minutes: 60 }];
  expect((await client.setMaintenance(id, windows)).maintenance).toEqual(windows);
  await client.remove(id);
  await expect(client.show(id)).rejects.toMatchObject({ status: 404 });
});

test('history is read, with what is asked for', async () => {
  const client = await start();
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

test('a job tells how it goes, without a key, and no error shows its token', async () => {
  const client = await start();
  const made = await client.create({ name: 'Backup', check_type: 'HEARTBEAT', target: 'backup' });
  const token = made.push_url?.split('/').at(-1) ?? '';
  await client.pushSignal(token, 'start');
  await client.pushSignal(token, 3);
  expect(await client.show(made.id)).toMatchObject({ status: 'DOWN' });
  const wrong = await client.pushSignal('wrong-token', 'fail').catch((error) => error);
  expect(wrong).toMatchObject({ status: 404 });
  expect(wrong.message).not.toContain('wrong-token');
});

test('of a service of the contract alone, an addition is a 404 that names the call without its query', async () => {
  const service = await startMonitoringService();
  const client = createMonitoringClient({ baseUrl: service.url, apiKey: service.apiKey });
  onTestFinished(async () => {
    await client.close();
    await service.close();
  });
  service.failWith({ kind: 'status', status: 404, body: '' });
  await expect(client.list({ includePaused: true })).rejects.toThrow(
    `GET ${service.url}/api/v1/public/monitors answered 404.`,
  );
  await expect(client.show('mon_1')).rejects.toMatchObject({ status: 404 });
});
