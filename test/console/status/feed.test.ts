import { describe, expect, test } from 'vitest';
import { badge } from '../../../src/console/status/badge.ts';
import { startMonitoringService } from '../../fakes/monitoring-service.ts';
import { startWebTarget } from '../../fakes/web-target.ts';
import { get, startStatus } from '../../helpers/console/test-status.ts';
import { eventually } from '../../helpers/eventually.ts';
import { startService } from '../../helpers/monitoring/service.ts';

test('a badge is as wide as its characters, and has a label', () => {
  const widthOf = (name: string) => Number(/ width="(\d+)"/.exec(badge(name, 'UP'))?.[1]);
  expect(widthOf('WWWW')).toBeGreaterThan(widthOf('nnnn'));
  expect(widthOf('nnnn')).toBeGreaterThan(widthOf('iiii'));
  expect(widthOf('店舗監視')).toBeGreaterThan(widthOf('nnnn'));
  expect(widthOf('x'.repeat(10_000))).toBe(widthOf('x'.repeat(41)));
  expect(badge('Shop', 'DOWN')).toContain('role="img" aria-label="Shop: down"><title>Shop: down<');
});

describe('the routes of what others show', () => {
  test('a badge shows the status of a monitor, and is sent again only after a change', async () => {
    const service = await startMonitoringService({ limit: false });
    const { id } = service.add({ name: 'Shop & <Co>' });
    const { url } = await startStatus(service);
    const first = await get(`${url}/status/badge/${id}.svg`, {});
    expect(first.headers).toMatchObject({
      'content-type': 'image/svg+xml; charset=utf-8',
      'cache-control': 'private, max-age=30',
      vary: 'accept-encoding, cookie',
    });
    expect(first.text).toContain('aria-label="Shop &amp; &lt;Co&gt;: up"');
    const known = { 'if-none-match': `"other", ${first.headers.etag}` };
    expect(await get(`${url}/status/badge/${id}.svg`, known)).toMatchObject({
      status: 304,
      text: '',
    });
    service.setStatus(id, 'DOWN');
    await eventually(
      async () => (await get(`${url}/status/badge/${id}.svg`, known)).status === 200,
    );
    expect((await get(`${url}/status/badge.svg`, {})).text).toContain('aria-label="status: down"');
    expect((await get(`${url}/status/badge/none.svg`, {})).status).toBe(404);
    service.setStatus(id, 'PAUSED');
    await eventually(async () =>
      (await get(`${url}/status/badge/${id}.svg`, {})).text.includes('&lt;Co&gt;: paused"'),
    );
    await service.close();
  });

  test('the feed lists incidents with links to its own address', async () => {
    const target = await startWebTarget();
    const service = await startService();
    const site = { name: 'Shop', check_type: 'HTTP', target: target.url };
    const { id } = await service.create({ ...site, config: { confirm_down: 1 } });
    await target.stop();
    await service.call('POST', `/api/v1/public/monitors/${id}/check`);
    await eventually(async () => {
      const { body } = await service.call('GET', '/api/v1/public/incidents', {
        key: await service.createKey(),
      });
      return (body.incidents as object[]).length === 1;
    });
    const { url } = await startStatus(
      { url: service.url, apiKey: service.key },
      { isPublic: true },
    );
    const feed = await get(`${url}/status/feed.xml`, {
      host: 'status.example.com',
      'x-forwarded-proto': 'https',
    });
    expect(feed.headers['content-type']).toBe('application/atom+xml; charset=utf-8');
    expect(feed.text).toContain('<title>Shop is down</title>');
    expect(feed.text).toContain(`href="http://status.example.com/status#/${id}"`);
    const known = { host: 'status.example.com', 'if-none-match': String(feed.headers.etag) };
    const again = { ...known, 'x-forwarded-proto': 'https' };
    expect((await get(`${url}/status/feed.xml`, again)).status).toBe(304);
    const strange = { host: 'a"onload="x' };
    expect((await get(`${url}/status/feed.xml`, strange)).text).toContain(`href="${url}/status"`);

    const bare = await startMonitoringService({ limit: false });
    const other = await startStatus(bare);
    const none = await get(`${other.url}/status/feed.xml`, {});
    expect(none.status).toBe(200);
    expect(none.text).not.toContain('<entry>');
    await bare.close();
  });
});
