import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { Monitor } from '../../src/contracts/monitoring.ts';
import { eventually } from '../helpers/eventually.ts';
import { http, startReplicas, startSite } from '../helpers/monitoring/replicas.ts';
import type { Service } from '../helpers/monitoring/service.ts';
import { expectWindowToShow } from '../helpers/monitoring/window-shown.ts';
import { hasPostgres } from '../helpers/postgres/test-database.ts';

const MONITORS = '/api/v1/public/monitors';

const job = { name: 'backup', check_type: 'HEARTBEAT', target: 'backup', config: {} };

const show = async (service: Service, id: string) =>
  (await service.call('GET', `${MONITORS}/${id}`)).body as unknown as Monitor;

describe.skipIf(!hasPostgres)('several processes of the service on one database', () => {
  test('answer alike right after one of them has created, changed or removed a monitor', async () => {
    const { a, b } = await startReplicas(2);
    const site = await startSite();
    for (let turn = 0; turn < 5; turn += 1) {
      const [one, other] = turn % 2 === 0 ? [a, b] : [b, a];
      const { id } = await one.create(http(site.url(`/${turn}`)));
      expect((await show(other, id)).name).toBe(site.url(`/${turn}`));
      expect((await other.list()).map((each) => each.id)).toContain(id);
      await other.call('PATCH', `${MONITORS}/${id}`, {
        json: { name: 'Renamed', tags: ['eu'] },
      });
      expect(await show(one, id)).toMatchObject({ name: 'Renamed', tags: ['eu'] });
      expect((await one.call('DELETE', `${MONITORS}/${id}`)).status).toBe(204);
      expect((await other.call('GET', `${MONITORS}/${id}`)).status).toBe(404);
      expect(await other.list()).toEqual([]);
    }
  });

  test('show a window from its first to its last moment, whichever is asked', async () => {
    const { a, b } = await startReplicas(2);
    const ids: string[] = [];
    // Some are watched over by the one, some by the other.
    for (let at = 0; at < 12; at += 1) ids.push((await a.create(job)).id);
    await expectWindowToShow([a, b], ids);
  });

  test('create one monitor for a create that both get at the same moment', async () => {
    const { a, b } = await startReplicas(2);
    const headers = { 'idempotency-key': randomUUID() };
    // A key that both know, since a create is repeated by the same caller.
    const shared = { key: await a.createKey(), headers, json: job };
    await eventually(
      async () => (await b.call('GET', MONITORS, { key: shared.key })).status === 200,
    );
    const answers = await Promise.all(
      [a, b, a, b].map((each) => each.call('POST', MONITORS, shared)),
    );
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    expect(new Set(answers.map(({ body }) => String(body.push_url).split('/').at(-1))).size).toBe(
      1,
    );
    expect(await a.list()).toHaveLength(1);
  });

  test('go on with the hours that one which closes has counted, and need not read its results', async () => {
    const { a, start, query } = await startReplicas(1);
    const site = await startSite();
    const { id } = await a.create(http(site.url('/counted')));
    const handed = () => query('select extra::text from #.shared_value where extra is not null');
    await eventually(async () => (await handed()).length === 1);
    // The status that the first check found was stored before its result was counted.
    await a.call('POST', `${MONITORS}/${id}/check`);
    await a.close();
    // The two of them, and one more if the hour of its rhythm strikes now; none failed.
    const [counted] = /,[23],0,/.exec(String((await handed())[0]?.extra)) ?? [];
    expect(counted).toBeDefined();
    await query(
      `update #.shared_value set extra = replace(extra::text, '${counted}', ',7,0,')::json`,
    );
    const taken: string[] = [];
    const b = await start({ onTakenOver: (monitors) => taken.push(...monitors) });
    await eventually(() => taken.includes(id));
    const { body } = await b.call('GET', `${MONITORS}/${id}/rollups?by=day`);
    expect(body.rollups).toMatchObject([{ checks: 7 }]);
  });

  test('take pings anywhere, and what a job tells one of them counts at all', async () => {
    const { a, b } = await startReplicas(2);
    const { id, push_url } = await a.create(job);
    const path = new URL(push_url ?? '').pathname;
    expect((await b.call('POST', path, { key: null })).status).toBe(200);
    const pinged = await show(a, id);
    expect(pinged).toMatchObject({ status: 'UP' });
    expect(pinged.last_checked_at).not.toBeNull();
    expect((await b.call('POST', `${path}/fail`, { key: null })).status).toBe(200);
    expect(await show(a, id)).toMatchObject({ status: 'DOWN', status_changes: 1 });
    const both = [a, b];
    await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        both[at % 2]?.call('POST', at % 4 < 2 ? path : `${path}/fail`, { key: null }),
      ),
    );
    await a.call('POST', path, { key: null });
    const [one, other] = [await show(a, id), await show(b, id)];
    expect(one).toEqual(other);
    expect(one.status).toBe('UP');
    const incidents = await b.call('GET', `${MONITORS}/${id}/incidents?limit=100`);
    // Each change to DOWN and back is one of the changes of the status, told once.
    const list = incidents.body.incidents as Array<{ ended_at: string | null }>;
    expect(list.every(({ ended_at }) => ended_at !== null)).toBe(true);
    expect(2 * list.length).toBe(one.status_changes);
  });
});
