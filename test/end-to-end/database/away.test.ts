import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { startAskwatch } from '../../helpers/end-to-end/askwatch-process.ts';
import { eventually } from '../../helpers/eventually.ts';
import { long } from '../../helpers/long.ts';
import { startPostgres } from '../../helpers/postgres/server.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const MONITORS = '/api/v1/public/monitors';

/** The database is away for longer than leases last. */
const AWAY_MS = long ? 300_000 : 20_000;

/** A key may ask 120 times a minute. */
const SELDOM = { everyMs: 1_000 };

test('a database that is away for long ends no process, nothing acknowledged is lost, and all goes on when it is back', async () => {
  const server = await startPostgres({ durable: true });
  onTestFinished(() => server.remove());
  let status = 200;
  let visits = 0;
  const site = createServer((_, response) => {
    visits += 1;
    response.writeHead(status).end();
  });
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    site.closeAllConnections();
    site.close();
  });
  const target = `http://127.0.0.1:${(site.address() as AddressInfo).port}/`;

  const env = { DATABASE_URL: server.url, MONITOR_ALLOW_PRIVATE: '127.0.0.0/8' };
  const one = await startAskwatch({ dataDir: await temporaryFolder(), env });
  const other = await startAskwatch({ dataDir: await temporaryFolder(), env });
  const both = [one, other];
  const key = await one.createKey('monitoring');
  const gatewayKey = await one.createKey('gateway');
  await pause(2_000);

  const call = async (at: number, method: string, path: string, json?: unknown) => {
    const answer = await fetch((both[at]?.url ?? '') + path, {
      method,
      headers: {
        'x-api-key': key,
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
      signal: AbortSignal.timeout(30_000),
    });
    const text = await answer.text();
    const body = (text.startsWith('{') ? JSON.parse(text) : {}) as Record<string, unknown>;
    return { status: answer.status, retryAfter: answer.headers.get('retry-after'), body };
  };
  const ask = async (at: number) => {
    const answer = await fetch(`${both[at]?.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gatewayKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'small-4k', messages: [{ role: 'user', content: 'Hello' }] }),
    });
    await answer.arrayBuffer();
    return { status: answer.status, retryAfter: answer.headers.get('retry-after') };
  };
  const monitor = { name: 'Shop', check_type: 'HTTP', target };
  const made = await call(0, 'POST', MONITORS, { ...monitor, config: { interval_seconds: 5 } });
  expect(made.status).toBe(201);
  expect((await call(1, 'GET', `${MONITORS}/${made.body.id}`)).body.name).toBe('Shop');
  await eventually(() => visits > 1);
  expect((await ask(0)).status).toBe(200);

  await server.stop();
  await pause(AWAY_MS / 2);
  for (const at of [0, 1]) {
    for (const [method, path, json] of [
      ['GET', MONITORS],
      ['POST', MONITORS, monitor],
      ['POST', `${MONITORS}/${made.body.id}/pause`],
    ] as const) {
      const refused = await call(at, method, path, json);
      expect([method, path, refused.status], JSON.stringify(refused.body)).toEqual([
        method,
        path,
        503,
      ]);
      expect(Number(refused.retryAfter)).toBeGreaterThan(0);
    }
    expect((await fetch(`${both[at]?.url}/healthz`)).status).toBe(200);
    expect((await fetch(`${both[at]?.url}/readyz`)).status).toBe(503);
  }
  // Revocations are unknown by then.
  expect(await ask(1)).toMatchObject({ status: 503, retryAfter: expect.any(String) });
  await pause(AWAY_MS / 2);

  status = 500;
  await server.start();
  for (const at of [0, 1]) {
    await eventually(async () => (await fetch(`${both[at]?.url}/readyz`)).ok);
    await eventually(async () => (await call(at, 'GET', MONITORS)).status === 200, SELDOM);
  }
  await eventually(async () => {
    const shown = await call(1, 'GET', `${MONITORS}/${made.body.id}`);
    return shown.body.status === 'DOWN' && shown.body.name === 'Shop';
  }, SELDOM);
  await eventually(async () => (await ask(0)).status === 200, SELDOM);
  const again = await call(1, 'POST', MONITORS, { ...monitor, name: 'Second' });
  expect(again.status).toBe(201);
  const listed = (await call(0, 'GET', MONITORS)).body.monitors as Array<{ name: string }>;
  expect(listed.map(({ name }) => name)).toEqual(['Shop', 'Second']);
  // The bot goes on in the process that had it, or in the other one.
  for (const { output } of both) expect(output()).not.toMatch(/"level":60/);
  expect(await Promise.all(both.map((process) => process.stop()))).toEqual([0, 0]);
});
