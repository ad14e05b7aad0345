import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createNameLookup, type NameLookup } from '../../../src/monitoring/checks/name-lookup.ts';
import { startDnsServer } from '../../fakes/dns-server.ts';
import { closedPort, startRawTarget, startWebTarget } from '../../fakes/web-target.ts';
import { eventually } from '../../helpers/eventually.ts';
import { monitorOf, setUp } from '../../helpers/monitoring/checks.ts';

describe('an HTTP check', () => {
  test('passes on a good answer, over a new connection each time, and says who asks', async () => {
    const target = await startWebTarget();
    const { http } = setUp();
    const result = await http(`${target.url}/health?x=1`);
    expect(result).toEqual({ ok: true, outcome: 'ok', responseTimeMs: expect.any(Number) });
    expect(result.responseTimeMs).toBeGreaterThan(0);
    await http(target.url);
    expect(target.connections()).toBe(2);
    expect(target.requests[0]).toMatchObject({ method: 'GET', path: '/health?x=1' });
    expect(target.requests[0]?.headers['user-agent']).toBe('Askwatch/1.2.3');
    expect(target.requests[0]?.headers.host).toBe(`127.0.0.1:${target.port}`);
  });

  test.each([
    {
      status: 503,
      expected: '200-299',
      reason: 'answered 503 Service Unavailable, expected 200-299',
    },
    {
      status: 404,
      expected: '200-299,401',
      reason: 'answered 404 Not Found, expected 200-299,401',
    },
    { status: 200, expected: '500', reason: 'answered 200 OK, expected 500' },
    { status: 599, expected: '200', reason: 'answered 599, expected 200' },
  ])('fails on $status when $expected is expected', async ({ status, expected, reason }) => {
    const target = await startWebTarget((_request, response) => {
      response.statusCode = status;
      response.end('secret details of the failure');
    });
    const result = await setUp().http(target.url, { expected_status: expected });
    expect(result).toMatchObject({ ok: false, outcome: 'status', reason });
  });

  test.each([
    { status: 204, expected: '200-299' },
    { status: 401, expected: '200-299,401' },
    { status: 500, expected: '500' },
    { status: 301, expected: '301' },
  ])('passes on $status when $expected is expected', async ({ status, expected }) => {
    const target = await startWebTarget((_request, response) => {
      response.writeHead(status, { location: '/elsewhere' });
      response.end();
    });
    expect(await setUp().http(target.url, { expected_status: expected })).toMatchObject({
      ok: true,
    });
    expect(target.requests).toHaveLength(1);
  });

  test.each(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
    'asks with %s',
    async (method) => {
      const target = await startWebTarget();
      expect(await setUp().http(target.url, { method })).toMatchObject({ ok: true });
      expect(target.requests[0]?.method).toBe(method);
    },
  );

  test('fails when nothing listens', async () => {
    const result = await setUp().http(`http://127.0.0.1:${await closedPort()}`);
    expect(result).toMatchObject({ ok: false, outcome: 'connection' });
    expect(result.reason).toMatch(/^connection refused by 127\.0\.0\.1:\d+ after \d+ ms$/);
  });

  test.each([
    { name: 'says nothing', handle: () => {}, reason: /^no answer from 127.0.0.1:\d+ within 1 s$/ },
    {
      name: 'drips its header',
      reason: /^no answer from 127.0.0.1:\d+ within 1 s$/,
      handle: (socket: import('node:net').Socket) => void socket.write('HTTP/1.1 200 OK\r\nA:'),
    },
    {
      name: 'drips its body',
      reason: /^no complete answer from 127.0.0.1:\d+ within 1 s$/,
      handle: (socket: import('node:net').Socket) =>
        void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc'),
    },
  ])(
    'gives up at its deadline on a server that $name, and closes the connection',
    async ({ handle, reason }) => {
      const target = await startRawTarget(handle);
      const result = await setUp().http(target.url, { timeout_seconds: 1 });
      expect(result).toMatchObject({ ok: false, outcome: 'timeout' });
      expect(result.reason).toMatch(reason);
      expect(result.responseTimeMs).toBeGreaterThan(900);
      await eventually(() => target.closed() === 1);
    },
  );

  test.each([
    {
      bytes: 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this',
      outcome: 'connection',
      reason: /broke before the answer was complete/,
    },
    {
      bytes: 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc',
      outcome: 'connection',
      reason: /broke before the answer was complete/,
    },
    { bytes: '', outcome: 'connection', reason: /closed the connection without an answer/ },
    { bytes: 'SSH-2.0-OpenSSH_9.6\r\n', outcome: 'protocol', reason: /not valid HTTP/ },
    {
      bytes: `HTTP/1.1 200 OK\r\nX: ${'y'.repeat(100_000)}\r\n\r\n`,
      outcome: 'protocol',
      reason: /headers of the answer are too large/,
    },
  ])('fails on a torn or strange answer: $outcome $reason', async ({ bytes, outcome, reason }) => {
    const target = await startRawTarget((socket) => {
      socket.once('data', () => socket.end(bytes));
    });
    const result = await setUp().http(target.url);
    expect(result).toMatchObject({ ok: false, outcome });
    expect(result.reason).toMatch(reason);
  });

  test('a check that is aborted has no result and closes its connection', async () => {
    const target = await startRawTarget(() => {});
    const closing = new AbortController();
    const pending = setUp().check(monitorOf('HTTP', target.url, {}), closing);
    closing.abort();
    await expect(pending).rejects.toThrow();
    await expect(setUp().check(monitorOf('HTTP', target.url, {}), closing)).rejects.toThrow();
  });
});

