import { describe, expect, test } from 'vitest';
import { adaptRequest } from '../../../src/gateway/providers/openai-dialect.ts';
import {
  createChunkReader,
  readCompletion,
} from '../../../src/gateway/providers/openai-response.ts';
import type { Provider } from '../../../src/gateway/providers/provider.ts';
import type { ProviderName } from '../../../src/gateway/providers/provider-table.ts';
import { PROVIDERS } from '../../../src/gateway/providers/provider-table.ts';

const provider = (name: ProviderName): Provider => ({ ...PROVIDERS[name], name });

const base = { id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm' };
const chunk = (choices: unknown, more: object = {}) => ({ ...base, choices, ...more });
const ended = (finish_reason: string, index = 0) => chunk([{ index, delta: {}, finish_reason }]);

/** Reads all chunks of one stream. */
function readAll(name: ProviderName, chunks: unknown[]) {
  const reader = createChunkReader(provider(name), 'm');
  return chunks.flatMap((sent) => reader.read(JSON.stringify(sent)) ?? []);
}

const whole = (message: unknown, finish_reason = 'stop') => ({
  ...base,
  object: 'chat.completion',
  choices: [{ index: 0, message, finish_reason }],
});

describe('a streamed answer', () => {
  test('A stream with tool calls ends with tool_calls and numbers them', () => {
    const call = (id: string) => ({
      id,
      type: 'function',
      function: { name: 'f', arguments: '{' },
    });
    const more = { function: { arguments: '}' } };
    const read = readAll('gemini', [
      chunk([{ index: 0, delta: { tool_calls: [call('a'), call('b')] } }]),
      chunk([{ index: 0, delta: { tool_calls: [more] } }]),
      chunk([{ index: 0, delta: { tool_calls: [call('c')] } }]),
      chunk([{ index: 1, delta: { tool_calls: [call('d')] } }]),
      ended('stop'),
      ended('length', 1),
    ]);
    const numbers = read.map(({ choices }) =>
      (choices[0]?.delta.tool_calls as { index: number }[] | undefined)?.map(({ index }) => index),
    );
    expect(numbers).toEqual([[0, 1], [1], [2], [0], undefined, undefined]);
    expect(read.slice(4).map(({ choices }) => choices[0]?.finish_reason)).toEqual([
      'tool_calls',
      'length',
    ]);
  });

  test('keeps numbers that the provider gave, and an end without calls', () => {
    const [first, last] = readAll('openai', [
      chunk([{ index: 0, delta: { tool_calls: [{ index: 4, id: 'a' }] } }]),
      ended('stop', 1),
    ]);
    expect(first?.choices[0]?.delta.tool_calls).toEqual([{ index: 4, id: 'a' }]);
    expect(last?.choices[0]?.finish_reason).toBe('stop');
  });

  test('is text, where the provider sends parts, and nothing of what the model thought', () => {
    const parts = [
      { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
      { type: 'text', text: 'one' },
      { type: 'text', text: ' two' },
    ];
    const [read] = readAll('mistral', [chunk([{ index: 0, delta: { content: parts } }])]);
    expect(read?.choices[0]?.delta.content).toBe('one two');
  });

  test('may have no delta, no choices, or null for them', () => {
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    const read = readAll('gemini', [
      chunk([{ index: 0, finish_reason: 'length' }]),
      chunk(null, { usage }),
      chunk([], { usage: null }),
    ]);
    expect(read.map(({ choices }) => choices)).toEqual([
      [{ index: 0, delta: {}, finish_reason: 'length' }],
      [],
      [],
    ]);
  });

  test.each([
    ['mistral', 'model_length', 'length'],
    ['mistral', 'constructor', 'constructor'],
    ['openai', 'model_length', 'model_length'],
  ] as const)('of %s that ends with "%s" ends with "%s"', (name, given, told) => {
    const [read] = readAll(name, [ended(given)]);
    expect(read?.choices[0]?.finish_reason).toBe(told);
  });

  test.each([
    ['deepseek', ended('insufficient_system_resource')],
    ['openrouter', ended('error')],
    ['mistral', ended('error')],
    ['openrouter', chunk([], { error: { code: 502, message: 'Provider disconnected' } })],
  ] as const)('of %s that breaks off is not whole: %j', (name, sent) => {
    expect(() => readAll(name, [sent])).toThrow(/broke off|answered with an error/);
  });

  test.each([
    [429, { kind: 'limited', answer: { status: 429 } }],
    [503, { kind: 'server', answer: { status: 503 } }],
    [402, { kind: 'account', answer: { status: 502 } }],
    ['429', { kind: 'limited' }],
    ['server_error', { kind: 'unusable', answer: { status: 502 } }],
    [200, { kind: 'unusable' }],
    [600, { kind: 'unusable' }],
    [undefined, { kind: 'unusable' }],
  ])('whose error has the code %j is answered with that status', (code, told) => {
    const error = { code, message: 'x' };
    try {
      readAll('openrouter', [chunk([], { error })]);
      expect.unreachable();
    } catch (caught) {
      expect(caught).toMatchObject(told);
    }
  });
});

describe('a whole answer', () => {
  test.each([
    [{ role: 'assistant' }, ''],
    [{ role: 'assistant', content: null }, ''],
    [{ role: 'assistant', content: [] }, ''],
    [{ role: 'assistant', content: [{ type: 'text', text: 'a' }, { type: 'odd' }, 7] }, 'a'],
  ])('with the message %j says %j', (message, content) => {
    const read = readCompletion(whole(message), provider('gemini'), 'm');
    expect(read.choices[0]?.message.content).toBe(content);
  });

  test.each([
    null,
    [],
    'text',
    {},
    { choices: [null] },
    whole({ content: 'no role' }),
    whole({ role: 'assistant', content: 7 }),
  ])('of another shape is refused: %j', (value) => {
    expect(() => readCompletion(value, provider('gemini'), 'm')).toThrow(/has the wrong shape/);
  });

  test('An answer that broke off is refused', () => {
    const value = whole({ role: 'assistant', content: 'half' }, 'insufficient_system_resource');
    expect(() => readCompletion(value, provider('deepseek'), 'm')).toThrow(/broke off/);
    expect(readCompletion(value, provider('openai'), 'm').choices).toHaveLength(1);
  });
});

describe('a request', () => {
  test('passes on every field that nobody here knows, whatever its name', () => {
    // Not `__proto__`, which no request that is read has.
    const fields = '"constructor":7,"toString":1.9,"hasOwnProperty":2,"temperature":2';
    const request = JSON.parse(`{"model":"x","messages":[],${fields}}`);
    for (const name of ['mistral', 'openai', 'groq'] as const) {
      const sent = JSON.stringify(adaptRequest(request, provider(name), 'm'));
      const capped = name === 'mistral' ? '"temperature":1.5' : '"temperature":2';
      expect(sent).toContain(fields.replace('"temperature":2', capped));
    }
  });

  test('leaves out what is null, and keeps what is false, empty or zero', () => {
    const request = {
      model: 'x',
      messages: [{ role: 'user' as const, content: 'Hi' }],
      temperature: 0,
      stream: false,
      tools: [],
      user: '',
      seed: null,
      stop: null,
      max_tokens: null,
      stream_options: null,
    };
    expect(adaptRequest({ ...request, stop: [] }, provider('openai'), 'gpt-4o')).not.toHaveProperty(
      'stop',
    );
    expect(adaptRequest(request, provider('openai'), 'gpt-4o')).toEqual({
      model: 'gpt-4o',
      messages: request.messages,
      temperature: 0,
      stream: false,
      tools: [],
      user: '',
    });
  });
});

test.each([
  ['stop', ''],
  ['tool_calls', null],
])('a whole answer without content that ended with %s has %j as content', (finish, content) => {
  for (const name of ['openai', 'mistral'] as const) {
    const read = readCompletion(
      whole({ role: 'assistant', content: null }, finish),
      provider(name),
      'm',
    );
    expect(read.choices[0]?.message.content).toBe(content);
  }
});
