import { describe, expect, test } from 'vitest';
import { withGuards } from '../../fakes/discord/buckets.ts';
import { startDiscord } from '../../fakes/discord/discord.ts';
import type { RestAnswer, RestRequest } from '../../fakes/discord/http.ts';

const HOUR_MS = 3_600_000;

describe('the limit of the Discord fake', () => {
  async function limited(requests: number) {
    const discord = await startDiscord({ limit: { requests, windowMs: HOUR_MS } });
    const headers = {
      authorization: `Bot ${discord.settings.token}`,
      'content-type': 'application/json',
    };
    const call = (method: string, path: string) =>
      fetch(`${discord.api}/v10${path}`, {
        ...{ method, headers, body: JSON.stringify({ content: 'Hello.' }) },
      });
    return { discord, call };
  }

  test('takes so many posts in a channel, and says when it takes more', async () => {
    const { discord, call } = await limited(5);
    const path = `/channels/${discord.general.id}/messages`;
    for (const left of ['4', '3', '2', '1', '0']) {
      const taken = await call('POST', path);
      expect(taken.status).toBe(200);
      expect(taken.headers.get('x-ratelimit-remaining')).toBe(left);
    }
    const over = await call('POST', path);
    expect(over.status).toBe(429);
    expect(await over.json()).toMatchObject({ global: false, retry_after: expect.any(Number) });
    expect(Number(over.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(discord.channel(discord.general.id)).toHaveLength(5);
  });
  test('takes 50 requests a second of a bot, and does not count what answers interactions', () => {
    let nowMs = 0;
    const route = withGuards(() => ({ status: 200 }), { nowMs: () => nowMs });
    const call = (path: string) => route({ method: 'GET', path } as RestRequest);
    for (let count = 0; count < 50; count += 1) expect(call('/users/@me')?.status).toBe(200);
    expect(call('/users/@me')).toMatchObject({ status: 429, body: { global: true } });
    expect(call('/webhooks/1/token/messages/@original')?.status).toBe(200);
    nowMs = 1_000;
    expect(call('/users/@me')?.status).toBe(200);
  });

  test('answers nothing more after 10,000 invalid requests in ten minutes, but for shared limits', () => {
    let nowMs = 0;
    let answer: RestAnswer = { status: 429, headers: { 'x-ratelimit-scope': 'shared' } };
    const route = withGuards(() => answer, { nowMs: () => nowMs });
    const call = () => route({ method: 'POST', path: '/webhooks/1/token' } as RestRequest);
    const many = () => Array.from({ length: 10_000 }, call);
    many();
    answer = { status: 403 };
    expect(many().every((one) => one?.status === 403)).toBe(true);
    expect(call()).toMatchObject({ status: 429, body: 'error code: 1015' });
    nowMs = 600_000;
    expect(call()?.status).toBe(403);
  });
});
