import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isSecretName, maskedTarget } from '../../../src/contracts/secret-values.ts';
import { startRawTarget, startWebTarget } from '../../fakes/web-target.ts';
import { type Answer, type Service, startService } from '../../helpers/monitoring/service.ts';
import { folderOfFiles, storedText } from '../../helpers/test-store.ts';

const MONITORS = '/api/v1/public/monitors';
const SECRETS = /header-secret|query-secret/;

const paramOf = ({ status, body }: Answer) => [status, body.error?.param];

/** A service with a monitor that sends two secrets to a server of its own. */
async function withSecrets(options: Parameters<typeof startService>[0] = {}) {
  const target = await startWebTarget();
  const service = await startService(options);
  const { id } = await service.create({
    name: 'Shop',
    check_type: 'HTTP',
    target: `${target.url}/health?token=query-secret&page=1`,
    config: { headers: { Authorization: 'Bearer header-secret', accept: 'text/html' } },
  });
  const path = `${MONITORS}/${id}`;
  return {
    ...{ service, target, id, path },
    /** With a key of its own, as another person would. */
    patch: async (json: unknown) =>
      service.call('PATCH', path, { json, key: await service.createKey() }),
    check: () => service.call('POST', `${path}/check`),
  };
}

/** Sends a check and returns its request. */
async function sentBy(
  { call }: Pick<Service, 'call'>,
  path: string,
  target: Awaited<ReturnType<typeof startWebTarget>>,
) {
  const answer = await call('POST', `${path}/check`);
  expect(answer.status, answer.text).toBe(200);
  const request = target.requests.at(-1);
  return { path: request?.path, authorization: request?.headers.authorization };
}

test('stored secrets never go to a target of another origin, unless they are given anew', async () => {
  const { patch, check, target, service, path } = await withSecrets();
  const thief = await startWebTarget();
  const shown = '?token=…&page=1';
  for (const change of [
    { target: thief.url },
    { target: `${thief.url}/${shown}` },
    { target: `https://127.0.0.1:${target.port}/` },
    { target: `http://127.0.0.2:${target.port}/` },
    { target: thief.url, config: { headers: { authorization: '…' } } },
    { target: `${thief.url}/${shown}`, config: { headers: {} } },
  ]) {
    const answer = await patch(change);
    expect(paramOf(answer), JSON.stringify(change)).toEqual([400, 'target']);
    expect(answer.body.error?.message).toMatch(
      'headers' in (change.config ?? {}) && !answer.text.includes('authorization')
        ? /token in the target/
        : /config\.headers\.[Aa]uthorization/,
    );
    expect(answer.text).not.toMatch(SECRETS);
  }
  expect(paramOf(await patch({ check_type: 'KEYWORD', target: thief.url }))).toEqual([
    400,
    'check_type',
  ]);
  await check();
  expect(thief.requests).toEqual([]);
  expect(target.requests.at(-1)?.headers.authorization).toBe('Bearer header-secret');

  const given = { target: thief.url, config: { headers: { Authorization: 'mine' } } };
  expect((await patch(given)).status).toBe(200);
  expect(await sentBy(service, path, thief)).toEqual({ path: '/', authorization: 'mine' });
  expect((await patch({ target: target.url, config: { headers: null } })).status).toBe(200);
  expect((await sentBy(service, path, target)).authorization).toBeUndefined();
});

test('stored secrets are kept by a change that sends back what is shown, within the origin', async () => {
  const { patch, target, service, path } = await withSecrets();
  const { body } = await service.call('GET', path);
  expect(body.target).toBe(`${target.url}/health?token=…&page=1`);
  const moved = `${String(body.target).replace('/health', '/ready')}&key=query-secret-2`;
  const answer = await patch({ target: moved, name: 'Other' });
  expect(answer.status, answer.text).toBe(200);
  expect(answer.body.target).toBe(`${target.url}/ready?token=…&page=1&key=…`);
  const sent = {
    path: '/ready?token=query-secret&page=1&key=query-secret-2',
    authorization: 'Bearer header-secret',
  };
  expect(await sentBy(service, path, target)).toEqual(sent);
  // The spelling of a parsed URL.
  await patch({ target: new URL(String(answer.body.target)).href });
  expect(await sentBy(service, path, target)).toEqual(sent);
  const none = await patch({ target: `${target.url}/?sig=…` });
  expect(paramOf(none)).toEqual([400, 'target']);
  expect(none.body.error?.message).toContain('none is stored for sig');
  const json = { name: 'New', check_type: 'HTTP', target: `${target.url}/?sig=…` };
  expect(paramOf(await service.call('POST', MONITORS, { json }))).toEqual([400, 'target']);
});

