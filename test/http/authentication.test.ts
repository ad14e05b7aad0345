import type { IncomingMessage } from 'node:http';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createAuthentication } from '../../src/http/authentication.ts';
import { openKeys } from '../../src/http/keys.ts';
import { runningServer } from '../helpers/http/running-server.ts';
import type { AtEnd } from '../helpers/temporary-folder.ts';
import { openTestStore } from '../helpers/test-store.ts';

async function guarded(
  options: { trustedProxies?: readonly string[] } = {},
  atEnd: AtEnd = onTestFinished,
) {
  const store = await openTestStore();
  atEnd(() => store.close());
  const keys = await openKeys(store, 'monitoring');
  const mine = await keys.create('mine');
  const other = await keys.create('other');
  const revoked = await keys.create('revoked');
  await keys.revoke(revoked.id);
  const both = createAuthentication(keys, { acceptApiKeyHeader: true });
  const bearerOnly = createAuthentication(keys, { acceptApiKeyHeader: false });
  const running = await runningServer(
    ({ server }) => {
      server.get('/both', async (request) => both(request).name);
      server.get('/bearer', async (request) => bearerOnly(request).name);
    },
    options,
    atEnd,
  );
  return { ...running, mine: mine.key, other: other.key, revoked: revoked.key };
}

type Keys = Awaited<ReturnType<typeof guarded>>;

/** The table's server. More refusals than it has rows would be limited. */
let server: Keys;
beforeAll(async () => {
  server = await guarded({}, afterAll);
});

test.each<[string, string, (keys: Keys) => Record<string, string>, string]>([
  ['/both', 'nothing', () => ({}), 'missing_api_key'],
  ['/both', 'a bearer key', ({ mine }) => ({ authorization: `Bearer ${mine}` }), 'mine'],
  ['/both', 'a lower-case scheme', ({ mine }) => ({ authorization: `bearer ${mine}` }), 'mine'],
  ['/both', 'spaces around it', ({ mine }) => ({ authorization: `Bearer   ${mine}  ` }), 'mine'],
  ['/both', 'X-API-Key', ({ mine }) => ({ 'x-api-key': mine }), 'mine'],
  [
    '/both',
    'the same key twice',
    ({ mine }) => ({ 'x-api-key': mine, authorization: `Bearer ${mine}` }),
    'mine',
  ],
  [
    '/both',
    'two different keys',
    ({ mine, other }) => ({ 'x-api-key': mine, authorization: `Bearer ${other}` }),
    'conflicting_api_keys',
  ],
  [
    '/both',
    'a good and a bad key',
    ({ mine }) => ({ 'x-api-key': mine, authorization: 'Bearer x' }),
    'conflicting_api_keys',
  ],
  ['/both', 'an empty X-API-Key', () => ({ 'x-api-key': '' }), 'missing_api_key'],
  [
    '/both',
    'an empty X-API-Key beside a good key',
    ({ mine }) => ({ 'x-api-key': '', authorization: `Bearer ${mine}` }),
    'mine',
  ],
  ['/both', 'an empty bearer', () => ({ authorization: 'Bearer ' }), 'missing_api_key'],
  ['/both', 'a key without scheme', ({ mine }) => ({ authorization: mine }), 'missing_api_key'],
  [
    '/both',
    'another scheme',
    ({ mine }) => ({ authorization: `Basic ${mine}` }),
    'missing_api_key',
  ],
  ['/both', 'a wrong key', () => ({ authorization: 'Bearer nonsense' }), 'invalid_api_key'],
  [
    '/both',
    'a key with a changed end',
    ({ mine }) => ({ 'x-api-key': `${mine}x` }),
    'invalid_api_key',
  ],
  ['/both', 'a revoked key', ({ revoked }) => ({ 'x-api-key': revoked }), 'invalid_api_key'],
  [
    '/both',
    'two keys in one header',
    ({ mine, other }) => ({ 'x-api-key': `${mine}, ${other}` }),
    'invalid_api_key',
  ],
  ['/bearer', 'a bearer key', ({ mine }) => ({ authorization: `Bearer ${mine}` }), 'mine'],
  ['/bearer', 'X-API-Key', ({ mine }) => ({ 'x-api-key': mine }), 'missing_api_key'],
])('%s with %s', async (path, _what, headersOf, outcome) => {
  const answer = await server.ask(path, { headers: headersOf(server) });
  if (outcome === 'mine') {
    expect(answer).toMatchObject({ status: 200, text: 'mine' });
    return;
  }
  expect(answer).toMatchObject({ status: 401, body: { error: { code: outcome, param: null } } });
  expect(answer.headers.get('www-authenticate')).toBe('Bearer');
  for (const secret of [server.mine, server.other, server.revoked]) {
    expect(answer.text).not.toContain(secret);
  }
});

