import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startAskwatch } from '../helpers/end-to-end/askwatch-process.ts';
import { cells, runCli } from '../helpers/end-to-end/key-commands.ts';
import { failedStart, models } from '../helpers/end-to-end/plain-start.ts';
import { examine } from '../helpers/end-to-end/run-doctor.ts';
import { eventually } from '../helpers/eventually.ts';
import { ownServer } from '../helpers/postgres/own-server.ts';
import { query } from '../helpers/postgres/server.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

const PASSWORD = 'correct-horse-battery';

const server = await ownServer({
  rules: [
    'host all guarded 127.0.0.1/32 scram-sha-256',
    'hostssl all over_tls 127.0.0.1/32 trust',
    'host all over_tls 127.0.0.1/32 reject',
    'host all shut_out 127.0.0.1/32 reject',
  ],
});

/** The address of a database of this server. */
function address({ user = 'postgres', password = '', database = 'postgres', search = '' }): string {
  const url = new URL(server?.url ?? 'postgres://none');
  Object.assign(url, { username: user, password, pathname: `/${database}`, search });
  return url.href;
}

let databases = 0;

/** A fresh database. */
async function ownDatabase(): Promise<string> {
  databases += 1;
  await query(address({}), `create database own_${databases}`);
  return address({ database: `own_${databases}` });
}

describe.skipIf(!server)('a start on a database that cannot be used says what to do', () => {
  const cases: Array<[why: string, make: () => Promise<string>, told: RegExp]> = [
    [
      'that does not take the password',
      async () => {
        await query(address({}), `create role guarded login password '${PASSWORD}'`);
        return address({ user: 'guarded', password: `${PASSWORD}x` });
      },
      /^DATABASE_URL: password authentication failed for user "guarded"\. Check the user and password/m,
    ],
    [
      'that asks for a password where none is given',
      async () => address({ user: 'guarded' }),
      /^DATABASE_URL: the server requires a password, but the address has none/m,
    ],
    [
      'that is not there',
      async () => address({ database: 'nowhere' }),
      /^DATABASE_URL: database "nowhere" does not exist\. Create it .*createdb/m,
    ],
    [
      'in which the user may make no schema',
      async () => {
        const url = new URL(await ownDatabase());
        await query(address({}), 'create role powerless login');
        url.username = 'powerless';
        return url.href;
      },
      /^DATABASE_URL: this user lacks a right: permission denied for database .*create schema askwatch authorization/m,
    ],
    [
      'that nobody answers for',
      async () => `postgres://me:${PASSWORD}@127.0.0.1:1/askwatch`,
      /^DATABASE_URL: cannot reach the database: .*ECONNREFUSED.*Check that it is running/m,
    ],
    [
      'whose name is known to nobody',
      async () => `postgres://me:${PASSWORD}@nowhere.invalid/askwatch`,
      /^DATABASE_URL: cannot reach the database: .*nowhere\.invalid/m,
    ],
    [
      'that lets nobody in without TLS',
      async () => {
        await query(address({}), 'create role over_tls login');
        return address({ user: 'over_tls' });
      },
      /^DATABASE_URL: the server doesn't accept this user from here: .*If it requires TLS, add \?sslmode=verify-full/m,
    ],
    [
      'that offers no TLS where the address demands it',
      async () => address({ search: '?sslmode=verify-full' }),
      /^DATABASE_URL: the server offers no TLS, but the address requires it/m,
    ],
    [
      'that lets this user in from elsewhere only',
      async () => {
        await query(address({}), 'create role shut_out login');
        return address({ user: 'shut_out' });
      },
      /^DATABASE_URL: the server doesn't accept this user from here: .*shut_out.*Allow it/m,
    ],
    [
      'that has no connection left',
      async () => {
        await query(address({}), 'create role crowded login connection limit 0');
        return address({ user: 'crowded' });
      },
      /^DATABASE_URL: the server accepts no more connections: too many connections for role "crowded".*DATABASE_POOL/m,
    ],
    [
      'that takes no changes',
      async () => {
        const url = await ownDatabase();
        const name = new URL(url).pathname.slice(1);
        // A standby has the tables.
        await runCli(await temporaryFolder(), ['keys', 'list'], { DATABASE_URL: url });
        await query(address({}), `alter database ${name} set default_transaction_read_only = on`);
        return url;
      },
      /^DATABASE_URL: the database is read-only: .*read-only.*Set the address of the primary/m,
    ],
    [
      'that a newer program has changed',
      async () => {
        const url = await ownDatabase();
        await query(url, 'create schema askwatch');
        await query(url, 'create table askwatch.migration (name text, timestamp text)');
        await query(url, `insert into askwatch.migration values ('9999-contract-x', '')`);
        return url;
      },
      /A newer version of this program changed the database\. Start that version here, too\.$/m,
    ],
  ];

  test.each(cases)('%s', async (_, make, told) => {
    const { code, output } = await failedStart({ DATABASE_URL: await make() });
    expect(output).toMatch(told);
    expect(code).toBe(1);
    expect(output).not.toContain(PASSWORD);
  });
});

