import type OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { type RawCall, startBrokenUpstream } from '../../fakes/broken-upstream.ts';
import { NO_OLLAMA, startGateway, textModel } from '../../helpers/gateway/running-gateway.ts';

const ARGUMENTS = '{"city":"Zürich \\"West\\""}';
const CALL = {
  id: 'call_1',
  type: 'function',
  function: { name: 'weather', arguments: ARGUMENTS },
};
const shared = { id: 'chatcmpl-1', created: 1_790_000_000, model: 'test-model' };
const usage = { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14 };

/** Plays a model that requests the weather, and then repeats it. */
async function answerWithTool({ body, write }: RawCall): Promise<void> {
  const last = body.messages.at(-1);
  const said = last.role === 'tool' ? `It is ${last.content}.` : undefined;
  const [type, text] = body.stream
    ? ['text/event-stream', eventsOf(said)]
    : ['application/json', JSON.stringify(completionOf(said))];
  const head = `Content-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(text)}`;
  await write(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n${text}`);
}

function completionOf(said: string | undefined) {
  const message = said === undefined ? { content: null, tool_calls: [CALL] } : { content: said };
  const finish_reason = said === undefined ? 'tool_calls' : 'stop';
  const choices = [{ index: 0, message: { role: 'assistant', ...message }, finish_reason }];
  return { ...shared, object: 'chat.completion', choices, usage };
}

/** The arguments come a character at a time. */
function eventsOf(said: string | undefined): string {
  const begun = { index: 0, ...CALL, function: { ...CALL.function, arguments: '' } };
  const pieces = [...ARGUMENTS].map((piece) => ({ index: 0, function: { arguments: piece } }));
  const deltas: object[] =
    said === undefined
      ? [begun, ...pieces].map((call) => ({ tool_calls: [call] }))
      : [{ content: said }];
  const last = said === undefined ? 'tool_calls' : 'stop';
  const choices = [
    { index: 0, delta: { role: 'assistant', content: said && '' }, finish_reason: null },
    ...deltas.map((delta) => ({ index: 0, delta, finish_reason: null })),
    { index: 0, delta: {}, finish_reason: last },
  ];
  const chunk = { ...shared, object: 'chat.completion.chunk' };
  return [
    ...choices.map((choice) => JSON.stringify({ ...chunk, choices: [choice], usage: null })),
    JSON.stringify({ ...chunk, choices: [], usage }),
    '[DONE]',
  ]
    .map((data) => `data: ${data}\n\n`)
    .join('');
}

const messages: OpenAI.ChatCompletionMessageParam[] = [
  { role: 'user', content: 'How is the weather?' },
];
const weather = {
  name: 'weather',
  description: 'The weather of a city.',
  parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};

/** A gateway over a model with tools, in the place of a provider. */
async function startWithTools(provider: 'openai' | 'mistral') {
  const upstream = await startBrokenUpstream(answerWithTool);
  const running = await startGateway({
    catalog: { models: [textModel('tooled', provider)] },
    providers: { ...NO_OLLAMA, [provider]: { apiKey: 'key-0123456789', baseUrl: upstream.url } },
  });
  return { ...running, upstream };
}

/** Mistral has rules of its own for messages. */
describe.each(['openai', 'mistral'] as const)('a model of %s that calls tools', (provider) => {
  const tools: OpenAI.ChatCompletionTool[] = [{ type: 'function', function: weather }];
  const request = { model: 'tooled', messages, tools, tool_choice: 'auto' as const };

  test('is sent the tools, and its call arrives whole', async () => {
    const { client, upstream } = await startWithTools(provider);
    const { choices } = await client.chat.completions.create(request);
    expect(choices[0]?.message.tool_calls).toEqual([CALL]);
    expect(choices[0]?.finish_reason).toBe('tool_calls');
    expect(upstream.calls[0]?.body).toMatchObject({ tools, tool_choice: 'auto' });
  });

  test('streams its call in pieces, which the client puts together', async () => {
    const { client, usage } = await startWithTools(provider);
    const stream = client.chat.completions.stream(request);
    const { choices } = await stream.finalChatCompletion();
    expect(choices[0]?.message.tool_calls).toMatchObject([
      { id: 'call_1', function: { name: 'weather', arguments: ARGUMENTS } },
    ]);
    expect(choices[0]?.finish_reason).toBe('tool_calls');
    expect(await usage(1)).toMatchObject([{ end: 'complete', completionTokens: 5 }]);
  });

  test.each([false, true])('gets the tool’s result and answers, streamed: %s', async (stream) => {
    const { client, upstream, usage } = await startWithTools(provider);
    const asked: unknown[] = [];
    const run = (args: string) => {
      asked.push(args);
      return 'sunny';
    };
    const tools = [{ type: 'function' as const, function: { ...weather, function: run } }];
    const runner = stream
      ? client.chat.completions.runTools({ model: 'tooled', messages, tools, stream })
      : client.chat.completions.runTools({ model: 'tooled', messages, tools });
    expect(await runner.finalContent()).toBe('It is sunny.');
    expect(asked).toEqual([ARGUMENTS]);
    expect(upstream.calls[1]?.body.messages.slice(1)).toMatchObject([
      { role: 'assistant', tool_calls: [{ id: 'call_1' }] },
      { role: 'tool', tool_call_id: 'call_1', content: 'sunny' },
    ]);
    expect((await usage(2)).map(({ end }) => end)).toEqual(['complete', 'complete']);
  });
});