describe('redirects', () => {
  test('a check follows five redirects by default', async () => {
    const target = await startWebTarget((_request, response) => {
      response.writeHead(302, { location: '/again' }).end();
    });
    const result = await setUp().http(target.url);
    expect(result).toMatchObject({
      ok: false,
      outcome: 'redirect',
      reason: 'more than 5 redirects, in a loop',
    });
    expect(target.requests).toHaveLength(6);
  });

  test('redirects leave no listeners on the signal', async () => {
    const target = await startWebTarget((request, response) => {
      const hop = Number(request.url?.slice(1) || 0);
      if (hop < 10) response.writeHead(302, { location: `/${hop + 1}` });
      response.end();
    });
    const warnings: Error[] = [];
    const warn = (warning: Error) => warnings.push(warning);
    process.on('warning', warn);
    onTestFinished(() => void process.off('warning', warn));
    expect(await setUp().http(target.url, { max_redirects: 10 })).toMatchObject({ ok: true });
    // Node emits a warning in the next turn.
    await new Promise((resolve) => setImmediate(resolve));
    expect(warnings).toEqual([]);
  });

  test.each([
    'http://10.0.0.1/',
    'http://[::1]/',
    'http://169.254.169.254/latest/',
    'http://2130706434/',
  ])('to %s are not followed', async (location) => {
    const target = await startWebTarget((_request, response) => {
      response.writeHead(302, { location }).end();
    });
    const result = await setUp().http(target.url);
    expect(result).toMatchObject({ ok: false, outcome: 'blocked' });
    expect(result.reason).not.toMatch(/\d+\.\d+\.\d+\.\d+|::1/);
  });

  test('a redirect to a name with a forbidden address is not followed', async () => {
    const inner = await startWebTarget();
    const target = await startWebTarget((_request, response) => {
      response.writeHead(302, { location: `http://inner.example:${inner.port}/` }).end();
    });
    const lookup: NameLookup = async () => ['127.0.0.2'];
    const result = await setUp({ lookup }).http(target.url);
    expect(result).toMatchObject({ ok: false, outcome: 'blocked' });
    expect(inner.connections()).toBe(0);
  });

  test.each(['file:///etc/passwd', 'ftp://127.0.0.1/', 'http://', 'javascript:alert(1)'])(
    'to %s are a failure',
    async (location) => {
      const target = await startWebTarget((_request, response) => {
        response.writeHead(302, { location }).end();
      });
      expect(await setUp().http(target.url)).toMatchObject({ ok: false, outcome: 'redirect' });
    },
  );
});

