import { describe, expect, test } from 'vitest';
import type { MonitorList } from '../../../src/contracts/monitoring.ts';
import { compared, createChangesReader } from '../../helpers/monitoring/changes-reader.ts';
import { http, startSite } from '../../helpers/monitoring/replicas.ts';
import type { Service } from '../../helpers/monitoring/service.ts';

const MONITORS = '/api/v1/public/monitors';

/** A check changes only what it finds, at once, and none comes by itself in a test's time. */
const AT_ONCE = { confirm_down: 1 };

/** Ids of what came. */
const told = (changes: Awaited<ReturnType<ReturnType<typeof createChangesReader>['read']>>) =>
  changes && {
    monitors: changes.monitors.map(({ id }) => id).sort(),
    removed: [...changes.removed].sort(),
  };

/** Promises of the changes route, with every engine of the store. */
export function describeChanges(engine: string, start: () => Promise<Service>): void {
  /** A service with checked monitors, and a reader of it. */
  async function setUp() {
    const service = await start();
    const site = await startSite();
    const ids: string[] = [];
    for (const path of ['/a', '/b', '/c']) {
      const { id } = await service.create(http(site.url(path), AT_ONCE));
      await service.call('POST', `${MONITORS}/${id}/check`);
      ids.push(id);
    }
    const [a, b, c] = ids as [string, string, string];
    const reader = createChangesReader();
    await reader.read(service);
    const asListed = async () => compared(await service.list());
    return { service, site, a, b, c, reader, asListed, read: () => reader.read(service) };
  }

  describe(`the changes of monitors with ${engine}`, () => {
    test('are none where nothing happened, also when checks found what they had found', async () => {
      const { service, a, reader, asListed, read } = await setUp();
      expect(told(await read())).toEqual({ monitors: [], removed: [] });
      const before = await service.get(`${MONITORS}/${a}`);
      await service.call('POST', `${MONITORS}/${a}/check`);
      const after = await service.get(`${MONITORS}/${a}`);
      expect(after.body.last_checked_at).not.toBe(before.body.last_checked_at);
      expect(told(await read())).toEqual({ monitors: [], removed: [] });
      expect(reader.monitors()).toEqual(await asListed());
    });

    test('are what is new, edited, or found otherwise, as the list has it', async () => {
      const { service, site, a, b, c, reader, asListed, read } = await setUp();
      const steps: Array<[() => Promise<unknown>, string[]]> = [
        [() => service.call('PATCH', `${MONITORS}/${b}`, { json: { name: 'Shop' } }), [b]],
        [
          () => service.call('PATCH', `${MONITORS}/${b}`, { json: { target: site.url('/b2') } }),
          [b],
        ],
        [
          () =>
            service.call('PATCH', `${MONITORS}/${c}`, {
              json: { config: { interval_seconds: 1800 } },
            }),
          [c],
        ],
        [
          async () => {
            site.setStatus(503);
            await service.call('POST', `${MONITORS}/${a}/check`);
          },
          [a],
        ],
        [
          async () => {
            site.setStatus(200);
            for (const id of [a, b]) await service.call('POST', `${MONITORS}/${id}/check`);
          },
          [a],
        ],
      ];
      for (const [change, ids] of steps) {
        await change();
        expect(told(await read())).toEqual({ monitors: ids, removed: [] });
        expect(reader.monitors()).toEqual(await asListed());
      }
      const { id } = await service.create(http(site.url('/d')));
      await service.call('POST', `${MONITORS}/${id}/check`);
      expect(told(await read())).toEqual({ monitors: [id], removed: [] });
      expect(reader.monitors()).toEqual(await asListed());
    });

    test('are what is listed no more: removed, and paused unless the reader lists those too', async () => {
      const { service, a, b, reader, asListed, read } = await setUp();
      const all = createChangesReader({ query: 'include_paused=true' });
      await all.read(service);
      await service.call('POST', `${MONITORS}/${a}/pause`);
      expect(told(await read())).toEqual({ monitors: [], removed: [a] });
      expect(told(await all.read(service))).toEqual({ monitors: [a], removed: [] });
      await service.call('DELETE', `${MONITORS}/${b}`);
      expect(told(await read())).toEqual({ monitors: [], removed: [b] });
      expect(told(await all.read(service))).toEqual({ monitors: [], removed: [b] });
      expect(reader.monitors()).toEqual(await asListed());
      await service.call('POST', `${MONITORS}/${a}/resume`);
      expect(told(await read())).toEqual({ monitors: [a], removed: [] });
      expect(reader.monitors()).toEqual(await asListed());
    });

    test('tell that a job has pinged for the first time, and no later ping', async () => {
      const { service, reader, asListed, read } = await setUp();
      const { id, push_url } = await service.create({
        ...{ name: 'Backup', check_type: 'HEARTBEAT', target: 'db', config: {} },
      });
      await read();
      expect(reader.monitors()[id]).toMatchObject({ waiting_for_first_ping: true });
      const ping = () => service.call('POST', new URL(push_url ?? '').pathname, { key: null });
      await ping();
      expect(told(await read())).toEqual({ monitors: [id], removed: [] });
      expect(reader.monitors()).toEqual(await asListed());
      await ping();
      expect(told(await read())).toEqual({ monitors: [], removed: [] });
    });

    test('can be read again from an earlier cursor, and go on after a list in pages', async () => {
      const { service, a, b, reader, asListed, read } = await setUp();
      const first = reader.cursor();
      await service.call('PATCH', `${MONITORS}/${a}`, { json: { name: 'A' } });
      await read();
      await service.call('PATCH', `${MONITORS}/${b}`, { json: { name: 'B' } });
      const again = await service.get(`${MONITORS}/changes?after=${first}`);
      const { monitors, count } = again.body as unknown as MonitorList;
      expect(monitors.map(({ id }) => id).sort()).toEqual([a, b].sort());
      expect(count).toBe(2);
      const page = await service.get(`${MONITORS}?limit=1`);
      await service.call('PATCH', `${MONITORS}/${a}`, { json: { name: 'A again' } });
      const after = page.headers['x-monitors-cursor'];
      const since = await service.get(`${MONITORS}/changes?after=${after}`);
      expect((since.body as unknown as MonitorList).monitors.map(({ id }) => id)).toEqual([a]);
      await read();
      expect(reader.monitors()).toEqual(await asListed());
    });

    test('are refused for a cursor that is none, of another service, or ahead of all there was', async () => {
      const { service, reader } = await setUp();
      const other = await start();
      const elsewhere = createChangesReader();
      await elsewhere.read(other);
      const own = Buffer.from(reader.cursor(), 'base64url');
      const ahead = Buffer.from(own);
      ahead.writeUIntBE(2 ** 40, 17, 6);
      const newer = Buffer.from(own);
      newer.writeUInt8(2);
      const unknown = [
        ...['x', 'mon_1', '%00', 'A'.repeat(200), `${reader.cursor()}A`],
        reader.cursor().slice(1),
        elsewhere.cursor(),
        ...[ahead, newer].map((bytes) => bytes.toString('base64url')),
      ];
      for (const cursor of unknown) {
        const { status, body, headers } = await service.get(`${MONITORS}/changes?after=${cursor}`);
        expect([cursor, status, body.error?.code]).toEqual([cursor, 410, 'unknown_cursor']);
        expect(body.error?.message).toContain('Read the whole list');
        expect(headers['x-ratelimit-remaining']).toBeDefined();
      }
    });

    test('need a key and a cursor, and nothing else', async () => {
      const { service, reader } = await setUp();
      const path = `${MONITORS}/changes`;
      const statuses = async (...asked: Array<[string, string, object?]>) =>
        Promise.all(
          asked.map(async ([method, query, options]) => {
            const { status, body } = await service.call(method, path + query, options);
            return [status, body.error?.param ?? null];
          }),
        );
      const after = `?after=${reader.cursor()}`;
      expect(
        await statuses(
          ['GET', after],
          ['GET', after, { key: null }],
          ['GET', ''],
          ['GET', '?after='],
          ['GET', `?after=${'A'.repeat(201)}`],
          ['GET', `${after}&limit=5`],
          ['GET', `${after}&include_paused=perhaps`],
          ['GET', after, { body: 'x' }],
          ['POST', after, { json: {} }],
        ),
      ).toEqual([
        [200, null],
        [401, null],
        [400, 'after'],
        [400, 'after'],
        [400, 'after'],
        [400, 'limit'],
        [400, 'include_paused'],
        [400, null],
        [405, null],
      ]);
    });
  });
}
