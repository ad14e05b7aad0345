import { expect, test } from 'vitest';
import { groupsOf } from '../../../src/console/page/status/filter.ts';
import type { StatusMonitor } from '../../../src/console/status/api-types.ts';
import { startMonitoringService } from '../../fakes/monitoring-service.ts';
import { get, readStatus, startStatus } from '../../helpers/console/test-status.ts';
import { eventually } from '../../helpers/eventually.ts';
import { startService } from '../../helpers/monitoring/service.ts';

const AS_ANYONE = { host: 'status.example.com' };

const monitor = (name: string, status: string, ...tags: string[]): StatusMonitor => ({
  ...{ id: name, name, check_type: 'HTTP', status },
  ...(tags.length > 0 && { tags }),
});

async function startTagged() {
  const service = await startMonitoringService({ limit: false });
  service.add({ name: 'Shop', tags: ['eu', 'web'], status: 'DOWN' });
  service.add({ name: 'Mail', tags: ['us'] });
  service.add({ name: 'Blog' });
  const { url } = await startStatus(service, { isPublic: true });
  const read = (path: string) => get(url + path, AS_ANYONE);
  return { service, url, read };
}

test('anyone who sees the public page sees tags, and may ask for the monitors of one', async () => {
  const { service, read } = await startTagged();
  const all = JSON.parse((await read('/status.json')).text);
  expect(all).toMatchObject({ public: true, overall: 'down' });
  expect(all.monitors[0]).toMatchObject({ name: 'Shop', tags: ['eu', 'web'] });
  expect(all.monitors.at(-1)).not.toHaveProperty('target');
  expect(all.monitors.find(({ name }: StatusMonitor) => name === 'Blog')).not.toHaveProperty(
    'tags',
  );
  const us = JSON.parse((await read('/status.json?tag=US')).text);
  expect(us).toMatchObject({ public: true, overall: 'up', monitors: [{ name: 'Mail' }] });
  expect(us.monitors).toHaveLength(1);
  expect((await read('/status/badge.svg?tag=eu')).text).toContain('eu: down');
  expect((await read('/status/badge.svg?tag=us')).text).toContain('us: up');
  await service.close();
});

test.each(['/status.json', '/status/badge.svg', '/status/feed.xml'])(
  '%s answers 404 for a tag that no monitor has',
  async (path) => {
    const { service, read } = await startTagged();
    const { status, text } = await read(`${path}?tag=asia`);
    expect([status, text]).toEqual([404, expect.stringContaining('No monitor is tagged asia.')]);
    await service.close();
  },
);

test('the feed of a tag has its incidents only, and an address and id of its own', async () => {
  const service = await startService();
  for (const [name, tags] of Object.entries({ Shop: ['eu'], Mail: ['us'] })) {
    const { push_url = '' } = await service.create({
      ...{ name, check_type: 'HEARTBEAT', target: name, tags },
    });
    await service.call('POST', `${new URL(push_url).pathname}/fail`);
  }
  const { url } = await startStatus({ url: service.url, apiKey: service.key });
  const feed = async (query: string) => (await get(`${url}/status/feed.xml${query}`, {})).text;
  await eventually(async () => (await feed('')).match(/is down<\/title>/g)?.length === 2);
  const eu = await feed('?tag=eu');
  expect(eu).toContain('Shop is down');
  expect(eu).not.toContain('Mail is down');
  expect(eu).toContain('<id>urn:askwatch:status?tag=eu</id>');
  expect(eu).toContain('/status/feed.xml?tag=eu"');
  expect(eu).toContain('<title>Status incidents: eu</title>');
});

test('a poll that lists the same tags again is no change, and another tag is one', async () => {
  const { service, url } = await startTagged();
  const reader = await readStatus(url);
  const polls = service.requests.length;
  await eventually(() => service.requests.length > polls + 3);
  expect(reader.heard.map(({ kind }) => kind)).toEqual(['report']);
  Object.assign(service.monitors[1] ?? {}, { tags: ['eu'] });
  await eventually(() => reader.heard.length === 2);
  expect(reader.heard[1]).toMatchObject({ monitors: [{ name: 'Mail', tags: ['eu'] }] });
  await service.close();
});

test('groups count what is up, name the rest, and keep their place', () => {
  const monitors = [
    monitor('Shop', 'UP', 'web', 'eu'),
    monitor('Cart', 'DOWN', 'eu'),
    monitor('Feed', 'MAINTENANCE', 'eu'),
    monitor('Docs', 'PAUSED', 'web', 'old'),
    monitor('Blog', 'UP'),
  ];
  expect(groupsOf(monitors)).toEqual([
    { tag: 'eu', condition: 'down', text: '1 of 3 up, 1 down, 1 in maintenance' },
    { tag: 'old', condition: 'paused', text: '0 of 1 up, 1 paused' },
    { tag: 'web', condition: 'up', text: '1 of 2 up, 1 paused' },
  ]);
});

test('keeps the worst of many groups', () => {
  const many = Array.from({ length: 60 }, (_, at) => monitor(`${at}`, 'UP', `t${at + 10}`));
  const groups = groupsOf([...many, monitor('bad', 'DOWN', 'zz')]);
  expect(groups).toHaveLength(40);
  expect(groups.at(-1)).toMatchObject({ tag: 'zz', condition: 'down' });
});
