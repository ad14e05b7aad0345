import { expect, onTestFinished, test } from 'vitest';
import { StatusError, StreamCutError } from '../../../src/clients/errors.ts';
import { createGatewayClient } from '../../../src/clients/gateway.ts';
import { startGateway, startWithProviders } from '../../helpers/gateway/running-gateway.ts';

const messages = [{ role: 'user' as const, content: 'Why is the sky blue?' }];

function open(running: { url: string; key: string }) {
  const client = createGatewayClient({ baseUrl: running.url, apiKey: running.key });
  onTestFinished(() => client.close());
  return client;
}

test('our client reads the shipped catalog and a streamed answer of the offline engine', async () => {
  const client = open(await startGateway());
  const models = await client.models();
  expect(models).toHaveLength(13);
  expect(models[0]).toMatchObject({ id: 'fast-8k', kind: 'text', context_length: 8192 });
  let text = '';
  for await (const { choices } of client.stream({ model: 'fast-8k', messages })) {
    text += choices[0]?.delta.content ?? '';
  }
  const whole = await client.complete({ model: 'fast-8k', messages });
  expect(text).toBe(whole.choices[0]?.message.content);
});

test('our client is told what was refused, and that an answer was cut', async () => {
  const running = await startWithProviders();
  const client = open(running);
  await expect(client.complete({ model: 'painter', messages })).rejects.toMatchObject({
    name: StatusError.name,
    code: 'model_not_supported',
    param: 'model',
  });
  running.openai.failWith({ kind: 'no-reason' });
  const reading = (async () => {
    for await (const _ of client.stream({ model: 'one', messages }));
  })();
  await expect(reading).rejects.toThrow(StreamCutError);
  await expect(reading).rejects.toThrow('OpenAI sent an answer that ended before it was complete.');
});
