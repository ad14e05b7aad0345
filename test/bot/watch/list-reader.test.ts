import { expect, onTestFinished, test } from 'vitest';
import { createListReader } from '../../../src/bot/watch/list-reader.ts';
import { createMonitoringClient } from '../../../src/clients/monitoring.ts';
import type { Monitor } from '../../../src/contracts/monitoring.ts';
import { startMonitoringService } from '../../fakes/monitoring-service.ts';
import { startWebTarget } from '../../fakes/web-target.ts';
import { counting, startSteppedWatch } from '../../helpers/bot/stepped-watch.ts';
import { eventually } from '../../helpers/eventually.ts';
import { startService } from '../../helpers/monitoring/service.ts';
import { recordingLog } from '../../helpers/recording-log.ts';

const MINUTE_MS = 60_000;
const PATH = '/api/v1/public/monitors';

type Answer = { status?: number; body?: object } | 'never';

/** A service that tells changes as a test says, on a real port; a cursor is the number of the last change. */
async function startTelling(...ids: string[]) {
  const listed = new Map(ids.map((id) => [id, counting(id, 0)]));
  const changed: string[] = [];
  const asked: string[] = [];
  /** Answers instead of a list or of changes. */
  const instead: { list?: () => Answer; changes?: () => Answer } = {};
  const held: Array<() => void> = [];
  const { url } = await startWebTarget((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://service');
    const isList = pathname === PATH;
    const what = isList ? 'list' : pathname === `${PATH}/changes` ? 'changes' : 'other';
    asked.push(what);
    const since = changed.slice(Number(searchParams.get('after')));
    const monitors = isList
      ? [...listed.values()]
      : [...new Set(since)].flatMap((id) => listed.get(id) ?? []);
    const removed = since.filter((id) => !listed.has(id));
    const own = { count: monitors.length, monitors, removed, cursor: `${changed.length}` };
    const given = isList ? instead.list?.() : instead.changes?.();
    response.setHeader('x-monitors-cursor', `${changed.length}`);
    const { status = 200, body = own } = given === 'never' || !given ? {} : given;
    const text = JSON.stringify(body);
    const end = () => response.writeHead(what === 'other' ? 404 : status).end(text);
    if (given === 'never') held.push(end);
    else end();
  });
  return {
    ...{ asked, instead, url, key: 'a-key' },
    set(id: string, given: Partial<Monitor> = {}) {
      listed.set(id, { ...(listed.get(id) ?? counting(id, 0)), ...given });
      changed.push(id);
    },
    remove(id: string) {
      listed.delete(id);
      changed.push(id);
    },
    answerHeld() {
      for (const end of held.splice(0)) end();
    },
  };
}

/** A reader of a service, at a time that a test sets. */
function readerOf(service: { url: string; key?: string; apiKey?: string }) {
  const { log, lines } = recordingLog();
  const apiKey = service.key ?? service.apiKey ?? '';
  const monitoring = createMonitoringClient({ baseUrl: service.url, apiKey, timeoutMs: 10_000 });
  let now = Date.UTC(2026, 10, 27);
  const reader = createListReader({ monitoring, nowMs: () => now, log });
  const stopping = new AbortController();
  onTestFinished(async () => {
    stopping.abort();
    await reader.idle();
    await monitoring.close();
  });
  return {
    lines,
    idle: reader.idle,
    pass(ms: number) {
      now += ms;
    },
    read: async () => (await reader.read(stopping.signal)).listed,
    async ids() {
      const { listed } = await reader.read(stopping.signal);
      return listed.map(({ id, status }) => (status === 'UP' ? id : `${id} ${status}`)).join(', ');
    },
  };
}

test('a service of the contract alone is asked for its list at each poll, and for nothing else', async () => {
  const service = await startMonitoringService();
  onTestFinished(service.close);
  service.add({ name: 'A' });
  const reader = readerOf(service);
  for (let poll = 0; poll < 5; poll += 1) {
    expect(await reader.ids()).toBe('mon_1');
    reader.pass(11 * MINUTE_MS);
  }
  expect(service.requests.map(({ path }) => path)).toEqual(Array(5).fill(PATH));
  expect(service.unhandled).toEqual([]);
});

test('changes are put into the list, and the same list is given while there are none', async () => {
  const service = await startTelling('a', 'b', 'c');
  const reader = readerOf(service);
  const first = await reader.read();
  expect(await reader.read()).toBe(first);
  service.set('b', { status: 'DOWN' });
  expect(await reader.ids()).toBe('a, b DOWN, c');
  service.remove('a');
  service.set('d');
  expect(await reader.ids()).toBe('b DOWN, c, d');
  service.set('b', { status: 'UP' });
  service.remove('c');
  service.set('c');
  expect(await reader.ids()).toBe('b, c, d');
  expect(service.asked).toEqual(['list', ...Array(4).fill('changes')]);
});

test('all of the list is read every 10 minutes, beside the polls, and what it shows counts with what changed since', async () => {
  const service = await startTelling('a', 'b');
  const reader = readerOf(service);
  await reader.ids();
  service.instead.list = () => 'never';
  reader.pass(10 * MINUTE_MS);
  service.set('a', { status: 'DOWN' });
  expect(await reader.ids()).toBe('a DOWN, b');
  await eventually(() => service.asked.filter((what) => what === 'list').length === 2);
  // While the list does not come.
  service.set('b', { status: 'DOWN' });
  for (let poll = 0; poll < 3; poll += 1) expect(await reader.ids()).toBe('a DOWN, b DOWN');
  expect(service.asked.filter((what) => what === 'list')).toHaveLength(2);
  service.answerHeld();
  await reader.idle();
  // The background list is older than the changes, so it's no news.
  expect(await reader.ids()).toBe('a DOWN, b DOWN');
  expect(service.asked.filter((what) => what === 'list')).toHaveLength(2);
});

