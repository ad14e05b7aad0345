import { rm, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ErrorBody } from '../../../src/contracts/error.ts';
import { eventually } from '../../helpers/eventually.ts';
import { createFakeClock } from '../../helpers/monitoring/fake-clock.ts';
import { startService } from '../../helpers/monitoring/service.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';
import { folderOfFiles } from '../../helpers/test-store.ts';

const MONITORS = '/api/v1/public/monitors';
const job = { name: 'Backup', check_type: 'HEARTBEAT', target: 'backup' };

async function withJob(options?: Parameters<typeof startService>[0]) {
  const service = await startService(options);
  const { id, push_url = '' } = await service.create(job);
  const push = new URL(push_url).pathname;
  const signal = (what: string, method = 'POST') =>
    service.call(method, what === '' ? push : `${push}/${what}`, { key: null });
  const show = async () => (await service.call('GET', `${MONITORS}/${id}`)).body;
  return { ...service, id, push, signal, show };
}

test('a push URL is where others reach the service', async () => {
  const set = await startService({ publicUrl: 'https://example.com/askwatch' });
  expect((await set.create(job)).push_url).toMatch(
    /^https:\/\/example\.com\/askwatch\/api\/v1\/public\/push\/[\w-]+$/,
  );
  const open = await startService({ isOpen: true });
  const pushUrlFor = async ({ call }: typeof open, host: string) =>
    String((await call('POST', MONITORS, { json: job, headers: { host } })).body.push_url);
  expect(await pushUrlFor(open, 'askwatch.lan:3000')).toMatch(/^http:\/\/askwatch\.lan:3000\/api/);
  for (const host of ['a/b', 'a b', 'user@evil.example', 'evil.example:99999', 'a?b', '"']) {
    expect(await pushUrlFor(open, host), host).toContain(`${open.url}/api/`);
  }
  const closed = await startService();
  expect(await pushUrlFor(closed, 'evil.example')).toContain(`${closed.url}/api/`);
});

test('a renewed token replaces the one before, and the state of the job stays', async () => {
  const folder = await temporaryFolder();
  const { id, push, signal, show, call, close } = await withJob({ folder });
  await signal('fail');
  const path = `${MONITORS}/${id}`;
  const renewed = await call('POST', `${path}/push-token`);
  expect([renewed.status, renewed.body.id]).toEqual([200, id]);
  const next = new URL(String(renewed.body.push_url)).pathname;
  expect(next).not.toBe(push);
  expect((await signal('')).status).toBe(404);
  expect(await show()).toMatchObject({ status: 'DOWN', status_changes: 1 });
  expect((await call('GET', `${path}/incidents`)).body.incidents).toHaveLength(1);
  await close();
  const again = await startService({ folder });
  expect((await again.call('POST', push, { key: null })).status).toBe(404);
  expect((await again.call('POST', next, { key: null })).status).toBe(200);
  expect((await again.call('GET', path)).body).toMatchObject({ status: 'UP', status_changes: 2 });

  const site = await again.create({ ...job, check_type: 'HTTP', target: 'http://127.0.0.1:9/' });
  for (const [of, status] of [
    [site.id, 409],
    ['mon_0', 404],
  ] as const) {
    expect((await again.call('POST', `${MONITORS}/${of}/push-token`)).status).toBe(status);
  }
  expect((await again.call('POST', `${path}/push-token`, { key: null })).status).toBe(401);
  expect((await again.call('POST', next, { key: null })).status).toBe(200);
});

test('a create that is repeated does not show a token that was renewed since', async () => {
  const { call } = await startService();
  const create = () =>
    call('POST', MONITORS, { json: job, headers: { 'idempotency-key': 'once' } });
  const first = await create();
  expect((await create()).body.push_url).toBe(first.body.push_url);
  await call('POST', `${MONITORS}/${first.body.id}/push-token`);
  const repeated = await create();
  expect(repeated).toMatchObject({ status: 201, body: { id: first.body.id } });
  expect(repeated.body).not.toHaveProperty('push_url');
});

test('a job signals its start, its exit code, and that it is well again', async () => {
  const { signal, show } = await withJob();
  expect(await signal('start')).toMatchObject({ status: 200, body: { ok: true } });
  expect(await show()).toMatchObject({ status: 'PENDING', last_checked_at: null });
  await signal('3');
  expect(await show()).toMatchObject({
    status: 'DOWN',
    status_reason: 'the job ended with exit code 3',
    incident: { outcome: 'failed', ended_at: null },
  });
  await signal('0');
  expect(await show()).toMatchObject({ status: 'UP', incident: null });
  await signal('fail');
  expect(await show()).toMatchObject({ status: 'DOWN' });
  await signal('');
  expect(await show()).toMatchObject({ status: 'UP', status_changes: 4 });
});

test('every method that a job may have counts, for every signal', async () => {
  const { signal, show } = await withJob();
  for (const method of ['GET', 'HEAD', 'POST']) {
    expect((await signal('255', method)).status).toBe(200);
    expect((await show()).status, method).toBe('DOWN');
    expect((await signal('', method)).status).toBe(200);
    expect((await show()).status, method).toBe('UP');
  }
});

