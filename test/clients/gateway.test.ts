import { describe, expect, onTestFinished, test } from 'vitest';
import {
  ContractError,
  NetworkError,
  StatusError,
  StreamCutError,
  TimeoutError,
} from '../../src/clients/errors.ts';
import { createGatewayClient } from '../../src/clients/gateway.ts';
import type { ChatCompletionChunk, ChatRequest } from '../../src/contracts/gateway.ts';
import {
  type Fault,
  type ModelProviderOptions,
  startModelProvider,
} from '../fakes/model-provider.ts';
import { eventually } from '../helpers/eventually.ts';

const question: ChatRequest = {
  model: 'test-model',
  messages: [{ role: 'user', content: 'Why is the sky blue?' }],
};

async function start(options: ModelProviderOptions & { answerTimeoutMs?: number } = {}) {
  const provider = await startModelProvider(options);
  const client = createGatewayClient({
    baseUrl: provider.url,
    apiKey: provider.apiKey,
    answerTimeoutMs: options.answerTimeoutMs,
  });
  onTestFinished(async () => {
    await client.close();
    await provider.close();
    expect(provider.unhandled).toEqual([]);
  });
  return { provider, client };
}

const textOf = (chunk: ChatCompletionChunk) => chunk.choices[0]?.delta.content ?? '';

/** Reads to the end; what came stays with the error it ended with. */
async function read(chunks: AsyncIterable<ChatCompletionChunk>) {
  let text = '';
  try {
    for await (const chunk of chunks) text += textOf(chunk);
    return { text, error: undefined };
  } catch (error) {
    return { text, error: error as Error };
  }
}

