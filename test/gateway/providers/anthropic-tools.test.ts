import { describe, expect, onTestFinished, test } from 'vitest';
import type { ChatRequest } from '../../../src/contracts/gateway.ts';
import { type SaidBlock, startAnthropic } from '../../fakes/anthropic.ts';
import {
  complete,
  providerAt,
  startUpstream,
  stream,
} from '../../helpers/gateway/running-upstream.ts';
import { long } from '../../helpers/long.ts';

async function startClaude() {
  const api = await startAnthropic();
  onTestFinished(() => api.close());
  const provider = providerAt('anthropic', api.url, api.apiKey);
  return { api, upstream: startUpstream(provider, 'claude-haiku-4-5') };
}

/** A request as it reaches an upstream; roles and fields of tools are not the contract's. */
const asking = (messages: unknown[], more: object = {}) =>
  ({ model: 'claude', messages, tools: [weather], ...more }) as unknown as ChatRequest;

const user = (content: unknown) => ({ role: 'user', content });
const parameters = { type: 'object', properties: { city: { type: 'string' } } };
const weather = {
  type: 'function',
  function: { name: 'weather', description: 'The weather.', parameters, strict: true },
};
const call = (id: string, city: string) => ({
  id,
  type: 'function',
  function: { name: 'weather', arguments: JSON.stringify({ city }) },
});
const used = (id: string, city: string): SaidBlock => ({
  type: 'tool_use',
  id,
  name: 'weather',
  input: { city },
});

