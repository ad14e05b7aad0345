import { once } from 'node:events';
import { connect } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ChatRequest } from '../../src/contracts/gateway.ts';
import { MonitorCreate } from '../../src/contracts/monitoring.ts';
import { HttpError } from '../../src/http/errors.ts';
import type { ServerKit } from '../../src/http/server.ts';
import { eventually } from '../helpers/eventually.ts';
import { holdTimers } from '../helpers/hold-timers.ts';
import { post, runningServer } from '../helpers/http/running-server.ts';

function addContractRoutes({ server }: ServerKit) {
  server.post('/chat', { schema: { body: ChatRequest } }, async (request) => request.body);
  server.post('/monitors', { schema: { body: MonitorCreate } }, async (request) => request.body);
  server.get('/things/:id', async (request) => request.params);
  server.get(
    '/page',
    { schema: { querystring: z.strictObject({ size: z.coerce.number().max(5).default(1) }) } },
    async (request) => request.query,
  );
}

const chat = { model: 'm', messages: [{ role: 'user', content: 'hi' }] };
const monitor = { name: 'Shop', target: 'https://example.com', check_type: 'HTTP' };

describe('the error body', () => {
  let running: Awaited<ReturnType<typeof runningServer>>;
  beforeAll(async () => {
    running = await runningServer(addContractRoutes, {}, afterAll);
  });

  test.each<[string, RequestInit, number, string, string | null, RegExp]>([
    ['/chat', post('{"model":'), 400, 'invalid_json', null, /not valid JSON/],
    ['/chat', post('{"__proto__":{"x":1}}'), 400, 'invalid_json', null, /not valid JSON/],
    ['/chat', post(''), 400, 'invalid_json', null, /empty/],
    ['/chat', post('[]'), 400, 'invalid_value', null, /must be a JSON object/],
    ['/chat', post('null'), 400, 'invalid_value', null, /must be a JSON object/],
    ['/chat', post(`"${'x'.repeat(300_000)}"`), 413, 'request_too_large', null, /too large/],
    [
      '/chat',
      post(chat, { 'content-type': 'text/plain' }),
      415,
      'unsupported_media_type',
      null,
      /JSON/,
    ],
    ['/chat', { method: 'POST' }, 400, 'invalid_value', null, /must be a JSON object/],
    ['/chat', post({}), 400, 'missing_required_parameter', 'model', /'model' is missing/],
    ['/chat', post({ model: 'm' }), 400, 'missing_required_parameter', 'messages', /missing/],
    ['/chat', post({ ...chat, messages: [] }), 400, 'invalid_value', 'messages', /at least 1/],
    [
      '/monitors',
      post({ ...monitor, check_type: 'PING' }),
      400,
      'invalid_value',
      'check_type',
      /: must be HTTP, KEYWORD, DNS, TCP, CERTIFICATE or HEARTBEAT\./,
    ],
    [
      '/monitors',
      post({ name: 'x', target: 'y' }),
      400,
      'missing_required_parameter',
      'check_type',
      /missing/,
    ],
    [
      '/monitors',
      post({ ...monitor, colour: 'red' }),
      400,
      'unknown_parameter',
      'colour',
      /Unknown field/,
    ],
    ['/page?size=9', {}, 400, 'invalid_value', 'size', /at most 5/],
    ['/page?colour=red', {}, 400, 'unknown_parameter', 'colour', /Unknown/],
    ['/nothing?key=secret', {}, 404, 'not_found', null, /nothing at GET \/nothing\.$/],
    ['/chat', { method: 'DELETE' }, 405, 'method_not_allowed', null, /DELETE .* Allowed: POST\.$/],
    ['/%zz', {}, 400, 'invalid_value', null, /not a valid url/],
    [`/things/${'x'.repeat(501)}`, {}, 414, 'invalid_value', null, /./],
  ])('of %s %j is %i %s about %s', async (path, init, status, code, param, message) => {
    const answer = await running.ask(path, init);
    expect(answer.body).toEqual({
      error: {
        message: expect.stringMatching(message),
        type: 'invalid_request_error',
        param,
        code,
      },
    });
    expect(answer.status).toBe(status);
    expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('a refusal thrown in a handler keeps its own fields and headers', async () => {
    const { ask } = await runningServer(({ server }) => {
      server.get('/busy', () => {
        throw new HttpError(429, 'slow_down', 'Wait.', {
          type: 'tokens',
          param: 'n',
          headers: { 'retry-after': '7' },
        });
      });
    });
    const { status, headers, body } = await ask('/busy');
    expect(status).toBe(429);
    expect(headers.get('retry-after')).toBe('7');
    expect(body).toEqual({
      error: { message: 'Wait.', type: 'tokens', param: 'n', code: 'slow_down' },
    });
  });

  test.each([new Error('the password is hunter2'), null, 'hunter2', { statusCode: 200 }])(
    'of an error nobody expected (%j) tells nothing, and the log tells it all',
    async (thrown) => {
      const { ask, lines } = await runningServer(({ server }) => {
        server.get('/broken', async () => {
          throw thrown;
        });
      });
      const { status, headers, body, text } = await ask('/broken');
      expect(status).toBe(500);
      expect(text).not.toContain('hunter2');
      expect(body.error).toMatchObject({ type: 'server_error', code: 'internal_error' });
      expect(lines).toContainEqual(
        expect.objectContaining({ level: 50, reqId: headers.get('x-request-id') }),
      );
      if (thrown instanceof Error) expect(JSON.stringify(lines)).toContain('hunter2');
    },
  );

  test('a response that breaks its own schema is a 500', async () => {
    const { ask } = await runningServer(({ server }) => {
      const response = { 200: z.object({ ok: z.literal(true) }) };
      server.get('/wrong', { schema: { response } }, async () => ({ ok: 5 as unknown as true }));
    });
    expect(await ask('/wrong')).toMatchObject({ status: 500, body: { error: { param: null } } });
  });

  test.each([
    ['GARBAGE\r\n\r\n', /^HTTP\/1\.1 400 /, 'invalid_request'],
    [
      `GET / HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`,
      /^HTTP\/1\.1 431 /,
      'request_too_large',
    ],
  ])('also answers what is no request: %j', async (bytes, head, code) => {
    const { sendRaw } = await runningServer();
    const answer = await sendRaw(bytes);
    expect(answer).toMatch(head);
    expect(JSON.parse(answer.split('\r\n\r\n')[1] ?? '').error.code).toBe(code);
  });
});

test('a body of thousands of values is refused before it is parsed', async () => {
  const { ask } = await runningServer(addContractRoutes);
  const headers = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 1]));
  const deep = (inner: unknown) => ({ ...monitor, config: { headers: [[inner]] } });
  for (const body of [headers(2_001), deep(headers(2_000)), Array(2_001).fill(0)]) {
    const answer = await ask('/monitors', post(body));
    expect(answer.status).toBe(400);
    expect(answer.body.error.message).toBe('The body has more than 2000 values. Send less.');
  }
  // Limits apply before the JSON is complete.
  const torn = await ask('/monitors', post(`[${'0,'.repeat(2_000)}`));
  expect(torn.body.error.message).toBe('The body has more than 2000 values. Send less.');
  const nested = await ask('/monitors', post('['.repeat(65)));
  expect(nested.body.error.message).toBe('The body is nested more than 64 levels deep. Send less.');
  const answer = await ask('/monitors', post({ ...monitor, ...headers(1_900) }));
  expect(answer.body.error.message).toBe("Unknown field 'k0'. Leave it out.");
});

