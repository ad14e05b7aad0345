import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import type { Dialect, ProviderTable } from '../../../src/gateway/providers/provider.ts';
import { CONVENTION, PROVIDER_TABLE } from '../../../src/gateway/providers/provider-table.ts';
import {
  NO_OLLAMA,
  startFake,
  startGateway,
  textModel,
} from '../../helpers/gateway/running-gateway.ts';
import { listen } from '../../helpers/http/listen.ts';

/** The row that a newcomer writes, and nothing else anywhere. */
type ToyRow = Pick<ProviderTable[string], 'baseUrl'> & Partial<ProviderTable[string]>;

/** The gateway with a provider that the program does not know. */
async function startWithToy(row: ToyRow, apiKey: string | undefined) {
  const table: ProviderTable = {
    ...PROVIDER_TABLE,
    toy: { ...CONVENTION, title: 'Toy', setting: 'TOY_API_KEY', ...row },
  };
  return await startGateway({
    table,
    catalog: { models: [textModel('plaything', 'toy')] },
    // Another provider that is set up keeps the offline engine away.
    providers: {
      ...NO_OLLAMA,
      groq: { apiKey: 'groq-key' },
      ...(apiKey !== undefined && { toy: { apiKey } }),
    },
  });
}

const request = {
  model: 'plaything',
  messages: [{ role: 'user' as const, content: 'Who are you?' }],
};

type Running = Awaited<ReturnType<typeof startWithToy>>;

async function askWhole({ client }: Running) {
  return await client.chat.completions.create(request);
}

async function askStreamed({ client }: Running) {
  const options = { stream: true, stream_options: { include_usage: true } } as const;
  const found = { text: '', tokens: undefined as number | undefined };
  for await (const chunk of await client.chat.completions.create({ ...request, ...options })) {
    found.text += chunk.choices[0]?.delta.content ?? '';
    found.tokens = chunk.usage?.total_tokens;
  }
  return found;
}

test('A row makes a provider: it answers whole and streamed, is listed, and its usage is counted', async () => {
  const fake = await startFake();
  const running = await startWithToy({ baseUrl: `${fake.url}/v1` }, fake.apiKey);
  const whole = await askWhole(running);
  expect(whole.model).toBe('plaything');
  expect(whole.choices[0]?.message.content).not.toBe('');
  const streamed = await askStreamed(running);
  expect(streamed.text).toBe(whole.choices[0]?.message.content);
  expect(streamed.tokens).toBe(whole.usage?.total_tokens);
  expect(fake.calls.map(({ body }) => body.model)).toEqual(['test-model', 'test-model']);
  const { data } = await running.client.models.list();
  expect(data).toMatchObject([{ id: 'plaything', owned_by: 'toy', available: true }]);
  const { prompt_tokens: promptTokens, completion_tokens: completionTokens } = whole.usage ?? {};
  const record = { model: 'plaything', provider: 'toy', promptTokens, completionTokens };
  expect(await running.usage(2)).toMatchObject([record, record]);
});

test('A provider without its key is not asked, and the answer names its variable', async () => {
  const fake = await startFake();
  const running = await startWithToy({ baseUrl: `${fake.url}/v1` }, undefined);
  const { status, text } = await running.post(request);
  expect(status).toBe(503);
  expect(text).toContain('set TOY_API_KEY');
  expect(fake.calls).toEqual([]);
  const { data } = await running.client.models.list();
  expect(data).toMatchObject([{ available: false }]);
});

const TOY_TEXT = ['I ', 'am ', 'a ', 'toy.'];
const toyUsage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
const toyAnswer = { id: '', created: 0, model: 'toy' };

/** A form of API of its own: asks by `wish`, answers by `says`, and ends a stream with `over`. */
const toyDialect: Dialect = {
  path: '/speak',
  encode: ({ messages, stream }) => ({ wish: messages.at(-1)?.content, inPieces: stream === true }),
  ownStops: () => [],
  dropped: ({ temperature }) => (temperature == null ? [] : ['temperature']),
  decode: (value) => ({
    ...toyAnswer,
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: (value as { says: string }).says },
        finish_reason: 'stop',
      },
    ],
    usage: toyUsage,
  }),
  openStream() {
    let whole = false;
    return {
      get whole() {
        return whole;
      },
      mayEnd: false,
      read(data) {
        const { says, over } = JSON.parse(data) as { says?: string; over?: true };
        const chunk = { ...toyAnswer, object: 'chat.completion.chunk' as const };
        const choice = { index: 0, delta: { content: says ?? '' } };
        if (!over) return [{ ...chunk, choices: [choice] }];
        whole = true;
        const end = [{ ...choice, finish_reason: 'stop' }];
        return [
          { ...chunk, choices: end },
          { ...chunk, choices: [], usage: toyUsage },
        ];
      },
    };
  },
};

/** A service that speaks it. */
async function startToyService() {
  const calls: unknown[] = [];
  const server = createServer(async (incoming, response) => {
    const body = (await json(incoming)) as { inPieces: boolean };
    calls.push({ path: incoming.url, key: incoming.headers['x-toy-key'], body });
    if (!body.inPieces) return response.end(JSON.stringify({ says: TOY_TEXT.join('') }));
    response.setHeader('content-type', 'text/event-stream');
    const events = [...TOY_TEXT.map((says) => ({ says })), { over: true }];
    response.end(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''));
  });
  return { calls, url: `http://127.0.0.1:${await listen(server)}` };
}

test('A row may bring a dialect of its own', async () => {
  const service = await startToyService();
  const row: ToyRow = { baseUrl: service.url, dialect: toyDialect, keyHeader: 'x-toy-key' };
  const running = await startWithToy(row, 'toy-key');
  const whole = await askWhole(running);
  expect(whole.choices[0]?.message.content).toBe(TOY_TEXT.join(''));
  expect(await askStreamed(running)).toEqual({ text: TOY_TEXT.join(''), tokens: 7 });
  const call = (inPieces: boolean) => ({
    path: '/speak',
    key: 'toy-key',
    body: { wish: 'Who are you?', inPieces },
  });
  expect(service.calls).toEqual([call(false), call(true)]);
  const { headers } = await running.post({ ...request, temperature: 1 });
  expect(headers.get('x-askwatch-dropped')).toBe('temperature');
});
