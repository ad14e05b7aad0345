import { describe, expect, test } from 'vitest';
import { ErrorBody } from '../../../src/contracts/error.ts';
import { MonitorCreated, MonitorList } from '../../../src/contracts/monitoring.ts';
import { startWebTarget } from '../../fakes/web-target.ts';
import { createFakeClock } from '../../helpers/monitoring/fake-clock.ts';
import { startService } from '../../helpers/monitoring/service.ts';
import { storedText } from '../../helpers/test-store.ts';

const MONITORS = '/api/v1/public/monitors';
const site = { name: 'Shop', check_type: 'HTTP', target: 'http://127.0.0.1:9/' };

test('keys are taken as X-API-Key and as a bearer token', async () => {
  const { call, key } = await startService();
  const auth = { key: null };
  const tries: Array<{ headers: Record<string, string>; status: number; code?: string }> = [
    { headers: { 'x-api-key': key }, status: 200 },
    { headers: { 'X-API-KEY': key }, status: 200 },
    { headers: { authorization: `Bearer ${key}` }, status: 200 },
    { headers: { authorization: `bearer ${key}` }, status: 200 },
    { headers: { authorization: `Bearer ${key}`, 'x-api-key': key }, status: 200 },
    { headers: {}, status: 401, code: 'missing_api_key' },
    { headers: { 'x-api-key': '' }, status: 401, code: 'missing_api_key' },
    { headers: { authorization: `Basic ${key}` }, status: 401, code: 'missing_api_key' },
    { headers: { 'x-api-key': `${key}x` }, status: 401, code: 'invalid_api_key' },
    { headers: { 'x-api-key': key.replace(/.$/, '!') }, status: 401, code: 'invalid_api_key' },
    { headers: { authorization: 'Bearer awm_no' }, status: 401, code: 'invalid_api_key' },
    {
      headers: { authorization: `Bearer ${key}`, 'x-api-key': 'awm_other' },
      status: 401,
      code: 'conflicting_api_keys',
    },
  ];
  for (const { headers, status, code } of tries) {
    for (const [method, path] of [
      ['GET', MONITORS],
      ['GET', '/api/v1/public/nothing'],
    ] as const) {
      const answer = await call(method, path, { ...auth, headers });
      expect(answer.status, JSON.stringify(headers)).toBe(
        status === 200 && path !== MONITORS ? 404 : status,
      );
      if (code) expect(answer.body.error?.code).toBe(code);
      if (code) expect(answer.headers['www-authenticate']).toBe('Bearer');
    }
  }
  expect((await call('POST', MONITORS, { key: null, json: site })).status).toBe(401);
  expect(await (await startService()).list()).toEqual([]);
});

describe('create and list', () => {
  test('a new monitor is UP in the answer, with exactly the fields of the contract, and PENDING in the list', async () => {
    // It never answers, so no check ends.
    const target = await startWebTarget(() => {});
    const { call, list } = await startService();
    const json = { name: ' My shop ', target: target.url, check_type: 'HTTP', config: {} };
    const answer = await call('POST', MONITORS, { json });
    expect(answer.status).toBe(201);
    MonitorCreated.parse(answer.body);
    expect(answer.body).toEqual({
      id: expect.stringMatching(/^mon_[0-9a-f]{16}$/),
      name: 'My shop',
      check_type: 'HTTP',
      target: target.url,
      status: 'UP',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      interval_seconds: 60,
    });
    const listed = await call('GET', MONITORS);
    MonitorList.parse(listed.body);
    expect(listed.body.count).toBe(1);
    expect((await list())[0]).toMatchObject({
      id: answer.body.id,
      name: 'My shop',
      check_type: 'HTTP',
      target: target.url,
      status: 'PENDING',
      interval_seconds: 60,
      status_changed_at: answer.body.created_at,
      status_changes: 0,
    });
  });

  test('an empty list is a good list, and HEAD asks for its headers', async () => {
    const { call } = await startService();
    expect((await call('GET', MONITORS)).body).toEqual({ count: 0, monitors: [] });
    const head = await call('HEAD', MONITORS);
    expect(head.status).toBe(200);
    expect(head.text).toBe('');
  });

  test('monitors are listed in the order they were made', async () => {
    const { create, list } = await startService();
    for (const name of ['one', 'two', 'three']) await create({ ...site, name });
    expect((await list()).map(({ name }) => name)).toEqual(['one', 'two', 'three']);
  });
});

