import { METHODS } from 'node:http';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ErrorBody } from '../../../src/contracts/error.ts';
import { MonitorCreate } from '../../../src/contracts/monitoring.ts';
import { long } from '../../helpers/long.ts';
import { type Answer, type Service, startService } from '../../helpers/monitoring/service.ts';

const MONITORS = '/api/v1/public/monitors';

/** One good monitor of each kind; checks of them find nobody. */
const GOOD = {
  HTTP: { name: 'a', check_type: 'HTTP', target: 'http://127.0.0.1:9/', config: {} },
  KEYWORD: {
    name: 'a',
    check_type: 'KEYWORD',
    target: 'http://127.0.0.1:9/',
    config: { target_keyword: 'x' },
  },
  DNS: { name: 'a', check_type: 'DNS', target: 'a.example', config: { resolver: '127.0.0.1:9' } },
  HEARTBEAT: { name: 'a', check_type: 'HEARTBEAT', target: 'a', config: {} },
} as const;
/** KEYWORD has all settings of HTTP, and stands for it in short. */
const KINDS = (Object.keys(GOOD) as Array<keyof typeof GOOD>).filter(
  (kind) => long || kind !== 'HTTP',
);

type Json = {
  type?: string;
  properties?: Record<string, Json>;
  required?: string[];
  anyOf?: Json[];
  oneOf?: Json[];
  enum?: unknown[];
};

/** The settings of a kind, as the schema has them: so none is forgotten here. */
function settingsOf(kind: string): Record<string, Json> {
  const { oneOf, anyOf } = z.toJSONSchema(MonitorCreate, {
    io: 'input',
    unrepresentable: 'any',
  }) as Json;
  for (const { properties = {} } of oneOf ?? anyOf ?? []) {
    if ((properties.check_type as { const?: string }).const === kind) {
      return properties.config?.properties ?? {};
    }
  }
  throw new Error(`There is no kind ${kind}.`);
}

const SAMPLES: Record<string, unknown> = {
  null: null,
  boolean: true,
  integer: 7,
  string: 'text',
  array: [],
  object: {},
};

/** Values of every other type than the one that a field has. */
function wrongTypes(type: string | undefined): unknown[] {
  const own = type === 'number' ? 'integer' : (type ?? 'string');
  return Object.entries(SAMPLES)
    .filter(([kind]) => kind !== own)
    .map(([, value]) => value);
}

const HUGE: Record<string, unknown[]> = {
  integer: [1e308, -1e308, 2 ** 53, -1, 1.5],
  string: ['x'.repeat(70_000)],
  array: [Array(1_000).fill('x'), [null], [{}], [[]], ['']],
  object: [
    Object.fromEntries(Array.from({ length: 1_500 }, (_, n) => [`x-${n}`, '1'])),
    { 'x-long': 'y'.repeat(10_000) },
    { 'in valid': 'x' },
    { a: 1 },
    { a: null },
  ],
  boolean: [],
};

/** Texts that break programs which trust them. */
const HOSTILE = [
  '\u0000',
  'a\r\nX-Injected: 1',
  '../../../../etc/passwd',
  "'; drop table monitors; --",
  '<script>alert(1)</script>',
  '__proto__',
  '{{7*7}}',
  '\ud800',
  '\u202e\u0007',
  '…',
  '-1',
  'NaN',
];

/** A value for one field; `mustFail` when no service may take it. */
interface Try {
  field: string;
  value: unknown;
  mustFail: boolean;
}

function triesOf(field: string, type: string | undefined): Try[] {
  const fails = [...wrongTypes(type), ...(HUGE[type ?? 'string'] ?? [])];
  return [
    ...fails.map((value) => ({ field, value, mustFail: true })),
    ...(type === 'string' || type === undefined ? HOSTILE : []).map((value) => ({
      field,
      value,
      mustFail: false,
    })),
  ];
}

const withField = (monitor: object, field: string, value: unknown): object => {
  const [first = '', second] = field.split('.');
  if (second === undefined) return { ...monitor, [first]: value };
  const { config } = monitor as { config: object };
  return { ...monitor, config: { ...config, [second]: value } };
};

/** Many calls, each key for a hundred of them. */
async function caller(service: Service) {
  let calls = 0;
  let key = service.key;
  return async (method: string, path: string, json: unknown): Promise<Answer> => {
    calls += 1;
    if (calls % 100 === 0) key = await service.createKey();
    return await service.call(method, path, { json, key });
  };
}

/** In short every second one: creates take turns with changes. */
const turn = (tries: readonly Try[], first: 0 | 1) =>
  tries.filter((_, index) => long || index % 2 === first);

function expectRefused(answer: Answer, { field, value }: Try) {
  const what = `${field}: ${JSON.stringify(value)?.slice(0, 60)}`;
  expect(answer.status, what).toBe(400);
  const { error } = ErrorBody.parse(answer.body);
  expect(
    error.param === field || error.param?.startsWith(`${field}.`),
    `${what} ${error.param}`,
  ).toBe(true);
  expect(error.message, what).toContain(error.param);
  expect(error.message.length, what).toBeLessThan(1_000);
}

