import { randomBytes } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import { BOT_LEASE, botHolders } from '../../src/app/bot-holder.ts';
import type { Finding } from '../../src/bot/shared/finding.ts';
import {
  botFindings,
  databaseFindings,
  programOnDatabase,
  unreachable,
} from '../../src/cli/doctor-database.ts';
import {
  type DatabaseFacts,
  inspectDatabase,
  lookAtDocument,
} from '../../src/store/postgres/inspection.ts';
import { openPostgresForMove, openPostgresStore } from '../../src/store/postgres/postgres-store.ts';
import { eventually } from '../helpers/eventually.ts';
import { ownServer } from '../helpers/postgres/own-server.ts';
import { startProxy } from '../helpers/postgres/proxy.ts';
import { query } from '../helpers/postgres/server.ts';
import { recordingLog } from '../helpers/recording-log.ts';

const PASSWORD = 'correct-horse-battery';

const server = await ownServer({
  durable: true,
  rules: ['host all guarded 127.0.0.1/32 scram-sha-256'],
});
const { log } = recordingLog();

/** A database of its own, and what the doctor says of it. */
async function ownDatabase() {
  const name = `own_${randomBytes(4).toString('hex')}`;
  await query(server?.url ?? '', `create database ${name}`);
  const url = new URL(server?.url ?? '');
  url.pathname = `/${name}`;
  const base = { url: url.href, directUrl: undefined as string | undefined, poolSize: 10 };
  const open = async (options: Partial<typeof base> & { version?: string } = {}) => {
    const store = await openPostgresStore({ ...base, version: '1.0.0', log, ...options });
    onTestFinished(() => store.close());
    return store;
  };
  const facts = (options: Partial<typeof base> & { clockMs?: () => number } = {}) =>
    inspectDatabase({ ...base, log, ...options });
  return {
    name,
    url: url.href,
    open,
    facts,
    query: (text: string) => query(url.href, text),
    as(user: string, password = '') {
      const other = new URL(url);
      Object.assign(other, { username: user, password });
      return other.href;
    },
    async findings(options: Parameters<typeof facts>[0] = {}): Promise<Finding[]> {
      const settings = { ...base, schema: 'askwatch', ...options };
      try {
        return databaseFindings(await facts(options), settings);
      } catch (error) {
        return [unreachable(error)];
      }
    },
  };
}

const of = (findings: readonly Finding[], check: string) =>
  findings
    .filter((one) => one.check === check)
    .map(({ level, text }) => `${level}: ${text}`)
    .join('\n');

/** A user who may log in, and no more than others. */
async function ownUser(): Promise<string> {
  const user = `user_${randomBytes(4).toString('hex')}`;
  await query(server?.url ?? '', `create role ${user} login`);
  return user;
}

