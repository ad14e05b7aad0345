import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { eventually } from '../../helpers/eventually.ts';
import { createFakeClock, type FakeClock } from '../../helpers/monitoring/fake-clock.ts';
import { type Service, startService } from '../../helpers/monitoring/service.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const HOUR_MS = 3_600_000;
const MONITORS = '/api/v1/public/monitors';

type Fields = Record<string, unknown>;

/** Monitors by their keys as a file has them, each on a line of its own; the targets refuse connections. */
function textOf(monitors: Record<string, Fields>): string {
  const lines = Object.entries(monitors).map(([key, fields]) => {
    const whole = { target: `http://127.0.0.1:9/${key}`, check_type: 'HTTP', ...fields };
    return `  ${key}: ${JSON.stringify(whole)}`;
  });
  return lines.length === 0 ? 'monitors: {}' : ['monitors:', ...lines].join('\n');
}

const named = (...keys: string[]) => Object.fromEntries(keys.map((key) => [key, {}]));

/** A path for a file of monitors, with what writes it. */
async function openFile(monitors?: Record<string, Fields>) {
  const path = join(await temporaryFolder(), 'monitors.yaml');
  const write = (text: string) => writeFile(path, text);
  const declare = (all: Record<string, Fields>) => write(textOf(all));
  if (monitors) await declare(monitors);
  return { path, write, declare };
}

async function listAll(service: Service) {
  const { body } = await service.get(`${MONITORS}?include_paused=true`);
  const { monitors } = body as { monitors?: Array<Fields & { id: string; managed_by?: Fields }> };
  return new Map((monitors ?? []).map((one) => [String(one.managed_by?.key ?? one.name), one]));
}

const statusOf = async (service: Service, key: string) =>
  (await listAll(service)).get(key)?.status ?? 'gone';

const told = ({ lines }: Service, part: string) =>
  lines.filter((line) => JSON.stringify(line).includes(part)).length;

/** A service that follows a file, on a clock that moves only while the test waits for something. */
async function follow(monitorsFile: string, options: { clock?: FakeClock; folder?: string } = {}) {
  const { clock = createFakeClock() } = options;
  const service = await startService({ ...options, clock, monitorsFile });
  const soon = (done: () => Promise<boolean> | boolean | undefined) =>
    eventually(async () => {
      await clock.advance(1_000);
      return await done();
    });
  return { service, clock, soon };
}

