import { join } from 'node:path';
import type { Logger } from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createConversations } from '../../src/bot/ask/conversations.ts';
import { specialParts } from '../../src/cli/move-state-parts.ts';
import { createUsageLedger } from '../../src/gateway/usage/ledger.ts';
import { openKeys } from '../../src/http/keys.ts';
import { createServer } from '../../src/http/server.ts';
import { openLowdbForMove, openLowdbStore } from '../../src/store/lowdb/lowdb-store.ts';
import {
  type ComparedPart,
  compareState,
  isSame,
  moveState,
  openParts,
} from '../../src/store/move-state.ts';
import { openPostgresForMove } from '../../src/store/postgres/postgres-store.ts';
import type { Store } from '../../src/store/store.ts';
import type { UsageRecord } from '../../src/store/usage.ts';
import { startWebTarget, type WebTarget } from '../fakes/web-target.ts';
import { eventually } from '../helpers/eventually.ts';
import { createFakeClock, type FakeClock } from '../helpers/monitoring/fake-clock.ts';
import { type Service, startService } from '../helpers/monitoring/service.ts';
import { hasPostgres, testDatabase } from '../helpers/postgres/test-database.ts';
import { recordingLog } from '../helpers/recording-log.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

const MONITORS = '/api/v1/public/monitors';
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const KEY = { id: 'key00001', name: 'a key', createdAtMs: 0, limits: { tokensPerMonth: 1e6 } };

/** A database, and the data folders that state is moved from and to. */
async function startWorld() {
  const database = await testDatabase();
  const { url, schema, log } = database;
  async function open(folder: string, isCompared: boolean) {
    const files = await openLowdbForMove({ folder, log });
    onTestFinished(() => files.store.close());
    const tables = await openPostgresForMove({ url, schema, version: '0', isCompared, log });
    onTestFinished(() => tables.store.close().catch(() => {}));
    return { files, tables };
  }
  return {
    ...database,
    /** Moves everything, or up to a kind of part. */
    async move(folder: string, { back = false, until = '' } = {}) {
      const { files, tables } = await open(folder, false);
      const moved: ComparedPart[] = [];
      try {
        const [from, to] = back ? [tables, files] : [files, tables];
        const parts = await openParts(from, to, specialParts(log));
        for await (const compared of moveState(from, to, parts)) {
          moved.push(compared);
          if (compared.kind === until) break;
        }
      } finally {
        await Promise.all([files.store.close(), tables.store.close()]);
      }
      return moved;
    },
    async differences(folder: string) {
      const { files, tables } = await open(folder, true);
      const found: string[] = [];
      try {
        const parts = await openParts(files, tables, specialParts(log));
        for await (const compared of compareState(parts)) {
          if (!isSame(compared)) found.push(compared.name);
        }
      } finally {
        await Promise.all([files.store.close(), tables.store.close()]);
      }
      return found;
    },
  };
}

type World = Awaited<ReturnType<typeof startWorld>>;
/** A data folder, or the database. */
type Side = { folder: string } | { open: World['open'] };

const serviceOn = (side: Side, clock: FakeClock) =>
  startService({
    clock,
    openStore: async (log: Logger) =>
      'folder' in side ? await openLowdbStore({ folder: side.folder, log }) : side.open({ log }),
  });

const storeOn = (side: Side): Promise<Store> =>
  'folder' in side ? openLowdbStore({ folder: side.folder, log: recordingLog().log }) : side.open();

interface Sites {
  shop: WebTarget;
  blog: WebTarget;
  clock: FakeClock;
}

async function check(service: Service, id: string): Promise<void> {
  const key = await service.createKey();
  const answer = await service.call('POST', `${MONITORS}/${id}/check`, { key });
  if (answer.status !== 200) throw new Error(answer.text);
}

/** Checks two sites for hours; one goes down and up. */
async function someHours(service: Service, ids: string[], { shop, clock }: Sites): Promise<void> {
  for (const isUp of [true, true, true, false, false, true, false]) {
    if (isUp) await shop.startAgain().catch(() => {});
    else await shop.stop();
    for (const id of ids) await check(service, id);
    await clock.advance(isUp ? 29 * MINUTE_MS : 61 * MINUTE_MS);
  }
}

