import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import {
  Agent,
  type IncomingMessage,
  request as openRequest,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo, connect, createServer } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { FORWARDED_HEADER, signForwarded } from '../../src/http/forwarded-header.ts';
import type { BotAddress } from '../../src/http/forwarding.ts';
import type { ServerKit } from '../../src/http/server.ts';
import { eventually } from '../helpers/eventually.ts';
import { holdTimers } from '../helpers/hold-timers.ts';
import { post, runningServer } from '../helpers/http/running-server.ts';
import { holdRefused } from '../helpers/refused-port.ts';

const SECRET = 'shared by all processes';

/** The bot's address, as one process sees it. `waiting` has one entry per waiting request, and one for the link to a holder. */
function botAt(address: BotAddress) {
  const waiting = new Set<() => void>();
  let now = address;
  return {
    waiting,
    forwarding: {
      concerns: (path: string) => path.startsWith('/bot/'),
      where: () => now,
      changed: () => new Promise<void>((resolve) => void waiting.add(resolve)),
      secret: SECRET,
    },
    move(next: BotAddress) {
      now = next;
      for (const resolve of waiting) resolve();
      waiting.clear();
    },
  };
}

type Options = NonNullable<Parameters<typeof runningServer>[1]>;
type Handle = (request: IncomingMessage, response: ServerResponse) => void;

/** The address of a process that has ended. */
async function deadUrl() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  await holdRefused(port);
  return `http://127.0.0.1:${port}`;
}

/** A route for the bot whose handler reads and writes itself. */
function addBotRoute(kit: ServerKit, handle: Handle): void {
  kit.addDirectRoute({
    path: '/bot/raw',
    schema: { hide: true },
    handle: ({ request, response }) => void handle(request, response),
  });
}

/** One process that holds the bot, and one that stands by. */
async function twoProcesses(
  addRoutes: (kit: ServerKit) => void,
  options: { holder?: Options; standby?: Options } = {},
) {
  const holder = await runningServer((kit) => {
    kit.addForwarding(botAt('here').forwarding);
    addRoutes(kit);
  }, options.holder);
  const bot = botAt({ url: holder.url });
  const standby = await runningServer((kit) => {
    kit.addForwarding(bot.forwarding);
    kit.server.get('/bot/here', async () => 'standby');
    kit.server.get('/status', async () => 'standby');
  }, options.standby);
  return { holder, standby, bot };
}

/** Sends raw headers and gives back the request; its body is still open. */
function open(url: string, path: string, options: { method?: string; headers?: string[] } = {}) {
  const { method = 'POST', headers = [] } = options;
  const agent = new Agent();
  const sent = openRequest(url + path, {
    method,
    headers: ['Host', 'askwatch.example', ...headers],
    agent,
  });
  sent.on('error', () => {});
  onTestFinished(() => {
    sent.destroy();
    agent.destroy();
  });
  return { sent, answered: once(sent, 'response').then(([answer]) => answer as IncomingMessage) };
}

/** Adds a route that returns the request as the bot's routes see it. */
function addMirror({ server }: ServerKit) {
  server.get('/bot/mirror', async ({ ip, protocol, host, hostname, headers, raw }) => ({
    ip,
    protocol,
    host,
    hostname,
    headers,
    rawHeaders: raw.rawHeaders,
  }));
}

