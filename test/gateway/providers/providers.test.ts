import { describe, expect, test } from 'vitest';
import { defaultCatalog } from '../../../src/gateway/catalog/default-catalog.ts';
import {
  NO_OLLAMA,
  startFake,
  startGateway,
  startWithProviders,
} from '../../helpers/gateway/running-gateway.ts';
import { longOnly } from '../../helpers/long-only.ts';

const messages = [{ role: 'user', content: 'Why is the sky blue?' }];
const errorIn = (text: string) => JSON.parse(text).error;

describe('the upstreams of a model', () => {
  test('do not fall over once a chunk was sent, nor for an invalid request', async () => {
    const { post, openai, groq } = await startWithProviders({ stallMs: 2_000 });
    openai.failWith({ kind: 'stall', afterChunks: 1 }, 1);
    await post({ model: 'two', messages, stream: true }).catch((error: unknown) => error);
    openai.failWith({ kind: 'status', status: 400 }, 1);
    expect((await post({ model: 'two', messages })).status).toBe(400);
    expect(groq.calls).toEqual([]);
  });

  test.each<[number, number, string, RegExp, string | null]>([
    [
      401,
      502,
      'upstream_error',
      /^OpenAI rejected the API key \(401\)\. Check OPENAI_API_KEY\.$/,
      'false',
    ],
    ...longOnly<[number, number, string, RegExp, string | null]>([
      [403, 502, 'upstream_error', /denied access \(403\)\. Check OPENAI_API_KEY/, 'false'],
      [402, 502, 'upstream_error', /no credit/, 'false'],
      [404, 502, 'upstream_error', /does not have the model test-model/, 'false'],
    ]),
    [500, 502, 'upstream_error', /answered with an error \(500\)/, null],
    [503, 503, 'service_unavailable', /overloaded/, null],
    [
      429,
      429,
      'rate_limit_exceeded',
      /^OpenAI is limiting requests \(429\)\. Try again in 7 s\.$/,
      null,
    ],
  ])('a provider’s %d is answered as %d %s', async (given, status, code, message, retry) => {
    const { post, openai, logged } = await startWithProviders();
    openai.failWith({
      kind: 'status',
      status: given,
      headers: {
        'retry-after': '7',
        'set-cookie': 'a=b',
        'openai-organization': 'ours',
        'x-ratelimit-remaining': '0',
      },
      body: { error: { message: `Bad key ${openai.apiKey}`, type: 'x', param: null, code: 'y' } },
    });
    for (const stream of [false, true]) {
      const answer = await post({ model: 'one', messages, stream });
      expect(answer.status).toBe(status);
      expect(errorIn(answer.text)).toMatchObject({ code, message: expect.stringMatching(message) });
      expect(answer.headers.get('x-should-retry')).toBe(retry);
      expect(answer.headers.get('retry-after')).toBe(given === 429 || given === 503 ? '7' : null);
      for (const name of ['set-cookie', 'openai-organization', 'x-ratelimit-remaining']) {
        expect(answer.headers.has(name)).toBe(false);
      }
      expect(answer.text).not.toContain(openai.apiKey);
    }
    expect(logged.join('')).not.toContain(openai.apiKey);
  });

  test('a provider’s complaint about the request reaches the caller, without the provider’s key', async () => {
    const { post, openai, usage } = await startWithProviders();
    const error = {
      message: `Unsupported value for ${openai.apiKey}.`,
      type: 'invalid_request_error',
      param: 'temperature',
      code: 'unsupported_value',
    };
    openai.failWith({ kind: 'status', status: 400, body: { error } }, 1);
    const answer = await post({ model: 'one', messages });
    expect(answer.status).toBe(400);
    expect(errorIn(answer.text)).toEqual({ ...error, message: 'Unsupported value for [secret].' });

    openai.failWith(
      { kind: 'status', status: 400, body: [{ error: { message: 'As a list.' } }] },
      1,
    );
    expect(errorIn((await post({ model: 'one', messages })).text).message).toBe('As a list.');
    openai.failWith({ kind: 'status', status: 422, body: 'no JSON' }, 1);
    const bare = await post({ model: 'one', messages });
    expect([bare.status, errorIn(bare.text).message]).toEqual([422, 'OpenAI refused the request.']);
    expect((await usage(3)).map(({ end }) => end)).toEqual(Array(3).fill('upstream_error'));
  });

  test.each([
    [{ kind: 'hang-before-headers' }, 504],
    [{ kind: 'hang-after-headers' }, 504],
    [{ kind: 'cut', afterChunks: 1 }, 502],
    [{ kind: 'half-line' }, 502],
    [{ kind: 'wrong-shape' }, 502],
    [{ kind: 'html' }, 502],
    [{ kind: 'endless-line', bytes: 20_000_000 }, 502],
  ] as const)(
    'a whole answer that fails with %j is a %d in bounded time',
    async (fault, status) => {
      // Only what hangs is to run out of time, on a busy machine too.
      const answerMs = status === 504 ? 500 : 45_000;
      const { post, openai, usage } = await startWithProviders({ answerMs });
      openai.failWith(fault);
      const answer = await post({ model: 'one', messages });
      expect(answer.status).toBe(status);
      expect((await usage(1)).map(({ end }) => end)).toEqual(['upstream_error']);
    },
  );

  test('an answer without usage gets our estimate, and is recorded as estimated', async () => {
    const { post, openai, usage } = await startWithProviders();
    openai.failWith({
      kind: 'status',
      status: 200,
      body: {
        id: 'x',
        object: 'chat.completion',
        created: 1,
        model: 'm',
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content: 'twelve bytes' },
            finish_reason: null,
          },
        ],
      },
    });
    const answer = JSON.parse((await post({ model: 'one', messages })).text);
    expect(answer.usage).toEqual({ prompt_tokens: 10, completion_tokens: 3, total_tokens: 13 });
    expect(await usage(1)).toMatchObject([{ estimated: true, completionTokens: 3 }]);
  });
});

