import { expect, test } from 'vitest';
import { MonitoringPath } from '../../../src/contracts/monitoring.ts';
import { addedPath } from '../../../src/contracts/monitoring-additions.ts';
import { startService } from '../../helpers/monitoring/service.ts';

const MONITORS = MonitoringPath.monitors;
const job = { name: 'Backup', target: 'backup', check_type: 'HEARTBEAT' };

/** Every request that changes something of one monitor, or sends something out. */
const changesOf = (id: string): Array<[method: string, path: string, json?: object]> => [
  ['POST', MONITORS, job],
  ['PATCH', addedPath('monitor', { id }), { name: 'Other' }],
  ['DELETE', addedPath('monitor', { id })],
  ['POST', addedPath('pause', { id })],
  ['POST', addedPath('resume', { id })],
  ['POST', addedPath('check', { id })],
  ['POST', addedPath('pushToken', { id })],
  ['PUT', addedPath('maintenance', { id }), { windows: [] }],
  ['POST', addedPath('planned', {}), { monitors: [id], window: null }],
];

test('A key that can only read changes nothing, and is told so', async () => {
  const { call, create, createKey, list } = await startService();
  const { id } = await create(job);
  const before = await list();
  const key = await createKey({ readOnly: true });
  for (const by of [{ key }, { key: null, headers: { authorization: `Bearer ${key}` } }]) {
    for (const [method, path, json] of changesOf(id)) {
      const { status, body, headers } = await call(method, path, { ...by, json });
      expect([status, body.error?.code], `${method} ${path}`).toEqual([403, 'forbidden']);
      expect(body.error?.message).toMatch(/This key is read-only, so nothing was changed\. Create/);
      // It is a request like any other.
      expect(headers['x-ratelimit-remaining']).toBeDefined();
    }
  }
  expect(await list()).toEqual(before);
  const left = (await call('GET', MONITORS, { key })).headers['x-ratelimit-remaining'];
  expect(left).toBe(String(120 - 2 * changesOf(id).length - 1));
});

test('A key that can only read reads everything, and the push of a job needs none', async () => {
  const { call, create, createKey } = await startService();
  const { id, push_url: push = '' } = await create(job);
  const key = await createKey({ readOnly: true });
  const paths = [MONITORS, `${MONITORS}/changes?after=x`, addedPath('monitor', { id })];
  for (const path of [...paths, addedPath('results', { id }), addedPath('planned', {})]) {
    expect([200, 410], path).toContain((await call('GET', path, { key })).status);
  }
  expect((await call('HEAD', MONITORS, { key })).status).toBe(200);
  expect((await call('POST', new URL(push).pathname, { key })).status).toBe(200);
});

test('A key that may write goes on writing', async () => {
  const { call, createKey } = await startService();
  for (const key of [await createKey(), await createKey({ readOnly: false })]) {
    expect((await call('POST', MONITORS, { key, json: job })).status).toBe(201);
  }
});