/** Both sites go up, or down, at this moment: nothing is overdue at a start that follows, and all of it is stored. */
async function turn(service: Service, ids: string[], sites: Sites, isUp: boolean): Promise<void> {
  for (const site of [sites.shop, sites.blog]) {
    if (isUp) await site.startAgain().catch(() => {});
    else await site.stop();
  }
  for (const id of ids) await check(service, id);
}

/** All that the monitoring service says, just started. */
async function monitoringOf(side: Side, clock: FakeClock) {
  const service = await serviceOn(side, clock);
  const key = await service.createKey();
  const get = async (path: string) => {
    const answer = await service.call('GET', path, { key });
    expect([path, answer.status]).toEqual([path, 200]);
    return answer.body;
  };
  const answers: Record<string, unknown> = {};
  const { monitors } = (await get(MONITORS)) as unknown as { monitors: Array<{ id: string }> };
  answers.list = monitors.sort((a, b) => (a.id < b.id ? -1 : 1));
  const from = new Date(clock.wallMs() - 3 * DAY_MS).toISOString();
  for (const { id } of monitors) {
    for (const what of [
      ...['', '/results?limit=20', '/incidents', `/uptime?from=${from}`, '/uptime'],
      ...['/rollups?by=minute', `/rollups?by=hour&from=${from}`, '/rollups?by=day'],
    ]) {
      answers[what + id] = await get(`${MONITORS}/${id}${what}`);
    }
  }
  for (const all of ['days', 'incidents']) answers[all] = await get(`/api/v1/public/${all}`);
  expect(service.lines.filter(({ level }) => Number(level) >= 50)).toEqual([]);
  await service.close();
  // Times are added up in another order, so that a mean of 0.65 may be rounded up or down; least and most are exact.
  return JSON.parse(JSON.stringify(answers), (name, value) =>
    name === 'mean' ? undefined : value,
  );
}

/** Meters requests as the gateway does, at other times than now. */
async function enterUsage(side: Side, atMs: number, requests: Array<Partial<UsageRecord>>) {
  const { log } = recordingLog();
  const { metrics } = await createServer({ log, version: '0' });
  const store = await storeOn(side);
  let nowMs = atMs;
  const clocks = { unixMs: () => nowMs, steadyMs: () => nowMs };
  const ledger = await createUsageLedger({ store, metrics, log, clocks });
  for (const { model, provider, promptTokens = 0, completionTokens = 0, end } of requests) {
    const meter = ledger.open(KEY);
    meter.model = model;
    meter.provider = provider;
    if (promptTokens > 0) {
      const total_tokens = promptTokens + completionTokens;
      meter.usage = {
        ...{ prompt_tokens: promptTokens, completion_tokens: completionTokens, total_tokens },
      };
    }
    nowMs += 7;
    meter.end(end ?? 'complete');
  }
  await ledger.close();
  await store.close();
}

/** The gateway's usage report, and a key's remaining limits. */
async function usageOf(store: Store) {
  const { log } = recordingLog();
  const { metrics } = await createServer({ log, version: '0' });
  const ledger = await createUsageLedger({ store, metrics, log });
  const days = await ledger.summary({ fromDay: '2026-01-01', toDay: '2099-01-01' });
  const left = await ledger.left(KEY);
  await ledger.close();
  return { days, left };
}

async function gatewayOf(side: Side, thread: string) {
  const store = await storeOn(side);
  const usage = await usageOf(store);
  const turns = await createConversations(store).turns(thread);
  const keys = (await openKeys(store, 'gateway')).list();
  await store.close();
  return { usage, turns, keys };
}

