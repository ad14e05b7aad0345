import { spawnSync } from 'node:child_process';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createMetricsWriter } from '../../../src/monitoring/api/monitor-metrics.ts';
import type { WatchedMonitor } from '../../../src/monitoring/monitors/monitors.ts';
import { selfSigned } from '../../fakes/certificate.ts';
import { startWebTarget } from '../../fakes/web-target.ts';
import { isInstalled } from '../../helpers/intake/real-program.ts';
import { createFakeClock } from '../../helpers/monitoring/fake-clock.ts';
import { startService } from '../../helpers/monitoring/service.ts';

const MONITORS = '/api/v1/public/monitors';

/** Part of Debian's package `prometheus`. */
const PROMTOOL = '/usr/bin/promtool';
const hasPromtool = isInstalled(PROMTOOL);

/** The series of a metric, without its name. */
const seriesOf = (text: string, name: string) =>
  [...text.matchAll(new RegExp(`^askwatch_${name}\\{(.*)\\} (\\S+)$`, 'gm'))].map(
    ([, labels, value]) => `${labels} ${value}`,
  );

/** A service with a monitor whose only check has passed, or failed. */
async function checkedMonitor({ isUp }: { isUp: boolean }) {
  const target = await startWebTarget();
  const service = await startService();
  const { id } = await service.create({
    name: 'Shop',
    check_type: 'HTTP',
    target: target.url,
    config: { confirm_down: 1 },
  });
  if (!isUp) await target.stop();
  await service.call('POST', `${MONITORS}/${id}/check`);
  const post = (action: string) => service.call('POST', `${MONITORS}/${id}/${action}`);
  return { ...service, id, target, labels: `id="${id}",name="Shop",type="HTTP",tags=""`, post };
}

test.each([
  [true, 1],
  [false, 0],
])('says of a monitor with up: %s that it is %s', async (isUp, value) => {
  const { metrics, labels } = await checkedMonitor({ isUp });
  expect(seriesOf(await metrics(), 'monitor_up')).toEqual([`${labels} ${value}`]);
});

test('counts a degraded monitor as up', async () => {
  const target = await startWebTarget((_request, response) => {
    setTimeout(() => response.end('fine'), 20);
  });
  const { create, call, list, metrics } = await startService();
  const config = { confirm_down: 1, degraded_after_ms: 1 };
  const { id } = await create({ name: 'x', check_type: 'HTTP', target: target.url, config });
  await call('POST', `${MONITORS}/${id}/check`);
  expect(await list()).toMatchObject([{ status: 'DEGRADED' }]);
  expect(seriesOf(await metrics(), 'monitor_up')).toEqual([expect.stringMatching(/ 1$/)]);
});

test('has no value for a monitor in maintenance, so that no alert begins', async () => {
  const { call, id, metrics } = await checkedMonitor({ isUp: true });
  const windows = [{ starts_at: '2026-01-01T00:00:00Z', ends_at: '2099-01-01T00:00:00Z' }];
  await call('PUT', `${MONITORS}/${id}/maintenance`, { json: { windows } });
  const text = await metrics();
  expect(seriesOf(text, 'monitor_up')).toEqual([]);
  expect(seriesOf(text, 'monitor_response_seconds')).toHaveLength(1);
});

test('joins the tags of a monitor with commas', async () => {
  const { create, call, metrics } = await startService();
  const job = { name: 'x', check_type: 'HEARTBEAT', target: 'x', tags: ['shop', 'eu'] };
  const { push_url = '' } = await create(job);
  await call('POST', new URL(push_url).pathname, { key: null });
  expect(seriesOf(await metrics(), 'monitor_up')).toEqual([
    expect.stringContaining('type="HEARTBEAT",tags="eu,shop" 1'),
  ]);
});

test('leaves out a paused monitor', async () => {
  const { post, metrics } = await checkedMonitor({ isUp: true });
  await post('pause');
  expect(await metrics()).not.toContain('name="Shop"');
});

test('has no value for a monitor before its first check', async () => {
  const { create, metrics } = await startService({ clock: createFakeClock() });
  await create({ name: 'Backup', check_type: 'HEARTBEAT', target: 'backup' });
  expect(await metrics()).not.toContain('name="Backup"');
});

test('shows response time, certificate and ping in seconds', async () => {
  const untilMs = Math.floor(Date.now() / 1000) * 1000 + 90 * 86_400_000;
  const target = await startWebTarget(undefined, { tls: selfSigned({ untilMs }) });
  const { create, call, list, metrics } = await startService();
  const site = { name: 'Shop', check_type: 'HTTP', target: target.url };
  const { id } = await create({ ...site, config: { ignore_tls: true } });
  await call('POST', `${MONITORS}/${id}/check`);
  const job = await create({ name: 'Backup', check_type: 'HEARTBEAT', target: 'backup' });
  await call('POST', new URL(job.push_url ?? '').pathname, { key: null });
  const [shop, backup] = await list();
  const text = await metrics();
  const labels = `id="${id}",name="Shop",type="HTTP",tags=""`;
  expect(seriesOf(text, 'monitor_response_seconds')).toEqual([
    `${labels} ${Number(shop?.response_time_ms) / 1000}`,
  ]);
  expect(seriesOf(text, 'monitor_certificate_expiry_seconds')).toEqual([
    `${labels} ${untilMs / 1000}`,
  ]);
  expect(seriesOf(text, 'monitor_last_heartbeat_seconds')).toEqual([
    `id="${job.id}",name="Backup",type="HEARTBEAT",tags="" ${Date.parse(backup?.last_checked_at ?? '') / 1000}`,
  ]);
});