describe('the monitors of a file', () => {
  test('are made and changed as it says, with their history kept', async () => {
    const shop = { name: 'Shop', channels: ['slack:C9'], depends_on: ['db'] };
    const windows = [{ cron: '0 3 * * 0', timezone: 'UTC', duration_minutes: 30 }];
    const file = await openFile({ shop, db: { maintenance: windows } });
    const { service, soon } = await follow(file.path);
    await soon(async () => (await service.list()).length === 2);
    const before = await listAll(service);
    const db = before.get('db')?.id;
    expect(before.get('shop')).toMatchObject({
      ...{ name: 'Shop', channels: ['slack:C9'], depends_on: [db] },
      managed_by: { file: file.path, line: 2, key: 'shop' },
    });
    expect((await service.get(`${MONITORS}/${db}`)).body).toMatchObject({ maintenance: windows });
    await soon(async () => (await listAll(service)).get('shop')?.last_checked_at !== null);

    const renamed = { ...shop, name: 'The shop', channels: [], config: { interval_seconds: 600 } };
    await file.write(`# moved\n${textOf({ db: {}, shop: renamed })}`);
    await soon(async () => (await listAll(service)).get('shop')?.name === 'The shop');
    const after = (await listAll(service)).get('shop');
    expect(after).toMatchObject({ interval_seconds: 600, managed_by: { line: 4 } });
    expect(after).not.toHaveProperty('channels');
    expect([after?.id, after?.created_at]).toEqual([
      before.get('shop')?.id,
      before.get('shop')?.created_at,
    ]);
    expect((await service.get(`${MONITORS}/${db}`)).body).toMatchObject({ maintenance: [] });
    expect(told(service, 'monitor created')).toBe(2);
  });

  test('stand where they stand by now, also when only lines have moved', async () => {
    const file = await openFile(named('shop'));
    const { service, soon } = await follow(file.path);
    await soon(async () => (await service.list()).length === 1);
    await file.write(`\n\n\n${textOf(named('shop'))}`);
    await soon(async () => {
      const shop = (await listAll(service)).get('shop');
      return shop?.managed_by?.line === 5;
    });
    const { id } = (await listAll(service)).get('shop') ?? {};
    const { body } = await service.call('POST', `${MONITORS}/${id}/pause`);
    expect(body.error?.message).toContain('line 5');
  });

  test('monitors that leave the file are paused, resume when they return, and are removed a day later', async () => {
    const clock = createFakeClock();
    const folder = await temporaryFolder();
    const file = await openFile(named('a', 'b', 'c'));
    const start = () => follow(file.path, { clock, folder });
    const { service: first, soon } = await start();
    await soon(async () => (await first.list()).length === 3);
    await file.declare(named('b'));
    await soon(async () => (await statusOf(first, 'a')) === 'PAUSED');
    await soon(async () => (await statusOf(first, 'c')) === 'PAUSED');
    expect(await statusOf(first, 'b')).not.toBe('PAUSED');
    const left = (await listAll(first)).get('a');
    expect(left?.managed_by).toMatchObject({ left_at: expect.stringMatching(/Z$/) });
    await first.close();

    await clock.advance(12 * HOUR_MS);
    const { service: second } = await start();
    await file.declare(named('b', 'c'));
    await soon(async () => (await statusOf(second, 'c')) !== 'PAUSED');
    expect((await listAll(second)).get('c')?.managed_by).not.toHaveProperty('left_at');
    await clock.advance(11 * HOUR_MS);
    expect(await statusOf(second, 'a')).toBe('PAUSED');
    await second.close();

    const { service: third } = await start();
    await clock.advance(HOUR_MS);
    await soon(async () => (await statusOf(third, 'a')) === 'gone');
    expect([...(await listAll(third)).keys()].sort()).toEqual(['b', 'c']);
    expect((await third.get(`${MONITORS}/${left?.id}`)).status).toBe(404);
  });

  test('a monitor with another check type is a new one, and the old one is kept for a day', async () => {
    const file = await openFile({ shop: {} });
    const { service, soon } = await follow(file.path);
    await soon(async () => (await service.list()).length === 1);
    const [old] = await service.list();
    await file.declare({ shop: { check_type: 'KEYWORD', config: { target_keyword: 'Cart' } } });
    await soon(async () => (await service.list())[0]?.check_type === 'KEYWORD');
    await soon(async () => {
      const { body } = await service.get(`${MONITORS}/${old?.id}`);
      return body.status === 'PAUSED';
    });
    await file.declare({ shop: {} });
    await soon(async () => (await service.list())[0]?.id === old?.id);
  });

  test('may be ones that are there already, which it names by their ids', async () => {
    const file = await openFile({});
    const { service, soon } = await follow(file.path);
    const made = await service.create({
      name: 'Old',
      target: 'http://127.0.0.1:9/',
      check_type: 'HTTP',
    });
    await service.call('POST', `${MONITORS}/${made.id}/pause`);
    await file.declare({ shop: { id: made.id, name: 'New' } });
    await soon(async () => (await statusOf(service, 'shop')) !== 'gone');
    await soon(async () => (await statusOf(service, 'shop')) !== 'PAUSED');
    expect(await service.list()).toMatchObject([{ id: made.id, name: 'New' }]);
    // From then on the key is enough.
    await file.declare({ shop: { name: 'Newer' } });
    await soon(async () => (await service.list())[0]?.name === 'Newer');
    expect(await service.list()).toMatchObject([{ id: made.id }]);
    // The id is also how a key is given another name.
    await file.declare({ store: { id: made.id, name: 'New' } });
    await soon(async () => (await statusOf(service, 'store')) !== 'gone');
    expect(await service.list()).toMatchObject([{ id: made.id }]);
  });

  test('are followed through the links that Kubernetes swaps', async () => {
    const folder = await temporaryFolder();
    const mount = async (version: string, monitors: Record<string, Fields>) => {
      await mkdir(join(folder, version));
      await writeFile(join(folder, version, 'monitors.yaml'), textOf(monitors));
      await symlink(version, join(folder, '..data_tmp'));
      await rename(join(folder, '..data_tmp'), join(folder, '..data'));
    };
    await mount('..1', named('a'));
    await symlink('..data/monitors.yaml', join(folder, 'monitors.yaml'));
    for (const path of [folder, join(folder, 'monitors.yaml')]) {
      const { service, soon } = await follow(path);
      await soon(async () => (await service.list()).length === 1);
      const next = path === folder ? '..2' : '..4';
      await mount(next, named('a', 'b'));
      await soon(async () => (await service.list()).length === 2);
      await rm(join(folder, path === folder ? '..1' : '..3'), { recursive: true });
      await mount(path === folder ? '..3' : '..5', named('a'));
      await soon(async () => (await service.list()).length === 1);
      await service.close();
    }
  });
});

