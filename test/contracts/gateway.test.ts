import { describe, expect, test } from 'vitest';
import {
  ChatCompletion,
  ChatCompletionChunk,
  ChatRequest,
  GatewayPath,
  ModelList,
} from '../../src/contracts/gateway.ts';

/** The field at fault, or `ok`. */
function verdict(
  schema:
    | { safeParse(value: unknown): ReturnType<typeof ChatRequest.safeParse> }
    | typeof ModelList,
  value: unknown,
): string {
  const result = schema.safeParse(value);
  return result.success ? 'ok' : (result.error?.issues[0]?.path.join('.') ?? '');
}

const request = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };

test('the paths are those of the contract', () => {
  expect(GatewayPath).toEqual({ models: '/v1/models', chatCompletions: '/v1/chat/completions' });
});

describe('a chat request', () => {
  test.each<[string, unknown, string]>([
    ['model', 'any-id', 'ok'],
    ['model', '', 'model'],
    ['model', undefined, 'model'],
    ['model', null, 'model'],
    ['model', 5, 'model'],
    ['messages', undefined, 'messages'],
    ['messages', [], 'messages'],
    ['messages', 'hi', 'messages'],
    ['messages', [{ role: 'system', content: '' }], 'ok'],
    ['messages', [{ role: 'assistant', content: 'a' }], 'ok'],
    ['messages', [{ role: 'user', content: 'a', name: 'extra' }], 'ok'],
    ['messages', [{ role: 'developer', content: 'a' }], 'messages.0.role'],
    ['messages', [{ role: 'USER', content: 'a' }], 'messages.0.role'],
    ['messages', [{ content: 'a' }], 'messages.0.role'],
    ['messages', [{ role: 'user' }], 'messages.0.content'],
    ['messages', [{ role: 'user', content: null }], 'messages.0.content'],
    ['messages', [{ role: 'user', content: [] }], 'messages.0.content'],
    ['messages', [{ role: 'user', content: [{ type: 'text', text: 'a' }] }], 'ok'],
    [
      'messages',
      [
        {
          role: 'user',
          content: [{ type: 'image_url', image_url: { url: 'data:,', detail: 'low' } }],
        },
      ],
      'ok',
    ],
    ['messages', [{ role: 'user', content: [{ type: 'audio' }] }], 'messages.0.content'],
    ['temperature', 0, 'ok'],
    ['temperature', 2, 'ok'],
    ['temperature', -0.01, 'temperature'],
    ['temperature', 2.01, 'temperature'],
    ['temperature', '1', 'temperature'],
    ['temperature', null, 'ok'],
    ['max_tokens', 1, 'ok'],
    ['max_tokens', 0, 'max_tokens'],
    ['max_tokens', 1.5, 'max_tokens'],
    ['max_tokens', null, 'ok'],
    ['top_p', 0, 'ok'],
    ['top_p', 1, 'ok'],
    ['top_p', 1.01, 'top_p'],
    ['top_p', -0.01, 'top_p'],
    ['top_p', null, 'ok'],
    ['n', 1, 'ok'],
    ['n', 128, 'ok'],
    ['n', 0, 'n'],
    ['n', 129, 'n'],
    ['n', 1.5, 'n'],
    ['n', null, 'ok'],
    ['stream', true, 'ok'],
    ['stream', false, 'ok'],
    ['stream', 'true', 'stream'],
    ['stream', null, 'ok'],
    ['stream_options', { include_usage: true, other: 1 }, 'ok'],
    ['stream_options', { include_usage: 'yes' }, 'stream_options.include_usage'],
    ['stream_options', null, 'ok'],
    ['stop', 'END', 'ok'],
    ['stop', ['a', 'b', 'c', 'd'], 'ok'],
    ['stop', [], 'ok'],
    ['stop', ['a', 'b', 'c', 'd', 'e'], 'stop'],
    ['stop', '', 'stop'],
    ['stop', 5, 'stop'],
    ['stop', null, 'ok'],
    ['presence_penalty', -2, 'ok'],
    ['presence_penalty', 2, 'ok'],
    ['presence_penalty', -2.01, 'presence_penalty'],
    ['presence_penalty', 2.01, 'presence_penalty'],
    ['presence_penalty', null, 'ok'],
    ['frequency_penalty', -2, 'ok'],
    ['frequency_penalty', 2, 'ok'],
    ['frequency_penalty', -2.01, 'frequency_penalty'],
    ['frequency_penalty', 2.01, 'frequency_penalty'],
    ['frequency_penalty', null, 'ok'],
  ])('with %s %j: %s', (field, value, expected) => {
    expect(verdict(ChatRequest, { ...request, [field]: value })).toBe(expected);
  });

  test('keeps what it does not know, at every level, for the provider', () => {
    const rich = {
      ...request,
      seed: 5,
      messages: [
        {
          role: 'user',
          name: 'Ann',
          content: [
            { type: 'text', text: 'a', cache_control: { type: 'ephemeral' } },
            { type: 'image_url', image_url: { url: 'u', detail: 'low' }, extra: 1 },
          ],
        },
      ],
      stream_options: { include_usage: true, other: 1 },
    };
    expect(ChatRequest.parse(rich)).toEqual(rich);
  });
});

