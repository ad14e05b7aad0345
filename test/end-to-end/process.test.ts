import { readdir, readFile, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { sharedAskwatch, spawnAskwatch, startAskwatch } from './askwatch-process.ts';

const models = (url: string, key: string) =>
  fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${key}` } });

/** For a machine whose resolver is itself, so that nothing names a server of its network. */
const RESOLVER_ON_LOOPBACK = {
  NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(
    "import { Resolver } from 'node:dns'; Resolver.prototype.getServers = () => ['127.0.0.53'];",
  )}`,
};

const shared = sharedAskwatch(async () => RESOLVER_ON_LOOPBACK);

describe('a start without any setting', () => {
  test('shows one key for each service once; both outlive a stop and kill -9, and no file holds them', async () => {
    const dataDir = await temporaryFolder();
    const first = await startAskwatch({ dataDir, program: 'installed' });
    expect((await models(first.url, first.keys.gateway ?? '')).status).toBe(200);
    const list = await fetch(`${first.url}/api/v1/public/monitors`, {
      headers: { 'x-api-key': first.keys.monitoring ?? '' },
    });
    expect(await list.json()).toEqual({ count: 0, monitors: [] });
    expect(await first.stop()).toBe(0);
    await expectPrivate(join(dataDir, 'data'), Object.values(first.keys));

    const second = await startAskwatch({ dataDir });
    expect(second.keys).toEqual({});
    expect(second.output()).not.toMatch(/aw[gm]_/);
    expect((await models(second.url, first.keys.gateway ?? '')).status).toBe(200);
    await second.kill();

    const third = await startAskwatch({ dataDir });
    expect((await models(third.url, first.keys.gateway ?? '')).status).toBe(200);
    expect(await third.stop('SIGINT')).toBe(0);
  });

  test('says when it cannot tell its own network from targets, and which setting helps', () => {
    expect(
      shared()
        .output()
        .match(/MONITOR_NETWORK_ANCHORS/g),
    ).toHaveLength(1);
  });

  test('listens on this machine only, answers health, readiness, metrics and its OpenAPI document', async () => {
    const askwatch = shared();
    expect(new URL(askwatch.url).hostname).toBe('127.0.0.1');
    expect(await (await fetch(`${askwatch.url}/healthz`)).json()).toEqual({ ok: true });
    const ready = await fetch(`${askwatch.url}/readyz`);
    expect([ready.status, await ready.json()]).toMatchObject([200, { ready: true }]);
    expect(await (await fetch(`${askwatch.url}/metrics`)).text()).toContain(
      'askwatch_http_request',
    );
    const openapi = (await (await fetch(`${askwatch.url}/openapi.json`)).json()) as {
      paths: Record<string, Record<string, { security?: object[] }>>;
    };
    expect(openapi.paths['/v1/models']?.get?.security).toEqual([{ bearer: [] }]);
    expect(openapi.paths['/api/v1/public/monitors']?.post?.security).toHaveLength(2);
    expect(openapi.paths['/api/v1/public/push/{token}']?.post?.security).toBeUndefined();
    expect(Object.keys(openapi.paths).sort()).toEqual([
      '/api/v1/public/days',
      '/api/v1/public/incidents',
      '/api/v1/public/monitors',
      '/api/v1/public/monitors/{id}',
      '/api/v1/public/monitors/{id}/check',
      '/api/v1/public/monitors/{id}/incidents',
      '/api/v1/public/monitors/{id}/maintenance',
      '/api/v1/public/monitors/{id}/pause',
      '/api/v1/public/monitors/{id}/results',
      '/api/v1/public/monitors/{id}/resume',
      '/api/v1/public/monitors/{id}/rollups',
      '/api/v1/public/monitors/{id}/uptime',
      '/api/v1/public/push/{token}',
      '/api/v1/public/push/{token}/{signal}',
      '/v1/chat/completions',
      '/v1/models',
      '/v1/models/{id}',
      '/v1/usage',
    ]);
  });
});

/** Folders 0700, files 0600, and no key in any of them. */
async function expectPrivate(folder: string, keys: string[]) {
  const names = await readdir(folder, { recursive: true });
  expect(names.length).toBeGreaterThan(2);
  expect((await stat(folder)).mode & 0o777).toBe(0o700);
  for (const name of names) {
    const path = join(folder, name);
    const info = await stat(path);
    expect([name, info.mode & 0o777]).toEqual([name, info.isDirectory() ? 0o700 : 0o600]);
    if (!info.isFile()) continue;
    const text = await readFile(path, 'utf8');
    for (const key of keys) expect(text).not.toContain(key);
  }
}

describe('a start that cannot work', () => {
  async function failedStart(env: Record<string, string>, dataDir?: string) {
    const child = spawnAskwatch({ dataDir: dataDir ?? (await temporaryFolder()), env });
    const code = await child.exit;
    expect(child.output()).not.toMatch(/^\s+at /m);
    return { code, output: child.output() };
  }

  test('says which settings are wrong and what to do', async () => {
    const { code, output } = await failedStart({ PORT: 'x', SLACK_BOT_TOKEN: 'hunter2-hunter2' });
    expect(code).toBe(1);
    expect(output).toMatch(/^ {2}SLACK_BOT_TOKEN: .+\n {2}PORT: .+/m);
    expect(output).not.toContain('hunter2');
  });

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

  test('refuses a second process on the same data and leaves the first one alone', async () => {
    const { dataDir, ...first } = shared();
    const { code, output } = await failedStart({}, dataDir);
    expect(code).toBe(1);
    expect(output).toContain(String(first.pid));
    expect((await fetch(`${first.url}/healthz`)).status).toBe(200);
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
  expect(askwatch.output()).toMatch(/Console +http:\S+, with CONSOLE_PASSWORD/);
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
  expect((await models(local, askwatch.keys.gateway ?? '')).status).toBe(200);
  expect(askwatch.output()).not.toContain(CONSOLE_PASSWORD);
  expect(await askwatch.stop()).toBe(0);
});

test('roles: the gateway alone serves models and nothing else', async () => {
  const gateway = await startAskwatch({
    dataDir: await temporaryFolder(),
    env: { ASKWATCH_ROLES: 'gateway' },
  });
  expect(gateway.keys.monitoring).toBeUndefined();
  expect((await models(gateway.url, gateway.keys.gateway ?? '')).status).toBe(200);
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
      GATEWAY_API_KEY: services.keys.gateway ?? '',
      MONITORING_BASE_URL: services.url,
      MONITORING_API_KEY: services.keys.monitoring ?? '',
    },
  });
  expect(bot.keys).toEqual({});
  expect((await fetch(bot.url)).status).toBe(200);
  expect(await bot.stop()).toBe(0);
});