describe('addresses', () => {
  test.each(['127.0.0.1', '2130706433', '[::ffff:127.0.0.1]', 'localhost', 'some.localhost'])(
    'that are not allowed are not reached: %s',
    async (host) => {
      const target = await startWebTarget();
      const result = await setUp({ allow: [] }).http(`http://${host}:${target.port}`);
      expect(result).toMatchObject({ ok: false, outcome: 'blocked' });
      expect(result.reason).toContain('MONITOR_ALLOW_PRIVATE');
      expect(target.connections()).toBe(0);
    },
  );

  test('localhost is reached when only IPv4 is allowed', async () => {
    const target = await startWebTarget();
    expect(await setUp().http(`http://localhost:${target.port}`)).toMatchObject({ ok: true });
  });

  test('a name that changes its answer is judged by the answer that is used', async () => {
    const target = await startWebTarget();
    const answers = ['127.0.0.1', '127.0.0.9', '127.0.0.1'];
    const dns = await startDnsServer(({ type }) =>
      type === 'A' ? [[answers.shift() ?? '127.0.0.9']] : [],
    );
    const lookup = createNameLookup({ servers: [dns.address] });
    const { http } = setUp({ lookup });
    const url = `http://rebind.example:${target.port}`;
    expect(await http(url)).toMatchObject({ ok: true });
    expect(await http(url)).toMatchObject({ ok: false, outcome: 'blocked' });
    expect(await http(url)).toMatchObject({ ok: true });
    expect(target.connections()).toBe(2);
    // One look-up of each kind a check: there is no second one whose answer nobody judged.
    expect(dns.questions).toHaveLength(6);
  });

  test('only the allowed addresses of a name are used', async () => {
    const target = await startWebTarget();
    const lookup: NameLookup = async () => ['127.0.0.9', '::1', '127.0.0.1', '10.0.0.1'];
    expect(await setUp({ lookup }).http(`http://many.example:${target.port}`)).toMatchObject({
      ok: true,
    });
  });

  test('a forbidden address is not tried beside an allowed one, nor shown', async () => {
    const forbidden = await startWebTarget(undefined, { host: '127.0.0.2' });
    const lookup: NameLookup = async () => ['127.0.0.2', '127.0.0.1'];
    const result = await setUp({ lookup }).http(`http://many.example:${forbidden.port}`);
    expect(result.reason).toMatch(/^connection refused by 127\.0\.0\.1:\d+ after \d+ ms$/);
    expect(forbidden.connections()).toBe(0);
  });

  test('the next allowed address is tried when one refuses', async () => {
    const target = await startWebTarget();
    const lookup: NameLookup = async () => ['127.0.0.2', '127.0.0.1'];
    const { http } = setUp({ lookup, allow: ['127.0.0.0/8'] });
    expect(await http(`http://many.example:${target.port}`)).toMatchObject({ ok: true });
    const refused = await http(`http://many.example:${await closedPort()}`);
    expect(refused.reason).toMatch(
      /^connection refused by 127\.0\.0\.2:(\d+) and 127\.0\.0\.1:\1 after \d+ ms$/,
    );
  });

  test.each([
    { answer: 'NXDOMAIN' as const, reason: 'the name does not exist (NXDOMAIN)' },
    { answer: 'SERVFAIL' as const, reason: 'the name could not be looked up (SERVFAIL)' },
    { answer: [], reason: 'the name has no address' },
  ])('a name without an address fails with a sentence: $reason', async ({ answer, reason }) => {
    const dns = await startDnsServer(() => answer);
    const lookup = createNameLookup({ servers: [dns.address] });
    const result = await setUp({ lookup }).http('http://shop.example/');
    expect(result).toMatchObject({ ok: false, outcome: 'name', reason });
  });
});