const BAD: Array<{ why: string; json: unknown; param: string | null; says?: RegExp }> = [
  { why: 'null', json: null, param: null },
  { why: 'no name', json: { ...site, name: undefined }, param: 'name', says: /missing/ },
  { why: 'an unknown check_type', json: { ...site, check_type: 'PING' }, param: 'check_type' },
  {
    why: 'an unknown field',
    json: { ...site, status: 'DOWN' },
    param: 'status',
    says: /Unknown field/,
  },
  {
    why: 'a timeout as long as the interval',
    json: { ...site, config: { interval_seconds: 10, timeout_seconds: 10 } },
    param: 'config.timeout_seconds',
    says: /less than interval_seconds/,
  },
  {
    why: 'a password',
    json: { ...site, target: 'http://user:secret@1.1.1.1/' },
    param: 'target',
    says: /password/,
  },
  {
    why: 'a host that cannot exist',
    json: { ...site, target: `http://${'a'.repeat(64)}.example/` },
    param: 'target',
  },
  {
    why: 'a keyword check by HEAD',
    json: { ...site, check_type: 'KEYWORD', config: { target_keyword: 'x', method: 'HEAD' } },
    param: 'config.method',
  },
];

test('an invalid create is a 400 that names the field, and nothing is stored', async () => {
  const { call, createKey, list, folder } = await startService();
  const before = await storedText(folder);
  for (const { why, json, param, says } of BAD) {
    const answer = await call('POST', MONITORS, { json, key: await createKey() });
    expect(answer.status, why).toBe(400);
    const { error } = ErrorBody.parse(answer.body);
    expect(error.param, why).toBe(param);
    expect(error.type, why).toBe('invalid_request_error');
    if (param) expect(error.message, why).toContain(param);
    if (says) expect(error.message, why).toMatch(says);
    expect(error.message, why).not.toContain('secret');
    expect(answer.headers['x-ratelimit-remaining'], why).toBe('119');
  }
  expect(await list()).toEqual([]);
  expect(before).not.toContain('check_type');
  expect(await storedText(folder)).not.toContain('check_type');
});

const NO_JSON: Array<{ body: string; type: string; status: number; code: string }> = [
  { body: '{"name":', type: 'application/json', status: 400, code: 'invalid_json' },
  { body: '', type: 'application/json', status: 400, code: 'invalid_json' },
  { body: '{"__proto__":{"a":1}}', type: 'application/json', status: 400, code: 'invalid_json' },
  {
    body: 'name=x',
    type: 'application/x-www-form-urlencoded',
    status: 415,
    code: 'unsupported_media_type',
  },
  { body: '{}', type: 'text/plain', status: 415, code: 'unsupported_media_type' },
  {
    body: `{"name":"${'x'.repeat(300_000)}"}`,
    type: 'application/json',
    status: 413,
    code: 'request_too_large',
  },
];

test('a body that is no JSON is refused, and counts as a request', async () => {
  const { call, createKey } = await startService();
  for (const { body, type, status, code } of NO_JSON) {
    const headers = { 'content-type': type };
    const answer = await call('POST', MONITORS, { body, headers, key: await createKey() });
    expect([answer.status, answer.body.error?.code]).toEqual([status, code]);
    expect(answer.headers['x-ratelimit-remaining']).toBe('119');
  }
});

