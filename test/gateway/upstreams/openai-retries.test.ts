import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { startWithProviders } from '../../helpers/gateway/running-gateway.ts';

const messages = [{ role: 'user' as const, content: 'Why is the sky blue?' }];
const question = { model: 'one', messages };

/** A gateway, and the client as it comes: with its own two retries. */
async function startWithRetries() {
  const running = await startWithProviders();
  const sentMs: number[] = [];
  const client = new OpenAI({
    apiKey: running.key,
    baseURL: `${running.url}/v1`,
    fetch: (url, init) => {
      sentMs.push(performance.now());
      return fetch(url, init);
    },
  });
  const failing = async (request: object = {}) => {
    const error = await client.chat.completions
      .create({ ...question, ...request } as typeof question)
      .catch((caught: unknown) => caught);
    if (error instanceof OpenAI.APIError) return error;
    throw new Error('It should have failed.', { cause: error });
  };
  return { ...running, client, sentMs, failing };
}

describe('the official client', () => {
  test('waits after a 429 as long as Retry-After says', async () => {
    const { client, sentMs, openai } = await startWithRetries();
    // Longer than the gateway itself would wait with its caller on the line.
    const headers = { 'retry-after': '2.1' };
    openai.failWith({ kind: 'status', status: 429, headers }, 1);
    const answer = await client.chat.completions.create(question);
    expect(answer.choices[0]?.message.content).toContain('Hello');
    expect(sentMs).toHaveLength(2);
    expect((sentMs[1] ?? 0) - (sentMs[0] ?? 0)).toBeGreaterThan(2_050);
  });

  test('receives the time to wait when its key is over its limit', async () => {
    const { keys, url } = await startWithRetries();
    const { key } = await keys.create('limited', { requestsPerMinute: 1 });
    const client = new OpenAI({ apiKey: key, baseURL: `${url}/v1`, maxRetries: 0 });
    await client.chat.completions.create(question);
    const error = await client.chat.completions.create(question).catch((caught: unknown) => caught);
    if (!(error instanceof OpenAI.RateLimitError)) throw error;
    const seconds = Number(error.headers.get('retry-after'));
    expect(seconds).toBeGreaterThan(50);
    expect(seconds).toBeLessThanOrEqual(61);
  });

  test.each<[string, number, Record<string, unknown>]>([
    ['the gateway’s own key is refused', 502, { kind: 'status', status: 401 }],
    ['the gateway’s account is empty', 502, { kind: 'status', status: 402 }],
    ['a provider finds the request wrong', 400, { kind: 'status', status: 400 }],
    ['a provider finds the request too large', 413, { kind: 'status', status: 413 }],
    ['a provider cannot read the request', 422, { kind: 'status', status: 422 }],
  ])('does not try again when %s', async (_name, status, fault) => {
    const { failing, sentMs, openai } = await startWithRetries();
    openai.failWith(fault as { kind: 'status'; status: number });
    const error = await failing();
    expect(error.status).toBe(status);
    expect(error.headers?.get('x-should-retry')).toBe('false');
    expect(sentMs).toHaveLength(1);
  });

  test.each<[string, number, object, new (...args: never[]) => Error]>([
    ['a wrong value', 400, { temperature: 3 }, OpenAI.BadRequestError],
    ['an unknown model', 404, { model: 'none' }, OpenAI.NotFoundError],
    ['too large a body', 413, { user: 'x'.repeat(9_000_000) }, OpenAI.APIError],
  ])('does not try again with %s', async (_name, status, request, kind) => {
    const { failing, sentMs, openai } = await startWithRetries();
    const error = await failing(request);
    expect(error).toBeInstanceOf(kind);
    expect(error.status).toBe(status);
    expect(sentMs).toHaveLength(1);
    expect(openai.calls).toEqual([]);
  });
});
