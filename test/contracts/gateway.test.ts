import { describe, expect, test } from 'vitest';
import {
  ChatCompletion,
  ChatCompletionChunk,
  ChatRequest,
  ModelList,
} from '../../src/contracts/gateway.ts';
import { plainWords } from '../../src/contracts/plain-words.ts';
import { validationError } from '../../src/http/error-answers.ts';

/** The field at fault, or `ok`. */
function verdict(schema: typeof ModelList, value: unknown): string {
  const { error } = schema.safeParse(value);
  return error ? (error.issues[0]?.path.join('.') ?? '') : 'ok';
}

const request = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };

/** Returns the field at fault, the code and the sentence, or `ok`. */
function told(value: unknown): string {
  const { error } = ChatRequest.safeParse(value, { error: plainWords });
  if (!error) return 'ok';
  const { status, type, param, code, message } = validationError(error.issues, value);
  expect([status, type]).toEqual([400, 'invalid_request_error']);
  return `${param} ${code}: ${message}`;
}

const missing = (param: string) =>
  `${param} missing_required_parameter: The field '${param}' is missing.`;
const invalid = (param: string, why: string) =>
  `${param} invalid_value: Invalid '${param}': ${why}.`;

const said = { role: 'user', content: 'hi' };
const conversation = (...more: unknown[]) => ({ ...request, messages: [said, said, ...more] });
const ROLES = 'must be user, assistant, system, developer or tool';