describe('a file that cannot be meant', () => {
  const GONE = 'this file does not exist';
  const BROKEN: Array<[what: string, write: (path: string) => Promise<void>, said: string]> = [
    ['is broken', (path) => writeFile(path, 'monitors:\n  a: {target: x}'), 'check_type'],
    ['is empty', (path) => writeFile(path, ''), 'the file is empty'],
    ['is gone', (path) => rm(path, { force: true }), GONE],
    ['declares nothing any more', (path) => writeFile(path, 'monitors: {}'), '5 of 5 monitors'],
    ['lost more than half', (path) => writeFile(path, textOf(named('a', 'b'))), '3 of 5 monitors'],
  ];

  test.each(BROKEN)(
    'because it %s changes nothing, and that is told once',
    async (_what, write, said) => {
      const file = await openFile(named('a', 'b', 'c', 'd', 'e'));
      const { service, soon } = await follow(file.path);
      await soon(async () => (await service.list()).length === 5);
      await write(file.path);
      await soon(async () => told(service, said) > 0);
      // An editor saves the unchanged file.
      await write(file.path);
      if (said !== GONE) await soon(() => service.readings() === 3);
      expect(await service.metrics()).toContain('askwatch_monitors_file_stopped 1');
      const statuses = [...(await listAll(service)).values()].map(({ status }) => status);
      expect(statuses).toEqual(Array(5).fill(expect.not.stringMatching('PAUSED')));
      await file.declare({ ...named('a', 'b', 'c', 'd', 'e'), f: {} });
      await soon(async () => (await service.list()).length === 6);
      expect(told(service, said)).toBe(1);
      expect(await service.metrics()).toContain('askwatch_monitors_file_stopped 0');
    },
  );

  test('is applied once somebody has said that it is meant', async () => {
    const file = await openFile(named('a', 'b', 'c', 'd', 'e'));
    const { service, soon } = await follow(file.path);
    await soon(async () => (await service.list()).length === 5);
    await file.declare(named('a'));
    await soon(() => service.provisioning?.state().state === 'asking');
    await service.provisioning?.answer('another question');
    await service.provisioning?.answer(service.provisioning.question() ?? '');
    await soon(async () => (await service.list()).length === 1);
    // The answer was to that alone.
    await file.declare(named('a', 'b', 'c', 'd', 'e'));
    await soon(async () => (await service.list()).length === 5);
    await file.declare(named('a'));
    await soon(() => service.provisioning?.state().state === 'asking');
    expect(await service.list()).toHaveLength(5);
  });
});