test('a ping that is spelled in another way is answered, counted and logged like any other', async () => {
  const { push, call, metrics, lines } = await withJob({ clock: createFakeClock() });
  const encoded = push.replace(/.$/, (last) => `%${last.charCodeAt(0).toString(16)}`);
  for (const [path, route] of [
    ['', '/api/v1/public/push/:token'],
    ['/start', '/api/v1/public/push/:token/:signal'],
    ['/3', '/api/v1/public/push/:token/:signal'],
  ] as const) {
    for (const method of ['GET', 'HEAD', 'POST']) {
      const told = async (address: string) => {
        lines.length = 0;
        const before = seriesOf(await metrics());
        const { status, text, headers } = await call(method, address + path, { key: null });
        await eventually(() => lines.some(({ route: of }) => of === route));
        const { date, 'x-request-id': id, 'x-ratelimit-remaining': _, ...rest } = headers;
        expect(date).toBeDefined();
        expect(id).toMatch(/^[0-9a-f-]{36}$/);
        const line = lines.find(({ msg, reqId }) => msg === 'answered' && reqId === id);
        expect(line).toMatchObject({
          level: 20,
          method,
          route,
          status: 200,
          ms: expect.any(Number),
        });
        const series = `method="${method}",route="${route}",status="200"`;
        expect(seriesOf(await metrics()).get(series)).toBe((before.get(series) ?? 0) + 1);
        return { status, text, headers: rest, keys: Object.keys(line ?? {}).sort() };
      };
      expect(await told(push), `${method} ${path}`).toEqual(await told(encoded));
    }
  }
});

/** Number of counted answers, by label. */
const seriesOf = (metrics: string) =>
  new Map(
    [...metrics.matchAll(/^askwatch_http_request_seconds_count\{(.*)\} (\d+)$/gm)].map(
      ([, labels = '', count]) => [labels, Number(count)],
    ),
  );

test('a ping counts whatever is sent along, however large', async () => {
  const { url, push, show } = await withJob();
  const pingWith = async (
    body: string | Uint8Array<ArrayBuffer>,
    headers: Record<string, string> = {},
  ) => {
    const before = (await show()).status_changes;
    await fetch(`${url}${push}/fail`, { method: 'POST' });
    const answer = await fetch(url + push, { method: 'POST', body, headers });
    expect([answer.status, await answer.text()]).toEqual([200, '{"ok":true}']);
    expect(await show()).toMatchObject({ status: 'UP', status_changes: Number(before) + 2 });
  };
  for (const bytes of [1, 10 * 1024, 10 * 1024 + 1, 500_000, 5_000_000]) {
    await pingWith(new Uint8Array(bytes).fill(120), { 'content-type': 'text/plain' });
  }
  await pingWith('{"not": JSON', { 'content-type': 'application/json' });

  // The rest of what is still being sent is not waited for, and the connection is good for more.
  const { port } = new URL(url);
  const socket = connect(Number(port), '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  let answers = '';
  socket.on('data', (data) => {
    answers += data;
  });
  const head = `POST ${push} HTTP/1.1\r\nHost: a\r\nContent-Length: 500000\r\n\r\n`;
  socket.write(head + 'x'.repeat(20_000));
  await eventually(() => answers.includes('{"ok":true}'));
  socket.write(`${'x'.repeat(480_000)}GET ${push} HTTP/1.1\r\nHost: a\r\n\r\n`);
  await eventually(() => answers.split('{"ok":true}').length === 3);
});

const NO_SIGNALS = [
  '-1',
  '256',
  '1000',
  '00',
  '01',
  '1.0',
  '1e1',
  'START',
  'ok',
  'success',
  '%20',
  '0x1',
  '٣',
  '__proto__',
];
test('an unknown signal is a 400 that says what is possible', async () => {
  const { signal, show } = await withJob();
  const before = await show();
  for (const text of NO_SIGNALS) {
    const answer = await signal(encodeURI(decodeURI(text)));
    expect(answer.status, text).toBe(400);
    expect(ErrorBody.parse(answer.body).error, text).toMatchObject({
      param: 'signal',
      message: expect.stringContaining('start, fail, or the exit code of the job, 0 to 255'),
    });
    expect(await show(), text).toEqual(before);
  }
});

test('a caller with an unknown token is not shown which signals exist', async () => {
  const { call } = await startService();
  for (const what of ['', '/start', '/nonsense']) {
    const answer = await call('POST', `/api/v1/public/push/unknown${what}`, { key: null });
    expect(answer.status).toBe(404);
    expect(answer.text).toContain('No heartbeat has this token');
  }
});

test('a signal counts towards its heartbeat alone, with any signal', async () => {
  const { signal, call } = await withJob({ clock: createFakeClock() });
  for (let n = 1; n <= 120; n += 1) {
    const answer = await signal(n % 2 === 0 ? 'start' : '');
    expect(answer.headers['x-ratelimit-remaining']).toBe(String(120 - n));
  }
  expect((await signal('start')).status).toBe(429);
  expect((await signal('')).status).toBe(429);
  expect((await call('GET', MONITORS)).status).toBe(200);
});

test('a signal that cannot be stored is not acknowledged', async () => {
  const folder = await folderOfFiles();
  const { signal, show, lines } = await withJob({ folder });
  const inTheWay = join(folder, 'monitor-states');
  await writeFile(inTheWay, '');
  for (const what of ['', 'start', 'fail']) {
    const answer = await signal(what);
    expect(answer.status, what).toBe(503);
    expect(ErrorBody.parse(answer.body).error.message).toContain('Send it again');
    expect(answer.headers['x-ratelimit-limit']).toBe('120');
    const logged = lines.filter(({ reqId }) => reqId === answer.headers['x-request-id']);
    expect(logged, what).toContainEqual(
      expect.objectContaining({ level: 50, msg: 'request failed' }),
    );
  }
  await rm(inTheWay);
  expect((await signal('')).status).toBe(200);
  expect((await show()).status).toBe('UP');
});