test('shows monitors only to a request with a key of the monitoring service', async () => {
  const { call, createKey, labels } = await checkedMonitor({ isUp: true });
  const open = await call('GET', '/metrics', { key: null });
  expect(open.status).toBe(200);
  expect(open.text).toContain('askwatch_monitors{status="UP"} 1');
  expect(open.text).not.toContain('Shop');
  const readOnly = await createKey({ readOnly: true });
  const bearer = { authorization: `Bearer ${readOnly}` };
  const keyed = await call('GET', '/metrics', { key: null, headers: bearer });
  expect(keyed.text).toContain(`askwatch_monitor_up{${labels}} 1`);
  const wrong = await call('GET', '/metrics', { key: 'awm_wrong' });
  expect([wrong.status, wrong.body.error?.code]).toEqual([401, 'invalid_api_key']);
  expect(wrong.text).not.toContain('askwatch_');
});

test('shows neither targets nor push tokens', async () => {
  const { metrics, target, create } = await checkedMonitor({ isUp: true });
  const { push_url = '' } = await create({ name: 'x', target: 'job', check_type: 'HEARTBEAT' });
  const text = await metrics();
  expect(text).not.toContain(new URL(target.url).host);
  expect(text).not.toContain(push_url.split('/').at(-1));
});

/** A monitor as the writer reads it. */
function watched(id: string, name: string, published: object = { status: 'UP' }) {
  const definition = { name, check_type: 'HTTP', target: 'http://a.example/', config: {} };
  return { id, definition, published } as unknown as WatchedMonitor;
}

const write = (all: WatchedMonitor[], owns = (_id: string) => true) =>
  createMetricsWriter({ monitors: { all: () => all }, owns })();

test('escapes backslashes, quotes and line ends of a name, and cuts a long one', async () => {
  const text = await write([watched('a', 'C:\\new "shop"\nline'), watched('b', '日'.repeat(200))]);
  expect(seriesOf(text, 'monitor_up')).toEqual([
    String.raw`id="a",name="C:\\new \"shop\"\nline",type="HTTP",tags="" 1`,
    `id="b",name="${'日'.repeat(166)}",type="HTTP",tags="" 1`,
  ]);
});

test.skipIf(!hasPromtool)('can be read by promtool, whatever a monitor is called', async () => {
  const { create, call, metrics } = await checkedMonitor({ isUp: false });
  const names = ['C:\\ "x"', '{}=,"', "'; drop", '🔥 émoji', '\\', '# TYPE a b'];
  for (const name of names) {
    const { push_url = '' } = await create({ name, target: 'x', check_type: 'HEARTBEAT' });
    await call('POST', new URL(push_url).pathname, { key: null });
  }
  const input = await metrics();
  expect(seriesOf(input, 'monitor_up')).toHaveLength(7);
  // Promtool also complains about names of Node.js's own metrics.
  const { stdout, stderr } = spawnSync(PROMTOOL, ['check', 'metrics'], { input });
  expect(`${stdout}${stderr}`).not.toMatch(/error|askwatch_monitor_/);
});

test('shows the oldest 10,000 monitors, and says how many it leaves out', async () => {
  const all = Array.from({ length: 20_000 }, (_, at) => watched(`m${at}`, 'x'));
  const text = await write(all);
  const series = seriesOf(text, 'monitor_up');
  expect(series).toHaveLength(10_000);
  expect(series.at(-1)).toContain('id="m9999"');
  expect(text).toMatch(/^askwatch_monitors_left_out 10000$/m);
});

test('shows only the monitors that this process checks', async () => {
  const all = ['a', 'b', 'c'].map((id) => watched(id, 'x'));
  const text = await write(all, (id) => id !== 'b');
  expect(seriesOf(text, 'monitor_up').map((series) => series.slice(0, 6))).toEqual([
    'id="a"',
    'id="c"',
  ]);
});

test('lets other work have its turn while it writes many monitors', async () => {
  /** Reading its status takes a millisecond. */
  const slow = {
    get status() {
      const endMs = performance.now() + 1;
      while (performance.now() < endMs);
      return 'UP';
    },
  };
  const all = Array.from({ length: 100 }, (_, at) => watched(`m${at}`, 'x', slow));
  let isWritten = false;
  let turns = 0;
  const writing = write(all).finally(() => {
    isWritten = true;
  });
  while (!isWritten) {
    await nextTurn();
    turns += 1;
  }
  await writing;
  expect(turns).toBeGreaterThan(5);
});
