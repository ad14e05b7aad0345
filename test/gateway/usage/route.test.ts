import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { UsageReport } from '../../../src/contracts/gateway.ts';
import type { KeyLimits } from '../../../src/contracts/key-limits.ts';
import { startWithProviders } from '../../helpers/gateway/running-gateway.ts';

const messages = [{ role: 'user' as const, content: 'Why is the sky blue?' }];

/** A gateway, and a client with a key of its own that has these limits. */
async function startLimited(limits?: KeyLimits) {
  const running = await startWithProviders();
  const { key, id } = await running.keys.create('limited', limits);
  const client = new OpenAI({ apiKey: key, baseURL: `${running.url}/v1` });
  const ask = (max_tokens = 50) =>
    client.chat.completions.create({ model: 'one', messages, max_tokens }).withResponse();
  async function report(search = '', bearer = key) {
    const answer = await fetch(`${running.url}/v1/usage${search}`, {
      headers: { authorization: `Bearer ${bearer}` },
    });
    return { status: answer.status, headers: answer.headers, body: await answer.json() };
  }
  return { ...running, limitedKey: key, limitedId: id, ask, report };
}

describe('GET /v1/usage', () => {
  test('shows the holder of a key its own usage, its limits and what is left', async () => {
    const limits = { requestsPerMinute: 10, tokensPerMonth: 100_000 };
    const { limitedId, key, ask, report, usage } = await startLimited(limits);
    const { data } = await ask();
    const { prompt_tokens = 0, completion_tokens = 0 } = data.usage ?? {};
    const today = new Date().toISOString().slice(0, 10);
    await usage(1);
    const { body } = await report();
    expect(UsageReport.parse(body)).toEqual(body);
    expect(body).toEqual({
      object: 'usage',
      key: { id: limitedId, name: 'limited' },
      from: new Date(Date.parse(today) - 29 * 86_400_000).toISOString().slice(0, 10),
      to: today,
      limits: { requests_per_minute: 10, tokens_per_month: 100_000 },
      remaining: {
        requests_per_minute: 9,
        tokens_per_month: 100_000 - prompt_tokens - completion_tokens,
      },
      data: [
        {
          date: today,
          model: 'one',
          requests: 1,
          ends: { complete: 1, client_gone: 0, upstream_error: 0, refused: 0 },
          prompt_tokens,
          completion_tokens,
          total_tokens: prompt_tokens + completion_tokens,
          estimated_requests: 0,
        },
      ],
    });
    expect((await report('', key)).body).toMatchObject({ limits: {}, remaining: {}, data: [] });
  });

  test('looks back as many days as asked for, up to 400', async () => {
    const { report } = await startLimited();
    const { body } = await report('?days=400');
    expect(Date.parse(body.to) - Date.parse(body.from)).toBe(399 * 86_400_000);
    expect((await report('?days=1')).body.from).toBe(body.to);
    for (const days of ['0', '401', '-1', '1.5', 'many', '', 'NaN']) {
      const { status, body: refusal } = await report(`?days=${days}`);
      expect([days, status, refusal.error?.param]).toEqual([days, 400, 'days']);
    }
  });

  test('is for holders of a key, and not more than 20 times a minute', async () => {
    const { report, key } = await startLimited();
    expect((await report('', 'awg_nobody')).status).toBe(401);
    for (let turn = 0; turn < 20; turn += 1) expect((await report('?days=1')).status).toBe(200);
    const { status, headers, body } = await report('?days=1');
    expect([status, body.error.code]).toEqual([429, 'rate_limit_exceeded']);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await report('?days=1', key)).status).toBe(200);
  });
});

describe('a chat call of a key with limits', () => {
  test('carries their headers, and beyond them is a 429 that the client knows', async () => {
    const { ask, openai, report, usage } = await startLimited({
      requestsPerMinute: 2,
      tokensPerMinute: 1_000,
    });
    const { response } = await ask();
    expect(response.headers.get('x-ratelimit-limit-requests')).toBe('2');
    expect(response.headers.get('x-ratelimit-remaining-requests')).toBe('1');
    expect(response.headers.get('x-ratelimit-limit-tokens')).toBe('1000');
    expect(Number(response.headers.get('x-ratelimit-remaining-tokens'))).toBeLessThan(950);
    expect(response.headers.get('x-ratelimit-reset-tokens')).toMatch(/^(1m[\d.]+s|59[\d.]*s)$/);

    // A request that never fits is not repeated by the client, uses no request, and reaches no provider.
    const tooLarge = await ask(2_000).catch((error: unknown) => error);
    expect(tooLarge).toBeInstanceOf(OpenAI.RateLimitError);
    expect(tooLarge).toMatchObject({ status: 429, code: 'insufficient_quota', type: 'tokens' });
    await ask();
    await usage(3);
    const { body } = await report();
    expect(body.data[0].ends).toEqual({
      complete: 2,
      client_gone: 0,
      upstream_error: 0,
      refused: 1,
    });
    expect(body.remaining.requests_per_minute).toBe(0);
    expect(openai.calls).toHaveLength(2);
  });

  test('gives back its reserved tokens, so that many calls fit one after another', async () => {
    const { ask, report, usage } = await startLimited({ tokensPerDay: 1_000 });
    for (let turn = 0; turn < 5; turn += 1) {
      // Each sets aside nine tenths of the day and uses little of it.
      await ask(900);
      await usage(turn + 1);
    }
    const { body } = await report();
    expect(body.remaining.tokens_per_day).toBe(1_000 - body.data[0].total_tokens);
    const usedUp = await ask(1_000).catch((error: unknown) => error);
    expect(usedUp).toMatchObject({ status: 429, type: 'insufficient_quota' });
  });

  test('limits that the operator changes hold for the next call', async () => {
    const { ask, keys, limitedId } = await startLimited();
    expect((await ask()).response.headers.get('x-ratelimit-limit-requests')).toBeNull();
    await keys.limit(limitedId, { tokensPerDay: 5 });
    await expect(ask()).rejects.toThrow(OpenAI.RateLimitError);
    await keys.limit(limitedId, { tokensPerDay: null });
    await ask();
  });
});
