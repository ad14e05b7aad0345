import { expect, test } from 'vitest';
import { GatewayPath } from '../../src/contracts/gateway.ts';
import type { Fault } from '../fakes/model-provider.ts';
import { startWithProviders } from '../helpers/gateway/running-gateway.ts';
import { openApiOf } from '../helpers/openapi.ts';

const messages = [{ role: 'user', content: 'Hi' }];
const CHAT = GatewayPath.chatCompletions;
const MODEL = `${GatewayPath.models}/{id}`;

/** Documented answers that a working gateway never sends, or only after a minute. */
const NOT_PROVOKED = [
  `get ${GatewayPath.models} 500`,
  `get ${MODEL} 500`,
  `get ${GatewayPath.usage} 500`,
  `post ${CHAT} 408`,
  `post ${CHAT} 500`,
];

test('every answer of the gateway is as the document describes it, and none is left out', async () => {
  const { url, key, keys, post, openai } = await startWithProviders({ answerMs: 2_000 });
  const { expectDescribed, unseen } = await openApiOf(url);
  const limited = await keys.create('limited', { requestsPerMinute: 1, tokensPerMinute: 10_000 });
  const poor = await keys.create('poor', { tokensPerDay: 1 });
  const used = await keys.create('used');

  async function get(path: string, at = path, bearer = key) {
    const answer = await fetch(url + at, { headers: { authorization: `Bearer ${bearer}` } });
    const { status, headers } = answer;
    expectDescribed('get', path, { status, headers, text: await answer.text() });
    return status;
  }
  async function chat(body: unknown, headers: Record<string, string> = {}) {
    const answer = await post(body, headers);
    expectDescribed('post', CHAT, answer);
    return answer.status;
  }
  async function failing(fault: Fault) {
    openai.failWith(fault, 1);
    return await chat({ model: 'one', messages });
  }
  const as = (bearer: string) => ({ authorization: `Bearer ${bearer}` });

  expect(await get(GatewayPath.models)).toBe(200);
  expect(await get(MODEL, `${GatewayPath.models}/one`)).toBe(200);
  expect(await get(MODEL, `${GatewayPath.models}/none`)).toBe(404);
  expect(await get(GatewayPath.usage, GatewayPath.usage, limited.key)).toBe(200);
  expect(await get(GatewayPath.usage, `${GatewayPath.usage}?days=0`)).toBe(400);
  let status = 200;
  while (status === 200) status = await get(GatewayPath.usage, GatewayPath.usage, used.key);
  expect(status).toBe(429);

  expect(await chat({ model: 'one', messages })).toBe(200);
  expect(await chat({ model: 'one', messages, stream: true })).toBe(200);
  expect(await chat({ model: 'one', messages }, as(limited.key))).toBe(200);
  expect(await chat({ model: 'one', messages, stream: true }, as(limited.key))).toBe(429);
  expect(await chat({ model: 'one', messages }, as(poor.key))).toBe(429);
  expect(await chat('{')).toBe(400);
  expect(await chat({ model: 'one', messages, temperature: 3 })).toBe(400);
  expect(await chat({ model: 'painter', messages })).toBe(400);
  expect(await chat({ model: 'none', messages })).toBe(404);
  expect(await chat({ model: 'one', messages, pad: 'x'.repeat(9_000_000) })).toBe(413);
  expect(await chat('model=one', { 'content-type': 'text/plain' })).toBe(415);

  expect(await get(GatewayPath.usage)).toBe(200);
  expect(await failing({ kind: 'status', status: 400 })).toBe(400);
  expect(await failing({ kind: 'status', status: 422 })).toBe(422);
  expect(await failing({ kind: 'status', status: 401 })).toBe(502);
  expect(await failing({ kind: 'html' })).toBe(502);
  const headers = { 'retry-after': '60' };
  expect(await failing({ kind: 'status', status: 429, headers })).toBe(429);
  expect(await failing({ kind: 'status', status: 503, headers })).toBe(503);
  expect(await failing({ kind: 'hang-before-headers' })).toBe(504);

  // The last ones: after them this address is refused for a minute.
  for (const path of [GatewayPath.models, GatewayPath.usage]) {
    expect(await get(path, path, 'wrong')).toBe(401);
  }
  expect(await get(MODEL, `${GatewayPath.models}/one`, 'wrong')).toBe(401);
  expect(await chat({ model: 'one', messages }, as('wrong'))).toBe(401);
  status = 401;
  while (status === 401) status = await get(GatewayPath.models, GatewayPath.models, 'wrong');
  expect(status).toBe(429);
  expect(await get(MODEL, `${GatewayPath.models}/one`, 'wrong')).toBe(429);
  expect(await get(GatewayPath.usage, GatewayPath.usage, 'wrong')).toBe(429);
  expect(await chat({ model: 'one', messages }, as('wrong'))).toBe(429);

  expect(unseen()).toEqual(NOT_PROVOKED);
});

test('every route of the gateway says who may call it and what it is', async () => {
  const { url } = await startWithProviders();
  const { operations, document } = await openApiOf(url);
  expect(operations).toHaveLength(4);
  for (const { operation } of operations) {
    expect(operation).toMatchObject({
      summary: expect.any(String),
      operationId: expect.any(String),
      tags: ['gateway'],
      security: [{ bearer: [] }],
    });
  }
  expect(document.components.securitySchemes.bearer.scheme).toBe('bearer');
  const chat = document.paths[CHAT].post;
  expect(Object.keys(chat.responses['200'].content)).toEqual([
    'application/json',
    'text/event-stream',
  ]);
  const { properties } = document.components.schemas.ChatRequest;
  expect(Object.keys(properties)).toEqual(
    expect.arrayContaining(['model', 'messages', 'temperature', 'max_tokens', 'top_p', 'n']),
  );
  expect(properties.messages.items.properties.role.enum).toContain('assistant');
});