describe('targets that are not allowed', () => {
  test('are refused at create', async () => {
    const { call, list } = await startService({ allowPrivate: [] });
    for (const target of [
      'http://127.0.0.1/',
      'http://[::ffff:10.0.0.1]/',
      'http://localhost:3000/',
    ]) {
      const answer = await call('POST', MONITORS, { json: { ...site, target } });
      expect(answer.status, target).toBe(400);
      const { error } = ErrorBody.parse(answer.body);
      expect(error, target).toMatchObject({ code: 'target_not_allowed', param: 'target' });
      expect(error.message, target).toContain('MONITOR_ALLOW_PRIVATE=');
    }
    expect(await list()).toEqual([]);
  });

  test('a resolver of a DNS check is one of them', async () => {
    const { call } = await startService({ allowPrivate: [] });
    const json = {
      name: 'x',
      check_type: 'DNS',
      target: 'a.example',
      config: { resolver: '10.0.0.53' },
    };
    const answer = await call('POST', MONITORS, { json });
    expect(answer.status).toBe(400);
    expect(answer.body.error).toMatchObject({
      code: 'target_not_allowed',
      param: 'config.resolver',
    });
  });

  test('the operator opens a network and no other', async () => {
    const { call } = await startService({ allowPrivate: ['192.168.0.0/16'] });
    const at = async (target: string) =>
      (await call('POST', MONITORS, { json: { ...site, target } })).status;
    expect(await at('http://192.168.7.7/')).toBe(201);
    expect(await at('http://127.0.0.1/')).toBe(400);
  });
});

describe('the rate limit', () => {
  test('lets 120 requests a minute through and refuses the next, for each key', async () => {
    const clock = createFakeClock();
    const { call, createKey } = await startService({ clock });
    for (let count = 1; count <= 120; count += 1) {
      const answer = await call('GET', MONITORS);
      expect(answer.status).toBe(200);
      expect(answer.headers['x-ratelimit-limit']).toBe('120');
      expect(answer.headers['x-ratelimit-remaining']).toBe(String(120 - count));
      if (count === 60) await clock.advance(20_000);
    }
    for (let count = 0; count < 3; count += 1) {
      const refused = await call('GET', MONITORS);
      expect(refused.status).toBe(429);
      expect(refused.body.error?.code).toBe('rate_limit_exceeded');
      expect(refused.headers['retry-after']).toBe('40');
      expect(refused.headers['x-ratelimit-remaining']).toBe('0');
    }
    expect((await call('POST', MONITORS, { json: site })).status).toBe(429);
    expect((await call('GET', MONITORS, { key: await createKey() })).status).toBe(200);
    // A sliding window: what was used 60 s ago is free again, and no more.
    await clock.advance(40_000);
    const again = await call('GET', MONITORS);
    expect(again.status).toBe(200);
    expect(again.headers['x-ratelimit-remaining']).toBe('59');
  });

  const OTHER_ANSWERS = [
    ['GET', '/api/v1/public/nothing', 404],
    ['GET', '/api/v1/public/', 404],
    ['GET', '/api/v1/public', 404],
    ['GET', `${MONITORS}/mon_1`, 404],
    ['DELETE', MONITORS, 405],
    ['PUT', MONITORS, 405],
    ['OPTIONS', MONITORS, 405],
    ['POST', '/api/v1/public/push/unknown', 404],
    ['GET', '/api/v1/public/push/unknown', 404],
    ['DELETE', '/api/v1/public/push/unknown', 405],
    ['GET', '/api/v1/%70ublic/nothing', 404],
    ['GET', '/api/v1/public/push/', 404],
  ] as const;
  test('has its headers on every answer of 404 and 405 too', async () => {
    const { call, createKey } = await startService();
    for (const [method, path, status] of OTHER_ANSWERS) {
      const answer = await call(method, path, { key: await createKey() });
      expect(answer.status, `${method} ${path}`).toBe(status);
      expect(answer.headers['x-ratelimit-limit']).toBe('120');
      // Pushes of one token count together.
      expect(answer.headers['x-ratelimit-remaining']).toMatch(/^11\d$/);
      ErrorBody.parse(answer.body);
      if (status === 405) expect(answer.headers.allow).toContain('POST');
    }
  });
});

test('a method that is not possible is refused before the body is checked', async () => {
  const { call } = await startService();
  const answer = await call('PUT', MONITORS, {
    body: 'not JSON',
    headers: { 'content-type': 'text/plain' },
  });
  expect(answer.status).toBe(405);
  expect(answer.body.error?.code).toBe('method_not_allowed');
});

test('a path written in another way needs a key as well', async () => {
  const { call } = await startService();
  for (const path of ['/api/v1/%70ublic/monitors', '/api/v1/public/%6donitors']) {
    expect((await call('GET', path, { key: null })).status).toBe(401);
    expect((await call('GET', path)).status).toBe(200);
  }
});