describe('a forwarded request', () => {
  test('arrives with its method, URL, raw headers and body unchanged', async () => {
    const seen: { method?: string; url?: string; rawHeaders?: string[]; signature?: string } = {};
    const { standby } = await twoProcesses((kit) => {
      kit.addRawRoute('POST', '/bot/slack/events', (request, response) => {
        const { method, url, rawHeaders, rawBody } = request as IncomingMessage & {
          rawBody: Buffer;
        };
        const signature = createHmac('sha256', 'slack').update(rawBody).digest('hex');
        Object.assign(seen, { method, url, rawHeaders, signature });
        response.end();
      });
    });
    const body = Buffer.from('payload={"a": 1,  "ü":"\\u00e9"}&x=%20+\u0000\r\n');
    const headers = [
      ...['X-Slack-Signature', createHmac('sha256', 'slack').update(body).digest('hex')],
      ...['Content-Type', 'application/x-www-form-urlencoded', 'x-Twice', 'one', 'X-twice', 'two'],
      ...['Authorization', 'Bearer x', 'X-Latin', '\u00fc', 'Content-Length', String(body.length)],
    ];
    const { sent, answered } = open(standby.url, '/bot/slack/events?a=b&a=%2F', { headers });
    sent.end(body);
    expect((await answered).statusCode).toBe(200);
    expect(seen).toMatchObject({ method: 'POST', url: '/bot/slack/events?a=b&a=%2F' });
    expect(seen.signature).toBe(headers[1]);
    const keepAlive = ['Connection', 'keep-alive'];
    expect(seen.rawHeaders).toEqual(['Host', 'askwatch.example', ...headers, ...keepAlive]);
  });

  test('loses the headers of its connection, but none that frame its body or name its client', async () => {
    const { standby } = await twoProcesses(addMirror);
    const answer = await standby.sendRaw(
      [
        'GET /bot/mirror HTTP/1.1',
        'Host: askwatch.example',
        'Connection: close, X-Hop, Content-Length, X-Forwarded-For',
        'X-Hop: 1',
        'TE: trailers',
        'Proxy-Authorization: x',
        'Upgrade: h2c',
        'X-Forwarded-For: 192.0.2.1',
        'Content-Length: 36',
        '',
        'GET /bot/mirror?smuggled HTTP/1.1\r\n\r\n',
      ].join('\r\n'),
    );
    expect(answer.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    const { headers } = JSON.parse(answer.slice(answer.indexOf('{'), answer.lastIndexOf('}') + 1));
    expect(headers).toEqual({
      connection: 'keep-alive',
      host: 'askwatch.example',
      'content-length': '36',
      'x-forwarded-for': '192.0.2.1',
    });
  });

  test.each([
    ['with a length', ['Content-Length', '5']],
    ['in chunks', ['Transfer-Encoding', 'chunked']],
  ])('keeps a body %s with any method', async (_how, headers) => {
    const bodies: string[] = [];
    const { standby } = await twoProcesses(({ server }) => {
      server.register(async (scope) => {
        scope.removeAllContentTypeParsers();
        scope.addContentTypeParser('*', async (_request: unknown, payload: IncomingMessage) => {
          bodies.push(await textOf(payload));
        });
        scope.route({ method: ['DELETE', 'PUT'], url: '/bot/any', handler: async () => 'read' });
      });
    });
    for (const method of ['DELETE', 'PUT']) {
      const { sent, answered } = open(standby.url, '/bot/any', {
        method,
        headers: [...headers, 'Content-Type', 'text/odd'],
      });
      sent.end('12345');
      expect((await answered).statusCode).toBe(200);
    }
    expect(bodies).toEqual(['12345', '12345']);
  });

  test('gets its answer with status, headers and body unchanged', async () => {
    const { standby } = await twoProcesses((kit) =>
      addBotRoute(kit, (_request, response) => {
        response.writeHead(299, 'Odd', [
          'Set-Cookie',
          'a=1',
          'x-ODD',
          '\u00fc',
          'Set-Cookie',
          'b=2',
        ]);
        response.write('one ');
        response.end('two');
      }),
    );
    const { sent, answered } = open(standby.url, '/bot/raw');
    sent.end();
    const answer = await answered;
    expect(answer).toMatchObject({ statusCode: 299, statusMessage: 'Odd' });
    expect(answer.rawHeaders.slice(0, 6)).toEqual([
      'Set-Cookie',
      'a=1',
      'x-ODD',
      '\u00fc',
      'Set-Cookie',
      'b=2',
    ]);
    expect(answer.headers).toMatchObject({ 'transfer-encoding': 'chunked' });
    expect(await textOf(answer)).toBe('one two');
  });

  test('is counted and logged as forwarded, under the id in its answer', async () => {
    const { standby } = await twoProcesses(addMirror);
    const { headers } = await standby.ask('/bot/mirror');
    expect((await standby.ask('/metrics')).text).toMatch(
      /_count\{method="GET",route="forwarded",status="200"\} 1\n/,
    );
    expect(standby.lines).toContainEqual(
      expect.objectContaining({ route: 'forwarded', reqId: headers.get('x-request-id') }),
    );
  });
});

test('only requests for the bot are forwarded, however their path is written', async () => {
  const { standby } = await twoProcesses(({ server }) => {
    server.get('/bot/here', async () => 'holder');
  });
  const texts = ['/bot/here', '/%62ot/here?x', '/status', '/status?/bot/here'].map(
    async (path) => (await standby.ask(path)).text,
  );
  expect(await Promise.all(texts)).toEqual(['holder', 'holder', 'standby', 'standby']);
  expect((await standby.ask('/%zz')).status).toBe(400);
});

describe('bodies are streamed', () => {
  test('an event stream shows each event at once', async () => {
    const streams: ServerResponse[] = [];
    const { standby } = await twoProcesses(({ server }) => {
      server.get('/bot/events', (_request, reply) => {
        reply.hijack();
        reply.raw.writeHead(200, { 'content-type': 'text/event-stream' });
        reply.raw.flushHeaders();
        streams.push(reply.raw);
      });
    });
    const { sent, answered } = open(standby.url, '/bot/events', { method: 'GET' });
    sent.end();
    const answer = await answered;
    for (const event of ['data: 1\n\n', 'data: 2\n\n']) {
      streams[0]?.write(event);
      expect(String((await once(answer, 'data'))[0])).toBe(event);
    }
  });
});

describe('either end may leave', () => {
  test.each([false, true])(
    'a client that leaves ends the request; answered: %s',
    async (isAnswered) => {
      let begun = false;
      let closed = false;
      const { standby } = await twoProcesses((kit) =>
        addBotRoute(kit, (_request, response) => {
          begun = true;
          if (isAnswered) response.write('begun');
          response.once('close', () => {
            closed = true;
          });
        }),
      );
      const { sent, answered } = open(standby.url, '/bot/raw');
      sent.end();
      if (isAnswered) await once(await answered, 'data');
      else {
        void answered.catch(() => {});
        await eventually(() => begun);
      }
      sent.destroy();
      await eventually(() => closed);
    },
  );

  test.each([
    ['with a length', { 'content-length': '100' }],
    ['in chunks', {}],
  ])('an answer %s that breaks off is cut for the client, too', async (_how, headers) => {
    let response: ServerResponse | undefined;
    const { standby } = await twoProcesses((kit) =>
      addBotRoute(kit, (_request, answering) => {
        response = answering;
        answering.writeHead(200, headers);
        answering.write('begun');
      }),
    );
    const { sent, answered } = open(standby.url, '/bot/raw');
    sent.end();
    const answer = await answered;
    await once(answer, 'data');
    response?.socket?.resetAndDestroy();
    const [error] = await once(answer, 'error');
    expect(error).toMatchObject({ code: 'ECONNRESET' });
    expect(answer.complete).toBe(false);
  });

  test('a request whose connection breaks before its answer is a 503 and not sent again', async () => {
    let times = 0;
    const { standby } = await twoProcesses((kit) =>
      addBotRoute(kit, (request) => {
        times += 1;
        request.once('data', () => request.socket.destroy());
      }),
    );
    for (const reused of [1, 2]) {
      const { status, body, headers } = await standby.ask('/bot/raw', post('{}'));
      expect(status).toBe(503);
      expect(headers.get('retry-after')).toBeNull();
      expect(body.error).toMatchObject({
        message: expect.stringMatching(/^The connection .* was lost\. It may have received/),
        code: 'service_unavailable',
      });
      expect(times).toBe(reused);
    }
  });

  test('an early answer to an unfinished upload reaches the client and closes both connections', async () => {
    const { standby, holder } = await twoProcesses((kit) =>
      addBotRoute(kit, (_request, response) => void response.writeHead(413).end()),
    );
    const answer = await standby.sendRaw(
      'POST /bot/raw HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nsome',
    );
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    await eventually(async () => (await openConnections(holder.kit)) === 0);
  });
});

const openConnections = ({ server }: ServerKit) =>
  new Promise<number>((resolve) => {
    server.server.getConnections((_error, count) => resolve(count));
  });

describe('a forged header', () => {
  const stranger = { ip: '203.0.113.9', protocol: 'https', host: 'forged.example' };
  const target = { method: 'GET', url: '/bot/mirror' } as IncomingMessage;
  const signed = (secret = SECRET, about = target) =>
    signForwarded(about, stranger, { times: 1, secret });

  test('is believed with the right signature only, and seen by nobody', async () => {
    const { holder } = await twoProcesses(addMirror);
    const mirror = async (value: string, path = '/bot/mirror') =>
      (await holder.ask(path, { headers: { [FORWARDED_HEADER]: value, 'x-kept': '1' } })).body;
    const good = await mirror(signed());
    expect(good).toMatchObject({ ...stranger, hostname: 'forged.example' });
    const forgeries = [
      signed('another secret'),
      signed().replace('203.0.113.9', '203.0.113.8'),
      signed(SECRET, { method: 'POST', url: '/bot/mirror' } as IncomingMessage),
      signed(SECRET, { method: 'GET', url: '/bot/mirror?' } as IncomingMessage),
      `${signed()}, ${signed()}`,
      signed().replace('v1;', 'v2;'),
      'v1;;;;;',
      '',
    ];
    for (const value of forgeries) {
      expect(await mirror(value)).toMatchObject({ ip: '127.0.0.1', protocol: 'http' });
    }
    for (const { headers, rawHeaders } of [good, await mirror('forged')]) {
      expect(headers).not.toHaveProperty(FORWARDED_HEADER);
      expect(headers).toHaveProperty('x-kept', '1');
      expect(rawHeaders.join().toLowerCase()).not.toContain(FORWARDED_HEADER);
    }
  });

  test('a header older than a minute is not believed about its client', async () => {
    const { holder } = await twoProcesses(addMirror);
    const now = Date.now();
    for (const [ageMs, ip] of [
      [59_000, stranger.ip],
      [61_000, '127.0.0.1'],
      [-61_000, '127.0.0.1'],
    ] as const) {
      const clock = vi.spyOn(Date, 'now').mockReturnValueOnce(now - ageMs);
      const value = signed();
      clock.mockRestore();
      const { body } = await holder.ask('/bot/mirror', { headers: { [FORWARDED_HEADER]: value } });
      expect(body.ip).toBe(ip);
    }
    expect(holder.lines).toContainEqual(
      expect.objectContaining({ level: 40, msg: expect.stringContaining('clocks') }),
    );
  });
});

test('a former holder forwards what still reaches it, and nothing is forwarded a third time', async () => {
  const asked: string[] = [];
  const { standby: former, bot } = await twoProcesses(({ server }) => {
    server.get('/bot/here', async ({ ip }) => {
      asked.push(ip);
      return 'holder';
    });
  });
  const processBefore = ({ url }: { url: string }, options: Options = {}) =>
    runningServer((kit) => kit.addForwarding(botAt({ url }).forwarding), options);
  const second = await processBefore(former, { trustedProxies: ['127.0.0.1'] });
  const first = await processBefore(second);
  const headers = { 'x-forwarded-for': '203.0.113.5' };
  expect((await second.ask('/bot/here', { headers })).text).toBe('holder');
  const limits = holdTimers(2_500);
  const unanswered = first.ask('/bot/here');
  await eventually(() => bot.waiting.size === 2);
  limits.expire();
  expect(await unanswered).toMatchObject({ status: 503 });
  expect(asked).toEqual(['203.0.113.5']);
  const next = first.ask('/bot/here');
  await eventually(() => bot.waiting.size === 2);
  bot.move('here');
  expect((await next).text).toBe('standby');
});

describe('the holder sees the client as the standby does', () => {
  const proxied = {
    'x-forwarded-for': '198.51.100.7, 203.0.113.5',
    'x-forwarded-proto': 'http, HTTPS',
    'x-forwarded-host': 'inner.example, bot.example:8443',
  };

  test.each<[string, readonly string[], Record<string, string>, object]>([
    ['directly', [], {}, { ip: '127.0.0.1', protocol: 'http' }],
    ['from an untrusted proxy', [], proxied, { ip: '127.0.0.1', protocol: 'http' }],
    [
      'from a trusted proxy',
      ['127.0.0.1'],
      proxied,
      { ip: '203.0.113.5', protocol: 'HTTPS', host: 'bot.example:8443', hostname: 'bot.example' },
    ],
    [
      'from two trusted proxies',
      ['127.0.0.1', '203.0.113.0/24'],
      proxied,
      { ip: '198.51.100.7', protocol: 'HTTPS', host: 'bot.example:8443' },
    ],
    [
      'from a trusted proxy that says nothing',
      ['127.0.0.1'],
      {},
      { ip: '127.0.0.1', protocol: 'http' },
    ],
  ])('%s', async (_way, trustedProxies, headers, expected) => {
    // The holder trusts nobody: it believes the standby's signature.
    const { standby } = await twoProcesses(addMirror, { standby: { trustedProxies } });
    const alone = await runningServer(addMirror, { trustedProxies });
    const [direct, forwarded] = await Promise.all(
      [alone, standby].map(async ({ ask }) => (await ask('/bot/mirror', { headers })).body),
    );
    expect(forwarded).toMatchObject(expected);
    const named = Object.keys(expected).filter((name) => name !== 'host' && name !== 'hostname');
    for (const name of named) expect(forwarded[name]).toBe(direct[name]);
    if (headers['x-forwarded-for']) expect(forwarded.headers).toMatchObject(headers);
    else expect(Object.keys(forwarded.headers).sort()).toEqual(Object.keys(direct.headers).sort());
  });
});

describe('without a holder', () => {
  test('a request waits for the next one', async () => {
    const { standby, holder, bot } = await twoProcesses((kit) =>
      addBotRoute(kit, (request, response) => void request.pipe(response)),
    );
    for (const [links, before] of [undefined, { url: await deadUrl() }].entries()) {
      bot.move(before);
      const answer = standby.ask('/bot/raw', post('"kept"'));
      await eventually(() => bot.waiting.size === links + 1);
      bot.move({ url: holder.url });
      expect(await answer).toMatchObject({ status: 200, text: '"kept"' });
    }
  });

  test('a request is served here once this process holds the bot', async () => {
    const { standby, bot } = await twoProcesses(() => {});
    bot.move(undefined);
    const answer = standby.ask('/bot/here');
    await eventually(() => bot.waiting.size > 0);
    bot.move('here');
    expect(await answer).toMatchObject({ status: 200, text: 'standby' });
  });

  test.each(['nobody', 'a dead process'])(
    'with %s a request is refused after 2.5 s',
    async (who) => {
      const { standby, bot } = await twoProcesses(() => {});
      bot.move(who === 'nobody' ? undefined : { url: await deadUrl() });
      const limits = holdTimers(2_500);
      const asked = standby.ask('/bot/raw', post('{}'));
      await eventually(() => bot.waiting.size === (who === 'nobody' ? 1 : 2));
      limits.expire();
      const { status, headers, body } = await asked;
      expect(status).toBe(503);
      expect(headers.get('retry-after')).toBe('2');
      expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
      expect(body.error).toEqual({
        message:
          'No Askwatch process has taken over the bot yet. Wait 2 s (Retry-After) and try again.',
        type: 'server_error',
        param: null,
        code: 'service_unavailable',
      });
      const warned = standby.lines.some(({ msg }) => msg === 'could not forward a request');
      expect(warned).toBe(who !== 'nobody');
    },
  );

  test('500 requests wait, and one more is refused at once', async () => {
    const { standby, bot } = await twoProcesses(() => {});
    bot.move(undefined);
    const socket = connect(Number(new URL(standby.url).port), '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    const answers = textOf(socket);
    const request = 'GET /bot/here HTTP/1.1\r\nHost: x\r\n';
    socket.write(`${`${request}\r\n`.repeat(499)}${request}Connection: close\r\n\r\n`);
    await eventually(() => bot.waiting.size === 500);
    const { status, body } = await standby.ask('/bot/here');
    expect(status).toBe(503);
    expect(body.error.message).toMatch(/^Too many requests/);
    bot.move('here');
    expect((await answers).match(/HTTP\/1\.1 200/g)).toHaveLength(500);
  });

  test('an address that cannot be used is an error of this process', async () => {
    const { standby, bot } = await twoProcesses(() => {});
    bot.move({ url: 'nowhere' });
    expect((await standby.ask('/bot/here')).status).toBe(500);
  });
});

test('a process that forwards has more connections than one client may have', async () => {
  const held: ServerResponse[] = [];
  const { standby } = await twoProcesses(
    (kit) => addBotRoute(kit, (_request, response) => void held.push(response)),
    { holder: { openFiles: 160 } },
  );
  const answers: ReturnType<typeof standby.ask>[] = [];
  for (let count = 1; count <= 40; count += 1) {
    answers.push(standby.ask('/bot/raw', post('{}')));
    await eventually(() => held.length === count);
  }
  for (const response of held) response.end('done');
  for (const answer of answers) expect((await answer).text).toBe('done');
});

test('a former holder that hangs loses its requests after 10 s', async () => {
  let hanging = 0;
  const { standby, bot } = await twoProcesses((kit) =>
    addBotRoute(kit, () => {
      hanging += 1;
    }),
  );
  const answer = standby.ask('/bot/raw', post('{}'));
  await eventually(() => hanging === 1);
  bot.move('here');
  const limits = holdTimers(10_000);
  await standby.ask('/bot/here');
  expect(limits.count()).toBeGreaterThan(0);
  limits.expire();
  expect(await answer).toMatchObject({ status: 503 });
});

describe('closing a standby', () => {
  test('waits for the answers under way', async () => {
    let finish = () => {};
    let begun = false;
    const { standby } = await twoProcesses((kit) =>
      addBotRoute(kit, (_request, response) => {
        begun = true;
        finish = () => void response.end('whole');
      }),
    );
    const answer = standby.ask('/bot/raw', post('{}'));
    await eventually(() => begun);
    const closed = standby.kit.close();
    await pause(50);
    finish();
    expect((await answer).text).toBe('whole');
    await closed;
  });

  test('cuts event streams, and refuses requests that wait for a holder', async () => {
    const { standby, bot } = await twoProcesses(({ server }) => {
      server.get('/bot/events', (_request, reply) => {
        reply.hijack();
        reply.raw.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
      });
    });
    const { sent, answered } = open(standby.url, '/bot/events', { method: 'GET' });
    sent.end();
    const answer = await answered;
    await once(answer, 'data');
    bot.move(undefined);
    holdTimers(2_500);
    const waiting = standby.ask('/bot/here');
    await eventually(() => bot.waiting.size === 2);
    const cut = once(answer, 'error');
    await standby.kit.close();
    await cut;
    expect((await waiting).status).toBe(503);
  });
});