test('stored secrets stand in no answer, no log and no file, and work after a restart', async () => {
  const folder = await folderOfFiles();
  const { service, target, id, path, patch } = await withSecrets({ folder });
  const json = {
    name: 'Repeated',
    check_type: 'KEYWORD',
    target: `${target.url}/?sig=query-secret`,
    config: { target_keyword: 'nothing', headers: { cookie: 'header-secret' } },
  };
  const headers = { 'idempotency-key': 'once' };
  const answers = [
    await service.call('POST', MONITORS, { json, headers }),
    await service.call('POST', MONITORS, { json, headers }),
    await patch({ name: 'Renamed' }),
    await service.call('PUT', `${path}/maintenance`, { json: { windows: [] } }),
    await service.call('POST', `${path}/check`),
    await service.call('GET', MONITORS),
    await service.call('GET', path),
    await service.call('GET', `${path}/results`),
  ];
  expect(answers.map(({ status }) => status)).toEqual([201, 201, 200, 200, 200, 200, 200, 200]);
  for (const { text } of answers) expect(text).not.toMatch(SECRETS);
  await service.close();
  expect(JSON.stringify(service.lines)).not.toMatch(SECRETS);
  expect(await storedText(folder)).not.toMatch(SECRETS);
  expect((await stat(join(folder, 'secret.key'))).mode & 0o777).toBe(0o600);
  const again = await startService({ folder });
  expect((await again.list()).map((one) => one.id)).toContain(id);
  expect(await sentBy(again, path, target)).toEqual({
    path: '/health?token=query-secret&page=1',
    authorization: 'Bearer header-secret',
  });
});

test('stored secrets that a TCP check sends are hidden, encrypted, kept, and never sent elsewhere', async () => {
  const heard: string[] = [];
  const hear = (name: string) => (socket: Socket) =>
    socket.on('data', (bytes) => {
      if (SECRETS.test(String(bytes))) heard.push(`${name} ${bytes}`);
      socket.end('+OK');
    });
  const target = await startRawTarget(hear('own'));
  const thief = await startRawTarget(hear('thief'));
  const folder = await folderOfFiles();
  const service = await startService({ folder });
  const { call } = service;
  const at = `127.0.0.1:${target.port}`;
  const { id } = await service.create({
    ...{ name: 'Cache', check_type: 'TCP', target: at },
    config: { send: 'AUTH header-secret', expect: '+OK' },
  });
  const path = `${MONITORS}/${id}`;
  const check = async (one: Pick<Service, 'call'>) => {
    const { body, text } = await one.call('POST', `${path}/check`);
    expect(text).not.toMatch(SECRETS);
    return body;
  };
  expect(await check(service)).toMatchObject({ status: 'UP', config: { send: '…' } });
  // Also by the scheduler.
  expect(new Set(heard.splice(0))).toEqual(new Set(['own AUTH header-secret']));
  expect(await storedText(folder)).not.toMatch(SECRETS);
  for (const change of [
    { target: `127.0.0.1:${thief.port}` },
    { target: `tcp://127.0.0.1:${thief.port}/`, config: { send: '…' } },
    { target: `127.0.0.2:${target.port}` },
  ]) {
    const answer = await call('PATCH', path, { json: change });
    expect(paramOf(answer), JSON.stringify(change)).toEqual([400, 'target']);
    expect(answer.body.error?.message).toContain('config.send');
    expect(answer.text).not.toMatch(SECRETS);
  }
  // Over plain text, anyone on the way could read a secret that was sent encrypted before.
  const secure = { config: { tls: true, send: 'AUTH header-secret' } };
  expect((await call('PATCH', path, { json: secure })).status).toBe(200);
  const plain = await call('PATCH', path, { json: { config: { tls: false } } });
  expect(paramOf(plain)).toEqual([400, 'target']);
  const back = { config: { tls: null, send: 'AUTH header-secret' } };
  expect((await call('PATCH', path, { json: back })).status).toBe(200);

  const same = { name: 'Other', target: `tcp://127.0.0.1:${target.port}`, config: { send: '…' } };
  expect((await call('PATCH', path, { json: same })).status).toBe(200);
  await service.close();
  const again = await startService({ folder });
  expect(await check(again)).toMatchObject({ status: 'UP' });
  // Also by the scheduler.
  expect(new Set(heard.splice(0))).toEqual(new Set(['own AUTH header-secret']));
  const given = { target: `127.0.0.1:${thief.port}`, config: { send: null } };
  expect((await again.call('PATCH', path, { json: given })).status).toBe(200);
  await check(again);
  expect(heard).toEqual([]);
  const none = await again.call('POST', MONITORS, {
    json: { ...{ name: 'x', check_type: 'TCP', target: at }, config: { send: '…' } },
  });
  expect(paramOf(none)).toEqual([400, 'config.send']);
});

