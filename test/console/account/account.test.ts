import { randomUUID } from 'node:crypto';
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
  test('of a real call shows under its key and its model on its day', async () => {
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

  test('stays after its key is revoked, and says so', async () => {
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

  test('of Askwatch itself goes by that name', async () => {
    const { url, keys, chat } = await startTestAccount();
    await chat(keys.gateway.createTransient('bot'));
    const answer = await eventually(async () => {
      const usage = await fetchAccount<UsageAnswer>(url, 'usage?by=key');
      return usage.total.requests > 0 && usage;
    });
    expect(answer.keys).toEqual([{ id: 'bot', name: 'Askwatch itself' }]);
  });

  test('is refused for a span that does not exist', async () => {
    const { url } = await startTestAccount();
    for (const query of ['days=1', 'days=abc', 'by=day', `key=${'x'.repeat(101)}`]) {
      const { status } = await fetch(`${url}/console/account/usage?${query}`);
      expect([query, status]).toEqual([query, 400]);
    }
  });
});

describe('the catalog', () => {
  test('shows ranks, sizes and the provider that would answer, and image models apart', async () => {
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

  test('shows what another gateway lists, when the bot uses that', async () => {
    const { url } = await startTestAccount({ asksElsewhere: true });
    const { notice, text, image } = await fetchAccount<ModelsAnswer>(url, 'models');
    expect(notice).toContain('GATEWAY_BASE_URL');
    expect(text.map(({ id }) => id)).toContain('test-model');
    expect(text.every(({ provider }) => provider !== '')).toBe(true);
    expect(image).toEqual([]);
  });

  test('is missed with a sentence when the gateway does not tell it', async () => {
    const { url, provider } = await startTestAccount({ asksElsewhere: true });
    await provider.close();
    const answer = await fetch(`${url}/console/account/models`);
    expect(answer.status).toBe(502);
    expect(await answer.text()).toContain('The model gateway cannot be reached.');
  });
});

describe('usage by person', () => {
  test('shows for each channel, under its name where that is known', async () => {
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

  test('is told also in a process that no longer holds the bot', async () => {
    const { url, console } = await startTestAccount();
    await console.stop();
    expect((await fetch(`${url}/console/account/channels`)).status).toBe(200);
    expect((await fetch(`${url}/console/account/models`)).status).toBe(200);
  });
});

describe('the account area is closed', () => {
  const READ = ['keys', 'usage', 'models', 'channels'];
  const body = { id: randomUUID(), service: 'gateway', name: 'a' };

  test('to others', async () => {
    const { url } = await startTestAccount();
    const others: Array<Record<string, string>> = [
      { 'sec-fetch-site': 'cross-site' },
      { origin: 'https://evil.example' },
      { host: 'evil.example' },
    ];
    for (const headers of others) {
      for (const path of READ) {
        const asked = statusOf(`${url}/console/account/${path}`, headers);
        expect([headers, path, await asked]).toEqual([headers, path, 403]);
      }
      const json = { 'content-type': 'application/json', ...headers };
      const made = { method: 'POST', body: JSON.stringify(body) };
      const asked = statusOf(`${url}/console/account/keys`, json, made);
      expect([headers, await asked]).toEqual([headers, 403]);
    }
    expect((await listKeys(url)).keys).toEqual([]);
  });

  test('to what does not say that it comes from the page', async () => {
    const { url } = await startTestAccount();
    const { made } = await makeKey(url);
    const path = `keys/gateway/${made.id}`;
    for (const [method, at, sent] of [
      ['POST', 'keys', body],
      ['PATCH', path, { limits: { tokensPerDay: 1 } }],
      ['POST', `${path}/revoke`, {}],
    ] as const) {
      const request = { method, body: JSON.stringify(sent) };
      const headers = { 'content-type': 'application/json' };
      expect([at, await statusOf(`${url}/console/account/${at}`, headers, request)]).toEqual([
        at,
        403,
      ]);
    }
    expect((await listKeys(url)).keys).toMatchObject([{ id: made.id, limits: {} }]);
  });

  test('to what a form can send', async () => {
    const { url } = await startTestAccount();
    const { made } = await makeKey(url);
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data']) {
      const headers = { 'content-type': type };
      for (const path of ['keys', `keys/gateway/${made.id}/revoke`]) {
        const { status } = await writeAccount(url, path, body, { headers });
        expect([type, path, status]).toEqual([type, path, 415]);
      }
    }
    expect((await listKeys(url)).keys).toHaveLength(1);
  });
});
