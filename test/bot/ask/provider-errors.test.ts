import { expect, test } from 'vitest';
import type { Fault } from '../../fakes/model-provider.ts';
import { startBotOverGateway } from '../../helpers/bot/bot-over-gateway.ts';
import { readAnswer } from '../../helpers/bot.ts';

const status = (code: number, retryAfter?: string, body?: unknown): Fault => ({
  kind: 'status',
  status: code,
  ...(retryAfter !== undefined && { headers: { 'retry-after': retryAfter } }),
  body: body ?? { error: { message: 'provider-key-0123456789', type: 'x', code: null } },
});

test.each<[Fault, string, number]>([
  [status(401), 'OpenAI rejected the API key (401). Check OPENAI_API_KEY.', 1],
  [
    status(403),
    'OpenAI denied access (403). Check OPENAI_API_KEY and the permissions of that key.',
    1,
  ],
  [
    status(429, undefined, { error: { message: 'No.', code: 'insufficient_quota' } }),
    'The account at OpenAI has no credit left (429). Add credit there.',
    1,
  ],
  [status(429), 'OpenAI is limiting requests (429). Try again in a moment.', 1],
  [status(429, '20'), 'OpenAI is limiting requests (429). Try again in 20 s.', 1],
  [status(529, '300'), 'OpenAI is overloaded or down (529). Try again in 5 min.', 1],
  [
    status(404),
    'OpenAI does not have the model test-model (404). Correct its name in ASKWATCH_CATALOG.',
    1,
  ],
  [status(500), 'OpenAI answered with an error (500). Try again in a moment.', 3],
  [{ kind: 'reset' }, 'The connection to OpenAI broke. Try again in a moment.', 3],
  [{ kind: 'html' }, 'OpenAI sent an answer that', 1],
])('names what is wrong at the provider after %j', async (fault, sentence, calls) => {
  const { say, openai, lines } = await startBotOverGateway();
  openai.failWith(fault);
  const { text, end } = await readAnswer(await say('/ask Why is the sky blue?'), 't1');
  expect(text).toBe('');
  expect(end.note).toContain(sentence);
  expect(end.note).not.toContain('GATEWAY');
  // A provider that limits requests is not asked again and again while somebody waits.
  expect(openai.calls).toHaveLength(calls);
  expect(JSON.stringify([end, lines])).not.toContain(openai.apiKey);
});

test('names the address of a provider that cannot be reached', async () => {
  const { say, openai } = await startBotOverGateway();
  await openai.close();
  const { end } = await readAnswer(await say('/ask Why is the sky blue?'), 't1');
  expect(end.note).toBe('OpenAI could not be reached (ECONNREFUSED). Check OPENAI_BASE_URL.');
});

test('says at the start which setting keeps the models from being listed', async () => {
  const { gateway } = await startBotOverGateway({ wrongKey: 'sk-wrong-0123456789' });
  expect(gateway.answering().notes).toEqual([
    "Could not list models at OPENAI_BASE_URL (401: check OPENAI_API_KEY). Retrying; using the catalog's model names until then.",
  ]);
});
