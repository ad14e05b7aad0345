import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { eventually } from '../../helpers/eventually.ts';
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
  test('repeats a request twice after a server error', async () => {
    const { failing, sentMs, openai, usage } = await startWithRetries();
    openai.failWith({ kind: 'wrong-shape' });
    const error = await failing();
    expect(error).toBeInstanceOf(OpenAI.InternalServerError);
    expect(error).toMatchObject({ status: 502, code: 'upstream_error', type: 'server_error' });
    expect(sentMs).toHaveLength(3);
    expect((await usage(3)).map(({ end }) => end)).toEqual(Array(3).fill('upstream_error'));
  });

  test.each([false, true])('has its answer when a repeat works, streamed: %s', async (stream) => {
    const { client, sentMs, openai, usage } = await startWithRetries();
    openai.failWith({ kind: stream ? 'html' : 'wrong-shape' }, 1);
    const answer = await client.chat.completions.create({ ...question, stream });
    let text = '';
    if ('choices' in answer) text = answer.choices[0]?.message.content ?? '';
    else for await (const { choices } of answer) text += choices[0]?.delta.content ?? '';
    expect(text).toBe('Hello from the fake provider.');
    expect(sentMs).toHaveLength(2);
    expect((await usage(2)).map(({ end }) => end)).toEqual(['upstream_error', 'complete']);
  });

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

  test('gives up when its own time is over, and the call to the provider is closed', async () => {
    const { client, openai, usage } = await startWithRetries();
    openai.failWith({ kind: 'hang-before-headers' });
    const call = client.chat.completions.create(question, { timeout: 300, maxRetries: 0 });
    await expect(call).rejects.toBeInstanceOf(OpenAI.APIConnectionTimeoutError);
    await eventually(() => openai.calls[0]?.aborted);
    expect((await usage(1)).map(({ end }) => end)).toEqual(['client_gone']);
  });

  test('does not try a stream again that broke', async () => {
    const { client, sentMs, openai } = await startWithRetries();
    openai.failWith({ kind: 'error-event', afterChunks: 2 });
    const stream = await client.chat.completions.create({ ...question, stream: true });
    let text = '';
    const reading = (async () => {
      for await (const { choices } of stream) text += choices[0]?.delta.content ?? '';
    })();
    await expect(reading).rejects.toBeInstanceOf(OpenAI.APIError);
    expect(text).toBe('Hello from');
    expect(sentMs).toHaveLength(1);
  });
});
