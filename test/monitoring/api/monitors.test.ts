import { describe, expect, test } from 'vitest';
import { ErrorBody } from '../../../src/contracts/error.ts';
import { MonitorDetails } from '../../../src/contracts/monitoring-additions.ts';
import { selfSigned } from '../../fakes/certificate.ts';
import { startWebTarget } from '../../fakes/web-target.ts';
import { eventually } from '../../helpers/eventually.ts';
import { createFakeClock } from '../../helpers/monitoring/fake-clock.ts';
import { type Answer, type Service, startService } from '../../helpers/monitoring/service.ts';
import { storedText } from '../../helpers/test-store.ts';

const MONITORS = '/api/v1/public/monitors';
const site = { name: 'Shop', check_type: 'HTTP', target: 'http://127.0.0.1:9/' };
const job = { name: 'Backup', check_type: 'HEARTBEAT', target: 'backup' };

/** A good answer with all of a monitor. */
function detailsIn(answer: Answer): MonitorDetails {
  if (answer.status !== 200) throw new Error(`${answer.status}: ${answer.text}`);
  return MonitorDetails.parse(answer.body);
}

/** The service with one monitor, and calls for it. */
async function withMonitor(monitor: object = site, options?: Parameters<typeof startService>[0]) {
  const service = await startService(options);
  const { id } = await service.create(monitor);
  const path = `${MONITORS}/${id}`;
  return {
    ...service,
    id,
    path,
    show: async () => detailsIn(await service.call('GET', path)),
    patch: (json: unknown) => service.call('PATCH', path, { json }),
    post: (action: string) => service.call('POST', `${path}/${action}`),
  };
}

function refusalIn(answer: Answer) {
  return { status: answer.status, ...ErrorBody.parse(answer.body).error };
}

describe('show', () => {
  test('has the fields of the list, and the settings with their defaults', async () => {
    const { show, list, id } = await withMonitor(job);
    const shown = await show();
    expect(shown).toMatchObject((await list())[0] ?? {});
    expect(shown).toMatchObject({
      id,
      status: 'PENDING',
      flapping: false,
      stale: false,
      created_at: shown.status_changed_at,
      config: { period_seconds: 86_400, grace_seconds: 3_600, timezone: 'UTC' },
      maintenance: [],
      certificate_ends_at: null,
      incident: null,
    });
  });

  test('the list says when a certificate expires, once a check has seen it', async () => {
    const untilMs = Math.floor(Date.now() / 1000) * 1000 + 90 * 86_400_000;
    const target = await startWebTarget(undefined, { tls: selfSigned({ untilMs }) });
    const monitor = { ...site, target: target.url, config: { ignore_tls: true } };
    const { list, post } = await withMonitor(monitor);
    await post('check');
    expect(await list()).toMatchObject([{ certificate_ends_at: new Date(untilMs).toISOString() }]);
  });

  test('has the cause and the start of an outage, until it is over', async () => {
    const target = await startWebTarget();
    const monitor = { ...site, target: target.url, config: { confirm_down: 1 } };
    const { show, post } = await withMonitor(monitor);
    await target.stop();
    const down = detailsIn(await post('check'));
    expect(down).toMatchObject({
      status: 'DOWN',
      incident: { ended_at: null, ended_as: null, cause: down.status_reason },
    });
    expect(down.incident?.started_at).toBe(down.status_changed_at);
    await target.startAgain();
    expect(detailsIn(await post('check'))).toMatchObject({ status: 'UP', incident: null });
    expect(await show()).not.toHaveProperty('status_reason');
  });

  test('the time between pings of a crontab is that of the crontab', async () => {
    const { list } = await withMonitor({ ...job, config: { cron: '*/5 * * * *' } });
    expect((await list())[0]?.interval_seconds).toBe(300);
  });
});

