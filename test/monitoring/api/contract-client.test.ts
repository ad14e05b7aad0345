import { expect, test } from 'vitest';
import { z } from 'zod';
import { startWebTarget } from '../../fakes/web-target.ts';
import { eventually } from '../../helpers/eventually.ts';
import { startService } from '../../helpers/monitoring/service.ts';

// A client that knows the contract and nothing else: exactly its fields, of its types. What it does not know it ignores,
// as clients of JSON do.
const MONITORS = '/api/v1/public/monitors';
const ContractMonitor = z.object({
  id: z.string(),
  name: z.string(),
  check_type: z.string(),
  target: z.string(),
  status: z.string(),
  interval_seconds: z.int(),
});
const ContractList = z.object({ count: z.int(), monitors: z.array(ContractMonitor) });
const ContractCreated = z.object({
  id: z.string(),
  name: z.string(),
  check_type: z.string(),
  target: z.string(),
  status: z.string(),
  created_at: z.iso.datetime(),
});

test('a client that knows the contract alone never notices the additions', async () => {
  const target = await startWebTarget((_request, response) => response.end('Cart'));
  const { url, key, list, call } = await startService();
  for (const [header, value] of [
    ['X-API-Key', key],
    ['Authorization', `Bearer ${key}`],
  ] as const) {
    const ask = async (init: RequestInit = {}) => {
      const answer = await fetch(url + MONITORS, {
        ...init,
        headers: { ...init.headers, [header]: value },
      });
      expect(answer.headers.get('X-RateLimit-Limit')).toBe('120');
      expect(answer.headers.get('X-RateLimit-Remaining')).toMatch(/^\d+$/);
      return { status: answer.status, body: await answer.json() };
    };
    const create = async (monitor: object) => {
      const headers = { 'Content-Type': 'application/json' };
      const { status, body } = await ask({
        method: 'POST',
        headers,
        body: JSON.stringify(monitor),
      });
      expect(status).toBe(201);
      return ContractCreated.parse(body);
    };
    const monitors = [
      { name: 'Site', target: target.url, check_type: 'HTTP', config: {} },
      {
        name: 'Page',
        target: target.url,
        check_type: 'KEYWORD',
        config: { target_keyword: 'Cart' },
      },
      { name: 'Name', target: 'example.com', check_type: 'DNS', config: {} },
    ];
    const before = ContractList.parse((await ask()).body).count;
    for (const { config: _, ...fields } of monitors) {
      const created = await create({ ...fields, config: _ });
      expect(created).toMatchObject({ ...fields, status: 'UP' });
    }
    const { status, body } = await ask();
    expect(status).toBe(200);
    const listed = ContractList.parse(body);
    expect(listed.count).toBe(listed.monitors.length);
    expect(listed.monitors.slice(before)).toMatchObject(
      monitors.map(({ name, target, check_type }) => ({
        name,
        target,
        check_type,
        interval_seconds: 60,
      })),
    );
  }

  // The additions don't break the contract's list: active monitors with a status.
  const [first, second] = await list();
  await call('POST', `${MONITORS}/${first?.id}/pause`);
  const windows = [{ starts_at: '2026-01-01T00:00:00Z', ends_at: '2998-01-01T00:00:00Z' }];
  await call('PUT', `${MONITORS}/${second?.id}/maintenance`, { json: { windows } });
  const left = ContractList.parse((await call('GET', MONITORS)).body);
  expect(left.count).toBe(5);
  expect(left.monitors).not.toContainEqual(expect.objectContaining({ id: first?.id }));
});

test('a job that knows the contract alone pings without a key and without a body', async () => {
  const { url, create, list } = await startService();
  const { push_url = '' } = await create({ name: 'Job', target: 'job', check_type: 'HEARTBEAT' });
  expect(push_url).toMatch(/\/api\/v1\/public\/push\/[\w-]{32,}$/);
  const answer = await fetch(url + new URL(push_url).pathname, { method: 'POST' });
  expect(answer.ok).toBe(true);
  await eventually(async () => (await list())[0]?.last_checked_at);
});
