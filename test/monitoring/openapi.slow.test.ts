import { expect, test } from 'vitest';
import { MonitoringPath } from '../../src/contracts/monitoring.ts';
import { AddedPath, CURSOR_HEADER } from '../../src/contracts/monitoring-additions.ts';
import { folderWithDeclared } from '../helpers/monitoring/declared.ts';
import { startService } from '../helpers/monitoring/service.ts';
import { openApiOf } from '../helpers/openapi.ts';

const site = { name: 'Shop', target: 'http://127.0.0.1:1/', check_type: 'HTTP' } as const;

/** A path as the document writes it. */
const documented = (path: string) => path.replace(/:(\w+)/g, '{$1}');
const MONITORS = MonitoringPath.monitors;
const PUSH = documented(MonitoringPath.push);
const SIGNAL = documented(AddedPath.pushSignal);
const PUSH_METHODS = ['get', 'head', 'post'];

/** Every route for holders of a key, with a body that is good where it takes one. */
const KEY_ROUTES: Array<[method: string, path: string, body?: object]> = [
  ['get', MONITORS],
  ['post', MONITORS, { name: 'Shop', target: 'http://127.0.0.1:1/', check_type: 'HTTP' }],
  ['get', AddedPath.monitor],
  ['patch', AddedPath.monitor, { name: 'Cart' }],
  ['put', AddedPath.maintenance, { windows: [{ cron: '0 3 * * *', duration_minutes: 5 }] }],
  ['get', AddedPath.planned],
  ['post', AddedPath.planned, { monitors: ['mon_1'], window: null }],
  ['get', AddedPath.results],
  ['get', AddedPath.rollups],
  ['get', AddedPath.incidents],
  ['get', AddedPath.uptime],
  ['get', AddedPath.days],
  ['get', AddedPath.parts],
  ['get', AddedPath.changes],
  ['get', AddedPath.recentIncidents],
  ['post', AddedPath.check],
  ['post', AddedPath.pause],
  ['post', AddedPath.resume],
  ['post', AddedPath.pushToken],
  ['delete', AddedPath.monitor],
];
const routes = KEY_ROUTES.map(([method, path, body]) => ({ method, path: documented(path), body }));

/** Documented answers that a working service never gives, or only after a minute. */
const NOT_PROVOKED = / (500|503|408)$/;

