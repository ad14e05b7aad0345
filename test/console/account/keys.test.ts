import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { UsageAnswer } from '../../../src/console/account/api-types.ts';
import {
  fetchAccount,
  listKeys,
  makeKey,
  startTestAccount,
  writeAccount,
} from '../../helpers/console/test-account.ts';
import { eventually } from '../../helpers/eventually.ts';
import { storedText } from '../../helpers/test-store.ts';

const monitorsWith = (url: string, key: string) =>
  fetch(`${url}/api/v1/public/monitors`, { headers: { 'x-api-key': key } });

describe('a key', () => {
  test('a new key works at its service at once, and at no other', async () => {
    const { url, chat } = await startTestAccount();
    const { key } = await makeKey(url);
    expect((await chat(key)).object).toBe('chat.completion');
    expect((await monitorsWith(url, key)).status).toBe(401);
    const { key: other } = await makeKey(url, { service: 'monitoring' });
    expect((await monitorsWith(url, other)).status).toBe(200);
    await expect(chat(other)).rejects.toThrow(/401/);
  });

  test('a key appears in no list, no log and no file', async () => {
    const { url, chat, logged, folder } = await startTestAccount();
    const { key, made } = await makeKey(url);
    await chat(key);
    const secret = key.slice(made.start.length);
    const shown = await Promise.all(
      ['keys', 'usage?by=key'].map((path) => fetchAccount<unknown>(url, path)),
    );
    expect(JSON.stringify(shown)).toContain(made.id);
    expect(JSON.stringify(shown)).not.toContain(secret);
    expect(logged.join('\n')).not.toContain(secret);
    const stored = await storedText(folder);
    expect(stored).toContain(made.id);
    expect(stored).not.toContain(secret);
    expect(made.start).toBe(`awg_${made.id}`);
  });

  test('answers with keys are kept out of caches', async () => {
    const { url } = await startTestAccount();
    const body = { id: randomUUID(), service: 'gateway', name: 'a' };
    const made = await writeAccount(url, 'keys', body);
    expect(made.headers.get('cache-control')).toBe('no-store');
    const list = await fetch(`${url}/console/account/keys`);
    expect(list.headers.get('cache-control')).toBe('no-store');
  });

  test('a repeated request creates no second key and does not show the first', async () => {
    const { url } = await startTestAccount();
    const body = { id: randomUUID(), service: 'gateway', name: 'twice' };
    const answers = await Promise.all([1, 2, 3].map(() => writeAccount(url, 'keys', body)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409]);
    const again = await writeAccount(url, 'keys', body);
    const { keys } = await listKeys(url);
    expect(keys).toHaveLength(1);
    const text = await again.text();
    expect(text).toContain(`revoke ${keys[0]?.id} and create another`);
    expect(text).not.toMatch(/awg_/);
  });

  test('the limits of a key apply from the start, and can be changed and removed', async () => {
    const { url, chat } = await startTestAccount();
    const { key, made } = await makeKey(url, {
      limits: { requestsPerMinute: 1, tokensPerDay: 9e6 },
    });
    await chat(key);
    await expect(chat(key)).rejects.toThrow(/429/);
    const path = `keys/gateway/${made.id}`;
    const change = { limits: { requestsPerMinute: null } };
    const changed = await writeAccount(url, path, change, { method: 'PATCH' });
    expect(await changed.json()).toMatchObject({ id: made.id, limits: { tokensPerDay: 9e6 } });
    await chat(key);
    expect((await listKeys(url)).keys[0]?.limits).toEqual({ tokensPerDay: 9e6 });
  });

  test('a read-only key of the monitoring service can read, and is listed as read-only', async () => {
    const { url } = await startTestAccount();
    const { key, made } = await makeKey(url, { service: 'monitoring', readOnly: true });
    expect(made.readOnly).toBe(true);
    expect((await listKeys(url)).keys).toMatchObject([{ readOnly: true }]);
    expect((await monitorsWith(url, key)).status).toBe(200);
    const changing = await fetch(`${url}/api/v1/public/monitors`, {
      method: 'POST',
      headers: { 'x-api-key': key },
    });
    expect(changing.status).toBe(403);
    const gateway = { id: randomUUID(), service: 'gateway', name: 'a', readOnly: true };
    const refused = await writeAccount(url, 'keys', gateway);
    expect([refused.status, (await listKeys(url)).keys.length]).toEqual([400, 1]);
  });

  test('a key is not created from an invalid body', async () => {
    const { url } = await startTestAccount();
    const name = 'a';
    const service = 'gateway';
    const wrongs = [
      { name: '' },
      { name: '   ' },
      { name: 'x'.repeat(101) },
      { name: 7 },
      { service: 'bot' },
      { id: 'not-a-uuid' },
      { limits: { requestsPerMinute: 0 } },
      { limits: { requestsPerMinute: 1.5 } },
      { limits: { requestsPerYear: 1 } },
      { service: 'monitoring', limits: { requestsPerMinute: 1 } },
      { extra: true },
    ];
    for (const wrong of wrongs) {
      const answer = await writeAccount(url, 'keys', { id: randomUUID(), service, name, ...wrong });
      expect([wrong, answer.status]).toEqual([wrong, 400]);
    }
    expect((await listKeys(url)).keys).toEqual([]);
    expect((await writeAccount(url, 'keys', { id: randomUUID(), service, name })).status).toBe(201);
  });
});

describe('the list of keys', () => {
  test('the list shows the last use and the usage of each key, newest first', async () => {
    const { url, chat } = await startTestAccount();
    const first = await makeKey(url, { name: 'first' });
    await eventually(() => Date.now() > first.made.createdAtMs);
    await makeKey(url, { name: 'second', service: 'monitoring' });
    const beforeMs = Date.now();
    const { usage } = await chat(first.key);
    const [second, used] = await eventually(async () => {
      const { keys } = await listKeys(url);
      return keys[1]?.used?.requests === 1 && keys;
    });
    expect(used).toMatchObject({
      name: 'first',
      used: { requests: 1, tokens: usage?.total_tokens },
      lastUsedDay: new Date(beforeMs).toISOString().slice(0, 10),
    });
    expect(used?.lastUsedAtMs).toBeGreaterThanOrEqual(beforeMs);
    expect(second).toMatchObject({ name: 'second', service: 'monitoring', limits: {} });
    expect(second).not.toHaveProperty('lastUsedAtMs');
    expect(second).not.toHaveProperty('used');
  });

  test('the list leaves out the keys of the program itself', async () => {
    const { url, keys } = await startTestAccount();
    keys.gateway.createTransient('bot');
    expect((await listKeys(url)).keys).toEqual([]);
  });

  test('the list names a service that does not run here, and creates no keys for it', async () => {
    const { url } = await startTestAccount({ without: ['gateway'] });
    const { services, notices } = await listKeys(url);
    expect(services).toEqual(['monitoring']);
    expect(notices).toEqual([expect.stringContaining("model gateway doesn't run in this process")]);
    const body = { id: randomUUID(), service: 'gateway', name: 'a' };
    const answer = await writeAccount(url, 'keys', body);
    expect([answer.status, await answer.text()]).toEqual([
      404,
      expect.stringContaining('ASKWATCH_ROLES'),
    ]);
    const usage = await fetchAccount<UsageAnswer>(url, 'usage');
    expect(usage.notice).toContain("doesn't run in this process");
    expect(usage.total.requests).toBe(0);
  });
});