describe('the gateway client', () => {
  test('lists models, with the additions of our own gateway', async () => {
    const { client } = await start({
      models: [
        { id: 'small', context_length: 4096, kind: 'text' },
        { id: 'odd', context_length: null, kind: 'chat', ranks: 'high' },
      ],
    });
    const [small, odd] = await client.models();
    expect(small).toMatchObject({ id: 'small', object: 'model', context_length: 4096 });
    expect(odd?.id).toBe('odd');
    expect(odd?.context_length).toBeUndefined();
  });

  test('returns one whole answer', async () => {
    const { provider, client } = await start();
    const answer = await client.complete({ ...question, temperature: 0.2 });
    expect(answer.choices[0]?.message.content).toBe('Hello from the fake provider.');
    expect(provider.calls[0]?.body).toEqual({ ...question, temperature: 0.2, stream: false });
  });

  test('streams an answer and keeps the connection for the next', async () => {
    const { provider, client } = await start();
    provider.answerWith(['Blue', ' is', ' scattered', ' — Rayleigh 🌈.']);
    for (let round = 0; round < 6; round++) {
      const { text, error } = await read(client.stream(question));
      expect(error).toBeUndefined();
      expect(text).toBe('Blue is scattered — Rayleigh 🌈.');
      await eventually(() => provider.calls[round]?.finished);
    }
    expect(provider.calls.some(({ aborted }) => aborted)).toBe(false);
    expect(provider.connections()).toBeLessThan(6);
  });

  test.each([{ kind: 'no-done' }, { kind: 'no-last-line' }] as const)(
    'takes a stream for whole that ends with its reason and without [DONE]: %j',
    async (fault) => {
      const { provider, client } = await start();
      provider.answerWith(['one', ' two']);
      provider.failWith(fault);
      expect(await read(client.stream(question))).toEqual({ text: 'one two' });
      provider.answerWith(['one', ' two'], { finishReason: 'error' });
      const { error } = await read(client.stream(question));
      expect(error).toBeInstanceOf(StreamCutError);
    },
  );

  const streamFaults: Array<[Fault, new (...args: never[]) => Error, RegExp, string]> = [
    [{ kind: 'reset' }, NetworkError, /lost its connection/, ''],
    [{ kind: 'status', status: 500 }, StatusError, /^Fault 500\.$/, ''],
    [{ kind: 'html' }, ContractError, /text\/html instead of a stream/, ''],
    [{ kind: 'hang-before-headers' }, TimeoutError, /did not answer within 2 s/, ''],
    [{ kind: 'stall', afterChunks: 2 }, TimeoutError, /did not answer within 2 s/, 'one two'],
    [{ kind: 'no-reason' }, StreamCutError, /ended its answer early/, 'one two three'],
    [{ kind: 'half-line' }, StreamCutError, /ended its answer early/, 'one two three'],
    [{ kind: 'half-character' }, StreamCutError, /ended its answer early/, 'one two three'],
    [{ kind: 'garbage-line' }, ContractError, /not JSON/, 'one two three'],
    [{ kind: 'wrong-shape' }, ContractError, /wrong shape/, 'one two three'],
    [{ kind: 'error-event', afterChunks: 1 }, StreamCutError, /^The model crashed\.$/, 'one'],
    [
      { kind: 'endless-line', bytes: 20_000_000 },
      ContractError,
      /more than the limit for one answer/,
      '',
    ],
  ];
  test.each(streamFaults)(
    'ends a stream with %j in bounded time, with the right error and what came before',
    async (fault, kind, message, text) => {
      // Long enough for everything before a stall, on a busy machine too.
      const answerTimeoutMs = kind === TimeoutError ? 2_000 : 45_000;
      const { provider, client } = await start({ answerTimeoutMs });
      provider.answerWith(['one', ' two', ' three']);
      provider.failWith(fault);
      const outcome = await read(client.stream(question));
      expect(outcome.error).toBeInstanceOf(kind);
      expect(outcome.error?.message).toMatch(message);
      expect(outcome.error?.message).not.toContain(provider.apiKey);
      expect(outcome.text).toBe(text);
      provider.recover();
      expect(await read(client.stream(question))).toEqual({ text: 'one two three' });
    },
  );

  test('throws when the connection of a stream breaks, after the chunks that came', async () => {
    const { provider, client } = await start();
    provider.answerWith(['one', ' two', ' three']);
    provider.failWith({ kind: 'stall', afterChunks: 2 });
    let text = '';
    const outcome = (async () => {
      for await (const chunk of client.stream(question)) text += textOf(chunk);
    })();
    const caught = outcome.catch((error: unknown) => error);
    await eventually(() => text === 'one two');
    provider.calls[0]?.cut();
    const error = await caught;
    expect(error).toBeInstanceOf(StreamCutError);
    expect((error as Error).message).toMatch(/lost its connection/);
  });

  test('ends a stream that never ends when the answer takes too long', async () => {
    const { provider, client } = await start({ answerTimeoutMs: 3_000 });
    // Slow enough that the limits of an answer are not reached first, on any machine.
    provider.answerWith('', { chunkMs: 10 });
    provider.failWith({ kind: 'endless' });
    const { error, text } = await read(client.stream(question));
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error?.message).toMatch(/did not answer within 3 s/);
    expect(text).toMatch(/^ and and/);
    await eventually(() => provider.calls[0]?.aborted);
  });

  const plainFaults: Array<[Fault, new (...args: never[]) => Error, RegExp]> = [
    [{ kind: 'hang-before-headers' }, TimeoutError, /did not answer within 0.5 s/],
    [{ kind: 'hang-after-headers' }, TimeoutError, /did not answer within 0.5 s/],
    [{ kind: 'wrong-shape' }, ContractError, /wrong shape/],
  ];
  test.each(plainFaults)(
    'answers a plain call with %j with the right error',
    async (fault, kind, message) => {
      // Twenty million bytes take a while on a busy machine; who waits for nothing waits half a second.
      const answerTimeoutMs = kind === TimeoutError ? 500 : 30_000;
      const { provider, client } = await start({ answerTimeoutMs });
      provider.failWith(fault);
      const error = await client.complete(question).catch((caught: unknown) => caught);
      expect(error).toBeInstanceOf(kind);
      expect((error as Error).message).toMatch(message);
    },
  );

  test('closes the call at the service at once when the reader leaves the loop', async () => {
    const { provider, client } = await start();
    provider.failWith({ kind: 'endless' });
    for await (const chunk of client.stream(question)) if (textOf(chunk) !== '') break;
    await eventually(() => provider.calls[0]?.aborted);
  });

  test.each<Fault>([{ kind: 'hang-before-headers' }, { kind: 'endless' }])(
    'closes the call at the service at once when aborted during %j',
    async (fault) => {
      const { provider, client } = await start();
      provider.failWith(fault);
      const controller = new AbortController();
      const outcome = read(client.stream(question, { signal: controller.signal }));
      await eventually(() => provider.calls.length === 1);
      controller.abort(new Error('enough'));
      expect((await outcome).error?.message).toBe('enough');
      await eventually(() => provider.calls[0]?.aborted);
    },
  );

  test.each([500, 429])(
    'sends a question once, also if it is refused with a %d',
    async (status) => {
      const { provider, client } = await start();
      provider.failWith({ kind: 'status', status, headers: { 'retry-after': '0' } }, 1);
      expect((await read(client.stream(question))).error).toBeInstanceOf(StatusError);
      expect(provider.calls).toHaveLength(1);
    },
  );

  test('throws an error with the status, code and field of a refusal', async () => {
    const { client } = await start();
    const { error } = await read(client.stream({ ...question, model: 'unheard-of' }));
    expect(error).toMatchObject({ status: 404, code: 'model_not_found' });
    const bad = await read(client.stream({ ...question, temperature: 7 }));
    expect(bad.error).toMatchObject({ status: 400, param: 'temperature' });
  });
});