describe('slow clients', () => {
  test('have a minute for a request and ten seconds for its headers', async () => {
    const { kit } = await runningServer();
    expect(kit.server.server).toMatchObject({ requestTimeout: 60_000, headersTimeout: 10_000 });
  });
});

test('a caller that sends CONNECT and resets its connection does not stop the server', async () => {
  const { url, ask, kit } = await runningServer();
  let seen = 0;
  kit.server.server.on('connect', () => {
    seen += 1;
  });
  for (let round = 0; round < 20; round += 1) {
    const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {});
    await once(socket, 'connect');
    socket.write('CONNECT other.example:443 HTTP/1.1\r\nhost: other.example\r\n\r\n');
    await new Promise((resolve) => setImmediate(resolve));
    socket.resetAndDestroy();
  }
  await eventually(() => seen > 0);
  expect((await ask('/healthz')).status).toBe(200);
});

describe('health', () => {
  test('/readyz asks every part and names those that are not ready', async () => {
    let broken = false;
    const { ask } = await runningServer((kit) => {
      kit.addReadyCheck('store', async () => {
        await pause(1);
      });
      kit.addReadyCheck('watch', () => {
        if (broken) throw new Error('No listing for 5 minutes.');
      });
    });
    expect(await ask('/readyz')).toMatchObject({
      status: 200,
      body: { ready: true, parts: { store: 'ok', watch: 'ok' } },
    });
    broken = true;
    expect(await ask('/readyz')).toMatchObject({
      status: 503,
      body: { ready: false, parts: { store: 'ok', watch: 'No listing for 5 minutes.' } },
    });
  });

  test('/readyz does not wait for ever for a part that hangs', async () => {
    const { ask } = await runningServer((kit) => {
      kit.addReadyCheck('store', () => new Promise(() => {}));
    });
    const deadlines = holdTimers(3_000);
    const asked = ask('/readyz');
    await eventually(() => deadlines.count() > 0);
    deadlines.expire();
    expect(await asked).toMatchObject({
      status: 503,
      body: { parts: { store: expect.stringContaining('did not answer') } },
    });
  });

  test('a stop waits for load balancers to hear of it only where one asks, and not twice', async () => {
    const [alone, asked] = [await runningServer(), await runningServer()];
    await asked.ask('/readyz');
    const sinceMs = performance.now();
    const waits = holdTimers((ms) => ms > 0 && ms <= 3_000);
    const ended: string[] = [];
    const drain = async (name: string, kit: ServerKit, since?: number) => {
      await kit.drain(since);
      ended.push(name);
    };
    const waiting = drain('asked', asked.kit, sinceMs);
    expect(waits.count()).toBe(1);
    await drain('asked, and long since', asked.kit, sinceMs - 60_000);
    await drain('alone', alone.kit, sinceMs);
    expect(ended).toHaveLength(2);
    waits.expire();
    await waiting;
  });
});

