import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startModelProvider } from '../fakes/model-provider.ts';
import { PROGRAM, sharedAskwatch, startAskwatch } from '../helpers/end-to-end/askwatch-process.ts';
import { chat } from '../helpers/end-to-end/key-commands.ts';
import { failedStart, models, RESOLVER_ON_LOOPBACK } from '../helpers/end-to-end/plain-start.ts';
import { eventually } from '../helpers/eventually.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

const shared = sharedAskwatch(async () => RESOLVER_ON_LOOPBACK);

describe('a start without any setting', () => {
  test('shows no key where its output is collected, and says how to create one; keys outlive a stop and kill -9, and no file holds them', async () => {
    const dataDir = await temporaryFolder();
    const first = await startAskwatch({ dataDir });
    expect(first.output()).not.toMatch(/aw[gm]_/);
    expect(first.output()).toContain('npx askwatch keys create --service gateway');
    const gatewayKey = await first.createKey('gateway');
    const monitoringKey = await first.createKey('monitoring');
    expect((await models(first.url, gatewayKey)).status).toBe(200);
    const list = await fetch(`${first.url}/api/v1/public/monitors`, {
      headers: { 'x-api-key': monitoringKey },
    });
    expect(await list.json()).toEqual({ count: 0, monitors: [] });
    expect(await first.stop()).toBe(0);
    await expectPrivate(join(dataDir, 'data'), [gatewayKey, monitoringKey]);

    const login = { CONSOLE_PASSWORD: 'correct horse battery', TRUSTED_PROXIES: '127.0.0.1' };
    const second = await startAskwatch({ dataDir, env: login });
    expect(second.output()).not.toContain('keys create');
    expect((await models(second.url, gatewayKey)).status).toBe(200);
    const guess = async ({ url }: { url: string }, address: string) => {
      const headers = {
        origin: url,
        'content-type': 'application/json',
        'x-forwarded-for': address,
      };
      const body = '{"password":"a guess"}';
      return (await fetch(`${url}/console/login`, { method: 'POST', headers, body })).status;
    };
    const guesses = await Promise.all([1, 2, 3, 4, 5].map(() => guess(second, '192.0.2.1')));
    expect(guesses).toEqual([401, 401, 401, 401, 401]);
    expect([await guess(second, '192.0.2.1'), await guess(second, '192.0.2.2')]).toEqual([
      429, 401,
    ]);
    await second.kill();

    const PUBLIC_URL = 'https://example.com/askwatch/';
    const third = await startAskwatch({ dataDir, env: { ...login, PUBLIC_URL } });
    expect(third.output()).toContain('Services    https://example.com/askwatch/v1 and');
    const job = await fetch(`${third.url}/api/v1/public/monitors`, {
      method: 'POST',
      headers: { 'x-api-key': monitoringKey, 'content-type': 'application/json' },
      body: '{"name":"Job","target":"job","check_type":"HEARTBEAT"}',
    });
    expect(await job.json()).toMatchObject({
      push_url: expect.stringMatching(/^https:\/\/example\.com\/askwatch\/api\/v1\/public\/push\//),
    });
    expect((await models(third.url, gatewayKey)).status).toBe(200);
    expect(await third.stop('SIGINT')).toBe(0);
  });

  test('shows one key for each service on a terminal, at the first start only', async () => {
    const dataDir = await temporaryFolder();
    const node = [process.execPath, PROGRAM];
    // script(1) gives the program a terminal. macOS takes the command as words, Linux as one text.
    const command =
      process.platform === 'darwin'
        ? ['script', '-q', '/dev/null', ...node]
        : ['script', '-qefc', `exec ${node.join(' ')}`, '/dev/null'];
    const first = await startAskwatch({ dataDir, command });
    const [key = ''] = /awg_[A-Za-z0-9]{40}/.exec(first.output()) ?? [];
    expect(first.output()).toMatch(/awm_[A-Za-z0-9]{40}/);
    expect((await models(first.url, key)).status).toBe(200);
    await first.stop();
    const second = await startAskwatch({ dataDir, command });
    expect(second.output()).not.toMatch(/aw[gm]_/);
  });

  test('says when it cannot tell its own network from targets, and which setting helps', async () => {
    // Standard error may be read after the line on standard output that says that the program is ready.
    const found = await eventually(() =>
      shared()
        .output()
        .match(/MONITOR_NETWORK_ANCHORS/g),
    );
    expect(found).toHaveLength(1);
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
    const docs = await (await fetch(`${askwatch.url}/docs`)).text();
    expect(docs).toContain('POST /v1/chat/completions');
    expect(docs).toContain('GET /api/v1/public/monitors');
    const openapi = (await (await fetch(`${askwatch.url}/openapi.json`)).json()) as {
      paths: Record<string, Record<string, { security?: object[] }>>;
    };
    expect(openapi.paths['/v1/models']?.get?.security).toEqual([{ bearer: [] }]);
    expect(openapi.paths['/api/v1/public/monitors']?.post?.security).toHaveLength(2);
    expect(openapi.paths['/api/v1/public/push/{token}']?.post?.security).toBeUndefined();
    expect(Object.keys(openapi.paths).sort()).toEqual([
      '/api/v1/public/days',
      '/api/v1/public/incidents',
      '/api/v1/public/maintenance',
      '/api/v1/public/monitors',
      '/api/v1/public/monitors/changes',
      '/api/v1/public/monitors/{id}',
      '/api/v1/public/monitors/{id}/check',
      '/api/v1/public/monitors/{id}/incidents',
      '/api/v1/public/monitors/{id}/maintenance',
      '/api/v1/public/monitors/{id}/pause',
      '/api/v1/public/monitors/{id}/push-token',
      '/api/v1/public/monitors/{id}/results',
      '/api/v1/public/monitors/{id}/resume',
      '/api/v1/public/monitors/{id}/rollups',
      '/api/v1/public/monitors/{id}/uptime',
      '/api/v1/public/parts',
      '/api/v1/public/push/{token}',
      '/api/v1/public/push/{token}/{signal}',
      '/v1/chat/completions',
      '/v1/models',
      '/v1/models/{id}',
      '/v1/usage',
    ]);
  });
});

test('a stopping program fails /readyz, passes /healthz and finishes its requests', async () => {
  const model = await startModelProvider();
  onTestFinished(() => model.close());
  const askwatch = await startAskwatch({
    dataDir: await temporaryFolder(),
    env: { OPENAI_API_KEY: model.apiKey, OPENAI_BASE_URL: `${model.url}/v1` },
  });
  model.answerWith(['All ', 'of ', 'it.']);
  const goOn = model.holdChunks(1);
  const answer = chat(askwatch.url, await askwatch.createKey('gateway'), 'Hello');
  await eventually(() => model.calls.length === 1);

  const ended = askwatch.stop();
  const told = await eventually(async () => {
    const ready = await fetch(`${askwatch.url}/readyz`);
    return ready.status === 503 && (await ready.json());
  });
  expect(told).toMatchObject({ ready: false, parts: { stop: 'stopping', store: 'ok' } });
  expect((await fetch(`${askwatch.url}/healthz`)).status).toBe(200);
  goOn();
  expect(await (await answer).text()).toContain('All of it.');
  expect(await ended).toBe(0);
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
  test('says which settings are wrong and what to do', async () => {
    const { code, output } = await failedStart({ PORT: 'x', SLACK_BOT_TOKEN: 'hunter2-hunter2' });
    expect(code).toBe(1);
    expect(output).toMatch(/^ {2}SLACK_BOT_TOKEN: .+\n {2}PORT: .+/m);
    expect(output).not.toContain('hunter2');
  });

  test('refuses a second process on the same data and leaves the first one alone', async () => {
    const { dataDir, ...first } = shared();
    const { code, output } = await failedStart({}, dataDir);
    expect(code).toBe(1);
    expect(output).toContain(String(first.pid));
    expect((await fetch(`${first.url}/healthz`)).status).toBe(200);
  });
});
