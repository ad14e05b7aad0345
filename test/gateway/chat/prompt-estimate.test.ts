import { expect, test } from 'vitest';
import { ChatRequest } from '../../../src/contracts/gateway.ts';
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
