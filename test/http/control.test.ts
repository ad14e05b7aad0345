import { stat } from 'node:fs/promises';
import { Agent, request } from 'undici';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { ErrorBody } from '../../src/contracts/error.ts';
import { openControl } from '../../src/http/control.ts';
import { controlSocket } from '../../src/http/control-socket.ts';
import { openKeys } from '../../src/http/keys.ts';
import { recordingLog } from '../helpers/recording-log.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';
import { openTestStore } from '../helpers/test-store.ts';

const MadeKey = z.object({ id: z.string(), key: z.string() });

async function startControl(usage?: (query: object) => Promise<unknown>) {
  const folder = await temporaryFolder();
  const { log } = recordingLog();
  const store = await openTestStore({ folder, log });
  const keys = {
    gateway: await openKeys(store, 'gateway'),
    monitoring: await openKeys(store, 'monitoring'),
  };
  const control = await openControl({
    ...{ folder, keys, log },
    usage,
    listeningUrl: () => 'http://127.0.0.1:3000',
  });
  const dispatcher = new Agent({ connect: { socketPath: controlSocket(folder) } });
  onTestFinished(async () => {
    await dispatcher.close();
    await control.close();
    await store.close();
    // It leaves nothing behind that would look like a running program.
    await expect(stat(controlSocket(folder))).rejects.toThrow('ENOENT');
  });
  async function call(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: unknown) {
    const answer = await request(`http://askwatch/${path}`, {
      dispatcher,
      method,
      ...(body !== undefined && {
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
      }),
    });
    const value = await answer.body.json();
    return { status: answer.statusCode, value };
  }
  return { call, keys, folder };
}

test('the control socket is open to the user of the program alone, whatever the umask', async () => {
  const old = process.umask(0);
  onTestFinished(() => {
    process.umask(old);
  });
  const { folder } = await startControl();
  expect(((await stat(controlSocket(folder))).mode & 0o777).toString(8)).toBe('600');
});

test('the control socket creates a key with limits, changes them one by one, and revokes it', async () => {
  const { call, keys } = await startControl();
  const limits = { requestsPerMinute: 5, tokensPerDay: 100 };
  const made = await call('POST', 'keys/gateway', { name: ' job ', limits });
  expect(made.value).toMatchObject({ name: 'job', limits });
  const { id, key } = MadeKey.parse(made.value);
  expect(keys.gateway.verify(key)?.limits).toEqual(limits);

  const change = { requestsPerMinute: null, tokensPerMonth: 7 };
  const changed = await call('PATCH', `keys/gateway/${id}`, { limits: change });
  expect(changed.value).toMatchObject({ id, name: 'job' });
  expect(changed.value).toHaveProperty('limits', { tokensPerDay: 100, tokensPerMonth: 7 });
  expect((await call('GET', 'keys/gateway')).value).toEqual([changed.value]);
  expect(JSON.stringify(changed.value)).not.toContain(key);

  expect((await call('DELETE', `keys/gateway/${id}`)).status).toBe(200);
  expect((await call('PATCH', `keys/gateway/${id}`, { limits: {} })).status).toBe(404);
  expect(keys.gateway.verify(key)).toBeUndefined();
});

test('the control socket creates a key that can only read, and lists it as that', async () => {
  const { call, keys } = await startControl();
  const made = await call('POST', 'keys/monitoring', { name: 'reader', readOnly: true });
  expect(made.value).toMatchObject({ name: 'reader', readOnly: true });
  expect(keys.monitoring.verify(MadeKey.parse(made.value).key)?.readOnly).toBe(true);
  expect((await call('GET', 'keys/monitoring')).value).toMatchObject([{ readOnly: true }]);
});

test.each([
  ['POST', 'keys/gateway', { name: 'x', readOnly: true }, 400],
  ['POST', 'keys/monitoring', { name: 'x', readOnly: 'yes' }, 400],
  ['POST', 'keys/gateway', { name: '' }, 400],
  ['POST', 'keys/gateway', { name: 'x', limits: { tokensPerDay: 0 } }, 400],
  ['POST', 'keys/gateway', { name: 'x', limits: { tokensPerDay: '5' } }, 400],
  ['POST', 'keys/gateway', { name: 'x', limits: { tokensPerYear: 5 } }, 400],
  ['POST', 'keys/monitoring', { name: 'x', limits: { tokensPerDay: 5 } }, 400],
  ['POST', 'keys/other', { name: 'x' }, 404],
  ['PATCH', 'keys/gateway/AbCdEf12', { limits: { tokensPerDay: 1.5 } }, 400],
  ['PATCH', 'keys/gateway/AbCdEf12', {}, 400],
  ['PATCH', 'keys/gateway/AbCdEf12', { limits: {} }, 404],
  ['GET', 'usage', undefined, 404],
] as const)('%s %s %j is refused', async (method, path, body, status) => {
  const { call, keys } = await startControl();
  const refused = await call(method, path, body);
  expect(refused.status).toBe(status);
  expect(ErrorBody.parse(refused.value).error.message).not.toBe('');
  expect([...keys.gateway.list(), ...keys.monitoring.list()]).toEqual([]);
});

test('the control socket answers usage where it is counted, and refuses a wrong query', async () => {
  const asked: object[] = [];
  const { call } = await startControl(async (query) => {
    asked.push(query);
    return [{ day: '2026-12-01' }];
  });
  const query = 'keyId=bot&fromDay=2026-11-01&toDay=2026-12-01';
  expect((await call('GET', `usage?${query}`)).value).toEqual([{ day: '2026-12-01' }]);
  await call('GET', 'usage');
  expect(asked).toEqual([{ keyId: 'bot', fromDay: '2026-11-01', toDay: '2026-12-01' }, {}]);
  for (const bad of ['fromDay=yesterday', 'toDay=2026-13-01', 'days=3', 'keyId=a&keyId=b']) {
    expect([bad, (await call('GET', `usage?${bad}`)).status]).toEqual([bad, 400]);
  }
  expect(asked).toHaveLength(2);
});
