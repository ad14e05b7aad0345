import { expect, test } from 'vitest';
import { ChatRequest } from '../../../src/contracts/gateway.ts';
import { estimatePromptTokens } from '../../../src/contracts/tokens.ts';
import { estimatePrompt } from '../../../src/gateway/chat/prompt-estimate.ts';
import { readRequestBody } from '../../../src/gateway/chat/request-body.ts';

function estimate(beside: object): number {
  const given = { model: 'one', messages: [{ role: 'user', content: 'Hello' }], ...beside };
  const body = readRequestBody([Buffer.from(JSON.stringify(given))]);
  return estimatePrompt(ChatRequest.parse(given), body);
}

const SCHEMA = { name: 'find', description: 'Finds what is wanted, and says where. '.repeat(20) };

test.each([
  ['tools', [{ type: 'function', function: SCHEMA }]],
  ['functions', [SCHEMA]],
  ['response_format', { type: 'json_schema', json_schema: SCHEMA }],
])('%s count as part of the prompt, and none is nothing', (name, value) => {
  expect(estimate({ [name]: value })).toBeGreaterThan(estimate({}) + 150);
  expect(estimate({ [name]: null })).toBe(estimate({}));
});

test.each([
  ['words', 'Why did the checkout fail at noon? '.repeat(6_000)],
  ['escapes', 'It said "no" to C:\\srv\\shop\n\tat line 12\n'.repeat(5_000)],
  ['nothing but escapes', '\n"\\'.repeat(50_000)],
  ['letters beyond ASCII', 'Überprüfung der Größe, 東京 and 🎉! '.repeat(4_000)],
  ['two kinds of text', 'the pool is full. '.repeat(3_000) + 'a1=b2 '.repeat(20_000)],
  ['a text that is just counted whole', 'x y '.repeat(2_048)],
])('of a long text with %s is near that of all of it', (_name, content) => {
  const messages = [{ role: 'user' as const, content }];
  const bytes = Buffer.from(JSON.stringify({ model: 'one', messages }));
  // Cut as it comes over a connection, and through whatever stands there.
  const parts = [0, 1_001, 65_536, 65_536, 131_071].map((start, at, starts) =>
    bytes.subarray(start, starts[at + 1] ?? bytes.length),
  );
  const body = readRequestBody(parts);
  const found = estimatePrompt(ChatRequest.parse(body.value), body);
  expect(Math.abs(found / estimatePromptTokens(messages) - 1)).toBeLessThan(0.06);
});

test('of escapes is near that of what they stand for, wherever the samples cut them', () => {
  const expected = estimatePromptTokens([{ role: 'user', content: 'é à '.repeat(8_000) }]);
  for (let before = 0; before < 14; before += 1) {
    const text = 'x'.repeat(before) + '\\u00e9 \\u00e0 '.repeat(8_000);
    const body = readRequestBody([
      Buffer.from(`{"model":"one","messages":[{"role":"user","content":"${text}"}]}`),
    ]);
    const found = estimatePrompt(ChatRequest.parse(body.value), body);
    expect(Math.abs(found / expected - 1)).toBeLessThan(0.15);
  }
});