describe('change', () => {
  test('settings that are not named stay, and null takes one back to its default', async () => {
    const config = { interval_seconds: 30, timeout_seconds: 7, expected_status: '204' };
    const { patch, show, list } = await withMonitor({ ...site, config });
    const changed = detailsIn(
      await patch({ name: ' Cart ', config: { timeout_seconds: 9, expected_status: null } }),
    );
    expect(changed).toMatchObject({
      name: 'Cart',
      target: site.target,
      config: { interval_seconds: 30, timeout_seconds: 9, expected_status: '200-299' },
    });
    const { name, target, config: kept } = changed;
    // A check may already have changed the status.
    expect(await show()).toMatchObject({ name, target });
    expect((await show()).config).toEqual(kept);
    expect((await list())[0]).toMatchObject({ name: 'Cart', interval_seconds: 30 });
    expect(detailsIn(await patch({ config: { timeout_seconds: null } })).config).not.toHaveProperty(
      'timeout_seconds',
    );
    expect(detailsIn(await patch({})).name).toBe('Cart');
  });

  test('changes none of those that had the same settings', async () => {
    const { create, call } = await startService();
    const [one, other] = [await create(site), await create({ ...site, name: 'Other' })];
    await call('PATCH', `${MONITORS}/${one.id}`, { json: { config: { interval_seconds: 120 } } });
    const intervals = await Promise.all(
      [one, other].map(
        async ({ id }) => detailsIn(await call('GET', `${MONITORS}/${id}`)).config.interval_seconds,
      ),
    );
    expect(intervals).toEqual([120, 60]);
  });

  test('the new target is checked at once', async () => {
    const target = await startWebTarget();
    const { patch, list } = await withMonitor({ ...site, config: { interval_seconds: 86_400 } });
    await patch({ target: `${target.url}/new` });
    await eventually(() => target.requests.some(({ path }) => path === '/new'));
    await eventually(async () => (await list())[0]?.last_checked_at);
  });

  const bad: Array<[string, unknown, string | null, RegExp?]> = [
    ['no object', [], null],
    ['a kind of check', { check_type: 'DNS' }, 'check_type', /Unknown field/],
    ['a config that is a list', { config: [1] }, 'config'],
    ['null for an unknown setting', { config: { retries: null } }, 'config.retries', /Unknown/],
    ['a setting of another kind', { config: { record_type: 'A' } }, 'config.record_type'],
    [
      'a timeout beside the stored interval',
      { config: { timeout_seconds: 30 } },
      'config.timeout_seconds',
      /which is 30/,
    ],
    ['a private target', { target: 'http://10.0.0.1/' }, 'target', /MONITOR_ALLOW_PRIVATE/],
    [
      'a good and a bad field',
      { name: 'New', config: { max_redirects: 99 } },
      'config.max_redirects',
    ],
    [
      'a hidden header that is not stored',
      { config: { headers: { 'x-api-key': '…' } } },
      'config.headers.x-api-key',
      /send the value/,
    ],
  ];
  test('a wrong value is a 400 that names the field, and nothing changes', async () => {
    const config = { interval_seconds: 30, timeout_seconds: 7 };
    const { patch, show } = await withMonitor({ ...site, config });
    const before = await show();
    for (const [why, json, param, says = /./] of bad) {
      const refusal = refusalIn(await patch(json));
      expect(refusal, why).toMatchObject({ status: 400, param });
      expect(refusal.message, why).toMatch(says);
    }
    const { name, target, config: settings } = await show();
    expect({ name, target, settings }).toEqual({
      name: before.name,
      target: before.target,
      settings: before.config,
    });
  });

  test('a required setting cannot be taken back', async () => {
    const monitor = { ...site, check_type: 'KEYWORD', config: { target_keyword: 'Cart' } };
    const { patch } = await withMonitor(monitor);
    expect(refusalIn(await patch({ config: { target_keyword: null } }))).toMatchObject({
      status: 400,
      param: 'config.target_keyword',
      message: "The field 'config.target_keyword' is missing.",
    });
  });

  test('concurrent changes all hold, and one that conflicts with another is refused', async () => {
    const { patch, show } = await withMonitor({ ...site, config: { interval_seconds: 60 } });
    const [named, ...answers] = await Promise.all([
      patch({ name: 'Cart' }),
      patch({ config: { interval_seconds: 20 } }),
      patch({ config: { timeout_seconds: 40 } }),
      patch({ config: { tls_expiry_days: 3 } }),
    ]);
    expect(named?.status).toBe(200);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 400]);
    const { name, config } = await show();
    expect(name).toBe('Cart');
    expect(config.tls_expiry_days).toBe(3);
    expect([config.interval_seconds, config.timeout_seconds]).toEqual(
      config.interval_seconds === 20 ? [20, undefined] : [60, 40],
    );
  });
});

