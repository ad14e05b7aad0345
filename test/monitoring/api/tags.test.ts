import { expect, test } from 'vitest';
import { type Service, startService } from '../../helpers/monitoring/service.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const MONITORS = '/api/v1/public/monitors';
const job = (name: string, more: object = {}) => ({
  name,
  check_type: 'HEARTBEAT',
  target: 'backup',
  ...more,
});

async function namesIn(service: Service, query: string) {
  const { body } = await service.call('GET', `${MONITORS}?${query}`);
  return (body.monitors as Array<{ name: string }>).map(({ name }) => name);
}

test('a create and a change set the tags, the list shows them, and they outlive a restart', async () => {
  const folder = await temporaryFolder();
  const service = await startService({ folder });
  const { id } = await service.create(job('Shop', { tags: ['Shop', 'eu', 'shop', 'team:Café'] }));
  const tags = ['eu', 'shop', 'team:café'];
  expect(await service.list()).toMatchObject([{ id, tags }]);
  const list = await service.call('GET', MONITORS);
  const cursor = String(list.headers['x-monitors-cursor']);
  const renamed = await service.call('PATCH', `${MONITORS}/${id}`, { json: { name: 'Store' } });
  expect(renamed.body).toMatchObject({ name: 'Store', tags });
  await service.call('PATCH', `${MONITORS}/${id}`, { json: { tags: ['us'] } });
  const changes = await service.call('GET', `${MONITORS}/changes?after=${cursor}`);
  expect(changes.body.monitors).toMatchObject([{ id, tags: ['us'] }]);
  await service.close();

  const restarted = await startService({ folder });
  expect(await restarted.list()).toMatchObject([{ id, name: 'Store', tags: ['us'] }]);
  const emptied = await restarted.call('PATCH', `${MONITORS}/${id}`, { json: { tags: [] } });
  expect(emptied.status).toBe(200);
  expect(emptied.body).not.toHaveProperty('tags');
  expect((await restarted.list())[0]).not.toHaveProperty('tags');
});

const WRONG_TAGS: Array<[tags: unknown, param: string, message: string]> = [
  [['eu', 'my shop'], 'tags.1', "“my shop” isn't a valid tag"],
  [['my shop'], 'tags.0', 'such as eu or team:shop'],
  [['shop,eu'], 'tags.0', '“shop,eu”'],
  [['@here'], 'tags.0', '“@here”'],
  [[''], 'tags.0', '1 to 40'],
  [['x'.repeat(41)], 'tags.0', '1 to 40'],
  [[1], 'tags.0', 'must be a string'],
  ['eu', 'tags', 'must be a list of tags, such as ["shop", "eu"]'],
  [Array.from({ length: 11 }, (_, at) => `t${at}`), 'tags', 'at most 10 tags'],
];
test.each(WRONG_TAGS)(
  'answers 400 for the tags %j and creates nothing',
  async (tags, param, message) => {
    const service = await startService();
    const answer = await service.call('POST', MONITORS, { json: job('Shop', { tags }) });
    expect(answer.status).toBe(400);
    expect(answer.body.error).toMatchObject({ param });
    expect(answer.body.error?.message).toContain(message);
    expect(await service.list()).toEqual([]);
  },
);

test('the list can be limited to monitors with any of some tags', async () => {
  const service = await startService();
  await service.create(job('Shop', { tags: ['shop', 'eu'] }));
  const { id } = await service.create(job('Mail', { tags: ['us'] }));
  await service.create(job('Blog'));
  expect(await namesIn(service, 'tag=EU')).toEqual(['Shop']);
  expect(await namesIn(service, 'tag=eu,us')).toEqual(['Shop', 'Mail']);
  expect(await namesIn(service, 'tag=none')).toEqual([]);
  expect(await namesIn(service, 'tag=eu,us&limit=10&status=PENDING')).toHaveLength(2);
  await service.call('POST', `${MONITORS}/${id}/pause`);
  expect(await namesIn(service, 'tag=us')).toEqual([]);
  expect(await namesIn(service, 'tag=us&include_paused=true')).toEqual(['Mail']);
  const wrong = await service.call('GET', `${MONITORS}?tag=a%20b`);
  expect(wrong.status).toBe(400);
  expect(wrong.body.error?.message).toContain('“a b”');
});