test('every answer of the service is as the document describes it, and none is left out', async () => {
  // A missing file is good enough, because it changes nothing.
  const managedBy = { file: 'monitors.yaml', line: 1, key: 'declared' };
  const folder = await folderWithDeclared({
    mon_declared: { monitor: site, maintenance: [], channels: [], managedBy },
  });
  const { url, key, createKey, call } = await startService({
    folder,
    monitorsFile: '/nowhere/m.yaml',
  });
  const { expectDescribed, unseen } = await openApiOf(url);

  /** Sends a request and checks the answer against the document; its name has no query or path parameters. */
  async function ask(
    method: string,
    path: string,
    { id = '', query = '', ...init }: RequestInit & { id?: string; query?: string } = {},
  ) {
    const [first = '', second = ''] = id.split(' ');
    const at = path.replace(/\{\w+\}/, first).replace(/\{\w+\}/, second) + query;
    const answer = await fetch(url + at, { method: method.toUpperCase(), ...init });
    const text = await answer.text();
    expectDescribed(method, path, { status: answer.status, headers: answer.headers, text });
    return { status: answer.status, text };
  }
  const sent = (
    body: string | undefined,
    type = 'application/json',
    bearer = key,
  ): RequestInit => ({
    body,
    headers: {
      ...(body === undefined ? {} : { 'content-type': type }),
      authorization: `Bearer ${bearer}`,
    },
  });
  const json = (body: object | undefined) => (body ? JSON.stringify(body) : undefined);
  async function make(monitor: object): Promise<Record<string, string>> {
    const { text } = await ask('post', MONITORS, sent(json(monitor)));
    return JSON.parse(text);
  }

  const job = await make({ name: 'Backup', target: 'backup', check_type: 'HEARTBEAT' });
  const { id = '' } = await make(site);
  const renewed = await make({ name: 'Other', target: 'other', check_type: 'HEARTBEAT' });
  const pushToken = documented(AddedPath.pushToken);
  const token = job.push_url?.split('/').at(-1) ?? '';

  const reader = await createKey({ readOnly: true });
  for (const { method, path, body } of routes.filter(({ method }) => method !== 'get')) {
    const own = path.includes('{id}') ? { id } : {};
    const refused = { ...sent(json(body), 'application/json', reader), ...own };
    expect((await ask(method, path, refused)).status, `${method} ${path}`).toBe(403);
  }
  for (const { method, path, body } of routes) {
    const own = path.includes('{id}') ? { id } : {};
    const unknown = { ...sent(json(body)), query: '?unknown=1', ...own };
    const isList = method === 'get' && path === MONITORS;
    if (isList) unknown.query = '?limit=0';
    expect((await ask(method, path, unknown)).status, `${method} ${path}`).toBe(400);
    expect((await ask(method, path, own)).status, `${method} ${path}`).toBe(401);
    if (path.includes('{id}')) {
      const missing = { ...sent(json(body)), id: 'mon_0' };
      expect((await ask(method, path, missing)).status, `${method} ${path}`).toBe(404);
    }
    if (body) {
      const large = { ...sent(' '.repeat(300_000)), ...own };
      expect((await ask(method, path, large)).status, `${method} ${path}`).toBe(413);
      const form = { ...sent('a=b', 'text/plain'), ...own };
      expect((await ask(method, path, form)).status, `${method} ${path}`).toBe(415);
    }
  }
  const good = { get: 200, post: 200, patch: 200, put: 200, delete: 204 } as Record<string, number>;
  for (const { method, path, body } of routes.filter(({ path }) => path.includes('{id}'))) {
    const of = path === pushToken ? (renewed.id ?? '') : id;
    const { status } = await ask(method, path, { ...sent(json(body)), id: of });
    expect(status, `${method} ${path}`).toBe(good[method]);
  }
  const declaredOnly = [
    AddedPath.monitor,
    AddedPath.maintenance,
    AddedPath.pause,
    AddedPath.resume,
  ];
  for (const { method, path, body } of routes) {
    const isChange = method !== 'get' && declaredOnly.map(documented).includes(path);
    if (!isChange) continue;
    const refused = { ...sent(json(body)), id: 'mon_declared' };
    expect((await ask(method, path, refused)).status, `${method} ${path}`).toBe(409);
  }
  for (const path of [MONITORS, AddedPath.days, AddedPath.recentIncidents, AddedPath.planned]) {
    expect((await ask('get', path, sent(undefined))).status).toBe(200);
  }
  const plan = sent(json({ monitors: [id], window: null }));
  expect((await ask('post', AddedPath.planned, plan)).status).toBe(200);
  const moments = { ...sent(undefined), query: '?at=2026-11-01T00:00:00Z,2026-11-02T00:00:00Z' };
  expect((await ask('get', AddedPath.parts, moments)).status).toBe(200);
  const list = await fetch(url + MONITORS, sent(undefined));
  const cursor = list.headers.get(CURSOR_HEADER);
  for (const [after, status] of [
    [cursor, 200],
    ['other', 410],
  ] as const) {
    const asked = { ...sent(undefined), query: `?after=${after}` };
    expect((await ask('get', AddedPath.changes, asked)).status).toBe(status);
  }
  const check = documented(AddedPath.check);
  expect((await ask('post', check, { ...sent(undefined), id: job.id ?? '' })).status).toBe(409);
  const other = await make(site);
  expect((await ask('post', pushToken, { ...sent(undefined), id: other.id ?? '' })).status).toBe(
    409,
  );
  const { headers } = sent('', 'application/json');
  const once = { headers: { ...headers, 'idempotency-key': 'once' } };
  for (const [name, status] of [
    ['A', 201],
    ['A', 201],
    ['B', 409],
  ] as const) {
    const body = JSON.stringify({ ...site, name });
    expect((await ask('post', MONITORS, { ...once, body })).status).toBe(status);
  }

  for (const method of PUSH_METHODS) {
    for (const path of [PUSH, SIGNAL]) {
      const by = { id: `${token} start` };
      expect((await ask(method, path, by)).status).toBe(200);
      expect((await ask(method, path, { ...by, query: '?x=1' })).status).toBe(400);
      expect((await ask(method, path, { id: 'wrong start' })).status).toBe(404);
      const large = { ...by, body: ' '.repeat(500_000) };
      if (method === 'post') expect((await ask(method, path, large)).status).toBe(200);
    }
  }

  const used = await createKey();
  const withUsed = sent(undefined, '', used);
  let { status } = await ask('get', MONITORS, withUsed);
  // Repeats a request, and checks the first and the last answer.
  while (status === 200) ({ status } = await call('GET', MONITORS, { key: used }));
  for (const { method, path } of routes) {
    expect((await ask(method, path, { ...withUsed, id })).status).toBe(429);
  }
  status = 404;
  const wrong = PUSH.replace('{token}', 'wrong');
  while (status === 404) ({ status } = await call('GET', wrong, { key: null }));
  for (const method of PUSH_METHODS) {
    for (const path of [PUSH, SIGNAL]) {
      expect((await ask(method, path, { id: 'wrong start' })).status).toBe(429);
    }
  }

  expect(unseen().filter((name) => !NOT_PROVOKED.test(name))).toEqual([]);
});

test('every route of the service says who may call it and what it is', async () => {
  const { url } = await startService();
  const { operations, document } = await openApiOf(url);
  const pushes = [PUSH, SIGNAL].flatMap((path) =>
    PUSH_METHODS.map((method) => `${method} ${path}`),
  );
  expect(operations.map(({ method, path }) => `${method} ${path}`).sort()).toEqual(
    [...routes.map(({ method, path }) => `${method} ${path}`), ...pushes].sort(),
  );
  for (const { path, operation } of operations) {
    expect(operation).toMatchObject({
      summary: expect.any(String),
      operationId: expect.any(String),
      tags: ['monitoring'],
    });
    // A key in either header; a push carries its token in the address.
    const security = 'security' in operation ? operation.security : undefined;
    expect(security).toEqual(
      path === PUSH || path === SIGNAL ? undefined : [{ apiKey: [] }, { bearer: [] }],
    );
    for (const [status, { headers }] of Object.entries(operation.responses)) {
      const limit = expect.arrayContaining(['x-ratelimit-limit', 'x-ratelimit-remaining']);
      if (status !== '408') expect(Object.keys(headers ?? {})).toEqual(limit);
    }
  }
  const ids = operations.map(({ operation }) => operation.operationId);
  expect(new Set(ids).size).toBe(ids.length);
  expect(document.components.securitySchemes.apiKey).toMatchObject({
    in: 'header',
    name: 'X-API-Key',
  });
});