test('a name is one line without anything that hides in it, made and changed', async () => {
  const { call, create, list } = await startService();
  const made = await create({ ...site, name: ' Shop\n\nSystem: \u202eX\u0000 ' });
  expect(made.name).toBe('Shop System: X');
  const path = `${MONITORS}/${made.id}`;
  const changed = await call('PATCH', path, { json: { name: 'Cart\u2028\u200b\tTwo' } });
  expect(changed.body.name).toBe('Cart Two');
  for (const name of ['\n', '\u202e\u200b', '\u200d']) {
    for (const [method, at, json] of [
      ['POST', MONITORS, { ...site, name }],
      ['PATCH', path, { name }],
    ] as const) {
      expect(refusalIn(await call(method, at, { json })), JSON.stringify(name)).toMatchObject({
        ...{ status: 400, param: 'name', message: "Invalid 'name': must not be empty." },
      });
    }
  }
  const windows = [{ cron: '0 3 * * *', duration_minutes: 5, reason: 'updates\nSystem: X' }];
  const maintained = await call('PUT', `${path}/maintenance`, { json: { windows } });
  expect(maintained.body.maintenance).toMatchObject([{ reason: 'updates System: X' }]);
  for (const target of ['http://127.0.0.1:9/\u202ex', 'http://127.0.0.1:9/\u200bx']) {
    const json = { ...site, target };
    expect(refusalIn(await call('POST', MONITORS, { json }))).toMatchObject({ param: 'target' });
  }
  const json = { ...job, target: 'backup\u202e' };
  expect(refusalIn(await call('POST', MONITORS, { json }))).toMatchObject({ param: 'target' });
  expect((await list()).map(({ name }) => name)).toEqual(['Cart Two']);
});

const headers = {
  Authorization: 'Bearer top-secret-1',
  cookie: 'session=top-secret-2',
  'X-API-Key': 'top-secret-3',
  'x-auth-token': 'top-secret-4',
  'client-secret': 'top-secret-5',
  accept: 'text/html',
  'x-keyboard': 'qwerty',
};

test('headers that look like secrets keep their value when what is shown is sent back, in any case of the name', async () => {
  const target = await startWebTarget();
  const { show, patch, post } = await withMonitor({
    ...site,
    target: target.url,
    config: { headers },
  });
  // The first check is over, or what it sent could still arrive.
  expect((await post('check')).text).not.toContain('top-secret');
  const { config } = await show();
  expect(config.headers).toEqual({
    ...Object.fromEntries(Object.keys(headers).map((name) => [name, '…'])),
    ...{ accept: 'text/html', 'x-keyboard': 'qwerty' },
  });
  const back = { ...(config.headers as object), accept: 'image/png', 'X-API-Key': undefined };
  expect((await patch({ config: { headers: { ...back, 'x-api-key': '…' } } })).status).toBe(200);
  await post('check');
  expect(target.requests.at(-1)?.headers).toMatchObject({
    authorization: 'Bearer top-secret-1',
    'x-api-key': 'top-secret-3',
    accept: 'image/png',
  });
  await patch({ config: { headers: { Authorization: 'Bearer new' } } });
  await post('check');
  const sent = target.requests.at(-1)?.headers;
  expect(sent).toMatchObject({ authorization: 'Bearer new' });
  expect(sent).not.toHaveProperty('x-api-key');
});

test('headers that look like secrets are refused in a create when only their mask is sent', async () => {
  const { call, list } = await startService();
  const json = { ...site, config: { headers: { authorization: '…' } } };
  expect(refusalIn(await call('POST', MONITORS, { json }))).toMatchObject({
    status: 400,
    param: 'config.headers.authorization',
  });
  expect(await list()).toEqual([]);
});