describe.skipIf(!server)('npx askwatch keys on a database', () => {
  test('makes, limits, lists and revokes keys while nothing runs, and is no replica', async () => {
    const [folder, DATABASE_URL] = [await temporaryFolder(), await ownDatabase()];
    const keys = (...args: string[]) => runCli(folder, ['keys', ...args], { DATABASE_URL });
    const created = await keys('create', '--service', 'gateway', '--name', 'ci job');
    const key = /awg_[A-Za-z0-9]{40}/.exec(created.output)?.[0] ?? '';
    const id = key.slice(4, 12);
    expect(await keys('limit', id, '--requests-per-minute', '7')).toMatchObject({ code: 0 });
    const listed = (await keys('list')).output.split('\n');
    const line = cells(listed.find((each) => each.includes('ci job')));
    expect([line[1], line.at(-1)]).toEqual([id, '7 requests/minute']);
    expect(await query(DATABASE_URL, 'select * from askwatch.member')).toEqual([]);
    expect(await query(DATABASE_URL, 'select * from askwatch.lease')).toEqual([]);

    const askwatch = await startAskwatch({ dataDir: folder, env: { DATABASE_URL } });
    expect((await models(askwatch.url, key)).status).toBe(200);
    const beside = await keys('create', '--service', 'gateway', '--name', 'beside');
    expect(beside).toMatchObject({ code: 0 });
    expect((await keys('list')).output).toContain('beside');
    await askwatch.stop();
    expect(await keys('revoke', id)).toMatchObject({ code: 0 });
    const again = await startAskwatch({ dataDir: folder, env: { DATABASE_URL } });
    expect((await models(again.url, key)).status).toBe(401);
  });

  test('leaves alone a database that only a newer program can use, and says so', async () => {
    const url = await ownDatabase();
    await query(url, 'create schema askwatch');
    await query(url, 'create table askwatch.migration (name text, timestamp text)');
    await query(url, `insert into askwatch.migration values ('9999-contract-x', '')`);
    const folder = await temporaryFolder();
    expect(await runCli(folder, ['keys', 'list'], { DATABASE_URL: url })).toEqual({
      code: 1,
      output:
        'A newer version of this program changed the database. Start that version here, too.\n',
    });
    expect(await query(url, `select 1 from pg_tables where schemaname = 'askwatch'`)).toHaveLength(
      1,
    );
  });
});