test('stored secrets need no key while there are none', async () => {
  const service = await startService({ folder: await folderOfFiles() });
  await service.create({
    name: 'Shop',
    check_type: 'HTTP',
    target: 'http://127.0.0.1:9/?page=1',
  });
  await service.create({ name: 'Job', check_type: 'HEARTBEAT', target: 'job?token=word' });
  expect(await readdir(service.folder)).not.toContain('secret.key');
});

test('stored secrets whose key is gone keep the service from starting, until it is given up', async () => {
  const folder = await folderOfFiles();
  const { service, target, path } = await withSecrets({ folder });
  await service.close();
  const keyFile = join(folder, 'secret.key');
  const key = await readFile(keyFile, 'utf8');
  await rm(keyFile);
  await expect(startService({ folder })).rejects.toThrow(
    `The key in ${keyFile} is missing, or is not the key that encrypted the secrets of these monitors: Shop.`,
  );
  await rm(join(folder, '.lock'));
  await writeFile(keyFile, `${'A'.repeat(43)}\n`);
  await expect(startService({ folder })).rejects.toThrow('Restore that file from a backup');
  await rm(join(folder, '.lock'));
  await writeFile(keyFile, 'half a k');
  await expect(startService({ folder })).rejects.toThrow(`The key file ${keyFile} is damaged`);
  await rm(join(folder, '.lock'));
  await writeFile(keyFile, key);
  const restored = await startService({ folder });
  expect((await sentBy(restored, path, target)).authorization).toBe('Bearer header-secret');
  await restored.close();

  await writeFile(keyFile, 'lost\n');
  for (const start of [1, 2]) {
    const asked = target.requests.length;
    const without = await startService({ folder });
    // A second one confirms it.
    await without.call('POST', `${path}/check`);
    const { body, status } = await without.call('POST', `${path}/check`);
    expect(status).toBe(200);
    expect(`${start} ${body.status_reason}`).toBe(
      `${start} not checked: the key to its stored secrets is lost. Enter them again: config.headers.Authorization, token in the target`,
    );
    expect(target.requests).toHaveLength(asked);
    const renamed = await without.call('PATCH', path, { json: { name: 'Cart' } });
    expect(paramOf(renamed)).toEqual([400, 'config.headers.Authorization']);
    if (start === 1) {
      await without.close();
      continue;
    }
    const json = {
      target: `${target.url}/?token=new`,
      config: { headers: { authorization: 'new' } },
    };
    const given = await without.call('PATCH', path, { json });
    expect(given.status, given.text).toBe(200);
    const sent = await sentBy(without, path, target);
    expect(sent).toEqual({ path: '/?token=new', authorization: 'new' });
    expect(await readFile(keyFile, 'utf8')).toMatch(/^[\w-]{43}\n$/);
  }
});

describe('names of secrets', () => {
  test.each([
    ...['token', 'access_token', 'api_key', 'apikey', 'X-API-Key', 'key', 'sig', 'X-Amz-Signature'],
    ...['password', 'passwd', 'client_secret', 'X-Amz-Credential', 'authorization', 'jwt', 'code'],
    ...['GITHUB_PAT', 'SENTRY_DSN', 'POSTGRES_DSN', 'ALERTS_WEBHOOK_URL', 'REDIS_URL', 'MONGO_URI'],
    ...['%74oken', 'auth', 'sessionid', 'api[key]', 'Ocp-Apim-Subscription-Key', 'user.pass'],
  ])('%s is the name of a secret', (name) => {
    expect(isSecretName(name)).toBe(true);
  });

  test.each([
    'page',
    'spaceKey',
    'keyword',
    'author',
    'x-keyboard',
    'design',
    'compass',
    'accept',
    'encode',
    'path',
    'BASE_URL',
    '',
  ])('%s is not the name of a secret', (name) => {
    expect(isSecretName(name)).toBe(false);
  });

  test.each([
    ['https://a.example/?token=1&b=2#sig=3&c', 'https://a.example/?token=…&b=2#sig=…&c'],
    ['https://a.example/?b=1;token=2;c=3&d=4', 'https://a.example/?b=1;token=…&d=4'],
    ['https://u:p@a.example/token=1', 'https://…@a.example/token=1'],
    ['https://a.example/?a=1?token=2', 'https://a.example/?a=1?token=…'],
    ['https://a.example/?token=&token', 'https://a.example/?token=&token'],
    ['https://a.example/?%E0=1&key=%', 'https://a.example/?%E0=1&key=…'],
    ['a word for a job', 'a word for a job'],
    [`https://u@a.example/?${'a=1&'.repeat(5_000)}token=2`, 'https://…@a.example/?…'],
  ])('%s is shown as %s', (target, shown) => {
    expect(maskedTarget(target)).toBe(shown);
    expect(maskedTarget(shown)).toBe(shown);
  });
});
