import { describe, expect, test } from 'vitest';
import { startWebTarget } from '../../fakes/web-target.ts';
import { setUp } from '../../helpers/monitoring/checks.ts';

const { http, keyword } = setUp({ allow: ['127.0.0.1/32', '127.0.0.2/32'] });

const SECRETS = {
  Authorization: 'Bearer secret',
  Cookie: 'session=secret',
  'X-Api-Key': 'secret',
  'User-Agent': 'Mozilla/5.0 (secret)',
};
const namesOf = (headers: object) => Object.keys(headers).sort();
const OURS = ['accept', 'accept-encoding', 'connection', 'host', 'user-agent'];

/** A target that sends on to `to`. */
const redirectTo = (to: () => string, status = 302) =>
  startWebTarget((request, response) => {
    request.resume().on('end', () => response.writeHead(status, { location: to() }).end());
  });

describe('headers', () => {
  test('configured headers replace our own of the same name', async () => {
    const target = await startWebTarget();
    await http(target.url, { headers: { ...SECRETS, ACCEPT: 'text/html', 'X-Empty': '' } });
    const [request] = target.requests;
    expect(request?.headers).toMatchObject({
      authorization: 'Bearer secret',
      cookie: 'session=secret',
      'x-api-key': 'secret',
      'user-agent': 'Mozilla/5.0 (secret)',
      accept: 'text/html',
      'x-empty': '',
      host: `127.0.0.1:${target.port}`,
    });
  });

  test('headers are kept over redirects within one origin', async () => {
    const target = await startWebTarget((request, response) => {
      if (request.url === '/a') response.writeHead(302, { location: '/b' });
      response.end();
    });
    expect(await http(`${target.url}/a`, { headers: SECRETS })).toMatchObject({ ok: true });
    expect(target.requests[1]?.headers).toEqual(target.requests[0]?.headers);
  });

  test('headers are dropped at a redirect to another host, and stay dropped when it leads back', async () => {
    let back = '';
    const other = await redirectTo(() => back);
    const elsewhere = `http://127.0.0.2:${other.port}/`;
    const real = await startWebTarget(undefined, { host: '127.0.0.2' });
    const home = await startWebTarget((request, response) => {
      if (request.url === '/start') response.writeHead(307, { location: other.url });
      if (request.url === '/back') response.writeHead(308, { location: real.url });
      response.end();
    });
    back = `${home.url}/back`;
    const result = await http(`${home.url}/start`, { headers: SECRETS });
    expect(result, elsewhere).toMatchObject({ ok: true });
    expect(home.requests.map(({ path }) => path)).toEqual(['/start', '/back']);
    expect(home.requests[0]?.headers).toMatchObject({ authorization: 'Bearer secret' });
    for (const request of [other.requests[0], home.requests[1], real.requests[0]]) {
      expect(namesOf(request?.headers ?? {})).toEqual(OURS);
      expect(JSON.stringify(request)).not.toContain('secret');
      expect(request?.headers['user-agent']).toBe('Askwatch/1.2.3');
    }
  });
});

describe('a body', () => {
  const JSON_BODY = { body: '{"ping":"käse"}', headers: { 'Content-Type': 'application/json' } };

  test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
    'a body is sent with %s',
    async (method) => {
      const target = await startWebTarget((request, response) =>
        request.resume().on('end', () => response.end('pong')),
      );
      expect(await keyword(target.url, 'pong', { method, ...JSON_BODY })).toMatchObject({
        ok: true,
      });
      expect(target.requests[0]).toMatchObject({ method, body: JSON_BODY.body });
      expect(target.requests[0]?.headers).toMatchObject({
        'content-length': '16',
        'content-type': 'application/json',
      });
      expect(target.requests[0]?.headers).not.toHaveProperty('transfer-encoding');
    },
  );

  test('an empty body has a length of 0, and a request without a body has none', async () => {
    const target = await startWebTarget();
    await http(target.url, { method: 'POST', body: '' });
    await http(target.url, { method: 'GET' });
    expect(target.requests[0]?.headers['content-length']).toBe('0');
    expect(target.requests[1]?.headers).not.toHaveProperty('content-length');
  });

  test.each([
    { status: 301, method: 'POST', next: 'GET' },
    { status: 302, method: 'POST', next: 'GET' },
    { status: 303, method: 'PUT', next: 'GET' },
    { status: 301, method: 'PUT', next: 'PUT' },
    { status: 307, method: 'POST', next: 'POST' },
    { status: 308, method: 'PATCH', next: 'PATCH' },
  ])('with $method after a $status goes with $next', async ({ status, method, next }) => {
    const other = await startWebTarget((request, response) =>
      request.resume().on('end', () => response.end()),
    );
    const target = await redirectTo(() => other.url, status);
    const headers = { ...SECRETS, ...JSON_BODY.headers };
    expect(await http(target.url, { method, ...JSON_BODY, headers })).toMatchObject({ ok: true });
    const [request] = other.requests;
    expect(request?.method).toBe(next);
    if (next === 'GET') {
      expect(request?.body).toBe('');
      expect(namesOf(request?.headers ?? {})).toEqual(OURS);
    } else {
      expect(request?.body).toBe(JSON_BODY.body);
      expect(namesOf(request?.headers ?? {})).toEqual(
        [...OURS, 'content-length', 'content-type'].sort(),
      );
    }
  });
});

describe('redirects', () => {
  test('redirects are answers if they are not followed', async () => {
    const target = await redirectTo(() => '/next');
    expect(await http(target.url, { follow_redirects: false })).toMatchObject({
      ok: false,
      outcome: 'status',
      reason: 'answered 302 Found, expected 200-299',
    });
    expect(
      await http(target.url, { follow_redirects: false, expected_status: '302' }),
    ).toMatchObject({ ok: true });
    expect(target.requests).toHaveLength(2);
  });

  test.each([
    { max_redirects: 0, reason: 'it redirects, and max_redirects is 0' },
    { max_redirects: 1, reason: 'more than 1 redirect' },
    { max_redirects: 10, reason: 'more than 10 redirects' },
  ])('end after $max_redirects', async ({ max_redirects, reason }) => {
    let page = 0;
    const target = await redirectTo(() => {
      page += 1;
      return `/${page}`;
    });
    const result = await http(target.url, { max_redirects });
    expect(result).toMatchObject({ ok: false, outcome: 'redirect', reason });
    expect(target.requests).toHaveLength(max_redirects + 1);
  });
});

test('a slow answer passes, and the reason says how slow', async () => {
  const target = await startWebTarget((_request, response) =>
    setTimeout(() => response.end('fine'), 60),
  );
  const slow = await http(target.url, { degraded_after_ms: 40 });
  expect(slow).toMatchObject({ ok: true, outcome: 'slow' });
  expect(slow.reason).toMatch(/^it answered after \d+ ms, more than 40 ms$/);
  expect(await http(target.url, { degraded_after_ms: 9_000 })).toEqual({
    ok: true,
    outcome: 'ok',
    responseTimeMs: expect.any(Number),
  });
  expect(await http(target.url, { degraded_after_ms: 40, expected_status: '500' })).toMatchObject({
    ok: false,
    outcome: 'status',
  });
});
