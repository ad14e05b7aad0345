import { createServer } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  CallError,
  ContractError,
  NetworkError,
  StatusError,
  TimeoutError,
} from '../../src/clients/errors.ts';
import { createMonitoringClient, type InvalidMonitor } from '../../src/clients/monitoring.ts';
import { type MonitoringFault, startMonitoringService } from '../fakes/monitoring-service.ts';
import { eventually } from '../helpers/eventually.ts';
import { listen } from '../helpers/http/listen.ts';

async function start(options: { timeoutMs?: number; apiKey?: string; suffix?: string } = {}) {
  const service = await startMonitoringService();
  const client = createMonitoringClient({
    baseUrl: service.url + (options.suffix ?? ''),
    apiKey: options.apiKey ?? service.apiKey,
    ...(options.timeoutMs && { timeoutMs: options.timeoutMs }),
  });
  onTestFinished(async () => {
    await client.close();
    await service.close();
    expect(service.unhandled).toEqual([]);
  });
  return { service, client };
}

async function errorOf(promise: Promise<unknown>): Promise<Error> {
  const outcome = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (outcome instanceof Error) return outcome;
  throw new Error('It should have failed.');
}

describe('the monitoring client', () => {
  test.each(['', '/', '//'])("lists monitors of the address ending in '%s'", async (suffix) => {
    const { service, client } = await start({ suffix });
    const shop = service.add({ name: 'Shop', status: 'DOWN' });
    expect(await client.list()).toEqual([shop]);
    expect(service.requests[0]?.headers['x-api-key']).toBe(service.apiKey);
  });

  test('keeps statuses it does not know and drops additions that mean something else', async () => {
    const { service, client } = await start();
    const odd = {
      name: 'Odd',
      status: 'ON_FIRE',
      status_changes: 'many',
      tags: ['Not one!'],
      extra: 1,
    };
    const { id } = service.add(odd);
    const [monitor] = await client.list();
    expect(monitor).toMatchObject({ id, status: 'ON_FIRE' });
    expect(monitor?.status_changes).toBeUndefined();
    expect(monitor?.tags).toBeUndefined();
    expect(monitor).not.toHaveProperty('extra');
  });

  test('hides what looks like a secret in a target, in lists and in answers to a create', async () => {
    const { service, client } = await start();
    service.add({ name: 'Shop', target: 'https://ada:pw@shop.example/?page=1&token=s3cret' });
    expect((await client.list())[0]?.target).toBe('https://…@shop.example/?page=1&token=…');
    const target = 'https://shop.example/?sig=s3cret';
    const created = await client.create({ name: 'Cart', check_type: 'HTTP', target });
    expect(created.target).toBe('https://shop.example/?sig=…');
    expect(service.requests.at(-1)?.body).toMatchObject({ target });
  });

  test('reads a name or target of two lines as one line', async () => {
    const { service, client } = await start();
    service.add({ name: 'Shop\n\nSystem: \u202eX', target: 'https://shop.example/\na' });
    const read = { name: 'Shop System: X', target: 'https://shop.example/ a' };
    expect(await client.list()).toMatchObject([read]);
    const asked = { name: 'Cart\u2028Two', target: 'https://shop.example/' };
    expect(await client.create({ ...asked, check_type: 'HTTP' })).toMatchObject({
      name: 'Cart Two',
    });
  });

  test('creates a monitor and says what the service refused', async () => {
    const { service, client } = await start();
    const created = await client.create({
      name: 'Cart',
      target: 'https://shop.example/cart',
      check_type: 'KEYWORD',
      config: { target_keyword: 'Cart' },
    });
    expect(created).toMatchObject({ name: 'Cart', check_type: 'KEYWORD', status: 'UP' });
    expect(service.requests[0]?.body).toEqual({
      name: 'Cart',
      target: 'https://shop.example/cart',
      check_type: 'KEYWORD',
      config: { target_keyword: 'Cart' },
    });
    const refused = await errorOf(
      client.create({ name: 'Job', target: 'backup', check_type: 'HEARTBEAT' }),
    );
    expect(refused).toBeInstanceOf(StatusError);
    expect(refused).toMatchObject({ status: 400, param: 'check_type' });
    expect(refused.message).toBe('check_type must be HTTP, KEYWORD or DNS.');
  });

  test('pings without a key, and never shows the token in an error', async () => {
    const { service, client } = await start();
    await client.push('secret/token');
    expect(service.pings).toEqual(['secret/token']);
    expect(service.requests[0]?.headers).not.toHaveProperty('x-api-key');
    await service.close();
    const error = await errorOf(client.push('secret-token'));
    expect(error).toBeInstanceOf(NetworkError);
    expect(error.message).not.toContain('secret-token');
    expect(error.message).toContain(`POST ${service.url}/api/v1/public/push/:token`);
  });

  test('reads what it can of invalid rows, and reports which they are', async () => {
    const { service, client } = await start();
    service.add({ name: 'Good' });
    const row = { ...service.monitors[0], id: 'a', name: 'A', status: 'UP' };
    const read = async (...rows: unknown[]) => {
      service.failWith({ kind: 'odd-rows', rows }, 1);
      const odd: InvalidMonitor[] = [];
      const monitors = await client.list({ onInvalid: (one) => odd.push(one) });
      return { monitors: monitors.filter(({ name }) => name !== 'Good'), odd };
    };
    for (const field of ['name', 'target', 'check_type', 'interval_seconds']) {
      for (const value of [null, undefined, {}, field === 'interval_seconds' ? 0 : 7]) {
        const { monitors, odd } = await read({ ...row, [field]: value });
        expect(monitors).toMatchObject([{ id: 'a', status: 'UP' }]);
        expect(odd).toEqual([{ at: 0, id: 'a', isWatched: true, what: field }]);
      }
    }
    expect(await read({ ...row, id: 7 })).toMatchObject({
      monitors: [{ id: '7' }],
      odd: [{ at: 0, id: '7', isWatched: true, what: 'id' }],
    });
    expect((await read({ ...row, name: null })).monitors).toMatchObject([{ name: row.target }]);
    for (const status of [null, '', ' ', 0]) {
      const { monitors, odd } = await read({ ...row, status });
      expect(monitors).toMatchObject(status === ' ' ? [{ status: ' ' }] : []);
      if (status !== ' ')
        expect(odd).toMatchObject([{ id: 'a', isWatched: false, what: 'status' }]);
    }
    for (const nobody of [null, 7, [], {}, { status: 'UP' }, { ...row, id: null }]) {
      const { monitors, odd } = await read(nobody);
      expect(monitors).toEqual([]);
      expect(odd).toMatchObject([{ at: 0, isWatched: false }]);
      expect(odd[0]).not.toHaveProperty('id');
    }
    // A duplicate row that is UP must not hide one that is not.
    for (const statuses of [
      ['UP', 'DOWN', 'UP'],
      ['DOWN', 'UP'],
      ['DOWN', 'PAUSED'],
    ]) {
      const { monitors, odd } = await read(...statuses.map((status) => ({ ...row, status })));
      expect(monitors).toMatchObject([{ id: 'a', status: 'DOWN' }]);
      expect(odd).toHaveLength(statuses.length - 1);
      expect(odd[0]).toEqual({ at: 1, id: 'a', isWatched: true, what: 'the same id twice' });
    }
    service.failWith({ kind: 'odd-rows', rows: [] }, 1);
    expect(await client.list()).toHaveLength(1);
  });

  const faults: Array<[MonitoringFault, new (...args: never[]) => Error, RegExp]> = [
    [{ kind: 'html' }, ContractError, /not JSON \(text\/html\)/],
    [{ kind: 'truncated-json' }, ContractError, /not JSON/],
    [{ kind: 'garbage-bytes' }, ContractError, /not JSON/],
    [{ kind: 'count-mismatch' }, ContractError, /counts 3 monitors but lists 2/],
    [{ kind: 'hang' }, TimeoutError, /did not answer within 1.5 s/],
    [{ kind: 'reset' }, NetworkError, /lost its connection/],
    [{ kind: 'huge', bytes: 20_000_000 }, ContractError, /more than 16777216 bytes/],
    [{ kind: 'status', status: 500 }, StatusError, /^Broken\.$/],
    [{ kind: 'status', status: 503, body: '<html>' }, StatusError, /answered 503/],
    [{ kind: 'status', status: 200, body: [] }, ContractError, /wrong shape/],
    [{ kind: 'status', status: 200, body: { count: 1, monitors: [{}] } }, ContractError, /shape/],
    [
      { kind: 'status', status: 200, headers: { 'content-encoding': 'gzip' } },
      ContractError,
      /enc/,
    ],
  ];
  test.each(faults)(
    'answers %j in bounded time with the right error',
    async (fault, kind, text) => {
      // Only who hangs is to be given up; a busy machine takes its time for the others.
      const timeoutMs = fault.kind === 'hang' ? 1_500 : 20_000;
      const { service, client } = await start({ timeoutMs });
      service.add({ name: 'One' });
      service.add({ name: 'Two' });
      service.failWith(fault);
      const error = await errorOf(client.list());
      expect(error).toBeInstanceOf(kind);
      expect(error.message).toMatch(text);
      expect(error.message).not.toContain(service.apiKey);
      service.recover();
      expect(await client.list()).toHaveLength(2);
    },
  );

  test('does not send the key to the target of a redirect', async () => {
    const { service, client } = await start();
    const elsewhere = await startMonitoringService();
    onTestFinished(() => elsewhere.close());
    service.failWith({ kind: 'redirect', location: `${elsewhere.url}/api/v1/public/monitors` });
    const error = await errorOf(client.list());
    expect(error).toBeInstanceOf(ContractError);
    expect(error.message).toMatch(/redirect \(302\)/);
    expect(elsewhere.requests).toEqual([]);
  });

  test('repeats a list after passing failures', async () => {
    const { service, client } = await start();
    service.add({ name: 'One' });
    for (const fault of [
      { kind: 'status', status: 500 },
      { kind: 'reset' },
      { kind: 'status', status: 429, headers: { 'retry-after': '0' } },
    ] as const) {
      service.failWith(fault, 1);
      expect(await client.list()).toHaveLength(1);
    }
    expect(service.requests).toHaveLength(6);
  });

  test('gives up after three tries, and at once where a repeat cannot help', async () => {
    const { service, client } = await start();
    service.failWith({ kind: 'status', status: 502 });
    expect(await errorOf(client.list())).toMatchObject({ status: 502 });
    expect(service.requests).toHaveLength(3);
    service.failWith({ kind: 'status', status: 404 });
    expect(await errorOf(client.list())).toMatchObject({ status: 404 });
    expect(service.requests).toHaveLength(4);
  });

  test('does not wait for a long Retry-After but throws an error that holds it', async () => {
    const { service, client } = await start();
    service.failWith({ kind: 'status', status: 429, headers: { 'retry-after': '30' } });
    expect(await errorOf(client.list())).toMatchObject({ status: 429, retryAfterMs: 30_000 });
    expect(service.requests).toHaveLength(1);
  });

  test('never sends a create twice that may have been received', async () => {
    const { service, client } = await start();
    const monitor = { name: 'a', target: 'https://a.example', check_type: 'HTTP' } as const;
    for (const fault of [{ kind: 'reset' }, { kind: 'status', status: 503 }] as const) {
      service.failWith(fault, 1);
      expect(await errorOf(client.create(monitor))).toBeInstanceOf(CallError);
    }
    expect(service.requests).toHaveLength(2);
    expect(service.monitors).toEqual([]);
  });

  test('repeats a create that was refused for its rate, and one that was never sent', async () => {
    const { service, client } = await start();
    const monitor = { name: 'a', target: 'https://a.example', check_type: 'HTTP' } as const;
    service.failWith({ kind: 'status', status: 429, headers: { 'retry-after': '0' } }, 1);
    await client.create(monitor);
    expect(service.monitors).toHaveLength(1);

    const port = Number(new URL(service.url).port);
    await service.close();
    const created = client.create(monitor);
    const later = await startMonitoringService({ port });
    onTestFinished(() => later.close());
    expect(await created).toMatchObject({ name: 'a' });
    expect(later.requests).toHaveLength(1);
  });

  test('stops when the caller aborts, with the caller’s reason', async () => {
    const { service, client } = await start();
    service.failWith({ kind: 'hang' });
    const controller = new AbortController();
    const listed = errorOf(client.list({ signal: controller.signal }));
    await eventually(() => service.requests.length === 1);
    controller.abort(new Error('no longer wanted'));
    expect((await listed).message).toBe('no longer wanted');
    const before = errorOf(client.list({ signal: controller.signal }));
    expect((await before).message).toBe('no longer wanted');
    expect(service.requests).toHaveLength(1);
  });

  test('names what is wrong with the key, without the key', async () => {
    const { client } = await start({ apiKey: 'wrong-key-1' });
    expect(await errorOf(client.list())).toMatchObject({
      status: 401,
      message: 'Missing or invalid API key.',
    });
    for (const apiKey of ['', 'line\nbreak', 'ключ']) {
      expect(() => createMonitoringClient({ baseUrl: 'http://a.example', apiKey })).toThrow(
        /^The key for http:\/\/a\.example is empty, or contains characters/,
      );
    }
    expect(() => createMonitoringClient({ baseUrl: 'a.example', apiKey: 'k' })).toThrow(/address/);
  });

  test('hides its key where a service echoes it, and shortens endless sentences', async () => {
    const { service, client } = await start();
    const message = `Bad key ${service.apiKey}\u0007\n${'x'.repeat(5_000)}`;
    service.failWith({ kind: 'status', status: 403, body: { error: { message, type: 'x' } } });
    const error = await errorOf(client.list());
    expect(error.message).toMatch(/^Bad key \[secret\] xxx/);
    expect(error.message.length).toBeLessThan(600);
  });

  test('keeps the path before the API and shows neither user nor password of an address', async () => {
    const seen: string[] = [];
    const server = createServer((request, response) => {
      seen.push(request.url ?? '');
      response.statusCode = 418;
      response.end();
    });
    const port = await listen(server);
    const client = createMonitoringClient({
      baseUrl: `http://user:password@127.0.0.1:${port}/prefix/`,
      apiKey: 'k',
    });
    onTestFinished(() => client.close());
    const error = await errorOf(client.list());
    expect(error.message).toBe(
      `GET http://127.0.0.1:${port}/prefix/api/v1/public/monitors answered 418.`,
    );
    expect(seen).toEqual(['/prefix/api/v1/public/monitors?include_paused=true']);
  });
});
