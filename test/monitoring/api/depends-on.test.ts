import { expect, test } from 'vitest';
import { z } from 'zod';
import { startWebTarget } from '../../fakes/web-target.ts';
import { eventually } from '../../helpers/eventually.ts';
import { createFakeClock } from '../../helpers/monitoring/fake-clock.ts';
import { type Service, startService } from '../../helpers/monitoring/service.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { openTestStore } from '../../helpers/test-store.ts';

const MONITORS = '/api/v1/public/monitors';
const site = (name: string, more: object = {}) => ({
  name,
  check_type: 'HTTP',
  target: 'http://127.0.0.1:9/',
  ...more,
});

const parentsIn = async (service: Service, id: string) =>
  (await service.list()).find((monitor) => monitor.id === id)?.depends_on;

test('depends_on is set by a create and a change, listed, and told as a change', async () => {
  const service = await startService();
  const { id: database } = await service.create(site('Database'));
  const alert = 'alert:int_1/Disk full';
  const { id } = await service.create(site('Shop', { depends_on: [database, alert, alert] }));
  expect(await parentsIn(service, id)).toEqual([database, alert]);
  const shown = await service.call('GET', `${MONITORS}/${id}`);
  expect(shown.body.depends_on).toEqual([database, alert]);
  // An absent field stays.
  await service.call('PATCH', `${MONITORS}/${id}`, { json: { name: 'Store' } });
  expect(await parentsIn(service, id)).toEqual([database, alert]);

  const list = await service.call('GET', MONITORS);
  const cursor = String(list.headers['x-monitors-cursor']);
  const changed = await service.call('PATCH', `${MONITORS}/${id}`, { json: { depends_on: [] } });
  expect(changed.status).toBe(200);
  expect(changed.body).not.toHaveProperty('depends_on');
  const changes = await service.call('GET', `${MONITORS}/changes?after=${cursor}`);
  // The other one may be found to be down by then.
  expect(changes.body.monitors).toContainEqual(expect.objectContaining({ id, name: 'Store' }));
  expect(await parentsIn(service, id)).toBeUndefined();
});

const WRONG_PARENTS: Array<[unknown, string]> = [
  [['mon_none'], 'no monitor has the ID mon_none'],
  [['a', 'b', 'c', 'd', 'e', 'f'], 'depends_on'],
  [['alert:'], 'alert:<intake id>/<alert name>'],
  [['alert:int_1/'], 'alert:<intake id>/<alert name>'],
  [[''], 'depends_on'],
  ['mon_none', 'depends_on'],
];
test('a wrong depends_on is a 400 that says why, and nothing is created', async () => {
  const service = await startService();
  for (const [depends_on, said] of WRONG_PARENTS) {
    const answer = await service.call('POST', MONITORS, { json: site('Shop', { depends_on }) });
    expect(answer.status).toBe(400);
    expect(answer.body.error?.message).toContain(said);
  }
  expect(await service.list()).toEqual([]);
});

test('depends_on that goes round is a 400 that names the way round, and nothing has changed', async () => {
  const service = await startService();
  const { id: a } = await service.create(site('A'));
  const { id: b } = await service.create(site('B', { depends_on: [a] }));
  const { id: c } = await service.create(site('C', { depends_on: [b] }));
  const round = await service.call('PATCH', `${MONITORS}/${a}`, { json: { depends_on: [c] } });
  expect(round.status).toBe(400);
  expect(round.body.error).toMatchObject({ param: 'depends_on' });
  expect(round.body.error?.message).toContain('A → C → B → A');
  const itself = await service.call('PATCH', `${MONITORS}/${a}`, { json: { depends_on: [a] } });
  expect(itself.status).toBe(400);
  expect(await parentsIn(service, a)).toBeUndefined();
});

test('depends_on of two changes at once that go round together, one is refused', async () => {
  const service = await startService();
  const { id: a } = await service.create(site('A'));
  const { id: b } = await service.create(site('B'));
  const both = await Promise.all(
    [
      [a, b],
      [b, a],
    ].map(([id, parent]) =>
      service.call('PATCH', `${MONITORS}/${id}`, { json: { depends_on: [parent] } }),
    ),
  );
  expect(both.map(({ status }) => status).sort()).toEqual([200, 400]);
});

test('depends_on loses a parent that is removed, also one whose removal a kill cut short', async () => {
  const service = await startService();
  const { id: a } = await service.create(site('A'));
  const { id: b } = await service.create(site('B'));
  const { id } = await service.create(site('C', { depends_on: [a, b] }));
  expect((await service.call('DELETE', `${MONITORS}/${a}`)).status).toBe(204);
  expect(await parentsIn(service, id)).toEqual([b]);
  await service.close();

  const { log } = recordingLog();
  const store = await openTestStore({ folder: service.folder, log });
  const monitors = store.collection({
    name: 'monitors',
    schema: z.record(z.string(), z.unknown()),
    version: 2,
    whenCorrupt: 'refuse',
  });
  await monitors.update(b, () => ({ removed: true }));
  await store.close();
  const again = await startService({ folder: service.folder });
  await eventually(async () => (await parentsIn(again, id)) === undefined);
  expect((await again.list()).map((monitor) => monitor.name)).toEqual(['C']);
});

test('What a monitor depends on is checked when it begins to fail', async () => {
  const clock = createFakeClock();
  const [shop, database] = [await startWebTarget(), await startWebTarget()];
  const service = await startService({ clock });
  const config = { interval_seconds: 3600, timeout_seconds: 2 };
  const { id } = await service.create(site('Database', { target: database.url, config }));
  await eventually(() => database.requests.length === 1);
  const own = { ...config, interval_seconds: 60 };
  await service.create(site('Shop', { target: shop.url, config: own, depends_on: [id] }));
  await eventually(() => shop.requests.length === 1);
  await clock.advance(20_000);
  expect(database.requests).toHaveLength(1);
  await shop.stop();
  await database.stop();
  const both = await eventually(async () => {
    await clock.advance(500);
    const list = await service.list();
    return list.some(({ status }) => status === 'DOWN') ? list : undefined;
  });
  // Within the time that either takes to be confirmed.
  await eventually(async () => {
    await clock.advance(500);
    return (await service.list()).every(({ status }) => status === 'DOWN');
  });
  const [one, two] = await service.list();
  const apartMs =
    Date.parse(one?.status_changed_at ?? '') - Date.parse(two?.status_changed_at ?? '');
  expect(both).toHaveLength(2);
  expect(Math.abs(apartMs)).toBeLessThan(5_000);
});