describe('a chat request', () => {
  test.each<[unknown, string]>([
    [request, 'ok'],
    [null, 'null invalid_value: The body must be a JSON object.'],
    [[], 'null invalid_value: The body must be a JSON object.'],
    [{}, missing('model')],
    [{ model: 'm' }, missing('messages')],
  ])('%j: %s', (value, expected) => {
    expect(told(value)).toBe(expected);
  });

  test.each<[string, unknown, string]>([
    ['model', 'any-id', 'ok'],
    ['model', '', invalid('model', 'must not be empty')],
    ['model', null, invalid('model', 'must be a string')],
    ['messages', null, invalid('messages', 'must be a list')],
    ['messages', [], invalid('messages', 'must have at least 1 item')],
    ['messages', ['hi'], invalid('messages.0', 'must be an object')],

    ['temperature', 0, 'ok'],
    ['temperature', 2, 'ok'],
    ['temperature', -0.01, invalid('temperature', 'must be at least 0')],
    ['temperature', 2.01, invalid('temperature', 'must be at most 2')],
    ['top_p', 0, 'ok'],
    ['top_p', 1, 'ok'],
    ['top_p', -0.01, invalid('top_p', 'must be at least 0')],
    ['top_p', 1.01, invalid('top_p', 'must be at most 1')],
    ...['presence_penalty', 'frequency_penalty'].flatMap((name): [string, unknown, string][] => [
      [name, -2, 'ok'],
      [name, 2, 'ok'],
      [name, -2.01, invalid(name, 'must be at least -2')],
      [name, 2.01, invalid(name, 'must be at most 2')],
    ]),
    ...['max_tokens', 'max_completion_tokens'].flatMap((name): [string, unknown, string][] => [
      [name, 1, 'ok'],
      [name, 2 ** 53 - 1, 'ok'],
      [name, 0, invalid(name, 'must be at least 1')],
      [name, 2 ** 53, invalid(name, 'must be at most 9007199254740991')],
    ]),
    ['n', 1, 'ok'],
    ['n', 128, 'ok'],
    ['n', 0, invalid('n', 'must be at least 1')],
    ['n', 129, invalid('n', 'must be at most 128')],
    ...['max_tokens', 'max_completion_tokens', 'n'].map((name): [string, unknown, string] => [
      name,
      1.5,
      invalid(name, 'must be a whole number'),
    ]),
    ...[
      'temperature',
      'top_p',
      'presence_penalty',
      'frequency_penalty',
      'max_tokens',
      'max_completion_tokens',
      'n',
    ].flatMap((name): [string, unknown, string][] => [
      [name, '1', invalid(name, 'must be a number')],
      [name, JSON.parse('1e400'), invalid(name, 'must be a number')],
      [name, Number.NaN, invalid(name, 'must be a number')],
    ]),

    ['stream', true, 'ok'],
    ['stream', 'true', invalid('stream', 'must be true or false')],
    ['stream_options', { include_usage: true, other: 1 }, 'ok'],
    ['stream_options', { include_usage: null }, 'ok'],
    ['stream_options', true, invalid('stream_options', 'must be an object')],
    [
      'stream_options',
      { include_usage: 'yes' },
      invalid('stream_options.include_usage', 'must be true or false'),
    ],

    ['stop', 'END', 'ok'],
    ['stop', [], 'ok'],
    ['stop', ['a', 'b', 'c', 'd'], 'ok'],
    ['stop', [...'abcde'], invalid('stop', 'must have at most 4 items')],
    ['stop', '', invalid('stop', 'must not be empty')],
    ['stop', ['a', ''], invalid('stop.1', 'must not be empty')],
    ['stop', ['a', 5], invalid('stop.1', 'must be a string')],
    ['stop', 5, invalid('stop', 'must be a string or a list')],
  ])('with %s %j: %s', (field, value, expected) => {
    expect(told({ ...request, [field]: value })).toBe(expected);
  });

  test.each([
    'temperature',
    'max_tokens',
    'max_completion_tokens',
    'top_p',
    'n',
    'stream',
    'stream_options',
    'stop',
    'presence_penalty',
    'frequency_penalty',
  ])('takes null for %s as absent', (field) => {
    expect(told({ ...request, [field]: null })).toBe('ok');
  });

  test.each<[unknown, string]>([
    [{ role: 'system', content: '' }, 'ok'],
    [{ role: 'developer', content: 'a' }, 'ok'],
    [{ role: 'user', content: 'a', name: 'ann' }, 'ok'],
    [{ role: 'function', content: 'a' }, invalid('messages.2.role', ROLES)],
    [{ content: 'a' }, missing('messages.2.role')],

    [{ role: 'user' }, missing('messages.2.content')],
    [{ role: 'tool', tool_call_id: 'c' }, missing('messages.2.content')],
    [{ role: 'assistant' }, missing('messages.2.content')],
    [{ role: 'user', content: null }, invalid('messages.2.content', 'must be a string or a list')],
    [
      { role: 'assistant', content: null },
      invalid('messages.2.content', 'must be a string or a list'),
    ],
    [
      { role: 'assistant', content: null, tool_calls: null },
      invalid('messages.2.content', 'must be a string or a list'),
    ],
    [
      { role: 'user', content: null, tool_calls: [] },
      invalid('messages.2.content', 'must be a string or a list'),
    ],

    [{ role: 'user', content: [{ type: 'text', text: 'a' }] }, 'ok'],
    [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'data:,' } }] }, 'ok'],
    [{ role: 'user', content: [] }, invalid('messages.2.content', 'must have at least 1 item')],
    [{ role: 'user', content: [{ text: 'a' }] }, missing('messages.2.content.0.type')],
    [
      { role: 'user', content: [{ type: 'video' }] },
      invalid('messages.2.content.0.type', 'must be text, image_url, refusal, file or input_audio'),
    ],
    [{ role: 'user', content: [{ type: 'text' }] }, missing('messages.2.content.0.text')],
    [
      { role: 'user', content: [{ type: 'text', text: null }] },
      invalid('messages.2.content.0.text', 'must be a string'),
    ],
    [
      { role: 'user', content: [{ type: 'text', text: 'a' }, { type: 'image_url' }] },
      missing('messages.2.content.1.image_url'),
    ],
    [
      { role: 'user', content: [{ type: 'image_url', image_url: 'data:,' }] },
      invalid('messages.2.content.0.image_url', 'must be an object'),
    ],
    [
      { role: 'user', content: [{ type: 'image_url', image_url: {} }] },
      missing('messages.2.content.0.image_url.url'),
    ],
  ])('with the message %j: %s', (message, expected) => {
    expect(told(conversation(message))).toBe(expected);
  });

  test('takes the turns of a conversation with tools as clients send them back', () => {
    const call = { id: 'c1', type: 'function', function: { name: 'now', arguments: '{}' } };
    for (const turn of [
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'assistant', content: '', tool_calls: [call] },
      { role: 'assistant', tool_calls: [call] },
      { role: 'assistant', content: null, function_call: call.function },
      { role: 'assistant', content: null, refusal: 'I cannot help with that.' },
      { role: 'assistant', content: null, audio: { id: 'a1' } },
      { role: 'tool', content: '12:00', tool_call_id: 'c1' },
      { role: 'tool', content: [{ type: 'text', text: '12:00' }], tool_call_id: 'c1' },
    ]) {
      const asked = { ...conversation(turn), tools: [{ type: 'function', function: {} }] };
      expect(ChatRequest.parse(asked), JSON.stringify(turn)).toEqual(asked);
    }
  });

  test('is refused without quoting what was sent, only where it stands', () => {
    const secret = 'awg_secret';
    for (const body of [
      { ...request, temperature: secret },
      { ...request, stop: { secret } },
      conversation({ role: secret, content: '' }),
      conversation({ role: 'user', content: [{ type: secret }] }),
    ]) {
      expect(told(body)).toContain('invalid_value');
      expect(told(body)).not.toContain('secret');
    }
  });

  test('keeps unknown fields at every level for the provider', () => {
    const rich = {
      ...request,
      seed: 5,
      response_format: { type: 'json_object' },
      metadata: null,
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

  test('is refused for the first bad item of a list, however many there are', () => {
    const many = Array(10_000).fill({});
    for (const messages of [many, [{ role: 'user', content: many }]]) {
      const { error } = ChatRequest.safeParse({ model: 'm', messages });
      expect(JSON.stringify(error?.issues).length).toBeLessThan(2_000);
    }
    expect(told(conversation(...many))).toBe(missing('messages.2.role'));
  });
});

test('a model list as the contract shows it is valid, and every field of the contract is required', () => {
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

test('a model list with our additions is valid, and each addition must have its type', () => {
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

  test('is valid as the contract shows it, with unknown fields kept', () => {
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
  ])('is invalid with %j', (change) => {
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
