import { expect, onTestFinished, test } from 'vitest';
import type { ProviderTable } from '../../../src/gateway/providers/provider.ts';
import { CONVENTION, PROVIDER_TABLE } from '../../../src/gateway/providers/provider-table.ts';
import { startModelProvider } from '../../fakes/model-provider.ts';
import { NO_OLLAMA, startGateway } from '../../helpers/gateway/running-gateway.ts';

/** A provider that the program does not know: one row, and nothing else anywhere. */
async function startWithToy({ hasKey }: { hasKey: boolean }) {
  const fake = await startModelProvider();
  onTestFinished(() => fake.close());
  const table: ProviderTable = {
    ...PROVIDER_TABLE,
    toy: { ...CONVENTION, title: 'Toy', setting: 'TOY_API_KEY', baseUrl: `${fake.url}/v1` },
  };
  const running = await startGateway({
    table,
    catalog: {
      models: [
        {
          id: 'plaything',
          kind: 'text',
          context_length: 4096,
          upstreams: [{ provider: 'toy', model: 'test-model' }],
        },
      ],
    },
    // Another provider that is set up keeps the offline engine away.
    providers: {
      ...NO_OLLAMA,
      groq: { apiKey: 'groq-key' },
      ...(hasKey && { toy: { apiKey: fake.apiKey } }),
    },
  });
  return { ...running, fake };
}

const request = {
  model: 'plaything',
  messages: [{ role: 'user' as const, content: 'Who are you?' }],
};

test('One row makes a provider: it answers whole and streamed, and the models name it', async () => {
  const { client, fake } = await startWithToy({ hasKey: true });
  const answer = await client.chat.completions.create(request);
  expect(answer.model).toBe('plaything');
  expect(answer.choices[0]?.message.content).not.toBe('');
  let text = '';
  for await (const chunk of await client.chat.completions.create({ ...request, stream: true })) {
    text += chunk.choices[0]?.delta.content ?? '';
  }
  expect(text).toBe(answer.choices[0]?.message.content);
  expect(fake.calls.map(({ body }) => body.model)).toEqual(['test-model', 'test-model']);
  expect((await client.models.retrieve('plaything')).owned_by).toBe('toy');
});

test('Without its key, the answer names its variable', async () => {
  const { post } = await startWithToy({ hasKey: false });
  const { status, text } = await post(request);
  expect(status).toBe(503);
  expect(text).toContain('set TOY_API_KEY');
});
