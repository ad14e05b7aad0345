import { expect, onTestFinished, test } from 'vitest';
import { createMonitoringClient } from '../../../src/clients/monitoring.ts';
import {
  DayList,
  PartList,
  RecentIncidentList,
  type Rollup,
} from '../../../src/contracts/monitoring-additions.ts';
import { startWebTarget } from '../../fakes/web-target.ts';
import { eventually } from '../../helpers/eventually.ts';
import { createFakeClock } from '../../helpers/monitoring/fake-clock.ts';
import { startService } from '../../helpers/monitoring/service.ts';

const DAYS = '/api/v1/public/days';
const PARTS = '/api/v1/public/parts';
const INCIDENTS = '/api/v1/public/incidents';
const HOUR_MS = 3_600_000;

const iso = (ms: number) => new Date(ms).toISOString();

/** A site that was UP for an hour, DOWN for two and UP again, beside one that was UP all the time. */
async function twoSites() {
  const clock = createFakeClock();
  const shop = await startWebTarget();
  const blog = await startWebTarget();
  const service = await startService({ clock });
  const make = async (name: string, target: string) =>
    (
      await service.create({
        ...{ name, target, check_type: 'HTTP' },
        config: { confirm_down: 1, interval_seconds: 86_400 },
      })
    ).id;
  const ids = [await make('Shop', shop.url), await make('Blog', blog.url)];
  async function look() {
    for (const id of ids) {
      const answer = await service.call('POST', `/api/v1/public/monitors/${id}/check`);
      if (answer.status !== 200) throw new Error(answer.text);
    }
  }
  await look();
  await clock.advance(HOUR_MS);
  await shop.stop();
  await look();
  await clock.advance(2 * HOUR_MS);
  await shop.startAgain();
  await look();
  const [shopId = '', blogId = ''] = ids;
  return { service, clock, shopId, blogId };
}

test('the days of all monitors are the same as those of each monitor', async () => {
  const { service, clock, shopId, blogId } = await twoSites();
  await clock.advance(HOUR_MS);
  const list = DayList.parse((await service.call('GET', DAYS)).body);
  expect(list).toMatchObject({
    last: new Date(clock.wallMs()).toISOString().slice(0, 10),
    next: null,
  });
  expect(list.monitors.map(({ id }) => id)).toEqual([shopId, blogId].sort());
  for (const id of [shopId, blogId]) {
    const { body } = await service.call('GET', `/api/v1/public/monitors/${id}/rollups?by=day`);
    const rows = body.rollups as Array<{ up_ms: number; down_ms: number }>;
    expect(list.monitors.find((one) => one.id === id)).toEqual({
      id,
      up_ms: rows.map(({ up_ms }) => up_ms),
      down_ms: rows.map(({ down_ms }) => down_ms),
    });
  }
  expect(list.monitors.find(({ id }) => id === shopId)?.down_ms.at(-1)).toBe(2 * HOUR_MS);
  const one = DayList.parse((await service.call('GET', `${DAYS}?days=1`)).body);
  expect(one.monitors.every(({ up_ms }) => up_ms.length === 1)).toBe(true);
});

test('parts of a time are for all monitors what uptime and rollups tell of each', async () => {
  const { service, clock, shopId, blogId } = await twoSites();
  const nowMs = clock.wallMs();
  const moments = [nowMs - 3.5 * HOUR_MS, nowMs - 2.5 * HOUR_MS, nowMs - HOUR_MS, nowMs + HOUR_MS];
  const at = moments.map(iso).join(',');
  const list = PartList.parse((await service.call('GET', `${PARTS}?at=${at}`)).body);
  expect(list.monitors.map(({ id }) => id)).toEqual([shopId, blogId].sort());
  expect(list.next).toBeNull();
  for (const { id, up_ms, down_ms, passed, mean_ms } of list.monitors) {
    for (const [place, toMs] of moments.slice(1).entries()) {
      const query = `?from=${iso(moments[place] ?? 0)}&to=${iso(toMs)}`;
      const { body } = await service.call('GET', `/api/v1/public/monitors/${id}/uptime${query}`);
      expect({ up_ms: up_ms[place], down_ms: down_ms[place] }).toEqual({
        up_ms: body.up_ms,
        down_ms: body.down_ms,
      });
    }
    const { body } = await service.call('GET', `/api/v1/public/monitors/${id}/rollups?by=hour`);
    const rows = body.rollups as Rollup[];
    const sum = (counts: number[]) => counts.reduce((all, count) => all + count, 0);
    expect(sum(passed)).toBe(sum(rows.map(({ checks, failures }) => checks - failures)));
    const took = rows.map((row) => (row.checks - row.failures) * (row.response_time_ms?.mean ?? 0));
    expect(sum(mean_ms.map((ms, place) => ms * (passed[place] ?? 0)))).toBeCloseTo(sum(took), 0);
    expect(mean_ms.map((ms) => ms > 0)).toEqual(passed.map((count) => count > 0));
  }
});