test('a model list as the contract shows it is good, and every field of the contract is needed', () => {
  const model = { id: 'm', object: 'model', created: 1_700_000_000, owned_by: 'someone' };
  const list = { object: 'list', data: [model] };
  expect(ModelList.parse(list)).toEqual(list);
  expect(verdict(ModelList, { ...list, object: 'models' })).toBe('object');
  expect(verdict(ModelList, { object: 'list' })).toBe('data');
  for (const field of Object.keys(model)) {
    expect(verdict(ModelList, { ...list, data: [{ ...model, [field]: undefined }] })).toBe(
      `data.0.${field}`,
    );
  }
  expect(verdict(ModelList, { ...list, data: [{ ...model, created: 1.5 }] })).toBe(
    'data.0.created',
  );
});

test('a list with what we add to it is good, and the additions are kept to their meaning', () => {
  const added = {
    kind: 'text',
    context_length: 4096,
    input: ['text', 'image'],
    ranks: { speed: 1, quality: 2, cost: 3 },
    description: 'd',
  };
  const picture = { kind: 'image', resolutions: ['256x256', '1024x1024'] };
  const base = { id: 'm', object: 'model', created: 1, owned_by: 'x' };
  const data = [
    { ...base, ...added },
    { ...base, ...picture },
  ];
  expect(ModelList.parse({ object: 'list', data }).data).toEqual(data);
  for (const wrong of [
    { kind: 'sound' },
    { context_length: 0 },
    { input: ['smell'] },
    { resolutions: ['big'] },
    { ranks: { speed: 0, quality: 1, cost: 1 } },
  ]) {
    const bad = { object: 'list', data: [{ ...base, ...wrong }] };
    expect(ModelList.safeParse(bad).success, JSON.stringify(wrong)).toBe(false);
  }
});

describe('a chat completion', () => {
  const completion = {
    id: 'c',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [
      { index: 0, message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' },
      { index: 1, message: { role: 'assistant', content: null }, finish_reason: 'something new' },
    ],
    usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
  };

  test('as the contract shows it is good, with unknown fields kept', () => {
    expect(ChatCompletion.parse({ ...completion, system_fingerprint: 'f' })).toEqual({
      ...completion,
      system_fingerprint: 'f',
    });
  });

  test.each([
    [{ object: 'chat.completion.chunk' }],
    [{ id: undefined }],
    [{ created: '1' }],
    [{ model: undefined }],
    [{ choices: undefined }],
    [{ choices: [{ ...completion.choices[0], index: -1 }] }],
    [{ choices: [{ ...completion.choices[0], message: { role: 'user', content: 'x' } }] }],
    [{ choices: [{ ...completion.choices[0], message: { role: 'assistant' } }] }],
    [{ usage: { prompt_tokens: 1, completion_tokens: 2 } }],
    [{ usage: { prompt_tokens: -1, completion_tokens: 2, total_tokens: 1 } }],
  ])('with %j is not', (change) => {
    expect(ChatCompletion.safeParse({ ...completion, ...change }).success).toBe(false);
  });

  test('comes in chunks with parts of a message, and a last one with the usage only', () => {
    const chunk = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm' };
    for (const rest of [
      { choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }] },
      { choices: [{ index: 0, delta: { content: 'hi' } }], usage: null },
      { choices: [{ index: 0, delta: {}, finish_reason: 'length' }] },
      { choices: [], usage: completion.usage },
    ]) {
      expect(ChatCompletionChunk.parse({ ...chunk, ...rest })).toEqual({ ...chunk, ...rest });
    }
    expect(ChatCompletionChunk.safeParse({ ...completion }).success).toBe(false);
    expect(ChatCompletionChunk.safeParse({ ...chunk }).success).toBe(false);
  });
});