describe.each(KINDS)('%s', (kind) => {
  const settings = settingsOf(kind);
  const tries = [
    ...triesOf('name', 'string'),
    ...triesOf('target', 'string'),
    ...Object.entries(settings).flatMap(([name, { type }]) => triesOf(`config.${name}`, type)),
  ];

  test('every field of a create is checked: a bad value is a 400 that names it, and nothing is stored', async () => {
    const service = await startService();
    const send = await caller(service);
    let made = 0;
    for (const one of turn(tries, 0)) {
      const answer = await send('POST', MONITORS, withField(GOOD[kind], one.field, one.value));
      if (answer.status === 201 && !one.mustFail) made += 1;
      else expectRefused(answer, one);
    }
    expect(await service.list()).toHaveLength(made);
  });

  test('every field of a change is checked: a bad value is a 400 that names it, and nothing changes', async () => {
    const service = await startService();
    const send = await caller(service);
    const { id } = await service.create(GOOD[kind]);
    const path = `${MONITORS}/${id}`;
    const shown = async () => {
      const { name, target, config } = (await send('GET', path, undefined)).body;
      return { name, target, config };
    };
    const before = await shown();
    for (const [index, one] of turn(tries, 1).entries()) {
      // Takes a setting back to its default.
      const isDefault = one.value === null && one.field.includes('.');
      if (isDefault && one.field !== 'config.target_keyword') continue;
      const answer = await send('PATCH', path, withField({ config: {} }, one.field, one.value));
      if (answer.status === 200 && !one.mustFail) {
        // Back to what it was, so that the next is a change of one field alone.
        const back = withField({ config: {} }, one.field, valueIn(GOOD[kind], one.field));
        expect((await send('PATCH', path, back)).status).toBe(200);
        continue;
      }
      expectRefused(answer, one);
      if (long || index % 8 === 0) expect(await shown()).toEqual(before);
    }
    expect(await shown()).toEqual(before);
  });
});

/** The value of a field; null, the default, if it is absent. */
function valueIn(monitor: object, field: string): unknown {
  return field
    .split('.')
    .reduce<unknown>((part, name) => (part as Record<string, unknown>)[name] ?? null, monitor);
}

test('bodies that are deep, wide or name what objects inherit do no harm', async () => {
  const { call, list } = await startService();
  const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
  const bodies = [
    `{"name":${deep},"check_type":"HTTP","target":"http://127.0.0.1:9/"}`,
    `{"check_type":"HTTP","name":"a","target":"http://127.0.0.1:9/","config":{"headers":{"__proto__":"x"}}}`,
    `{"check_type":"HTTP","name":"a","target":"http://127.0.0.1:9/","config":{"constructor":{"prototype":{}}}}`,
    `{"check_type":"HTTP","name":"a","target":"http://127.0.0.1:9/","toString":1}`,
    `{${Array.from({ length: 10_000 }, (_, n) => `"k${n}":1`).join()},"check_type":"HTTP"}`,
  ];
  for (const body of bodies) {
    const answer = await call('POST', MONITORS, {
      body,
      headers: { 'content-type': 'application/json' },
    });
    expect(answer.status, body.slice(0, 80)).toBe(400);
    expect(answer.text.length).toBeLessThan(2_000);
  }
  expect(await list()).toEqual([]);
});

describe('where no body is expected', () => {
  const routes = (id: string): Array<[string, string]> => [
    ['DELETE', `${MONITORS}/${id}`],
    ...['pause', 'resume', 'check'].map((action): [string, string] => [
      'POST',
      `${MONITORS}/${id}/${action}`,
    ]),
  ];

  test('one is refused before it is read, and nothing happens', async () => {
    const { call, create, list } = await startService();
    const { id } = await create(GOOD.HEARTBEAT);
    for (const [method, path] of [...routes(id), ['GET', MONITORS], ['GET', `${MONITORS}/${id}`]]) {
      for (const body of ['{}', 'x', ' '.repeat(300_000)]) {
        const headers = { 'content-type': 'application/json' };
        const answer = await call(method ?? '', path ?? '', { body, headers });
        expect(answer.status, `${method} ${path}`).toBe(400);
        expect(answer.body.error?.message).toBe('This route accepts no body. Leave it out.');
      }
    }
    expect(await list()).toMatchObject([{ id, status: 'PENDING', status_changes: 0 }]);
  });

  test('a content type without one is harmless', async () => {
    const { call, create } = await startService();
    const { id } = await create(GOOD.HEARTBEAT);
    for (const [method, path] of routes(id).reverse()) {
      for (const type of ['application/json', 'text/plain']) {
        const answer = await call(method, path, { body: '', headers: { 'content-type': type } });
        expect([200, 204, 404, 409], `${method} ${path}`).toContain(answer.status);
      }
    }
  });
});

