import { expect, onTestFinished, test } from 'vitest';
import { createMonitoringClient } from '../../../src/clients/monitoring.ts';
import { DayList, RecentIncidentList } from '../../../src/contracts/monitoring-additions.ts';
import { startWebTarget } from '../../fakes/web-target.ts';
import { eventually } from '../../helpers/eventually.ts';
import { createFakeClock } from '../../helpers/monitoring/fake-clock.ts';
import { startService } from '../../helpers/monitoring/service.ts';

const DAYS = '/api/v1/public/days';
const INCIDENTS = '/api/v1/public/incidents';
const HOUR_MS = 3_600_000;

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

test('a day begins for all monitors at midnight, UTC', async () => {
  const { service, clock, shopId } = await twoSites();
  await clock.advance(24 * HOUR_MS);
  const list = DayList.parse((await service.call('GET', DAYS)).body);
  const shop = list.monitors.find(({ id }) => id === shopId);
  expect(list.last).toBe(new Date(clock.wallMs()).toISOString().slice(0, 10));
  expect(shop?.up_ms).toHaveLength(2);
  expect(shop?.down_ms).toEqual([2 * HOUR_MS, 0]);
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

test('a wrong query parameter is a 400 that names it', async () => {
  const service = await startService();
  for (const [query, param] of [
    ['days=0', 'days'],
    ['days=91', 'days'],
    [`after=${'x'.repeat(501)}`, 'after'],
    ['ids=a', 'ids'],
  ]) {
    const { status, body } = await service.call('GET', `${DAYS}?${query}`);
    expect([status, body.error?.param]).toEqual([400, param]);
  }
  expect((await service.call('GET', `${INCIDENTS}?limit=101`)).body.error?.param).toBe('limit');
});
