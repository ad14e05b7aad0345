import { expect, test } from 'vitest';
import type { Person } from '../../../../src/bot/shared/place.ts';
import type { PlannedWindowList } from '../../../../src/contracts/monitoring-additions.ts';
import { cardOf, startTestBot, textOf } from '../../../helpers/bot.ts';
import { startService } from '../../../helpers/monitoring/service.ts';

const admin: Person = { id: 'U9', name: 'Grace', mayManage: async () => true };

/** A bot over the real service, with heartbeats by name and their tags. */
async function start(monitors: Record<string, string[]> = {}) {
  const service = await startService();
  for (const [name, tags] of Object.entries(monitors)) {
    await service.create({ name, check_type: 'HEARTBEAT', target: `job of ${name}`, tags });
  }
  const bot = await startTestBot({ watched: service });
  const say = async (line: string) => textOf(cardOf(await bot.say(line, { person: admin })));
  return { service, say, press: bot.press, send: bot.say };
}

const TEAM = { Shop: ['eu', 'web'], Cart: ['eu'], Blog: ['us', 'web'], Mail: [] };

test('/monitor add stores tags, and the cards of add, show and a second monitor show them', async () => {
  const { service, say, send } = await start();
  const added = await say('/monitor add http://127.0.0.1:9/ Shop tags=Web,eu');
  expect(added).toContain('Tags: eu, web');
  expect(await service.list()).toMatchObject([{ name: 'Shop', tags: ['eu', 'web'] }]);
  expect(await say('/monitor show shop')).toContain('Tags: eu, web');
  const asked = cardOf(await send('/monitor add http://127.0.0.1:9/ Again tags=us'));
  expect(textOf(asked)).toContain('Tags: us');
});

test('/monitor add names a tag that is not valid, and adds nothing', async () => {
  const { service, say } = await start();
  const refused = await say('/monitor add http://127.0.0.1:9/ tags="shop,my eu"');
  expect(refused).toContain("“tags”: “my eu” isn't a valid tag");
  expect(refused).toContain('such as eu or team:shop');
  expect(await service.list()).toEqual([]);
});

test('/monitor list filters by any of the tags, together with the text', async () => {
  const { say } = await start(TEAM);
  const eu = await say('/monitor list tags=eu');
  expect(eu).toContain('2 monitors tagged eu: 0 of 2 up, 2 PENDING');
  expect(eu).not.toContain('Blog');
  expect(await say('/monitor list tags=eu,us')).toContain('3 monitors tagged eu or us: ');
  expect(await say('/monitor list shop tags=web')).toContain('1 monitor with “shop” tagged web: ');
  expect(await say('/monitor list pending tags=us')).toContain(
    '1 monitor with “pending” tagged us',
  );
  expect(await say('/monitor list tags=ue')).toContain(
    'No monitor is tagged ue. Tags: eu, us, web.',
  );
});

test('/monitor list counts the monitors of each tag, the worst tag first', async () => {
  const { service, say } = await startTestBot();
  service.add({ name: 'Shop', tags: ['eu', 'web'] });
  service.add({ name: 'Cart', tags: ['eu'], status: 'PAUSED' });
  service.add({ name: 'Blog', tags: ['us', 'web'], status: 'DOWN' });
  service.add({ name: 'Feed', tags: ['us'], status: 'MAINTENANCE' });
  service.add({ name: 'Docs', tags: ['asia'], status: 'DEGRADED' });
  const list = async (line: string) => textOf(cardOf(await say(line)));
  expect(await list('/monitor list')).toContain(
    [
      'us: 0 of 2 up, 1 DOWN, 1 MAINTENANCE',
      'web: 1 of 2 up, 1 DOWN',
      'asia: 0 of 1 up, 1 DEGRADED',
      'eu: 1 of 2 up, 1 PAUSED',
    ].join('\n'),
  );
  expect(await list('/monitor list shop')).not.toContain('of 2 up');
  for (let at = 0; at < 30; at += 1) service.add({ name: `N${at}`, tags: [`n${at}`] });
  const long = await list('/monitor list');
  expect(long).toContain('and 24 more tags');
  expect(long.match(/ of \d+ up/g)).toHaveLength(10);
});

test('a page of a list keeps its tags', async () => {
  const { service, say, press } = await startTestBot();
  for (let at = 0; at < 30; at += 1) service.add({ name: `Shop ${at}`, tags: ['eu'] });
  service.add({ name: 'Blog' });
  const first = cardOf(await say('/monitor list tags=eu'));
  const second = cardOf(await press(first, 'Next'));
  expect(second.title).toBe('30 monitors tagged eu: 30 of 30 up');
  expect(first.title).toBe(second.title);
});

test('/monitor alerts describes filters by tags, and takes them back', async () => {
  const { say } = await start(TEAM);
  const on = await say('/monitor alerts on tags=us,eu');
  expect(on).toContain('Alerts on for monitors tagged eu or us');
  expect(on).toContain('This channel gets alerts for monitors tagged eu or us.');
  expect(await say('/monitor alerts on shop')).toContain(
    'monitors with “shop” in name or target or tagged eu or us.',
  );
  expect(await say('/monitor alerts on cart tags=eu')).toContain('or with “cart” tagged eu.');
  expect(await say('/monitor alerts off tags=eu,us')).toContain(
    'with “shop” in name or target or with “cart” tagged eu, except those tagged eu or us.',
  );
  expect(await say('/monitor alerts on tags=ue')).toContain('No monitor is tagged ue.');
  // A tag that nobody has any more must not be stuck.
  expect(await say('/monitor alerts off tags=gone')).toContain(
    'Alerts off for monitors tagged gone',
  );
});

test('/monitor alerts off ends the alerts of monitors that were added here and have the tag now', async () => {
  const { service, say } = await start();
  await say('/monitor add http://127.0.0.1:9/ Shop');
  await say('/monitor add http://127.0.0.1:9/blog Blog');
  const { id } = (await service.list()).find(({ name }) => name === 'Shop') ?? {};
  await service.call('PATCH', `/api/v1/public/monitors/${id}`, { json: { tags: ['eu'] } });
  expect(await say('/monitor alerts off tags=eu')).toContain('alerts for the monitor added here.');
});

test('/monitor maintenance plans a window for all monitors with a tag', async () => {
  const { service, say } = await start(TEAM);
  const planned = async () => {
    const { body } = await service.get('/api/v1/public/maintenance?days=31');
    return (body as unknown as PlannedWindowList).windows.map(({ name }) => name).sort();
  };
  expect(await say('/monitor maintenance all tagged eu now for 30m')).toContain('2 monitors.');
  expect(await planned()).toEqual(['Cart', 'Shop']);
  await say('/monitor maintenance all off');
  await say('/monitor maintenance all tagged eu, us now for 30m');
  expect(await planned()).toEqual(['Blog', 'Cart', 'Shop']);
  expect(await say('/monitor maintenance all tagged ue now for 30m')).toContain(
    'No monitor is tagged ue. Tags: eu, us, web.',
  );
  expect(await say('/monitor maintenance all tagged @eu now for 30m')).toContain('“@eu”');
});

test('says how to add a tag while there are none', async () => {
  const { say } = await start({ Mail: [] });
  expect(await say('/monitor list tags=eu')).toContain(
    'there are no tags yet. Add one with a monitor: /monitor add https://example.com tags=eu',
  );
  expect(await say('/monitor list')).not.toContain('of 1 up');
});