test('the list is given whatever else is in its query', async () => {
  const { call, create } = await startService();
  const { id } = await create(GOOD.HEARTBEAT);
  for (const query of ['page=1', 'include_pause=true', '%00=1', 'constructor=1', '__proto__=1']) {
    const answer = await call('GET', `${MONITORS}?${query}`);
    expect(answer.body, query).toMatchObject({ count: 1, monitors: [{ id }] });
    expect(answer.body).not.toHaveProperty('next');
  }
  for (const [name, value] of [
    ...['0', '-1', '1.5', '10001', 'all', ''].map((limit) => ['limit', limit] as const),
    ...['', 'SICK', 'UP,', 'UP;DOWN'].map((status) => ['status', status] as const),
    ['after', 'x'.repeat(201)],
  ] as const) {
    const { status, body } = await call('GET', `${MONITORS}?${name}=${value}`);
    expect([status, body.error?.param], `${name}=${value}`).toEqual([400, name]);
  }
});

test('an unknown query parameter is a 400 that names it, whatever its value', async () => {
  const { call, create, list } = await startService();
  const { id } = await create(GOOD.HEARTBEAT);
  const at = `${MONITORS}/${id}`;
  const routes: Array<[string, string, object?]> = [
    ['POST', MONITORS, GOOD.HTTP],
    ['GET', at],
    ['PATCH', at, { name: 'b' }],
    ['DELETE', at],
    ['POST', `${at}/pause`],
    ['POST', `${at}/resume`],
    ['POST', `${at}/check`],
    ['PUT', `${at}/maintenance`, { windows: [] }],
  ];
  for (const [method, path, json] of routes) {
    for (const query of ['page=1', 'status=', 'include_pause=true', '%00=1', 'constructor=1']) {
      const answer = await call(method, `${path}?${query}`, { json });
      expect(answer.status, `${method} ${path}?${query}`).toBe(400);
      const name = decodeURIComponent(query.split('=')[0] ?? '');
      expect(answer.body.error).toMatchObject({ code: 'unknown_parameter', param: name });
    }
  }
  for (const value of ['', 'yes', '1', 'TRUE', 'true&include_paused=true']) {
    const answer = await call('GET', `${MONITORS}?include_paused=${value}`);
    expect(answer.body.error, value).toMatchObject({ param: 'include_paused' });
  }
  expect(await list()).toMatchObject([{ name: 'a' }]);
});

const OTHERS: Array<[string, string[]]> = [
  [MONITORS, ['GET', 'HEAD', 'POST']],
  [`${MONITORS}/mon_1`, ['GET', 'HEAD', 'PATCH', 'DELETE']],
  [`${MONITORS}/mon_1/maintenance`, ['PUT']],
  ['/api/v1/public/maintenance', ['GET', 'HEAD', 'POST']],
  ...['pause', 'resume', 'check'].map((one): [string, string[]] => [
    `${MONITORS}/mon_1/${one}`,
    ['POST'],
  ]),
  ...['results', 'rollups', 'incidents', 'uptime'].map((one): [string, string[]] => [
    `${MONITORS}/mon_1/${one}`,
    ['GET', 'HEAD'],
  ]),
  ['/api/v1/public/push/token', ['GET', 'HEAD', 'POST']],
  ['/api/v1/public/push/token/start', ['GET', 'HEAD', 'POST']],
];

test('every path takes its methods and answers 405 to all else', async () => {
  const { call, createKey } = await startService();
  const methods = METHODS.filter((one) => one !== 'CONNECT');
  for (const [path, allowed] of OTHERS) {
    const key = await createKey();
    for (const method of methods) {
      const what = `${method} ${path}`;
      const answer = await call(method, path, { key });
      if (allowed.includes(method)) {
        expect(answer.status, what).not.toBe(405);
        continue;
      }
      expect(answer.status, what).toBe(405);
      expect(answer.headers.allow, what).toBe(allowed.join(', '));
      expect(answer.headers['x-ratelimit-limit'], what).toBe('120');
      const code = answer.body.error?.code;
      expect(code, what).toBe(method === 'HEAD' ? undefined : 'method_not_allowed');
    }
  }
});

test('every route of one monitor is a 404 for an unknown id', async () => {
  const { call } = await startService();
  for (const id of ['mon_0', '%2e%2e%2f', '%00', '__proto__', 'x'.repeat(400), '%F0%9F%92%A9']) {
    for (const [method, end, json] of [
      ['GET', ''],
      ['PATCH', '', { name: 'x' }],
      ['DELETE', ''],
      ['POST', '/pause'],
      ['POST', '/resume'],
      ['POST', '/check'],
      ['PUT', '/maintenance', { windows: [] }],
    ] as const) {
      const answer = await call(method, `${MONITORS}/${id}${end}`, { json });
      expect(answer.status, `${method} ${id}${end}`).toBe(404);
      expect(ErrorBody.parse(answer.body).error.message).toContain('No monitor has this ID');
    }
  }
});