test('a whole list that fails beside the polls fails none, and is tried again a minute later', async () => {
  const service = await startTelling('a');
  const reader = readerOf(service);
  await reader.ids();
  service.instead.list = () => ({ status: 404, body: {} });
  const lists = () => service.asked.filter((what) => what === 'list').length;
  for (const [ms, wanted] of [
    [10 * MINUTE_MS, 2],
    [MINUTE_MS - 1, 2],
    [1, 3],
  ] as const) {
    reader.pass(ms);
    expect(await reader.ids()).toBe('a');
    await reader.idle();
    expect(lists()).toBe(wanted);
  }
  expect(reader.lines.filter(({ level }) => level === 40)).toHaveLength(2);
});

test('a reset has the list read at once, and changes are asked for again', async () => {
  const service = await startTelling('a');
  const reader = readerOf(service);
  await reader.ids();
  service.set('b');
  service.instead.changes = () => ({ status: 410, body: {} });
  expect(await reader.ids()).toBe('a, b');
  delete service.instead.changes;
  service.set('a', { status: 'DOWN' });
  expect(await reader.ids()).toBe('a DOWN, b');
  expect(service.asked).toEqual(['list', 'changes', 'list', 'changes']);
});

test('a service that tells changes no more is asked for them every 10 minutes', async () => {
  for (const refusal of [
    { status: 404, body: {} },
    { status: 405, body: {} },
    { body: { count: 2, monitors: [], removed: [], cursor: 'x' } },
    { body: { count: 1, monitors: [{ id: 'a' }], removed: [], cursor: 'x' } },
    { body: counting('changes', 0) },
  ]) {
    const service = await startTelling('a');
    const reader = readerOf(service);
    await reader.ids();
    service.instead.changes = () => refusal;
    service.set('a', { status: 'DOWN' });
    for (let poll = 0; poll < 3; poll += 1) expect(await reader.ids()).toBe('a DOWN');
    expect(service.asked).toEqual(['list', 'changes', 'list', 'list', 'list']);
    delete service.instead.changes;
    reader.pass(10 * MINUTE_MS);
    service.set('a', { status: 'UP' });
    expect(await reader.ids()).toBe('a');
    expect(service.asked.slice(5)).toContain('changes');
  }
});

test('a service that cannot answer says nothing, and what changed meanwhile is not lost', async () => {
  const service = await startTelling('a', 'b');
  const reader = readerOf(service);
  await reader.ids();
  service.set('a', { status: 'DOWN' });
  for (const status of [401, 403, 429]) {
    service.instead.changes = () => ({ status, body: {} });
    await expect(reader.ids()).rejects.toMatchObject({ status });
  }
  delete service.instead.changes;
  expect(await reader.ids()).toBe('a DOWN, b');
});

test('a list that lacks what nobody said to be removed is read again until it is no exception', async () => {
  const service = await startTelling('a', 'b', 'c');
  const reader = readerOf(service);
  await reader.ids();
  const whole = [counting('a', 0), counting('b', 0), counting('c', 0)];
  let isShort = true;
  service.instead.list = () => {
    const monitors = isShort ? whole.slice(0, 1) : whole;
    return { body: { count: monitors.length, monitors } };
  };
  reader.pass(10 * MINUTE_MS);
  expect(await reader.ids()).toBe('a, b, c');
  await reader.idle();
  expect(await reader.ids()).toBe('a');
  isShort = false;
  for (let poll = 0; poll < 2; poll += 1) expect(await reader.ids()).toBe('a, b, c');
  const before = service.asked.length;
  await reader.ids();
  expect(service.asked.slice(before)).toEqual(['changes']);
});

test('the watch tells of an outage and of what is gone by changes as it does by the list', async () => {
  const START_MS = Date.UTC(2026, 10, 27);
  const service = await startTelling('a', 'b', 'c');
  const watch = await startSteppedWatch(service, { nowMs: START_MS });
  let now = START_MS;
  const poll = async () => {
    now += 5_000;
    await watch.poll(now);
  };
  await poll();
  service.set('a', { status: 'DOWN', status_changes: 1 });
  await poll();
  expect(watch.incidents()).toMatchObject([{ monitorId: 'a', status: 'DOWN' }]);
  service.remove('a');
  await poll();
  // Missing once says nothing.
  expect(watch.incidents()[0]?.endedAtMs).toBeUndefined();
  await poll();
  expect(watch.incidents()[0]?.endedAtMs).toBeDefined();
  expect(service.asked.filter((what) => what === 'list')).toHaveLength(1);
});

test('our own service is read by changes', async () => {
  const service = await startService();
  const reader = readerOf(service);
  const { id } = await service.create({
    ...{ name: 'Backup', check_type: 'HEARTBEAT', target: 'db', config: {} },
  });
  expect(await reader.ids()).toBe(`${id} PENDING`);
  await service.call('PATCH', `${PATH}/${id}`, { json: { name: 'Nightly' } });
  expect((await reader.read()).map(({ name }) => name)).toEqual(['Nightly']);
  await service.call('DELETE', `${PATH}/${id}`);
  expect(await reader.ids()).toBe('');
});
