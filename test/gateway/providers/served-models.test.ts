import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readServedModels } from '../../../src/gateway/providers/served-models.ts';
import { eventually } from '../../helpers/eventually.ts';
import { NO_OLLAMA, startFake, startGateway } from '../../helpers/gateway/running-gateway.ts';
import { listen } from '../../helpers/http/listen.ts';

const messages = [{ role: 'user', content: 'Why is the sky blue?' }];

type Models = NonNullable<Parameters<typeof startFake>[0]>['models'];

/** The gateway with the shipped catalog over another service than OpenAI. */
async function startElsewhere(models: NonNullable<Models>) {
  const service = await startFake({ models });
  const running = await startGateway({
    providers: {
      ...NO_OLLAMA,
      openai: { apiKey: service.apiKey, baseUrl: `${service.url}/v1` },
    },
  });
  const listed = (await running.client.models.list()).data;
  const texts = listed.filter((one) => (one as { kind?: string }).kind === 'text');
  /** Returns the service's name for each text model of the catalog. */
  async function calls() {
    const before = service.calls.length;
    for (const { id } of texts)
      expect((await running.post({ model: id, messages })).status).toBe(200);
    const names = service.calls.slice(before).map(({ body }) => body.model);
    return new Map(texts.map(({ id }, at) => [id, names[at]]));
  }
  return { ...running, service, listed, texts, calls };
}

describe('the shipped catalog over another service at OPENAI_BASE_URL', () => {
  test('A service with none of the catalog’s names answers all nine with its largest model, and the log says so', async () => {
    const { calls, listed, texts, gateway, logged } = await startElsewhere([
      { id: 'nomic-embed-text', context_length: 1_000_000 },
      'tiny',
      { id: 'llama-70b', max_model_len: 131_072 },
      { id: 'qwen2.5-vl-7b', max_model_len: 32_768 },
    ]);
    expect([texts.length, listed.length]).toEqual([9, 13]);
    const called = await calls();
    expect(called.get('vision-16k')).toBe('qwen2.5-vl-7b');
    called.delete('vision-16k');
    expect(new Set(called.values())).toEqual(new Set(['llama-70b']));
    const told = [
      expect.stringMatching(
        /llama-70b \(131072 tokens of context\) answers for fast-8k, balanced-32k, .*best-32k\.$/,
      ),
      expect.stringMatching(/qwen2\.5-vl-7b .*answers for vision-16k\.$/),
    ];
    expect(gateway.answering()).toEqual({
      provider: 'openai',
      description: 'the service at OPENAI_BASE_URL (llama-70b)',
      notes: told,
    });
    expect(logged.filter((line) => line.includes('llama-70b (131072'))).toHaveLength(1);
  });

  test('A service with some of the names answers the others with a substitute', async () => {
    const { calls, gateway } = await startElsewhere(['gpt-5.6-luna', 'big']);
    const called = await calls();
    expect(called.get('fast-8k')).toBe('gpt-5.6-luna');
    expect(called.get('long-200k-fast')).toBe('gpt-5.6-luna');
    expect(called.get('balanced-32k')).toBe('gpt-5.6-luna');
    expect(gateway.answering().notes).toHaveLength(1);
  });

  test('A service with all of the names is used as it is, and nothing is logged', async () => {
    const names = ['big', 'gpt-5.6-luna', 'gpt-5.6-terra', 'gpt-5.6-sol'];
    const { calls, gateway } = await startElsewhere(names);
    expect([...new Set((await calls()).values())].sort()).toEqual(names.slice(1).sort());
    expect(gateway.answering().notes).toBeUndefined();
  });

  test('A service that hangs delays the start only briefly, is called by the catalog’s names, and is listed again', async () => {
    let lists = 0;
    const server = createServer((request, response) => {
      if (request.url !== '/v1/models') return void response.writeHead(404).end('{}');
      lists += 1;
      // Every later request, not the second alone: on a busy machine its answer may come after the 50 ms.
      if (lists > 1) response.end('{"data":[{"id":"late"}]}');
    });
    const baseUrl = `http://127.0.0.1:${await listen(server)}/v1`;
    const { gateway, client, logged } = await startGateway({
      providers: { ...NO_OLLAMA, openai: { apiKey: 'k', baseUrl } },
      times: { listMs: 50, listAgainMs: 20 },
    });
    await eventually(() => gateway.answering().description.includes('(late)'));
    expect(lists).toBeGreaterThanOrEqual(2);
    expect(logged.join('')).toContain('Could not list models at OPENAI_BASE_URL');
    expect(gateway.answering().notes).toEqual([
      expect.stringContaining('late answers for all 9 text models'),
    ]);
    expect((await client.models.list()).data).toHaveLength(13);
  });

  test('is not listed where every model has a name', async () => {
    const asked: string[] = [];
    const server = createServer((request, response) => {
      asked.push(request.url ?? '');
      response.end('{"data":[{"id":"other"}]}');
    });
    const baseUrl = `http://127.0.0.1:${await listen(server)}`;
    const upstreams = [{ provider: 'openai' as const, model: 'mine' }];
    const { gateway } = await startGateway({
      catalog: { models: [{ id: 'one', kind: 'text', context_length: 1, upstreams }] },
      providers: { ...NO_OLLAMA, openai: { apiKey: 'k', baseUrl } },
    });
    expect([asked, gateway.answering().description]).toEqual([
      [],
      'the service at OPENAI_BASE_URL (mine)',
    ]);
  });
});

test('a named Ollama that is started later is found without a new start', async () => {
  const server = createServer((_, response) => void response.end('{"data":[{"id":"llama9"}]}'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((resolve) => server.close(() => resolve()));
  const { gateway, post } = await startGateway({
    providers: { ollama: { baseUrl: `http://127.0.0.1:${port}` } },
    times: { listAgainMs: 20 },
  });
  expect((await post({ model: 'fast-8k', messages })).status).toBe(503);
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await eventually(() => gateway.answering().description === 'Ollama (llama9)');
});

test.each<[string, string, unknown]>([
  ['no JSON', '<html>', undefined],
  ['no list', '{"models":[]}', undefined],
  ['none', '{"data":null}', []],
  [
    'odd rows',
    '{"data":[null,1,{"id":5},{"id":""},{"id":"a","context_length":"8K"}]}',
    [{ id: 'a', takesImages: false }],
  ],
  [
    'what cannot chat',
    '{"data":[{"id":"text-embedding-3"},{"id":"whisper-1"},{"id":"tts-1"},{"id":"gpt-image-1"},{"id":"a","kind":"image"},{"id":"b","available":false},{"id":"imagine"}]}',
    [{ id: 'imagine', takesImages: false }],
  ],
  [
    'sizes as several services tell them',
    '{"data":[{"id":"a"},{"id":"b","max_model_len":1},{"id":"c","meta":{"n_ctx_train":3}},{"id":"d","context_window":2,"architecture":{"input_modalities":["text","image"]}}]}',
    [
      { id: 'c', contextTokens: 3, takesImages: false },
      { id: 'd', contextTokens: 2, takesImages: true },
      { id: 'b', contextTokens: 1, takesImages: false },
      { id: 'a', takesImages: false },
    ],
  ],
])('a list of models with %s is read', (_, text, models) => {
  expect(readServedModels(text)).toEqual(models);
});