test('what a provider is sent is what it takes: no field it refuses, its own name for the limit', async () => {
  const { post, groq } = await startWithProviders();
  const tools = [{ type: 'function', function: { name: 'weather' } }];
  const { status } = await post({
    model: 'single',
    messages: [{ role: 'user', content: 'Hi', name: 'ann' }],
    logit_bias: {},
    max_completion_tokens: 12,
    stop: null,
    tools,
  });
  expect(status).toBe(200);
  expect(groq.calls[0]?.body).toEqual({
    model: 'test-model',
    messages: [{ role: 'user', content: 'Hi' }],
    max_tokens: 12,
    tools,
  });
  expect(groq.calls[0]?.headers.authorization).toBe(`Bearer ${groq.apiKey}`);
});

describe('who answers', () => {
  test('is the offline engine when nothing is connected', async () => {
    const { gateway } = await startGateway();
    expect(gateway.answering().provider).toBe('askwatch');
    expect(gateway.answering().description).toMatch(/offline engine.*OPENAI_API_KEY/);
  });

  test('is the first provider of the model that has a key', async () => {
    const { gateway, client } = await startGateway({
      providers: { ...NO_OLLAMA, groq: { apiKey: 'k' }, anthropic: { apiKey: 'k' } },
    });
    expect(gateway.answering()).toEqual({
      provider: 'anthropic',
      description: expect.stringMatching(/^Anthropic \(claude-/),
    });
    expect((await client.models.retrieve('vision-16k')).owned_by).toBe('anthropic');
  });

  test('is any model of a running Ollama, but no embedding', async () => {
    const ollama = await startFake({ apiKey: '', models: ['nomic-embed-text', 'llama9'] });
    const { gateway, post } = await startGateway({
      catalog: defaultCatalog,
      providers: { ollama: { baseUrl: `${ollama.url}/` } },
    });
    expect(gateway.answering()).toEqual({ provider: 'ollama', description: 'Ollama (llama9)' });
    expect((await post({ model: 'small-4k', messages })).status).toBe(200);
    expect(ollama.calls[0]?.body.model).toBe('llama9');
    expect(ollama.calls[0]?.headers).not.toHaveProperty('authorization');
  });

  test('is nobody for a model whose providers have no key, once any provider is set', async () => {
    const { gateway, client, post } = await startGateway({
      providers: { ...NO_OLLAMA, mistral: { apiKey: 'k' } },
    });
    const listed = new Map((await client.models.list()).data.map((one) => [one.id, one]));
    expect(listed.get('fast-8k')).toMatchObject({ available: true, owned_by: 'mistral' });
    for (const [model, settings] of [
      ['vision-16k', 'OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY'],
      ['long-200k', /OPENAI_API_KEY, .*DEEPSEEK_API_KEY, OPENROUTER_API_KEY or OLLAMA_BASE_URL/],
    ] as const) {
      for (const stream of [false, true]) {
        const { status, headers, text } = await post({ model, messages, stream });
        expect([status, headers.get('x-should-retry')]).toEqual([503, 'false']);
        const message = expect.stringMatching(settings);
        expect(errorIn(text)).toMatchObject({ param: 'model', message });
        expect(text).not.toContain('offline engine');
      }
      const entry = { available: false, unavailable_reason: expect.stringMatching(settings) };
      expect(listed.get(model)).toMatchObject(entry);
      expect(await client.models.retrieve(model)).toMatchObject(entry);
    }
    expect(gateway.answering().provider).toBe('mistral');
  });

  test('is nobody for a model that no provider of the catalog serves,', async () => {
    const { post } = await startWithProviders();
    const { status, text } = await post({ model: 'unconnected', messages });
    expect([status, errorIn(text).message]).toEqual([
      503,
      expect.stringContaining('ASKWATCH_CATALOG'),
    ]);
  });

  test('is nobody while a named Ollama does not answer: the start goes on', async () => {
    const silent = await startFake({ apiKey: '', models: [] });
    const { gateway, logged, post } = await startGateway({
      providers: { ollama: { baseUrl: silent.url } },
    });
    expect(gateway.answering().description).toMatch(/^none: .*OLLAMA_BASE_URL/);
    expect((await post({ model: 'small-4k', messages })).status).toBe(503);
    expect(logged.join('')).toContain('Ollama did not answer');
  });
});
