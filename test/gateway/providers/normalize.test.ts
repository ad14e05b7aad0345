import { expect, test } from 'vitest';
import { ChatRequest } from '../../../src/contracts/gateway.ts';
import { normalize } from '../../../src/gateway/chat/checks.ts';

const request = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };

test.each<[object, object]>([
  [{}, {}],
  [{ max_tokens: 5 }, { max_tokens: 5 }],
  [{ max_completion_tokens: 5 }, { max_tokens: 5 }],
  [{ max_tokens: null, max_completion_tokens: 5 }, { max_tokens: 5 }],
  [{ max_tokens: 3, max_completion_tokens: 5 }, { max_tokens: 3 }],
  [{ max_completion_tokens: null }, {}],
  [{ stop: [] }, { stop: null }],
  [{ stop: ['a'] }, { stop: ['a'] }],
  [{ stop: 'a' }, { stop: 'a' }],
  [
    { seed: null, tools: [] },
    { seed: null, tools: [] },
  ],
])('%j goes on as %j', (asked, goesOn) => {
  expect(normalize(ChatRequest.parse({ ...request, ...asked }))).toEqual({ ...request, ...goesOn });
});
