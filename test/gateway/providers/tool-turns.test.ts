import type OpenAI from 'openai';
import { expect, test } from 'vitest';
import { startGateway, startWithProviders } from '../../helpers/gateway/running-gateway.ts';

const call = { id: 'c1', type: 'function' as const, function: { name: 'now', arguments: '{}' } };
const tools: OpenAI.ChatCompletionTool[] = [{ type: 'function', function: { name: 'now' } }];
const messages: OpenAI.ChatCompletionMessageParam[] = [
  { role: 'developer', content: 'Be brief.' },
  { role: 'user', content: 'What time is it?', name: 'ann' },
  { role: 'assistant', content: null, tool_calls: [call] },
  { role: 'tool', content: `12:00 ${'and a long story '.repeat(100)}`, tool_call_id: 'c1' },
  { role: 'user', content: 'Why not?' },
];

test.each([false, true])(
  'a conversation with tools reaches the provider as it is (stream: %s)',
  async (stream) => {
    const { client, openai } = await startWithProviders();
    const answer = await client.chat.completions.create({ model: 'one', messages, tools, stream });
    if ('controller' in answer) for await (const _ of answer);
    expect(openai.calls[0]?.body).toMatchObject({ messages, tools });
  },
);

test('the offline engine answers a conversation with tool turns too', async () => {
  const { client } = await startGateway();
  const { choices } = await client.chat.completions.create({ model: 'small-4k', messages });
  expect(choices[0]?.message.content).toContain('Why not?');
});