test('parts between moments that make no sense are refused', async () => {
  const service = await startService();
  for (const query of [
    '',
    '?at=2026-11-01T00:00:00Z',
    '?at=2026-11-01T00:00:00Z,2026-11-01T00:00:00Z',
    '?at=2026-11-02T00:00:00Z,2026-11-01T00:00:00Z',
    '?at=2026-11-01T00:00:00Z,yesterday',
    '?at=2025-01-01T00:00:00Z,2026-11-01T00:00:00Z',
    `?at=${Array.from({ length: 101 }, (_, no) => iso(no * HOUR_MS)).join(',')}`,
    `?at=${'x'.repeat(5_000)}`,
  ]) {
    const { status, body } = await service.call('GET', PARTS + query);
    expect([status, body.error?.param], query).toEqual([400, 'at']);
  }
});

test('the monitors after an id are listed also when the monitor of that id is gone', async () => {
  const service = await startService();
  const ids: string[] = [];
  for (const name of ['one', 'two', 'three']) {
    ids.push((await service.create({ name, target: 'job', check_type: 'HEARTBEAT' })).id);
  }
  const [first = '', ...others] = ids.sort();
  const client = createMonitoringClient({ baseUrl: service.url, apiKey: service.key });
  onTestFinished(() => client.close());
  for (let turn = 0; turn < 2; turn += 1) {
    const rest = await client.days({ days: 7, after: first });
    expect(rest.monitors.map(({ id }) => id)).toEqual(others);
    expect(rest.monitors[0]).toEqual({ id: others[0], up_ms: [], down_ms: [] });
    expect(rest.next).toBeNull();
    if (turn === 0) await client.remove(first);
  }
});

test('incidents of all monitors come newest first, each with its monitor', async () => {
  const { service, shopId } = await twoSites();
  const incidents = await eventually(async () => {
    const list = RecentIncidentList.parse((await service.call('GET', INCIDENTS)).body).incidents;
    return list[0]?.ended_at && list;
  });
  const own = await service.call('GET', `/api/v1/public/monitors/${shopId}/incidents`);
  const [ownIncident] = own.body.incidents as object[];
  expect(incidents).toEqual([{ ...ownIncident, monitor: shopId, name: 'Shop' }]);
  const job = { name: 'Job', target: 'job', check_type: 'HEARTBEAT' };
  const { id, push_url = '' } = await service.create(job);
  await service.call('POST', `${new URL(push_url).pathname}/fail`);
  await eventually(async () => {
    const list = RecentIncidentList.parse((await service.call('GET', INCIDENTS)).body).incidents;
    return list.map(({ monitor }) => monitor).join() === `${id},${shopId}`;
  });
  const { body } = await service.call('GET', `${INCIDENTS}?limit=1`);
  expect(RecentIncidentList.parse(body).incidents).toMatchObject([{ monitor: id, name: 'Job' }]);
});

test('incidents of all monitors in a time are those that overlap it, counted beyond the limit', async () => {
  const { service, clock, shopId } = await twoSites();
  const endMs = clock.wallMs();
  const job = { name: 'Job', target: 'job', check_type: 'HEARTBEAT' };
  const { id, push_url = '' } = await service.create(job);
  const of = async (query: string) => {
    const list = RecentIncidentList.parse((await service.get(`${INCIDENTS}?${query}`)).body);
    return { ...list, incidents: list.incidents.map(({ monitor }) => monitor) };
  };
  await clock.advance(HOUR_MS);
  await eventually(async () => (await of(`from=${iso(endMs)}`)).total === 0);
  await service.call('POST', `${new URL(push_url).pathname}/fail`);
  // A range up to now contains an incident that begins this very moment.
  await eventually(async () => (await of(`from=${iso(endMs)}`)).total === 1);
  const both = { incidents: [id, shopId], total: 2, complete: true };
  expect(await of(`from=${iso(endMs - 1)}&limit=1000`)).toEqual(both);
  expect(await of('')).toEqual(both);
  expect(await of('limit=1')).toEqual({ ...both, incidents: [id] });
  expect(await of(`from=${iso(endMs)}`)).toEqual({ incidents: [id], total: 1, complete: true });
  const before = { incidents: [shopId], total: 1, complete: true };
  expect(await of(`to=${iso(endMs)}`)).toEqual(before);
  const fromMs = endMs - HOUR_MS;
  expect(await of(`from=${iso(fromMs)}&to=${iso(fromMs + 1)}`)).toEqual(before);
  const none = { incidents: [], total: 0, complete: true };
  expect(await of(`to=${iso(endMs - 2 * HOUR_MS)}`)).toEqual(none);
});