describe.skipIf(!server)('npx askwatch doctor on a database', () => {
  test('names the program that runs on it, and looks at no data folder', async () => {
    const [folder, DATABASE_URL] = [await temporaryFolder(), await ownDatabase()];
    const askwatch = await startAskwatch({ dataDir: folder, env: { DATABASE_URL } });
    const PORT = new URL(askwatch.url).port;
    const { code, of } = await examine({ DATABASE_URL, PORT }, { folder });
    expect(code).toBe(0);
    expect(of('Data folder')).toEqual([]);
    expect(of('Replicas')[0]?.text).toMatch(new RegExp(`^1 alive: \\S+:${askwatch.pid} `));
    expect(of('Leases')[0]?.text).toContain('checks');
    expect(of('Bot')[0]?.text).toMatch(new RegExp(`^held by \\S+:${askwatch.pid} at http://`));
    expect(of('Program')).toMatchObject([{ text: `running here as process ${askwatch.pid}` }]);
    expect(of('Address')[0]?.text).toContain(`answers at ${askwatch.url}`);
  });

  test('says what is wrong with one that cannot be used, and never the password', async () => {
    const DATABASE_URL = `postgres://me:${PASSWORD}@127.0.0.1:1/askwatch`;
    const { code, of, findings } = await examine({ DATABASE_URL });
    expect(code).toBe(1);
    expect(of('Database')).toMatchObject([
      {
        level: 'problem',
        text: expect.stringMatching(/^DATABASE_URL: .*cannot reach the database/),
      },
    ]);
    expect(JSON.stringify(findings)).not.toContain(PASSWORD);
  });
});

describe.skipIf(!server)('npx askwatch move-state', () => {
  test('takes a program to PostgreSQL and back, with keys that work all the way', async () => {
    const [home, DATABASE_URL] = [await temporaryFolder(), await ownDatabase()];
    const first = await startAskwatch({ dataDir: home });
    const key = await first.createKey('gateway');
    const move = (env: Record<string, string>, ...args: string[]) =>
      runCli(home, ['move-state', ...args], { DATABASE_URL, ...env });

    expect(await runCli(home, ['move-state'])).toMatchObject({
      code: 1,
      output: expect.stringContaining('Set DATABASE_URL'),
    });
    expect(await move({})).toMatchObject({
      code: 1,
      output: expect.stringContaining(`in use by process ${first.pid}`),
    });
    await first.stop();
    expect(await move({}, '--check')).toMatchObject({
      code: 1,
      output: expect.stringContaining(
        'has no Askwatch data yet. Run move-state without --check first.',
      ),
    });
    const moved = await move({});
    expect(moved).toMatchObject({ code: 0 });
    expect(moved.output).toMatch(/gateway-keys: 1, identical on both sides/);
    expect(moved.output).toMatch(/Moved: .*documents \d+.*Askwatch now uses/);
    expect(await move({}, '--check')).toMatchObject({ code: 0 });
    expect(await move({})).toMatchObject({
      code: 0,
      output: expect.stringContaining('Nothing left to move.'),
    });

    const left = await failedStart({}, home);
    const told = await examine({ DATA_DIR: join(home, 'data') });
    expect(told.of('Data folder')).toMatchObject([
      { level: 'problem', text: expect.stringContaining('was moved to PostgreSQL at') },
    ]);
    expect([left.code, left.output]).toEqual([
      1,
      expect.stringMatching(/was moved to PostgreSQL at .* on \d{4}-\d\d-\d\d.*set DATABASE_URL/),
    ]);
    const second = await startAskwatch({ dataDir: home, env: { DATABASE_URL } });
    expect((await models(second.url, key)).status).toBe(200);
    const DATA_DIR = join(home, 'again');
    expect(await move({ DATA_DIR }, '--back')).toMatchObject({
      code: 1,
      output: expect.stringMatching(/The database is in use by \S+:\d+\. Stop that first\./),
    });
    await second.stop();
    expect(await move({ DATA_DIR }, '--back')).toMatchObject({ code: 0 });

    const gone = await failedStart({ DATABASE_URL }, home);
    expect([gone.code, gone.output]).toEqual([
      1,
      expect.stringMatching(/was moved to the data folder .*again on .*unset DATABASE_URL/),
    ]);
    const third = await startAskwatch({ dataDir: home, env: { DATA_DIR } });
    await eventually(async () => (await models(third.url, key)).status === 200);
  });
});
