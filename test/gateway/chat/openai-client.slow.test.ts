import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import {
  readStream,
  startGateway,
  startWithProviders,
} from '../../helpers/gateway/running-gateway.ts';

const messages = [{ role: 'user' as const, content: 'Why is the sky blue?' }];

describe('the official client at the gateway', () => {
  test('lists nine text and four image models in the contract’s order', async () => {
    const { client } = await startGateway();
    const { data } = await client.models.list();
    const models = data as Array<OpenAI.Model & { context_length?: number; input?: string[] }>;
    expect(models.slice(0, 9).map((model) => model.context_length)).toEqual([
      8192, 32768, 4096, 16384, 200_000, 200_000, 200_000, 32768, 16384,
    ]);
    expect(models.map((model) => model.input?.includes('image') ?? null)).toEqual([
      ...Array(8).fill(false),
      true,
      ...Array(4).fill(null),
    ]);
    expect(models.slice(9).map((model) => 'resolutions' in model && model.resolutions)).toEqual([
      ['1024x1024', '1792x1024'],
      ['256x256', '1024x1024'],
      ['1024x1024'],
      ['1024x1024', '2048x2048'],
    ]);
    expect(new Set(models.map((model) => model.owned_by))).toEqual(new Set(['askwatch']));
    expect(models.some((model) => 'upstreams' in model)).toBe(false);
    expect(await client.models.retrieve('vision-16k')).toEqual(models[8]);
    await expect(client.models.retrieve('gpt-0')).rejects.toBeInstanceOf(OpenAI.NotFoundError);
  });

  test('gets a whole answer under the catalog’s name for the model', async () => {
    const { client, openai, usage, keyId } = await startWithProviders();
    const answer = await client.chat.completions.create({
      model: 'one',
      messages,
      max_tokens: 50,
      seed: 7,
      user: 'U1',
    });
    expect(answer.model).toBe('one');
    expect(answer.choices[0]?.message.content).toBe('Hello from the fake provider.');
    expect(answer.usage?.completion_tokens).toBe(5);
    expect(openai.calls[0]?.body).toEqual({
      model: 'test-model',
      messages,
      max_tokens: 50,
      seed: 7,
      user: 'U1',
    });
    expect(await usage(1)).toEqual([
      expect.objectContaining({
        keyId,
        model: 'one',
        provider: 'openai',
        completionTokens: 5,
        estimated: false,
        end: 'complete',
      }),
    ]);
  });

  test('reads a streamed answer, without the usage it did not ask for', async () => {
    const { client, openai, usage } = await startWithProviders();
    openai.answerWith(['Rayleigh', ' scattering', ' 🌈 é.']);
    const stream = await client.chat.completions.create({ model: 'one', messages, stream: true });
    const { chunks, text, error } = await readStream(stream);
    expect(error).toBeUndefined();
    expect(text).toBe('Rayleigh scattering 🌈 é.');
    expect(new Set(chunks.map(({ model }) => model))).toEqual(new Set(['one']));
    expect(chunks.every(({ choices }) => choices.length === 1)).toBe(true);
    expect(chunks.some((chunk) => 'usage' in chunk)).toBe(false);
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe('stop');
    expect(openai.calls[0]?.body.stream_options).toEqual({ include_usage: true });
    const [record] = await usage(1);
    expect(record).toMatchObject({ completionTokens: 3, estimated: false, end: 'complete' });
    expect(record?.firstTokenMs).toBeGreaterThanOrEqual(0);
  });

  test('can tell which request it was, of answers, streams and errors', async () => {
    const { client } = await startWithProviders();
    const { completions } = client.chat;
    const answer = await completions.create({ model: 'one', messages });
    expect(answer._request_id).toMatch(/^[\da-f-]{36}$/);
    const model = await client.models.retrieve('one');
    expect(model._request_id).toMatch(/^[\da-f-]{36}$/);
    const { response, request_id } = await completions
      .create({ model: 'one', messages, stream: true })
      .withResponse();
    expect(response.headers.get('x-askwatch-upstream')).toBe('openai/test-model');
    expect(request_id).toMatch(/^[\da-f-]{36}$/);
    const error = await completions.create({ model: '?', messages }).catch((caught) => caught);
    expect(error.requestID).toMatch(/^[\da-f-]{36}$/);
    const ids = [answer._request_id, model._request_id, request_id, error.requestID];
    expect(new Set(ids).size).toBe(4);
  });

  test('meets every refusal as the class it knows, and nothing is sent on', async () => {
    const { client, url, openai, usage } = await startWithProviders();
    const { completions } = client.chat;
    const refusal = async (call: Promise<unknown>) => {
      const error = await call.catch((caught: unknown) => caught);
      if (error instanceof OpenAI.APIError) return error;
      throw new Error('It should have been refused.');
    };

    const keyless = new OpenAI({ apiKey: 'awg_wrong', baseURL: `${url}/v1`, maxRetries: 0 });
    expect(await refusal(keyless.models.list())).toBeInstanceOf(OpenAI.AuthenticationError);

    const unknown = await refusal(completions.create({ model: 'gpt-0', messages }));
    expect(unknown).toBeInstanceOf(OpenAI.NotFoundError);
    expect(unknown).toMatchObject({ code: 'model_not_found', param: 'model' });

    const painter = await refusal(completions.create({ model: 'painter', messages }));
    expect(painter).toBeInstanceOf(OpenAI.BadRequestError);
    expect(painter.code).toBe('model_not_supported');
    expect(painter.message).toContain('one, two, single, seeing, unconnected');

    const hot = await refusal(completions.create({ model: 'one', messages, temperature: 3 }));
    expect(hot).toMatchObject({ status: 400, param: 'temperature' });

    const picture: OpenAI.ChatCompletionMessageParam = {
      role: 'user',
      content: [
        { type: 'text', text: 'What is this?' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
      ],
    };
    const blind = await refusal(completions.create({ model: 'one', messages: [picture] }));
    expect(blind).toMatchObject({ status: 400, param: 'messages.0.content.1' });
    expect(blind.message).toContain('For images, use seeing.');

    const long = await refusal(
      completions.create({
        model: 'one',
        messages: [{ role: 'user', content: 'word '.repeat(16_400) }],
      }),
    );
    expect(long).toMatchObject({ code: 'context_length_exceeded', param: 'messages' });
    expect(long.message).toMatch(/about \d{5} tokens.*accepts 4096/);

    const laden = await refusal(
      completions.create({
        model: 'one',
        messages,
        tools: Array.from({ length: 400 }, (_, at) => ({
          type: 'function',
          function: { name: `tool_${at}`, description: 'Finds what is wanted, and says where.' },
        })),
      }),
    );
    expect(laden).toMatchObject({ code: 'context_length_exceeded', param: 'messages' });
    expect(laden.message).toMatch(/^400 The conversation with its tools is about \d{4,5} tokens/);

    const wide = await refusal(completions.create({ model: 'one', messages, max_tokens: 4096 }));
    expect(wide).toMatchObject({ code: 'context_length_exceeded', param: 'max_tokens' });

    const many = await refusal(completions.create({ model: 'single', messages, n: 129 }));
    expect(many).toMatchObject({ status: 400, param: 'n' });

    expect(openai.calls).toEqual([]);
    const records = await usage(8);
    expect(records.map(({ end }) => end)).toEqual(Array(8).fill('refused'));
    expect(records.every(({ promptTokens, estimated }) => promptTokens === 0 && !estimated)).toBe(
      true,
    );
  });

  test('sends pictures on to a model that sees', async () => {
    const { client, openai } = await startWithProviders();
    const content = [
      { type: 'text' as const, text: 'What is this?' },
      { type: 'image_url' as const, image_url: { url: 'data:image/png;base64,AA==' } },
    ];
    await client.chat.completions.create({
      model: 'seeing',
      messages: [{ role: 'user', content }],
    });
    expect(openai.calls[0]?.body.messages[0].content).toEqual(content);
  });

  test.each([
    { model: 'one', n: 1, kind: 'no-done' },
    { model: 'one', n: 1, kind: 'no-last-line' },
    { model: 'single', n: 2, kind: 'no-done' },
    { model: 'single', n: 2, kind: 'no-last-line' },
  ] as const)(
    'a stream that ends with its reason and without [DONE] is whole: %j',
    async (call) => {
      const { post, openai, groq, usage } = await startWithProviders();
      for (const provider of [openai, groq]) {
        provider.answerWith(['one', ' two']);
        provider.failWith({ kind: call.kind });
      }
      const { model, n } = call;
      const stream_options = { include_usage: true };
      const { text } = await post({ model, n, messages, stream: true, stream_options });
      expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
      const chunks = text
        .split('\n\n')
        .slice(0, -2)
        .map((event) => JSON.parse(event.replace('data: ', '')));
      for (let index = 0; index < n; index += 1) {
        const mine = chunks.flatMap(({ choices }) =>
          choices.filter((choice: { index: number }) => choice.index === index),
        );
        expect(mine.map(({ delta }) => delta.content ?? '').join('')).toBe('one two');
        expect(mine.at(-1).finish_reason).toBe('stop');
      }
      expect(chunks.at(-1).usage.completion_tokens).toBeGreaterThan(0);
      const records = await usage(1);
      expect(records).toMatchObject([{ end: 'complete', estimated: call.kind === 'no-last-line' }]);
    },
  );

  const always = { id: 'chatcmpl-123', created: 1_677_652_288 };
  test.each([
    { told: {}, n: 1 },
    ...[1, 2].flatMap((n) => [
      { told: { id: undefined, created: undefined }, n },
      { told: { id: '', created: 0 }, n },
      { told: { id: null, created: null }, n },
      { told: { id: 7, created: 1_795_000_000_000 }, n },
      { told: always, n },
    ]),
  ])('answers have an id and a time of their own whatever the provider says: %j', async (row) => {
    const { told, n } = row;
    const { client, openai, groq } = await startWithProviders();
    for (const provider of [openai, groq]) provider.identifyAs(told);
    const nowSeconds = Date.now() / 1000;
    const ask = { model: n === 1 ? 'one' : 'single', n, messages };
    const ids: string[] = [];
    const expectOne = (answers: Array<{ id: string; created: number }>) => {
      const [first] = answers;
      ids.push(first?.id ?? '');
      for (const { id, created } of answers) {
        expect([id, created]).toEqual([first?.id, first?.created]);
        expect(Math.abs(created - nowSeconds)).toBeLessThan(3_600);
        expect(Number.isInteger(created)).toBe(true);
      }
    };
    for (let time = 0; time < 2; time += 1) {
      expectOne([await client.chat.completions.create(ask)]);
      const stream_options = { include_usage: true };
      const stream = await client.chat.completions.create({ ...ask, stream: true, stream_options });
      const { chunks, text } = await readStream(stream);
      expect(text).toContain('Hello from the fake provider.');
      expect(chunks.at(-1)?.usage?.completion_tokens).toBeGreaterThan(0);
      expectOne(chunks);
    }
    expect(new Set(ids).size).toBe(4);
    const good = Object.keys(told).length === 0;
    if (good) expect(ids).toEqual([1, 2, 3, 4].map((at) => `chatcmpl-fake${at}`));
    else {
      const ours = ids.filter((id) => id !== always.id);
      expect(ours.length).toBeGreaterThanOrEqual(3);
      for (const id of ours) expect(id).toMatch(/^chatcmpl-[-0-9a-f]{36}$/);
    }
  });
});