describe('tools', () => {
  test.each([
    [undefined, undefined, undefined],
    ['auto', undefined, { type: 'auto' }],
    ['none', false, { type: 'none' }],
    ['required', true, { type: 'any' }],
    ['required', false, { type: 'any', disable_parallel_tool_use: true }],
    [undefined, false, { type: 'auto', disable_parallel_tool_use: true }],
    [{ type: 'function', function: { name: 'weather' } }, null, { type: 'tool', name: 'weather' }],
  ])('are offered with the choice %j and parallel calls %j', async (choice, parallel, sent) => {
    const { api, upstream } = await startClaude();
    const more = { tool_choice: choice, parallel_tool_calls: parallel };
    await complete(upstream, asking([user('Rain?')], more));
    expect(api.calls[0]?.body.tools).toEqual([
      { name: 'weather', description: 'The weather.', input_schema: parameters },
    ]);
    expect(api.calls[0]?.body.tool_choice).toEqual(sent);
    expect(api.refusals).toEqual([]);
  });

  test("The API's own tools and functions without parameters pass through", async () => {
    const { api, upstream } = await startClaude();
    const search = { type: 'web_search_20260209', name: 'web_search', max_uses: 2 };
    const bare = { type: 'function', function: { name: 'now' } };
    await complete(upstream, asking([user('Rain?')], { tools: [search, bare] }));
    expect(api.calls[0]?.body.tools).toEqual([
      search,
      { name: 'now', input_schema: { type: 'object' } },
    ]);
  });

  test('are called in a whole answer', async () => {
    const { api, upstream } = await startClaude();
    const blocks: SaidBlock[] = [
      { type: 'text', text: 'I look.' },
      used('a', 'Rome'),
      used('b', 'Bonn'),
    ];
    api.answerWith({ blocks, stopReason: 'tool_use' });
    const [spoken] = (await complete(upstream, asking([user('Rain?')]))).choices;
    expect(spoken).toEqual({
      index: 0,
      message: {
        role: 'assistant',
        content: 'I look.',
        tool_calls: [call('a', 'Rome'), call('b', 'Bonn')],
      },
      finish_reason: 'tool_calls',
    });
    api.answerWith({ blocks: blocks.slice(1), stopReason: 'tool_use' });
    const [silent] = (await complete(upstream, asking([user('Rain?')]))).choices;
    expect(silent?.message.content).toBeNull();
  });

  test('are called in a streamed answer', async () => {
    const { api, upstream } = await startClaude();
    const blocks: SaidBlock[] = [
      { type: 'thinking', thinking: 'hm', signature: 'x' },
      { type: 'text', text: 'I look.' },
      used('a', 'Rome'),
      used('b', 'Bonn'),
    ];
    api.answerWith({ blocks, stopReason: 'tool_use' });
    const chunks = await stream(upstream, asking([user('Rain?')]));
    const calls: Array<{ id?: string; name?: string; text: string }> = [];
    for (const { choices } of chunks) {
      const parts = (choices[0]?.delta.tool_calls ?? []) as Array<{
        index: number;
        id?: string;
        function: { name?: string; arguments: string };
      }>;
      for (const { index, id, function: told } of parts) {
        calls[index] ??= { ...(id && { id }), ...(told.name && { name: told.name }), text: '' };
        calls[index].text += told.arguments;
      }
    }
    expect(calls).toEqual([
      { id: 'a', name: 'weather', text: '{"city":"Rome"}' },
      { id: 'b', name: 'weather', text: '{"city":"Bonn"}' },
    ]);
    const finishes = chunks.map(({ choices }) => choices[0]?.finish_reason).filter(Boolean);
    expect(finishes).toEqual(['tool_calls']);
    expect(chunks[0]?.choices[0]?.delta).toEqual({ role: 'assistant', content: '' });
  });

  test('answer, and the conversation goes on', async () => {
    const { api, upstream } = await startClaude();
    await complete(
      upstream,
      asking([
        { role: 'developer', content: 'Be short.' },
        user('Rain?'),
        { role: 'assistant', content: null, tool_calls: [call('a', 'Rome'), call('b', 'Bonn')] },
        { role: 'tool', tool_call_id: 'a', content: 'dry' },
        { role: 'tool', tool_call_id: 'b', content: '' },
        user('So?'),
        {
          role: 'assistant',
          content: 'Again.',
          tool_calls: [{ id: 'c', type: 'function', function: { name: 'weather', arguments: '' } }],
        },
        { role: 'tool', tool_call_id: 'c', content: [{ type: 'text', text: 'wet' }] },
      ]),
    );
    const text = (said: string) => ({ type: 'text', text: said });
    expect(api.calls[0]?.body).toMatchObject({
      system: [text('Be short.')],
      messages: [
        user([text('Rain?')]),
        { role: 'assistant', content: [used('a', 'Rome'), used('b', 'Bonn')] },
        user([
          { type: 'tool_result', tool_use_id: 'a', content: [text('dry')] },
          { type: 'tool_result', tool_use_id: 'b' },
          text('So?'),
        ]),
        {
          role: 'assistant',
          content: [text('Again.'), { type: 'tool_use', id: 'c', name: 'weather', input: {} }],
        },
        user([{ type: 'tool_result', tool_use_id: 'c', content: [text('wet')] }]),
      ],
    });
    expect(api.refusals).toEqual([]);
  });

  test('may have been refused: what the model said then counts as said', async () => {
    const { api, upstream } = await startClaude();
    const refused = { role: 'assistant', content: null, refusal: 'I will not.' };
    await complete(upstream, asking([user('Rain?'), refused, user('Why?')]));
    expect(api.calls[0]?.body.messages[1].content).toEqual([{ type: 'text', text: 'I will not.' }]);
  });

  test('come first in the user’s turn, where the API wants their answers', async () => {
    const { api, upstream } = await startClaude();
    await complete(
      upstream,
      asking([
        user('Rain?'),
        { role: 'assistant', tool_calls: [call('a', 'Rome')] },
        user('Hurry.'),
        { role: 'tool', tool_call_id: 'a', content: 'dry' },
      ]),
    );
    const types = api.calls[0]?.body.messages[2].content.map(({ type }: { type: string }) => type);
    expect(types).toEqual(['tool_result', 'text']);
    expect(api.refusals).toEqual([]);
  });

  test.each([
    ['messages.1.tool_calls', [{ role: 'assistant', tool_calls: 'weather' }]],
    ['messages.1.tool_calls', [{ role: 'assistant', tool_calls: [{ id: 'a', type: 'custom' }] }]],
    [
      'messages.1.tool_calls.0.function.arguments',
      [
        {
          role: 'assistant',
          tool_calls: [{ id: 'a', function: { name: 'weather', arguments: '{"city":' } }],
        },
      ],
    ],
    ['messages.1.tool_call_id', [{ role: 'tool', content: 'dry' }]],
    ['messages.1.function_call', [{ role: 'assistant', function_call: { name: 'weather' } }]],
    ['messages.1.audio', [{ role: 'assistant', audio: { id: 'x' } }]],
    [
      'messages.1.content.0',
      [{ role: 'assistant', content: [{ type: 'image_url', image_url: { url: 'x' } }] }],
    ],
    [
      'messages.1.content.0',
      [{ role: 'system', content: [{ type: 'image_url', image_url: { url: 'x' } }] }],
    ],
  ])('that cannot be translated are refused before the call, at %s', async (param, messages) => {
    const { api, upstream } = await startClaude();
    await expect(complete(upstream, asking([user('Rain?'), ...messages]))).rejects.toMatchObject({
      kind: 'request',
      tryNext: true,
      answer: { status: 400, param },
    });
    expect([api.calls, api.refusals]).toEqual([[], []]);
  });
});

describe('a conversation of very many pieces', () => {
  const text = { type: 'text', text: 'a' };
  // More than a function can be given as arguments.
  const length = long ? 250_000 : 150_000;

  test.each([
    ['messages', Array.from({ length }, () => user('a'))],
    ['parts', [user(Array.from({ length }, () => text))]],
  ])('is written in one pass: %s', async (_name, messages) => {
    const { api, upstream } = await startClaude();
    await complete(upstream, asking(messages, { tools: undefined }));
    const [turn, ...others] = api.calls[0]?.body.messages ?? [];
    expect([turn.content.length, others]).toEqual([length, []]);
  });
});