describe.skipIf(!hasPostgres)('What the services have stored', () => {
  test('is answered the same on PostgreSQL, and back in a folder with what has come meanwhile', async () => {
    const world = await startWorld();
    const folder = join(await temporaryFolder(), 'data');
    const [files, tables] = [{ folder }, { open: world.open }];
    const clock = createFakeClock();
    const sites = { shop: await startWebTarget(), blog: await startWebTarget(), clock };
    const thread = 'slack:C1:1700000000.000100';

    let service = await serviceOn(files, clock);
    const made = async (name: string, target: string, type = 'HTTP', config: object = {}) =>
      await service.create({ name, target, check_type: type, config });
    const config = { confirm_down: 1, interval_seconds: 86_400 };
    const secret = { headers: { Authorization: 'Bearer header-secret' } };
    const shop = await made('Shop', sites.shop.url, 'HTTP', { ...config, ...secret });
    const blog = await made('Blog', sites.blog.url, 'HTTP', config);
    const job = await made('Job', 'backup', 'HEARTBEAT');
    const gone = await made('Gone', sites.blog.url, 'HTTP', config);
    const ids = [shop.id, blog.id];
    const { key } = service;
    const pushUrl = (job as unknown as { push_url: string }).push_url;
    const push = async () => await service.call('POST', new URL(pushUrl).pathname);
    expect((await push()).status).toBe(200);
    await check(service, gone.id);
    await someHours(service, ids, sites);
    await service.call('POST', `${MONITORS}/${blog.id}/pause`);
    await clock.advance(10 * MINUTE_MS);
    await service.call('POST', `${MONITORS}/${blog.id}/resume`);
    expect((await service.call('DELETE', `${MONITORS}/${gone.id}`)).status).toBe(204);
    await service.close();
    // A start stores the hours that are over, and counts the current ones from the results.
    await clock.advance(2 * HOUR_MS);
    service = await serviceOn(files, clock);
    await someHours(service, ids, sites);
    await turn(service, ids, sites, true);
    await clock.advance(MINUTE_MS);
    await turn(service, ids, sites, false);
    await service.close();

    const store = await storeOn(files);
    const keys = await openKeys(store, 'gateway');
    await keys.create('for others');
    await createConversations(store).add(thread, { question: 'Why?', answer: 'So.', atMs: 5 });
    await store.close();
    const nowMs = Date.now();
    const requests = [
      { model: 'one', provider: 'openai', promptTokens: 30, completionTokens: 12 },
      { model: 'one', provider: 'mistral', promptTokens: 8, completionTokens: 1 },
      { model: 'two', provider: 'openai', end: 'upstream_error' },
      { end: 'refused' },
    ] as const;
    for (const days of [40, 3, 0]) {
      await enterUsage(files, nowMs - days * DAY_MS, [...requests, ...requests.slice(0, days)]);
    }
    // The sums of days that are over are stored when somebody asks for them.
    await gatewayOf(files, thread);

    const before = await monitoringOf(files, clock);
    const gatewayBefore = await gatewayOf(files, thread);
    expect(gatewayBefore.usage.days.length).toBeGreaterThan(8);
    expect(gatewayBefore.usage.left.tokensPerMonth).toBeLessThan(1e6);
    const { incidents } = before.incidents as { incidents: unknown[] };
    expect(incidents.length).toBeGreaterThan(3);

    const moved = await world.move(folder);
    const kinds = new Set(moved.map(({ kind }) => kind));
    expect(kinds).toEqual(new Set(['keys of secrets', 'documents', 'values', 'results', 'usage']));
    expect(await world.differences(folder)).toEqual([]);
    expect(await world.query('select 1 from #.record')).toEqual([]);
    expect(await world.query('select 1 from #.shared_value where extra is not null')).toEqual([]);
    expect(await monitoringOf(tables, clock)).toEqual(before);
    expect(await gatewayOf(tables, thread)).toEqual(gatewayBefore);

    // On PostgreSQL time goes on: hours are stored, a state changes, and there is more usage.
    service = await serviceOn(tables, clock);
    expect((await service.call('GET', MONITORS, { key })).status).toBe(200);
    expect((await push()).status).toBe(200);
    await turn(service, ids, sites, true);
    sites.shop.requests.length = 0;
    await someHours(service, ids, sites);
    expect(sites.shop.requests[0]?.headers.authorization).toBe('Bearer header-secret');
    await service.close();
    await clock.advance(2 * HOUR_MS);
    service = await serviceOn(tables, clock);
    const rollups = `select body::json->>'finalMs' as until from #.document
      where collection = 'monitor-rollups' and id::text = $1`;
    const until = await eventually(async () => {
      const [row] = await world.query(rollups, [JSON.stringify(shop.id)]);
      return Number(row?.until) > clock.wallMs() - 3 * HOUR_MS && Number(row?.until);
    });
    await turn(service, ids, sites, false);
    await clock.advance(MINUTE_MS);
    await turn(service, ids, sites, true);
    await service.close();
    await enterUsage(tables, Date.now(), [...requests]);
    const after = await monitoringOf(tables, clock);
    const gatewayAfter = await gatewayOf(tables, thread);
    expect(after).not.toEqual(before);
    expect(gatewayAfter).not.toEqual(gatewayBefore);
    expect(until).toBeLessThan(clock.wallMs());

    const second = join(await temporaryFolder(), 'data');
    await world.move(second, { back: true });
    expect(await world.differences(second)).toEqual([]);
    const back = { folder: second };
    expect(await monitoringOf(back, clock)).toEqual(after);
    expect(await gatewayOf(back, thread)).toEqual(gatewayAfter);
    // The first start has written enough for the next one.
    expect(await monitoringOf(back, clock)).toEqual(after);
    service = await serviceOn(back, clock);
    expect((await service.call('GET', MONITORS, { key })).status).toBe(200);
    expect((await push()).status).toBe(200);
    sites.shop.requests.length = 0;
    await check(service, shop.id);
    expect(sites.shop.requests[0]?.headers.authorization).toBe('Bearer header-secret');
    await service.close();
  });

  /** A folder with a monitor that was checked, and with requests of today and of a day before. */
  async function aLittle() {
    const world = await startWorld();
    const folder = join(await temporaryFolder(), 'data');
    const site = await startWebTarget();
    const clock = createFakeClock();
    const sites = { shop: site, blog: site, clock };
    const ids: string[] = [];
    const more = async (side: Side) => {
      const service = await serviceOn(side, clock);
      const config = { confirm_down: 1, interval_seconds: 86_400 };
      const monitor = { name: 'Shop', target: site.url, check_type: 'HTTP', config };
      ids.push((await service.create(monitor)).id);
      await turn(service, ids, sites, true);
      await clock.advance(HOUR_MS);
      await turn(service, ids, sites, true);
      await turn(service, ids, sites, false);
      await service.close();
      const request = { model: 'one', provider: 'openai', promptTokens: 30 };
      if ('folder' in side) await enterUsage(side, Date.now() - 3 * DAY_MS, [request, request]);
      await enterUsage(side, Date.now(), [request]);
      await site.startAgain();
    };
    return { ids, ...world, folder, files: { folder }, tables: { open: world.open }, clock, more };
  }

  test('is compared table by table, and each difference is named by its group', async () => {
    const { ids, more, files, folder, move, differences, query } = await aLittle();
    await more(files);
    await move(folder);
    expect(await differences(folder)).toEqual([]);
    for (const [change, group] of [
      [`update #.shared_value set value = '{"state":{}}' where id = '${ids[0]}'`, 'monitor-states'],
      [
        'update #.check_result set took = took + 1 where at = (select min(at) from #.check_result)',
        'results',
      ],
      ['update #.usage_day set "promptTokens" = 31 where day < current_date - 1', 'usage'],
    ] as const) {
      expect(await differences(folder)).not.toContain(group);
      await query(change);
      expect(await differences(folder)).toContain(group);
    }
    expect(await differences(folder)).toHaveLength(3);
  });

  test('counts results of days ago that no start has summed up, back in a folder, too', async () => {
    const { ids, more, tables, folder, move, clock, query } = await aLittle();
    await more(tables);
    const [stored] = await query('select count(*) as checks from #.check_result');
    const checks = Number(stored?.checks);
    expect(checks).toBeGreaterThan(2);
    const day = new Date(clock.wallMs()).toISOString().slice(0, 10);
    await clock.advance(4 * DAY_MS);
    await move(folder, { back: true });
    const service = await serviceOn({ folder }, clock);
    const { body } = await service.call('GET', `${MONITORS}/${ids[0]}/rollups?by=day`);
    const [first] = body.rollups as object[];
    expect(first).toMatchObject({ starts_at: `${day}T00:00:00.000Z`, checks, failures: 1 });
    await service.close();
  });
});