test('an Authorization header sent twice is refused, though Node shows only the first', async () => {
  const { sendRaw, mine, other } = await guarded();
  const answer = await sendRaw(
    `GET /both HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer ${mine}\r\nauthorization: Bearer ${other}\r\n\r\n`,
  );
  expect(answer).toMatch(/^HTTP\/1\.1 401 /);
  expect(answer).toContain('conflicting_api_keys');
});

test('a flood without a good key is answered with 429, and a good key still gets through', async () => {
  const { ask, mine } = await guarded();
  const statuses: number[] = [];
  const left: string[] = [];
  for (let n = 0; n < 70; n += 1) {
    const { status, headers } = await ask('/both', { headers: { 'x-api-key': `guess ${n}` } });
    statuses.push(status);
    left.push(`${headers.get('x-ratelimit-remaining')} of ${headers.get('x-ratelimit-limit')}`);
  }
  // Counted down by every answer, to the one limit there is.
  expect(left).toEqual(Array.from({ length: 70 }, (_, n) => `${Math.max(0, 59 - n)} of 60`));
  expect(statuses.slice(0, 60)).toEqual(Array(60).fill(401));
  expect(statuses.slice(60)).toEqual(Array(10).fill(429));
  const refused = await ask('/both');
  expect(refused.body.error.code).toBe('rate_limit_exceeded');
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await ask('/both', { headers: { 'x-api-key': mine } })).text).toBe('mine');
});

test('behind a trusted proxy one flood holds up nobody else', async () => {
  const { ask } = await guarded({ trustedProxies: ['127.0.0.1'] });
  const tryFrom = async (forwarded: string) => {
    const headers = { 'x-api-key': 'guess', 'x-forwarded-for': forwarded };
    return (await ask('/both', { headers })).status;
  };
  // The caller may write anything further left.
  for (let n = 0; n < 60; n += 1) expect(await tryFrom(`198.51.100.${n}, 192.0.2.1`)).toBe(401);
  expect(await tryFrom('192.0.2.1:4321')).toBe(429);
  expect(await tryFrom('192.0.2.1, 192.0.2.2')).toBe(401);
});

test('failed tries from many addresses of one IPv6 network are counted together', async () => {
  const store = await openTestStore();
  onTestFinished(() => store.close());
  const keys = await openKeys(store, 'monitoring');
  const authenticate = createAuthentication(keys, { acceptApiKeyHeader: true });
  // Loopback has one address of IPv6, so what is asked for of a request stands here by itself.
  const tryFrom = (ip: string) => {
    const raw: unknown = { headers: {}, rawHeaders: [] };
    try {
      return authenticate({ raw: raw as IncomingMessage, ip }).name;
    } catch (error) {
      return (error as { status?: number }).status;
    }
  };
  const tries = Array.from({ length: 61 }, (_, at) => tryFrom(`2001:db8:0:1::${at.toString(16)}`));
  expect(tries).toEqual([...Array(60).fill(401), 429]);
  expect(tryFrom('2001:db8:0:2::1')).toBe(401);
});