test('a part of the list holds the monitors with a status, or so many at a time, until all were listed', async () => {
  const { call, create } = await startService();
  const made: string[] = [];
  for (let at = 0; at < 5; at += 1) made.push((await create({ ...job, name: `Job ${at}` })).id);
  const [paused = ''] = made;
  await call('POST', `${MONITORS}/${paused}/pause`);
  const ask = async (query: string) => {
    const { status, body } = await call('GET', `${MONITORS}?${query}`);
    const ids = (body.monitors as MonitorDetails[]).map(({ id }) => id);
    expect([status, body.count]).toEqual([200, ids.length]);
    return { ids, next: body.next };
  };
  expect(await ask('status=PAUSED')).toEqual({ ids: [paused], next: undefined });
  expect((await ask('status=paused,%20pending')).ids).toEqual(made);
  expect((await ask('status=DOWN')).ids).toEqual([]);
  const active = made.slice(1).sort();
  const first = await ask('limit=3');
  expect(first).toEqual({ ids: active.slice(0, 3), next: active[2] });
  // Works even if that monitor was removed.
  await call('DELETE', `${MONITORS}/${active[2]}`);
  expect(await ask(`limit=3&after=${first.next}`)).toEqual({ ids: active.slice(3), next: null });
  expect(await ask(`after=${active[0]}`)).toEqual({ ids: [active[1], active[3]], next: null });
  expect(await ask('limit=2&include_paused=true&status=PENDING')).toMatchObject({
    next: active[1],
  });
  expect((await ask('limit=10&include_paused=true')).ids).toContain(paused);
});

test('a paused monitor is not in the list unless asked for, and not checked', async () => {
  const clock = createFakeClock();
  const target = await startWebTarget();
  const { id, post, call, list } = await withMonitor({ ...site, target: target.url }, { clock });
  await post('check');
  expect(detailsIn(await post('pause'))).toMatchObject({ id, status: 'PAUSED' });
  expect(await list()).toEqual([]);
  for (const [query, count] of [
    ['false', 0],
    ['true', 1],
  ] as const) {
    const { body } = await call('GET', `${MONITORS}?include_paused=${query}`);
    expect(body.count).toBe(count);
  }
  const looks = target.requests.length;
  await clock.advance(600_000);
  expect(target.requests).toHaveLength(looks);
  expect(detailsIn(await post('resume')).status).toBe('UP');
  expect(await list()).toMatchObject([{ id, status: 'UP' }]);
  await eventually(() => target.requests.length > looks);
});

test.each([
  [job, [], /waits for its job/],
  [site, ['pause'], /Resume it first, with POST .*\/resume/],
  [job, ['pause'], /waits for its job/],
])('is a 409 for %o after %j', async (monitor, actions, says) => {
  const { post } = await withMonitor(monitor);
  for (const action of actions) await post(action);
  const refusal = refusalIn(await post('check'));
  expect(refusal).toMatchObject({ status: 409, code: 'conflict' });
  expect(refusal.message).toMatch(says);
});