describe.skipIf(!server)('The doctor finds a database', () => {
  test('well before the first start, changing nothing, and well with processes on it, which it names', async () => {
    const { findings, facts, open, query, url } = await ownDatabase();
    const before = await findings();
    expect(before.filter(({ level }) => level !== 'ok')).toEqual([]);
    expect(of(before, 'Database')).toMatch(/PostgreSQL 1[5-9]\.\d+/);
    expect(of(before, 'Database schema')).toContain('first start');
    expect(await query(`select from pg_namespace where nspname = 'askwatch'`)).toEqual([]);
    expect(await programOnDatabase(await facts())).toMatchObject({ runs: false });

    const [one, other] = [await open(), await open()];
    await one.lease('poller');
    await one.lease(BOT_LEASE);
    const botAt = { fence: 1, url: 'http://10.0.0.7:3000' };
    await one.collection(botHolders).update(BOT_LEASE, () => botAt);
    const holder = { taken: () => {}, giving: () => {}, lost: () => {} };
    for (const store of [one, other]) store.leases('checks', 8, holder);
    await eventually(async () =>
      of(await findings(), 'Leases').match(/checks: 4 \S+:\d+, 4 \S+:\d+;/),
    );
    const after = await findings();
    expect(after.filter(({ level }) => level !== 'ok')).toEqual([]);
    const self = `:${process.pid} (1.0.0, competes for checks)`;
    expect(of(after, 'Replicas').split(self)).toHaveLength(3);
    expect(of(after, 'Leases')).toMatch(
      new RegExp(`^ok: checks: .*; poller: \\S+:${process.pid}$`),
    );
    const stored = await lookAtDocument({ url, poolSize: 1, log }, botHolders, BOT_LEASE);
    expect(of(botFindings(await facts(), stored?.url), 'Bot')).toMatch(
      new RegExp(`^ok: held by \\S+:${process.pid} at ${botAt.url}$`),
    );
    expect(of(after, 'Database schema')).toMatch(/^ok: \d+ changes? applied$/);
    expect(of(after, 'Database tables')).toMatch(/^ok: \d+ MiB in \d+ tables/);
    expect(of(after, 'Database durability')).toMatch(/^ok/);
    expect(await programOnDatabase(await facts())).toMatchObject({
      runs: true,
      finding: { text: `running here as process ${process.pid}` },
    });
  });

  test('doctor explains why a database refuses the connection', async () => {
    const { findings, as, url } = await ownDatabase();
    await query(server?.url ?? '', `create role guarded login password '${PASSWORD}'`);
    const wrong = await findings({ url: as('guarded', `${PASSWORD}x`) });
    expect(of(wrong, 'Database')).toMatch(/^problem: DATABASE_URL: password authentication failed/);
    expect(of(wrong, 'Database')).not.toContain(PASSWORD);
    const nowhere = new URL(url);
    nowhere.pathname = '/nowhere';
    expect(of(await findings({ url: nowhere.href }), 'Database')).toMatch(
      /^problem: .*"nowhere" does not exist.*createdb/,
    );
    const away = await findings({ url: 'postgres://me@127.0.0.1:1/none' });
    expect(of(away, 'Database')).toMatch(/^problem: DATABASE_URL: .*cannot reach the database/);
    const direct = await findings({ directUrl: nowhere.href });
    expect(of(direct, 'Database LISTEN')).toMatch(/^problem: DATABASE_DIRECT_URL: .*"nowhere"/);
    expect(of(direct, 'Database')).toMatch(/^ok/);
  });

  test('doctor names the missing right of the database user and how to grant it', async () => {
    const { findings, as, open, query } = await ownDatabase();
    const user = await ownUser();
    const rights = async () => of(await findings({ url: as(user) }), 'Database rights');
    expect(await rights()).toMatch(
      new RegExp(`^problem: ${user} can't create .*create schema askwatch authorization ${user}$`),
    );
    await query('create schema askwatch');
    expect(await rights()).toMatch(/^problem: .*grant usage, create on schema askwatch/);
    await query(`grant usage, create on schema askwatch to ${user}`);
    expect(await rights()).toMatch(/^ok/);
    await open();
    expect(await rights()).toMatch(/^problem: The table askwatch\.\S+ belongs to postgres/);
    await query(`grant all on all tables in schema askwatch to ${user}`);
    expect(await rights()).toMatch(new RegExp(`belongs to postgres.*grant postgres to ${user}$`));
    await query(`grant postgres to ${user}`);
    expect(await rights()).toMatch(/^ok/);
  });

  test('doctor reports a read-only database', async () => {
    const { findings, name, facts } = await ownDatabase();
    await query(server?.url ?? '', `alter database ${name} set default_transaction_read_only = on`);
    expect(of(await findings(), 'Database')).toMatch(
      /^problem: .*default_transaction_read_only is on\. Turn it off/,
    );
    const known = await facts();
    const standby = { ...known, server: { ...known.server, isStandby: true } };
    expect(of(judged(standby), 'Database')).toMatch(/^problem: .*a standby.*primary/);
  });

  test('doctor warns of a distant database', async () => {
    const { findings, url } = await ownDatabase();
    const far = await startProxy(url, { passesNotifications: true, delayMs: 30 });
    expect(of(await findings({ url: far }), 'Database latency')).toMatch(
      /^warning: \d+\.\d ms round trip.*closer to its database/,
    );
  });

  test('doctor reports a database whose clock differs', async () => {
    const { findings } = await ownDatabase();
    const clock = async (offMs: number) =>
      of(await findings({ clockMs: () => Date.now() + offMs }), 'Database clock');
    expect(await clock(0)).toMatch(/^ok/);
    expect(await clock(3_000)).toMatch(/^warning: .* [23]\.\d s ahead of the database's.*NTP/);
    expect(await clock(-8_000)).toMatch(/^problem: .* [78]\.\d s behind the database's.*NTP/);
  });

  test('behind a pooler, through which word does not come', async () => {
    const { findings, url } = await ownDatabase();
    const pooler = await startProxy(url);
    const listen = async (urls: { url: string; directUrl?: string }) =>
      of(await findings(urls), 'Database LISTEN');
    expect(await listen({ url: pooler })).toMatch(/^warning: .*a pooler.*Set DATABASE_DIRECT_URL/);
    expect(await listen({ url: pooler, directUrl: url })).toMatch(/^ok: changes arrive after/);
    expect(await listen({ url: pooler, directUrl: pooler })).toMatch(
      /^warning: .*DATABASE_DIRECT_URL goes through a pooler, too/,
    );
    const other = await ownDatabase();
    expect(await listen({ url, directUrl: other.url })).toMatch(
      /^problem: DATABASE_DIRECT_URL leads to a different database/,
    );
  });

  test('doctor reports a database with too few connections', async () => {
    const { findings } = await ownDatabase();
    const connections = async (options: Parameters<typeof findings>[0] = {}) =>
      of(await findings(options), 'Database connections');
    expect(await connections()).toMatch(/^ok: \d+ of 300 in use, 3 reserved; .* up to 12$/);
    expect(await connections({ poolSize: 400 })).toMatch(
      /^warning: .*one more process needs up to 402.*Raise max_connections/,
    );
  });

  test('doctor warns of a database that may lose acknowledged changes', async () => {
    const { findings, name } = await ownDatabase();
    await query(server?.url ?? '', `alter database ${name} set synchronous_commit = off`);
    expect(of(await findings(), 'Database durability')).toMatch(
      /^warning: synchronous_commit is off, so acknowledged changes can be lost/,
    );
  });

  test('on which versions differ, or parts belong to nobody', async () => {
    const { findings, open, query } = await ownDatabase();
    await open();
    await open({ version: '2.0.0' });
    expect(of(await findings(), 'Replicas')).toMatch(/^warning: 2 alive.*versions differ/);
    await query(
      `insert into askwatch.lease (kind, no) select 'checks', no from generate_series(0, 3) no`,
    );
    expect(of(await findings(), 'Leases')).toMatch(/^ok: checks: 4 free$/);
    await query(`insert into askwatch.member (id, name, version, wants, knows, until)
      values (gen_random_uuid(), 'far:1', '1.0.0', '{checks}', '', clock_timestamp() + interval '1 hour')`);
    expect(of(await findings(), 'Leases')).toMatch(
      /^warning: checks: 4 free.*takes over the free leases of checks/,
    );
  });

  test('doctor reports a schema of a newer version', async () => {
    const { findings, open, query } = await ownDatabase();
    const schema = async () => of(await findings(), 'Database schema');
    await open();
    await query(`insert into askwatch.migration values ('9998-expand', '')`);
    expect(await schema()).toMatch(
      /^ok: .*9998-expand by a newer version, compatible with this one/,
    );
    await query(`insert into askwatch.migration values ('9999-contract', '')`);
    expect(await schema()).toMatch(/^problem: .*9999-contract.*Start the newer version here, too/);
    await query(`delete from askwatch.migration`);
    expect(await schema()).toMatch(/^problem: Another program has tables in it/);
  });

  test('from which the state was moved, or to which it is on its way', async () => {
    const { findings, url } = await ownDatabase();
    const state = await openPostgresForMove({ url, version: '0', isCompared: false, log });
    onTestFinished(() => state.store.close());
    await state.setMark({ state: 'copying', from: 'the data folder /x' });
    expect(of(await findings(), 'Database schema')).toMatch(
      /^problem: .*unfinished copy.*move-state/,
    );
    await state.setMark({ state: 'moved', to: 'the data folder /x', atMs: 0 });
    expect(of(await findings(), 'Database schema')).toMatch(
      /^problem: .*moved to .*unset DATABASE_URL/,
    );
  });

  test('doctor warns of tables with many dead rows', async () => {
    const { findings, facts, open, query } = await ownDatabase();
    await open();
    await query('alter table askwatch.document set (autovacuum_enabled = off)');
    await query(`insert into askwatch.document
      select 'x', int4send(no), '"a"', 1, gen_random_uuid(), clock_timestamp(), '{}'
      from generate_series(1, 11000) no`);
    await query('update askwatch.document set version = 2');
    await query('delete from askwatch.document where get_byte(key, 3) > 0');
    const told = await eventually(async () =>
      of(await findings(), 'Database tables').match(/^warning: .*dead and \d+ live rows.*/),
    );
    expect(told?.[0]).toMatch(
      /askwatch\.document has \d{5} dead and \d+ live rows; .*vacuum: never.*Run: vacuum askwatch\.document/,
    );
    await query('vacuum askwatch.document');
    await eventually(async () => of(await findings(), 'Database tables').startsWith('ok: '));
    const known = await facts();
    const off = { ...known, server: { ...known.server, autovacuum: 'off' } };
    expect(of(judged(off), 'Database tables')).toMatch(/^warning: autovacuum is off/);
  });
});

const judged = (facts: DatabaseFacts) =>
  databaseFindings(facts, { directUrl: undefined, poolSize: 10, schema: 'askwatch' });
