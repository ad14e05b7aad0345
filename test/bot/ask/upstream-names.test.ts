import { expect, test } from 'vitest';
import { startBotOverGateway } from '../../helpers/bot/bot-over-gateway.ts';
import { cardOf, readAnswer, startTestBot, textOf } from '../../helpers/bot.ts';

test('signs an answer with the only model that a provider lists, and lists that one', async () => {
  const models = [{ id: 'stub-large', context_length: 128_000 }, 'text-embedding-3'];
  const { say, client, openai } = await startBotOverGateway({ models });
  const { end } = await readAnswer(await say('/ask Why is the sky blue?'), 't1');
  expect(end.footer).toMatch(/^stub-large · /);
  const card = cardOf(await say('/askwatch models'));
  expect(card.title).toBe('1 model can answer');
  expect(textOf(card)).toContain('stub-large | 125K | text, image | openai');
  expect(textOf(card)).not.toContain('Quality');
  // Longer than the 8,192 tokens of the catalog's fast-8k.
  const long = await readAnswer(await say(`/ask ${'word '.repeat(12_000)}`), 't2');
  expect(long.end.note).toBeUndefined();
  expect(openai.calls).toHaveLength(2);
  const { data } = await client.models.list();
  expect(data).toHaveLength(13);
  const text = data.filter((model) => 'context_length' in model);
  const shown = text.map((model) => JSON.stringify([(model as { ranks?: unknown }).ranks]));
  expect(new Set(shown)).toEqual(new Set(['[{"speed":1,"quality":1,"cost":1}]']));
  expect(text.map((model) => (model as { context_length?: number }).context_length)).toEqual([
    8_192, 32_768, 4_096, 16_384, 200_000, 200_000, 200_000, 32_768, 16_384,
  ]);
});

test('names the catalog’s model beside the provider’s if several answer', async () => {
  const { say } = await startBotOverGateway({ models: ['stub-large', 'stub-vision'] });
  const { end } = await readAnswer(await say('/ask Why is the sky blue?'), 't1');
  expect(end.footer).toMatch(/^stub-large \(fast-8k\) · /);
  const text = textOf(cardOf(await say('/askwatch models')));
  expect(text).toMatch(/fast-8k \(default\) .* stub-large \| openai/);
  expect(text).toMatch(/vision-16k .* stub-vision \| openai/);
  const model = textOf(cardOf(await say('/askwatch model')));
  expect(model).toContain('stub-large (fast-8k) answers here');
});

test('signs with the catalog’s name at a gateway that gives no other', async () => {
  const { say } = await startTestBot({ models: ['plain'] });
  const { end } = await readAnswer(await say('/ask Why is the sky blue?'), 't1');
  expect(end.footer).toMatch(/^plain · /);
});

test('signs for rules if only the built-in engine is there, and asks it nothing', async () => {
  const { say, provider } = await startTestBot({
    models: [{ id: 'fast-8k', owned_by: 'askwatch' }],
  });
  const { end } = await readAnswer(await say('/ask Why is the sky blue?'), 't1');
  expect(end.footer).toMatch(/^rules, no model · /);
  expect(provider.calls).toEqual([]);
});
