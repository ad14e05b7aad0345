import { describe, expect, test } from 'vitest';
import type { ModelsAnswer, UsageAnswer } from '../../../src/console/account/api-types.ts';
import { readAnswer } from '../../helpers/bot.ts';
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
  test('the usage of a real call appears under its key, model and day', async () => {
    const { url, chat } = await startTestAccount();
    const { key, made } = await makeKey(url);
    const { usage } = await chat(key);
    const byKey = await eventually(async () => {
      const answer = await fetchAccount<UsageAnswer>(url, 'usage?days=7&by=key');
      return answer.total.requests > 0 && answer;
    });
    expect(byKey.days).toHaveLength(7);
    expect(byKey.groups).toEqual([
      {
        ...{ id: made.id, name: 'laptop' },
        requests: [0, 0, 0, 0, 0, 0, 1],
        tokens: [0, 0, 0, 0, 0, 0, usage?.total_tokens],
      },
    ]);
    expect(byKey.rows).toMatchObject([
      { keyId: made.id, keyName: 'laptop', model: 'fast-8k', counts: { complete: 1 } },
    ]);
    const byModel = await fetchAccount<UsageAnswer>(url, `usage?days=90&by=model&key=${made.id}`);
    expect(byModel.groups.map(({ name }) => name)).toEqual(['fast-8k']);
    expect(byModel.days).toHaveLength(90);
    const none = await fetchAccount<UsageAnswer>(url, 'usage?key=other');
    expect([none.total.requests, none.rows]).toEqual([0, []]);
  });

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
  test('the catalog has ranks, sizes and providers, and lists image models separately', async () => {
    const { url } = await startTestAccount();
    const { notice, text, image } = await fetchAccount<ModelsAnswer>(url, 'models');
    expect(notice).toBeUndefined();
    expect(text.find(({ id }) => id === 'fast-8k')).toMatchObject({
      ...{ provider: 'askwatch', contextTokens: 8192, accepts: ['text'] },
      ranks: { speed: expect.any(Number), quality: expect.any(Number), cost: expect.any(Number) },
    });
    expect(image.map(({ resolutions }) => resolutions?.length)).not.toContain(undefined);
    expect([text.length, image.length]).toEqual([9, 4]);
  });

  test('the catalog is the one of the gateway that the bot uses', async () => {
    const { url } = await startTestAccount({ asksElsewhere: true });
    const { notice, text, image } = await fetchAccount<ModelsAnswer>(url, 'models');
    expect(notice).toContain('GATEWAY_BASE_URL');
    expect(text.map(({ id }) => id)).toContain('test-model');
    expect(text.every(({ provider }) => provider !== '')).toBe(true);
    expect(image).toEqual([]);
  });

  test('an unreachable gateway is reported in a sentence', async () => {
    const { url, provider } = await startTestAccount({ asksElsewhere: true });
    await provider.close();
    const answer = await fetch(`${url}/console/account/models`);
    expect(answer.status).toBe(502);
    expect(await answer.text()).toContain('The model gateway cannot be reached.');
  });
});

describe('usage by person', () => {
  test('the use of each channel is listed under its name if known', async () => {
    const { url, say } = await startTestAccount();
    const slack = { platform: 'slack', channel: 'C1' } as const;
    await readAnswer(await say('/ask one'), 'T1');
    await readAnswer(await say('/ask two', { place: slack }), 'T2');
    await readAnswer(await say('/ask three four five six', { place: slack }), 'T3');
    const { channels, total } = await fetchAccount<{
      channels: Array<Record<string, unknown>>;
      total: object;
    }>(url, 'channels?days=7');
    expect(channels).toMatchObject([
      {
        ...{ platform: 'slack', platformTitle: 'Slack', channel: 'C1', answers: 2 },
        people: [{ id: 'U1', name: 'Ada', answers: 2, lookups: 0, lookupTokens: 0 }],
        models: [{ model: 'fast-8k', answers: 2 }],
      },
      { platform: 'console', channel: 'general', name: 'general', answers: 1 },
    ]);
    expect(channels[0]).not.toHaveProperty('name');
    expect(total).toMatchObject({ answers: 3 });
  });

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