describe('maintenance', () => {
  const cron = { cron: '0 3 * * 0', timezone: 'Europe/Berlin', duration_minutes: 60 };
  const put = (service: Service & { path: string }, json: unknown) =>
    service.call('PUT', `${service.path}/maintenance`, { json });

  test('windows replace those there are, times are kept in UTC, and a window that is now shows', async () => {
    const service = await withMonitor(job);
    const hour = 3_600_000;
    const now = { starts_at: new Date(Date.now() - hour), ends_at: new Date(Date.now() + hour) };
    const first = detailsIn(await put(service, { windows: [now, cron] }));
    expect(first.maintenance).toHaveLength(2);
    const isShown = (status: string) => async () => (await service.list())[0]?.status === status;
    await eventually(isShown('MAINTENANCE'));
    const later = {
      starts_at: '2998-05-01T10:00:00+02:00',
      ends_at: '2998-05-01T10:00',
      reason: ' x ',
    };
    expect(detailsIn(await put(service, { windows: [later] })).maintenance).toEqual([
      { starts_at: '2998-05-01T08:00:00.000Z', ends_at: '2998-05-01T10:00:00.000Z', reason: 'x' },
    ]);
    await eventually(isShown('PENDING'));
    expect(detailsIn(await put(service, { windows: [] })).maintenance).toEqual([]);
  });

  const bad: Array<[unknown, string | null]> = [
    [{}, 'windows'],
    [[], null],
    [{ windows: [], extra: 1 }, 'extra'],
    [{ windows: Array(21).fill(cron) }, 'windows'],
    [{ windows: [cron, 7] }, 'windows.1'],
    [{ windows: [cron, {}] }, 'windows.1.starts_at'],
    [{ windows: [{ ...cron, cron: 'not a cron at all' }] }, 'windows.0.cron'],
    [{ windows: [{ ...cron, timezone: 'Mars/Base' }] }, 'windows.0.timezone'],
    [{ windows: [{ ...cron, duration_minutes: 0 }] }, 'windows.0.duration_minutes'],
    [{ windows: [{ ...cron, reason: 'x'.repeat(201) }] }, 'windows.0.reason'],
    [{ windows: [{ ...cron, every: 1 }] }, 'windows.0.every'],
    [{ windows: [{ starts_at: '2030-01-01T00:00:00Z' }] }, 'windows.0.ends_at'],
    [
      { windows: [{ starts_at: '2030-01-01T00:00:00Z', ends_at: '2030-01-01T01:00:00+01:00' }] },
      'windows.0.ends_at',
    ],
  ];
  test('a wrong window is a 400 that names the field, and the windows stay', async () => {
    const service = await withMonitor();
    await put(service, { windows: [cron] });
    for (const [json, param] of bad) {
      const refusal = refusalIn(await put(service, json));
      expect(refusal, JSON.stringify(json)).toMatchObject({ status: 400, param });
    }
    expect((await service.show()).maintenance).toEqual([cron]);
  });
});

test('a deleted monitor is gone with its push URL and all that was stored of it, and stays gone', async () => {
  const service = await startService();
  const { id, push_url = '' } = await service.create({ ...job, name: 'To be forgotten' });
  const push = new URL(push_url).pathname;
  await service.call('POST', push, { key: null });
  const answer = await service.call('DELETE', `${MONITORS}/${id}`);
  expect(answer.status).toBe(204);
  expect(answer.text).toBe('');
  expect((await service.call('DELETE', `${MONITORS}/${id}`)).status).toBe(404);
  expect((await service.call('GET', `${MONITORS}/${id}`)).status).toBe(404);
  expect((await service.call('POST', push, { key: null })).status).toBe(404);
  expect(await service.list()).toEqual([]);
  await service.close();
  expect(await storedText(service.folder)).not.toContain('To be forgotten');
  const { list } = await startService({ folder: service.folder });
  expect(await list()).toEqual([]);
});

test('a request that waits for a check gets an error when the monitor is deleted or paused', async () => {
  const target = await startWebTarget(() => {});
  const { path, post, call, create, createKey } = await withMonitor({
    ...site,
    target: target.url,
  });
  const other = await create({ ...site, target: target.url });
  const waits = [
    post('check'),
    call('POST', `${MONITORS}/${other.id}/check`, { key: await createKey() }),
  ];
  await eventually(() => target.requests.length === 2);
  expect((await call('DELETE', path)).status).toBe(204);
  expect((await call('POST', `${MONITORS}/${other.id}/pause`)).status).toBe(200);
  const [deleted, paused] = await Promise.all(waits);
  expect(deleted && refusalIn(deleted)).toMatchObject({ status: 404 });
  expect(paused && refusalIn(paused)).toMatchObject({ status: 409, code: 'conflict' });
});

const create = (service: Service, json: unknown, idempotency: string, key?: string) =>
  service.call('POST', MONITORS, {
    json,
    headers: { 'idempotency-key': idempotency },
    ...(key ? { key } : {}),
  });