test('/openapi.json describes the routes of the services and not the plumbing', async () => {
  const { ask } = await runningServer(addContractRoutes);
  const { body } = await ask('/openapi.json');
  expect(body.info).toMatchObject({ title: 'Askwatch', version: '9.8.7' });
  expect(body.openapi).toMatch(/^3\./);
  expect(Object.keys(body.paths).sort()).toEqual(['/chat', '/monitors', '/page', '/things/{id}']);
  const schema = body.paths['/chat'].post.requestBody.content['application/json'].schema;
  expect(schema.required).toEqual(['model', 'messages']);
});

test('a raw route gets the body as it came, whatever its media type, and other routes still parse theirs', async () => {
  const { ask } = await runningServer((kit) => {
    addContractRoutes(kit);
    kit.addRawRoute('POST', '/slack/events', (request, response) => {
      const { rawBody } = request as typeof request & { rawBody: Buffer };
      response.end(`${request.method} ${request.url} ${rawBody}`);
    });
  });
  for (const type of ['application/json', 'application/x-www-form-urlencoded', 'text/odd']) {
    const sent = '{"not json" & exact=bytes ';
    const answer = await ask('/slack/events?a=b', post(sent, { 'content-type': type }));
    expect(answer.text).toBe(`POST /slack/events?a=b ${sent}`);
  }
  expect((await ask('/chat', post(chat))).body).toEqual(chat);
});

test('every request has an id of its own', async () => {
  const { ask } = await runningServer();
  const ids = await Promise.all(
    Array.from({ length: 20 }, async () =>
      (await ask('/healthz', { headers: { 'x-request-id': 'forged' } })).headers.get(
        'x-request-id',
      ),
    ),
  );
  expect(new Set(ids).size).toBe(20);
  expect(ids).not.toContain('forged');
});

test('closing waits for the answer under way', async () => {
  let finish = () => {};
  let started = false;
  const { kit, ask } = await runningServer(({ server }) => {
    server.get('/slow', async () => {
      started = true;
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      return 'whole';
    });
  });
  const answer = ask('/slow');
  await eventually(() => started);
  const closed = kit.close();
  finish();
  expect((await answer).text).toBe('whole');
  await closed;
});

test('closing ends a connection that its client would keep, after the answer under way', async () => {
  const asked: Array<() => void> = [];
  const { kit, url } = await runningServer(({ server, addRawRoute, addDirectRoute }) => {
    server.get('/slow', () => new Promise((resolve) => asked.push(() => resolve('whole'))));
    addRawRoute('GET', '/raw', (_, response) => {
      asked.push(() => response.end('whole'));
    });
    addDirectRoute({
      path: '/direct',
      schema: {},
      handle: ({ response }) => {
        asked.push(() => response.end('whole'));
      },
    });
  });
  const answers = ['GET /slow', 'GET /raw', 'POST /direct'].map(async (line) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.write(`${line} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n`);
    return await textOf(socket);
  });
  await eventually(() => asked.length === 3);
  const closed = kit.close();
  await eventually(() => !kit.server.server.listening);
  for (const finish of asked) finish();
  for (const answer of answers) expect(await answer).toMatch(/200 OK.*whole/s);
  await closed;
});

test('a shortcut takes what it can, and nothing once the server closes', async () => {
  let finish = () => {};
  const { kit, url, ask } = await runningServer(({ server, addShortcut }) => {
    server.get('/jobs/:name', async () => 'route');
    addShortcut({
      prefix: '/jobs/',
      take({ request, response }) {
        if (request.url === '/jobs/other') return undefined;
        finish = () => void response.end('shortcut');
        if (request.url !== '/jobs/slow') finish();
        return '/jobs/:name';
      },
    });
  });
  expect((await ask('/jobs/one')).text).toBe('shortcut');
  expect((await ask('/jobs/other')).text).toBe('route');
  expect((await ask('/metrics')).text).toMatch(
    /_count\{method="GET",route="\/jobs\/:name",status="200"\} 2\n/,
  );
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  const answers = textOf(socket);
  const before = finish;
  socket.write('GET /jobs/slow HTTP/1.1\r\nHost: x\r\n\r\n');
  await eventually(() => finish !== before);
  const closed = kit.close();
  const asked = once(kit.server.server, 'request');
  socket.write('GET /jobs/two HTTP/1.1\r\nHost: x\r\n\r\n');
  await asked;
  finish();
  expect(await answers).toMatch(/200 OK.*shortcut.*503 Service Unavailable/s);
  await closed;
});

test('closing does not wait for a connection on which nothing was ever asked', async () => {
  const { kit, url } = await runningServer();
  const spare = connect(Number(new URL(url).port), '127.0.0.1');
  spare.on('error', () => undefined);
  await once(spare, 'connect');
  await kit.close();
  await once(spare.resume(), 'close');
  expect(spare.destroyed).toBe(true);
});
