import { describe, expect, test } from 'vitest';
import { plannedOf } from '../../../src/console/status/maintenance.ts';
import type { PlannedWindow } from '../../../src/contracts/monitoring-additions.ts';
import { startMonitoringService } from '../../fakes/monitoring-service.ts';
import { get, readStatus, reportAt, startStatus } from '../../helpers/console/test-status.ts';
import { eventually } from '../../helpers/eventually.ts';
import { startService } from '../../helpers/monitoring/service.ts';

const HOUR_MS = 3_600_000;
const AS_ANYONE = { host: 'status.example.com' };
const utc = (inMs: number) => new Date(Date.now() + inMs).toISOString();

/** A service with two monitors, and what plans for them. */
async function start() {
  const service = await startService();
  const ids: string[] = [];
  for (const name of ['Shop', 'Cart']) {
    ids.push((await service.create({ name, check_type: 'HEARTBEAT', target: name })).id);
  }
  const plan = (window: object | null, monitors = ids) =>
    service.call('POST', '/api/v1/public/maintenance', { json: { monitors, window } });
  const [shop = '', cart = ''] = ids;
  return { ...service, plan, shop, cart };
}

describe('maintenance on the status page', () => {
  test('planned maintenance is listed until it is removed', async () => {
    const { plan, shop, cart, url, key } = await start();
    const status = await startStatus({ url, apiKey: key });
    const reader = await readStatus(status.url);
    expect(reader.report().maintenance).toBeUndefined();
    const window = { starts_at: utc(HOUR_MS), ends_at: utc(2 * HOUR_MS), reason: 'updates' };
    await plan(window);
    const shown = {
      windows: [
        {
          ...window,
          timezone: 'UTC',
          monitors: [
            { id: cart, name: 'Cart' },
            { id: shop, name: 'Shop' },
          ],
          more: 0,
        },
      ],
      more: 0,
    };
    await eventually(() => reader.report().maintenance !== undefined);
    expect(reader.report().maintenance).toEqual(shown);
    expect((await reportAt(status.url)).maintenance).toEqual(shown);
    const feed = (await get(`${status.url}/status/feed.xml`, {})).text;
    expect(feed).toContain('<title>Planned maintenance: Cart, Shop, ');
    expect(feed).toContain(' updates</content>');
    // The window is ongoing.
    await plan({ starts_at: utc(-1_000), ends_at: utc(HOUR_MS) }, [shop]);
    await eventually(() => reader.report().maintenance?.windows.length === 2);
    expect(reader.report().maintenance?.windows[0]?.monitors).toMatchObject([{ name: 'Shop' }]);
    await plan(null);
    await eventually(() => reader.report().maintenance === undefined);
  });

  test('a public page hides the reason of maintenance', async () => {
    const { plan, url, key } = await start();
    await plan({ starts_at: utc(HOUR_MS), ends_at: utc(2 * HOUR_MS), reason: 'SECRETWINDOW' });
    const status = await startStatus({ url, apiKey: key }, { isPublic: true });
    await eventually(async () => (await reportAt(status.url)).maintenance !== undefined);
    for (const path of ['/status.json', '/status/feed.xml']) {
      const { text } = await get(status.url + path, AS_ANYONE);
      expect(text, path).toMatch(/Shop/);
      expect(text, path).not.toContain('SECRETWINDOW');
    }
    expect((await get(`${status.url}/status/feed.xml`, {})).text).toContain('SECRETWINDOW');
  });

  test('a service without planned maintenance is asked rarely', async () => {
    const bare = await startMonitoringService({ limit: false });
    bare.add({ name: 'Shop' });
    const { url } = await startStatus(bare);
    expect((await reportAt(url)).maintenance).toBeUndefined();
    const asked = () => bare.requests.filter(({ path }) => path.includes('/maintenance')).length;
    const lists = () => bare.requests.length;
    const before = lists();
    await readStatus(url);
    await eventually(() => lists() > before + 10);
    expect(asked()).toBe(1);
    await bare.close();
  });
});

test('windows and monitors beyond the limits are counted', () => {
  const listed = Array.from({ length: 40 }, (_, at): PlannedWindow => {
    const startsMs = Date.parse('2026-12-01T00:00:00Z') + Math.floor(at / 20) * HOUR_MS;
    const reason = at < 20 ? {} : { reason: `why ${at}` };
    return {
      ...{ monitor: `mon_${at}`, name: `Site ${at}`, timezone: 'UTC', repeats: false, ...reason },
      starts_at: new Date(startsMs).toISOString(),
      ends_at: new Date(startsMs + HOUR_MS).toISOString(),
    };
  });
  const planned = plannedOf(listed, 45);
  expect(planned?.windows).toHaveLength(20);
  expect(planned?.windows[0]).toMatchObject({ monitors: { length: 10 }, more: 10 });
  // One of the forty windows that came is left out, and the five that did not come.
  expect(planned?.more).toBe(6);
  expect(plannedOf([], 0)).toBeUndefined();
});
