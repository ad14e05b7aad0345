import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ErrorBody } from '../../src/contracts/error.ts';
import { createFakeClock } from './fake-clock.ts';
import { startService } from './service.ts';

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

test('a job tells that it starts, how it ended, and that it is well again', async () => {
  const { signal, show } = await withJob();
  expect(await signal('start')).toMatchObject({ status: 200, body: { ok: true } });
  expect(await show()).toMatchObject({ status: 'UP', last_checked_at: null });
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
test('what is no signal is a 400 that says what is possible', async () => {
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

test('who does not know the token is not told what signals there are', async () => {
  const { call } = await startService();
  for (const what of ['', '/start', '/nonsense']) {
    const answer = await call('POST', `/api/v1/public/push/unknown${what}`, { key: null });
    expect(answer.status).toBe(404);
    expect(answer.text).toContain('no heartbeat with this token');
  }
});

test('a query is refused, for it could mean that the job failed', async () => {
  const { signal, push, call, show } = await withJob();
  const answer = await call('GET', `${push}?status=down`, { key: null });
  expect(answer.status).toBe(400);
  expect(answer.body.error?.param).toBe('status');
  expect((await show()).last_checked_at).toBeNull();
  expect((await signal('start?x=1')).body.error?.param).toBe('x');
});

test('a body of any kind is taken and not looked at', async () => {
  const { push, call, show } = await withJob();
  for (const [body, type] of [
    ['not JSON', 'application/json'],
    ['{"status":"down"}', 'application/json'],
    ['log of the job', 'text/plain'],
    ['a=b', 'application/x-www-form-urlencoded'],
  ] as const) {
    const answer = await call('POST', push, { key: null, body, headers: { 'content-type': type } });
    expect(answer.status).toBe(200);
  }
  expect((await show()).status).toBe('UP');
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
  const { signal, show, folder } = await withJob();
  const inTheWay = join(folder, 'monitor-states-a');
  await writeFile(inTheWay, '');
  for (const what of ['', 'start', 'fail']) {
    const answer = await signal(what);
    expect(answer.status, what).toBe(503);
    expect(ErrorBody.parse(answer.body).error.message).toContain('Send it again');
  }
  await rm(inTheWay);
  expect((await signal('')).status).toBe(200);
  expect((await show()).status).toBe('UP');
});
