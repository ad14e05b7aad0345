import { describe, expect, test } from 'vitest';
import { eventually } from '../../helpers/eventually.ts';
import { chatRequest, connectCaller } from '../../helpers/gateway/raw-caller.ts';
import { startGateway, startWithProviders } from '../../helpers/gateway/running-gateway.ts';

const messages = [{ role: 'user', content: 'Why is the sky blue?' }];

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
    const { url, key, openai } = await startWithProviders({ pingMs: 30 });
    openai.answerWith('Done thinking.');
    const answer = openai.holdAnswers();
    const { socket, received } = await connectCaller(url);
    socket.write(chatRequest(key, { model: 'one', messages, stream: true }));
    await eventually(() => received().split(': ping\n\n').length > 2);
    expect(received()).toMatch(/^HTTP\/1\.1 200 /);
    expect(received()).not.toContain('data: ');
    answer();
    await eventually(() => received().includes('data: [DONE]\n\n'));
    expect(received()).toContain('thinking.');
    socket.destroy();
  });

  test('A stream that fails after a comment ends with an error event and no clean end', async () => {
    const { url, key, openai, usage } = await startWithProviders({ pingMs: 30 });
    openai.failWith({ kind: 'status', status: 500 });
    const fail = openai.holdAnswers();
    const { socket, received, closed } = await connectCaller(url);
    socket.write(chatRequest(key, { model: 'one', messages, stream: true }));
    await eventually(() => received().includes(': ping'));
    fail();
    await closed;
    expect(received()).toMatch(
      /data: \{"error":\{"message":"OpenAI answered with an error \(500\)/,
    );
    expect(received()).not.toContain('[DONE]');
    // The last, empty piece of a chunked body is what a clean end would look like.
    expect(received()).not.toMatch(/\r\n0\r\n\r\n$/);
    expect((await usage(1)).map(({ end }) => end)).toEqual(['upstream_error']);
  });

  test('pauses the provider while the client does not read, and goes on when it reads again', async () => {
    const { url, key, openai } = await startWithProviders();
    openai.failWith({ kind: 'endless' });
    const { socket } = await connectCaller(url);
    socket.pause();
    socket.write(chatRequest(key, { model: 'one', messages, stream: true }));
    const sent = () => openai.calls[0]?.sentChunks ?? 0;
    let last = -1;
    let looksAlike = 0;
    await eventually(
      () => {
        looksAlike = sent() === last ? looksAlike + 1 : 0;
        last = sent();
        return last > 0 && looksAlike > 80;
      },
      { what: 'the provider being held back' },
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

  test('is never mixed with the answers of other callers', async () => {
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

test('what is kept of a request holds no word of question or answer, in the journal and in the log', async () => {
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

describe('a gateway that stops', () => {
  test('lets an answer under way end, and refuses new ones', async () => {
    const { post, openai, gateway } = await startWithProviders({ graceMs: 100_000 });
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

  test('A wrong key does not limit other callers behind the same trusted proxy, on any route', async () => {
    const { url } = await startGateway({ trustedProxies: ['127.0.0.0/8'] });
    const statusOf = async (method: string, path: string, forwarded: string) => {
      const headers = { authorization: 'Bearer guess', 'x-forwarded-for': forwarded };
      return (await fetch(url + path, { method, headers })).status;
    };
    const chat = (forwarded: string) => statusOf('POST', '/v1/chat/completions', forwarded);
    const models = (forwarded: string) => statusOf('GET', '/v1/models', forwarded);
    for (let n = 0; n < 60; n += 1) expect(await chat(`198.51.100.${n}, 192.0.2.1`)).toBe(401);
    expect([await chat('192.0.2.1'), await models('192.0.2.1:99')]).toEqual([429, 429]);
    expect([await chat('192.0.2.2'), await models('192.0.2.2')]).toEqual([401, 401]);
  });
});
