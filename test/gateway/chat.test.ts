import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { startGateway, startWithProviders } from './running-gateway.ts';

const messages = [{ role: 'user', content: 'Why is the sky blue?' }];

/** Sends a request over a bare socket, so that a test sees and does what no client library would. */
async function openSocket(url: string, key: string, body: unknown) {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  const text = JSON.stringify(body);
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );
  return socket;
}

describe('a streamed answer', () => {
  test('carries the headers that keep proxies from holding it back', async () => {
    const { post } = await startWithProviders();
    const { headers, text } = await post({ model: 'one', messages, stream: true });
    expect(headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(headers.get('cache-control')).toBe('no-cache');
    expect(headers.get('x-accel-buffering')).toBe('no');
    expect(headers.get('x-request-id')).toMatch(/^[\da-f-]{36}$/);
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  });

  test('is kept alive with comments while the model thinks', async () => {
    const { post, openai } = await startWithProviders({ pingMs: 30 });
    openai.answerWith('Done thinking.', { delayMs: 200 });
    const { status, text } = await post({ model: 'one', messages, stream: true });
    expect(status).toBe(200);
    expect(text).toMatch(/^(: ping\n\n){2,}data: /);
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  });

  test('that fails after a comment ends with an error event and no clean end', async () => {
    const { url, key, openai, usage } = await startWithProviders({ pingMs: 30 });
    openai.answerWith('', { delayMs: 150 });
    openai.failWith({ kind: 'status', status: 500 });
    const socket = await openSocket(url, key, { model: 'one', messages, stream: true });
    let received = '';
    socket.on('data', (bytes) => {
      received += bytes;
    });
    await once(socket, 'close');
    expect(received).toContain(': ping');
    expect(received).toMatch(/data: \{"error":\{"message":"OpenAI answered with an error \(500\)/);
    expect(received).not.toContain('[DONE]');
    // The last, empty piece of a chunked body is what a clean end would look like.
    expect(received).not.toMatch(/\r\n0\r\n\r\n$/);
    expect((await usage(1)).map(({ end }) => end)).toEqual(['upstream_error']);
  });

  test('stops the provider when its reader stops, and goes on when it reads again', async () => {
    const { url, key, openai } = await startWithProviders();
    openai.failWith({ kind: 'endless' });
    const socket = await openSocket(url, key, { model: 'one', messages, stream: true });
    socket.pause();
    const sent = () => openai.calls[0]?.sentChunks ?? 0;
    let last = -1;
    let since = performance.now();
    await eventually(
      () => {
        if (sent() !== last) {
          last = sent();
          since = performance.now();
        }
        return last > 0 && performance.now() - since > 1_000;
      },
      { withinMs: 15_000, what: 'the provider being held back' },
    );
    socket.resume();
    await eventually(() => sent() > last);
    socket.destroy();
    await eventually(() => openai.calls[0]?.aborted);
  });

  test('leaves the connection to the provider for the next', async () => {
    const { post, openai } = await startWithProviders();
    for (let round = 0; round < 6; round++) {
      await post({ model: 'one', messages, stream: true });
      await eventually(() => openai.calls[round]?.finished);
    }
    expect(openai.connections()).toBeLessThan(6);
  });

  test('of several callers at once stay apart', async () => {
    const { post, openai, usage } = await startWithProviders();
    openai.answerWith((body) => `Echo: ${body.messages[0].content}`, { chunkMs: 1 });
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, at) =>
        post({
          model: 'one',
          stream: at % 2 === 0,
          messages: [{ role: 'user', content: `<${at}>` }],
        }),
      ),
    );
    for (const [at, { text }] of answers.entries()) {
      expect(text).toContain(`<${at}>`);
      expect(text.match(/<\d+>/g)).toHaveLength(1);
    }
    const records = await usage(40);
    expect(records).toHaveLength(40);
    expect(records.every(({ end }) => end === 'complete')).toBe(true);
  });
});

describe('a caller that leaves', () => {
  test.each([
    ['whole', false, { kind: 'hang-before-headers' }],
    ['whole, half answered', false, { kind: 'hang-after-headers' }],
    ['streamed, before the first chunk', true, { kind: 'hang-before-headers' }],
    ['streamed, in the middle', true, { kind: 'endless' }],
  ] as const)('ends the call at the provider: %s', async (_name, stream, fault) => {
    const { url, key, openai, usage, kit } = await startWithProviders();
    openai.failWith(fault);
    const socket = await openSocket(url, key, { model: 'one', messages, stream });
    await eventually(() => openai.calls.length === 1);
    if (fault.kind === 'endless') await eventually(() => (openai.calls[0]?.sentChunks ?? 0) > 3);
    socket.destroy();
    await eventually(() => openai.calls[0]?.aborted);
    expect((await usage(1)).map(({ end, estimated }) => [end, estimated])).toEqual([
      ['client_gone', true],
    ]);
    const metrics = await kit.server.inject('/metrics');
    expect(metrics.body).toContain(
      'askwatch_gateway_requests_total{model="one",end="client_gone"} 1',
    );
  });
});

test('a caller that leaves in the middle of its request is metered once', async () => {
  const { url, key, usage } = await startWithProviders();
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 500\r\nExpect: 100-continue\r\n\r\n{`,
  );
  // The answer 100 says that the request has arrived so far.
  await once(socket, 'data');
  socket.destroy();
  expect((await usage(1)).map(({ end }) => end)).toEqual(['client_gone']);
});

describe('what is kept of a request', () => {
  test('holds no word of question or answer, in the journal and in the log', async () => {
    const { post, openai, usage, logged } = await startWithProviders();
    openai.answerWith('canary-answer and more');
    const question = [{ role: 'user', content: 'canary-question' }];
    await post({ model: 'one', messages: question });
    openai.failWith({ kind: 'garbage-line' });
    await post({ model: 'one', messages: question, stream: true }).catch(() => undefined);
    openai.failWith({ kind: 'status', status: 200, body: 'canary-answer' });
    await post({ model: 'one', messages: question });
    const kept = JSON.stringify(await usage(3)) + logged.join('');
    expect(kept).not.toContain('canary');
  });
});

describe('a gateway that stops', () => {
  test('lets an answer under way end, and refuses new ones', async () => {
    const { post, openai, gateway } = await startWithProviders({ graceMs: 10_000 });
    const release = openai.holdChunks();
    const answer = post({ model: 'one', messages });
    await eventually(() => openai.calls.length === 1);
    const closed = gateway.close();
    const refused = await post({ model: 'one', messages });
    expect(refused.status).toBe(503);
    release();
    expect((await answer).status).toBe(200);
    await closed;
  });

  test('cuts what takes too long, and says so', async () => {
    const { post, openai, gateway, usage } = await startWithProviders({ graceMs: 50 });
    openai.failWith({ kind: 'hang-before-headers' });
    const answer = post({ model: 'one', messages });
    await eventually(() => openai.calls.length === 1);
    await gateway.close();
    expect((await answer).status).toBe(503);
    await eventually(() => openai.calls[0]?.aborted);
    expect(await usage(1)).toHaveLength(1);
  });
});

describe('the key', () => {
  test.each([
    ['missing', undefined, 'missing_api_key'],
    ['in the other service’s header', 'x-api-key', 'missing_api_key'],
    ['revoked', 'revoked', 'invalid_api_key'],
  ])('%s is a 401 on every route', async (_name, how, code) => {
    const { url, keys } = await startGateway();
    const { key, id } = await keys.create('to revoke');
    if (how === 'revoked') await keys.revoke(id);
    const headers: Record<string, string> =
      how === 'x-api-key' ? { 'x-api-key': key } : how ? { authorization: `Bearer ${key}` } : {};
    for (const route of ['GET /v1/models', 'GET /v1/models/fast-8k', 'POST /v1/chat/completions']) {
      const [method = '', path = ''] = route.split(' ');
      const answer = await fetch(url + path, { method, headers });
      expect(answer.status).toBe(401);
      expect(await answer.json()).toMatchObject({ error: { code } });
    }
  });
});
