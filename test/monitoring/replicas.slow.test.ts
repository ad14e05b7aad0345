import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { eventually } from '../helpers/eventually.ts';
import { http, startReplicas, startSite } from '../helpers/monitoring/replicas.ts';
import { hasPostgres } from '../helpers/postgres/test-database.ts';

const MONITORS = '/api/v1/public/monitors';

describe.skipIf(!hasPostgres)('several processes of the service on one database', () => {
  test('pause, resume and check a monitor that another one watches over', async () => {
    const { replicas } = await startReplicas(3);
    const site = await startSite();
    const paths = Array.from({ length: 6 }, (_, at) => `/p${at}`);
    const made = await Promise.all(
      paths.map((path) => replicas[0]?.create(http(site.url(path), { interval_seconds: 5 }))),
    );
    await eventually(() => paths.every((path) => site.of(path) > 0));
    for (const [at, one] of made.entries()) {
      const service = replicas[at % 3];
      const paused = await service?.call('POST', `${MONITORS}/${one?.id}/pause`);
      expect(paused?.body).toMatchObject({ status: 'PAUSED' });
      const seen = await replicas[(at + 1) % 3]?.call('GET', `${MONITORS}/${one?.id}`);
      expect(seen?.body).toMatchObject({ status: 'PAUSED' });
    }
    await pause(1_200);
    const before = paths.map(site.of);
    await pause(5_500);
    expect(paths.map(site.of)).toEqual(before);
    for (const [at, one] of made.entries()) {
      await replicas[(at + 2) % 3]?.call('POST', `${MONITORS}/${one?.id}/resume`);
    }
    await eventually(() => paths.every((path, at) => site.of(path) > (before[at] ?? 0)));
    site.setStatus(500);
    for (const [at, one] of made.entries()) {
      const checked = await replicas[at % 3]?.call('POST', `${MONITORS}/${one?.id}/check`);
      expect(checked?.status).toBe(200);
    }
    await eventually(
      async () => (await replicas[1]?.list())?.every(({ status }) => status === 'DOWN') ?? false,
    );
  });

  test('check each monitor once an interval, whoever of them does', async () => {
    const { a, b, c, query } = await startReplicas(3);
    const site = await startSite();
    const paths = Array.from({ length: 12 }, (_, at) => `/e${at}`);
    const config = { interval_seconds: 5 };
    await Promise.all(paths.map((path) => a.create(http(site.url(path), config))));
    await eventually(async () => {
      const held = await query(
        "select holder from #.lease where kind = 'checks' and holder is not null",
      );
      return held.length === 256 && new Set(held.map(({ holder }) => holder)).size === 3;
    });
    // The first check comes at once, and the rhythm up to an interval and a half later.
    await eventually(() => paths.every((path) => site.of(path) > 1));
    // Changes older than half a minute are not read again.
    await query(`update #.shared_value set changed_at = changed_at - interval '1 hour'`);
    const sinceMs = Date.now();
    await pause(10_500);
    for (const path of paths) {
      const times = site.times(path).filter((atMs) => atMs > sinceMs);
      // Two intervals and a half second; a take-over of a part makes up for none that was done.
      expect([2, 3], `${path} ${times.map((ms) => ms - sinceMs)}`).toContain(times.length);
    }
    for (const each of [a, b, c]) {
      expect(await each.metrics()).toMatch(/^askwatch_monitors_stale 0$/m);
    }
    const lists = await Promise.all([a, b, c].map((each) => each.list()));
    expect(
      lists[0]?.every(({ stale, last_checked_at }) => !stale && last_checked_at !== null),
    ).toBe(true);
    expect(lists[1]?.map(({ id }) => id).sort()).toEqual(lists[0]?.map(({ id }) => id).sort());
  });

  test('take over what one watched over that closes, and miss no time of the rhythm', async () => {
    const { a, b, start } = await startReplicas(2);
    const site = await startSite();
    const paths = Array.from({ length: 10 }, (_, at) => `/t${at}`);
    await Promise.all(paths.map((path) => a.create(http(site.url(path), { interval_seconds: 5 }))));
    await eventually(() => paths.every((path) => site.of(path) > 1));
    await b.close();
    await pause(6_000);
    const third = await start();
    await pause(6_000);
    await a.close();
    await pause(6_000);
    for (const path of paths) {
      const times = site.times(path);
      const gaps = times.slice(1).map((atMs, index) => atMs - (times[index] ?? 0));
      expect(Math.max(...gaps), `${path} ${gaps}`).toBeLessThan(9_900);
    }
    expect((await third.list()).every(({ status }) => status === 'UP')).toBe(true);
  });
});
