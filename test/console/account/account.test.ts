import { describe, expect, test } from 'vitest';
import type { ModelsAnswer, UsageAnswer } from '../../../src/console/account/api-types.ts';
import {
  fetchAccount,
  listKeys,
  makeKey,
  startTestAccount,
  writeAccount,
} from '../../helpers/console/test-account.ts';
import { statusOf } from '../../helpers/console/test-console.ts';
import { eventually } from '../../helpers/eventually.ts';

describe('usage', () => {
  test('the usage of a revoked key stays, marked as revoked', async () => {
    const { url, chat } = await startTestAccount();
    const { key, made } = await makeKey(url);
    await chat(key);
    await writeAccount(url, `keys/gateway/${made.id}/revoke`, {});
    const answer = await eventually(async () => {
      const usage = await fetchAccount<UsageAnswer>(url, 'usage?by=key');
      return usage.total.requests > 0 && usage;
    });
    expect(answer.groups[0]?.name).toBe(`${made.id} (revoked)`);
  });

  test('the usage of the bot is listed as Askwatch itself', async () => {
    const { url, keys, chat } = await startTestAccount();
    await chat(keys.gateway.createTransient('bot'));
    const answer = await eventually(async () => {
      const usage = await fetchAccount<UsageAnswer>(url, 'usage?by=key');
      return usage.total.requests > 0 && usage;
    });
    expect(answer.keys).toEqual([{ id: 'bot', name: 'Askwatch itself' }]);
  });

  test('a query with an unknown period is refused', async () => {
    const { url } = await startTestAccount();
    for (const query of ['days=1', 'days=abc', 'by=day', `key=${'x'.repeat(101)}`]) {
      const { status } = await fetch(`${url}/console/account/usage?${query}`);
      expect([query, status]).toEqual([query, 400]);
    }
  });
});

describe('the catalog', () => {
  test('the catalog is the one of the gateway that the bot uses', async () => {
    const { url } = await startTestAccount({ asksElsewhere: true });
    const { notice, text, image } = await fetchAccount<ModelsAnswer>(url, 'models');
    expect(notice).toContain('GATEWAY_BASE_URL');
    expect(text.map(({ id }) => id)).toContain('test-model');
    expect(text.every(({ provider }) => provider !== '')).toBe(true);
    expect(image).toEqual([]);
  });
});

describe('usage by person', () => {
  test('a process without the bot lists channels and models, too', async () => {
    const { url, console } = await startTestAccount();
    await console.stop();
    expect((await fetch(`${url}/console/account/channels`)).status).toBe(200);
    expect((await fetch(`${url}/console/account/models`)).status).toBe(200);
  });
});

test('no route of the account area answers other sites, and no change is accepted without an origin or as a form', async () => {
  const { url } = await startTestAccount();
  const { made } = await makeKey(url);
  const statusAt = (path: string, headers: Record<string, string>, method = 'GET') =>
    statusOf(`${url}/console/account/${path}`, headers, {
      method,
      body: method === 'GET' ? undefined : '{}',
    });
  const others: Array<Record<string, string>> = [
    { 'sec-fetch-site': 'cross-site' },
    { origin: 'https://evil.example' },
    { host: 'evil.example' },
  ];
  const json = { 'content-type': 'application/json' };
  const key = `keys/gateway/${made.id}`;
  for (const path of ['keys', 'usage', 'models', 'channels', 'intakes']) {
    for (const headers of others) {
      expect([path, headers, await statusAt(path, headers)]).toEqual([path, headers, 403]);
    }
  }
  for (const [method, path] of [
    ['POST', 'keys'],
    ['PATCH', key],
    ['POST', `${key}/revoke`],
    ['POST', 'intakes'],
    ['POST', 'intakes/x/remove'],
  ] as const) {
    for (const headers of [...others, {}]) {
      const asked = statusAt(path, { ...json, ...headers }, method);
      expect([path, headers, await asked]).toEqual([path, headers, 403]);
    }
    const asForm = statusAt(path, { origin: url, 'content-type': 'text/plain' }, method);
    expect([path, await asForm]).toEqual([path, 415]);
  }
  expect((await listKeys(url)).keys).toMatchObject([{ id: made.id, limits: {} }]);
});