test('a create with an Idempotency-Key has one answer however often it is sent, also after a restart', async () => {
  let service = await startService();
  const { folder, key } = service;
  const first = await create(service, job, 'order-1');
  expect(first.status).toBe(201);
  expect(first.headers).not.toHaveProperty('idempotency-replayed');
  const repeats = await Promise.all([
    create(service, job, 'order-1'),
    create(service, job, 'order-1'),
  ]);
  await service.close();
  service = await startService({ folder });
  // The port is another one, and nothing else.
  const port = (text: string) => text.replace(/127\.0\.0\.1:\d+/, '');
  for (const repeat of [...repeats, await create(service, job, 'order-1', key)]) {
    expect(repeat.status).toBe(201);
    expect(port(repeat.text)).toBe(port(first.text));
    expect(repeat.headers['idempotency-replayed']).toBe('true');
  }
  expect(await service.list()).toHaveLength(1);
  const push = new URL(String(first.body.push_url)).pathname;
  expect((await service.call('POST', push, { key: null })).status).toBe(200);
});

test('a create with an Idempotency-Key has the first answer also when the monitor has changed since', async () => {
  const service = await startService();
  const first = await create(service, site, 'a');
  const path = `${MONITORS}/${first.body.id}`;
  await service.call('PATCH', path, { json: { name: 'Other', config: { interval_seconds: 9 } } });
  await service.call('POST', `${path}/pause`);
  expect((await create(service, site, 'a')).text).toBe(first.text);
});

test('a create with an Idempotency-Key has the first answer also when the target would no longer be admitted', async () => {
  let service = await startService();
  const { folder, key } = service;
  const near = { ...site, target: 'http://localhost:9/' };
  const first = await create(service, near, 'a');
  expect(first.status).toBe(201);
  await service.close();
  service = await startService({ folder, allowPrivate: [] });
  expect((await create(service, near, 'a', key)).text).toBe(first.text);
  const anew = refusalIn(await create(service, near, 'b', key));
  expect(anew).toMatchObject({ status: 400, code: 'target_not_allowed' });
});

test('a create with an Idempotency-Key with another body is a 409 and creates nothing', async () => {
  const service = await startService();
  await create(service, site, 'a');
  const refusal = refusalIn(await create(service, { ...site, name: 'Other' }, 'a'));
  expect(refusal).toMatchObject({ status: 409, code: 'idempotency_key_reused' });
  expect(await service.list()).toHaveLength(1);
});

test('a create with an Idempotency-Key is of one API key alone, and one that failed is tried anew', async () => {
  const service = await startService();
  expect((await create(service, { ...site, target: 'x' }, 'a')).status).toBe(400);
  const ids = [
    (await create(service, site, 'a')).body.id,
    (await create(service, site, 'a', await service.createKey())).body.id,
    (await create(service, site, 'A')).body.id,
  ];
  expect(new Set(ids).size).toBe(3);
  expect(await service.list()).toHaveLength(3);
});

test('a create with an Idempotency-Key has to be visible', async () => {
  const service = await startService();
  for (const key of ['', ' ', 'two words', 'x'.repeat(256), 'ключ']) {
    // Header values travel as bytes.
    const bytes = Buffer.from(key).toString('latin1');
    const refusal = refusalIn(await create(service, site, bytes));
    expect(refusal, key).toMatchObject({ status: 400, param: 'idempotency-key' });
  }
  expect(await service.list()).toEqual([]);
});

test('the list says when what a monitor checks or expects was changed, and not when its name was', async () => {
  const { patch, list } = await withMonitor({ ...site, tags: ['shop'] });
  const changedAt = async () => (await list())[0]?.settings_changed_at;
  await patch({ name: 'Store', tags: ['store'] });
  expect(await changedAt()).toBeUndefined();
  const beforeMs = Date.now();
  await patch({ config: { confirm_down: 1 } });
  const first = Date.parse((await changedAt()) ?? '');
  expect(first).toBeGreaterThanOrEqual(beforeMs);
  await patch({ config: { confirm_down: 1 } });
  expect(Date.parse((await changedAt()) ?? '')).toBe(first);
  await patch({ target: 'http://127.0.0.1:10/' });
  expect(Date.parse((await changedAt()) ?? '')).toBeGreaterThanOrEqual(first);
});
