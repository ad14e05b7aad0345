import { createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import { startAskwatch } from '../helpers/end-to-end/askwatch-process.ts';
import { failedStart, models, RESOLVER_ON_LOOPBACK } from '../helpers/end-to-end/plain-start.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

describe('a start that cannot work', () => {
  test('refuses to open the console to others without a password', async () => {
    const { code, output } = await failedStart({ HOST: '0.0.0.0' });
    expect(code).toBe(1);
    expect(output).toMatch(/^ {2}CONSOLE_PASSWORD: .*HOST=127\.0\.0\.1.*ASKWATCH_ROLES/m);
  });

  test('says that the port is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => other.once('listening', resolve));
    const { port } = other.address() as { port: number };
    const { code, output } = await failedStart({ PORT: String(port) });
    other.close();
    expect([code, output]).toEqual([1, expect.stringContaining('PORT:')]);
  });

  test('names the catalog file and what is wrong in it', async () => {
    const { code, output } = await failedStart({ ASKWATCH_CATALOG: '/nowhere/catalog.json' });
    expect([code, output]).toEqual([1, expect.stringContaining('/nowhere/catalog.json')]);
  });
});

test('beyond this machine, with anchors, it serves both services; the console asks for its password', async () => {
  const CONSOLE_PASSWORD = 'correct horse battery';
  const askwatch = await startAskwatch({
    dataDir: await temporaryFolder(),
    env: {
      ...{ ...RESOLVER_ON_LOOPBACK, MONITOR_NETWORK_ANCHORS: '192.0.2.1' },
      ...{ HOST: '0.0.0.0', CONSOLE_PASSWORD, LOG_LEVEL: 'debug' },
    },
  });
  expect(askwatch.output()).not.toContain('MONITOR_NETWORK_ANCHORS');
  expect(askwatch.output()).toMatch(/Console +http:\S+ \(log in with CONSOLE_PASSWORD\)/);
  const local = `http://127.0.0.1:${new URL(askwatch.url).port}`;
  const asked = await fetch(local, { redirect: 'manual' });
  expect([asked.status, asked.headers.get('location')]).toEqual([303, '/login?to=%2F']);
  const answer = await fetch(`${local}/console/login`, {
    method: 'POST',
    headers: { origin: local, 'content-type': 'application/json' },
    body: JSON.stringify({ password: CONSOLE_PASSWORD }),
  });
  const cookie = (answer.headers.getSetCookie()[0] ?? '').split(';')[0] ?? '';
  expect((await fetch(local, { redirect: 'manual', headers: { cookie } })).status).toBe(200);
  expect((await models(local, await askwatch.createKey('gateway'))).status).toBe(200);
  expect(askwatch.output()).not.toContain(CONSOLE_PASSWORD);
  expect(await askwatch.stop()).toBe(0);
});

test('roles: the gateway alone serves models and nothing else', async () => {
  const gateway = await startAskwatch({
    dataDir: await temporaryFolder(),
    env: { ASKWATCH_ROLES: 'gateway' },
  });
  expect((await models(gateway.url, await gateway.createKey('gateway'))).status).toBe(200);
  expect((await fetch(`${gateway.url}/api/v1/public/monitors`)).status).toBe(404);
  expect((await fetch(gateway.url)).status).toBe(404);
});

test('roles: a bot elsewhere uses the two services over their addresses', async () => {
  const services = await startAskwatch({
    dataDir: await temporaryFolder(),
    env: { ASKWATCH_ROLES: 'gateway,monitoring' },
  });
  const bot = await startAskwatch({
    dataDir: await temporaryFolder(),
    env: {
      ASKWATCH_ROLES: 'bot,console',
      GATEWAY_BASE_URL: services.url,
      GATEWAY_API_KEY: await services.createKey('gateway'),
      MONITORING_BASE_URL: services.url,
      MONITORING_API_KEY: await services.createKey('monitoring'),
    },
  });
  expect((await fetch(bot.url)).status).toBe(200);
  expect(await bot.stop()).toBe(0);
});