describe('a KEYWORD check', () => {
  const page = (body: string | Buffer, headers: Record<string, string> = {}) =>
    startWebTarget((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html', ...headers });
      response.end(body);
    });

  test('passes when the keyword is there and fails when it is not', async () => {
    const target = await page(`<h1>Add to Cart</h1>${' '.repeat(14 * 1024)}`);
    const { keyword } = setUp();
    expect(await keyword(target.url, 'Cart')).toMatchObject({ ok: true });
    expect(await keyword(target.url, 'Basket')).toMatchObject({
      ok: false,
      outcome: 'keyword',
      reason: 'keyword not found in 14 KB of HTML',
    });
    expect(await keyword(target.url, 'cart')).toMatchObject({ ok: false });
    expect(await keyword(target.url, 'cart', { case_sensitive: false })).toMatchObject({
      ok: true,
    });
    expect(await keyword(target.url, 'Basket', { inverted: true })).toMatchObject({ ok: true });
    expect(await keyword(target.url, 'Cart', { inverted: true })).toMatchObject({
      ok: false,
      reason: 'the keyword was found but should not be there',
    });
  });

  test('fails on a wrong status even when the keyword is there', async () => {
    const target = await startWebTarget((_request, response) =>
      response.writeHead(500).end('Cart'),
    );
    expect(await setUp().keyword(target.url, 'Cart')).toMatchObject({
      ok: false,
      outcome: 'status',
    });
  });

  test.each([
    ['gzip', gzipSync('köy Cart')],
    ['deflate', deflateSync('köy Cart')],
    ['deflate', deflateRawSync('köy Cart')],
    ['br', brotliCompressSync('köy Cart')],
    ['br, gzip', gzipSync(brotliCompressSync('köy Cart'))],
  ])('decompresses %s', async (coding, body) => {
    const target = await page(body, { 'content-encoding': coding });
    expect(await setUp().keyword(target.url, 'köy Cart')).toMatchObject({ ok: true });
  });

  test.each([
    { coding: 'gzip', body: Buffer.from('not packed'), reason: 'could not be decompressed' },
    {
      coding: 'gzip',
      body: gzipSync('Cart'.repeat(1000)).subarray(0, 30),
      reason: 'could not be decompressed',
    },
    { coding: 'zstd', body: Buffer.from('x'), reason: 'an unknown encoding (zstd)' },
    { coding: 'gzip, gzip, gzip', body: Buffer.from('x'), reason: 'an unknown encoding' },
  ])('says what is wrong with an encoding: $coding $reason', async ({ coding, body, reason }) => {
    const target = await page(body, { 'content-encoding': coding });
    const result = await setUp().keyword(target.url, 'Cart');
    expect(result).toMatchObject({ ok: false, outcome: 'protocol' });
    expect(result.reason).toContain(reason);
  });

  test.each([
    ['by the header', 'text/html; charset=iso-8859-1', Buffer.from('caf\u00e9', 'latin1')],
    ['by the page', 'text/html', Buffer.from('<meta charset="windows-1252"> caf\u00e9', 'latin1')],
    ['by its mark', 'text/html', Buffer.from('\ufeffcaf\u00e9', 'utf16le')],
    ['as UTF-8 else', 'text/html; charset=klingon', Buffer.from('caf\u00e9')],
  ])('decodes the text %s', async (_how, type, body) => {
    const target = await page(body, { 'content-type': type });
    expect(await setUp().keyword(target.url, 'café')).toMatchObject({ ok: true });
  });

  test('says that a keyword beyond the limit is not read', async () => {
    const target = await page(`${'a'.repeat(1024 * 1024)}Cart`);
    const result = await setUp().keyword(target.url, 'Cart');
    expect(result.reason).toBe(
      'keyword not found in the first 1024 KB of HTML; the rest was not read',
    );
    const just = await page(`${'a'.repeat(1024 * 1024 - 4)}Cart`);
    expect(await setUp().keyword(just.url, 'Cart')).toMatchObject({ ok: true });
  });
});
