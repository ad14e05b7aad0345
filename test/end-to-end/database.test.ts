import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startAskwatch } from '../helpers/end-to-end/askwatch-process.ts';
import { cells, runCli } from '../helpers/end-to-end/key-commands.ts';
import { failedStart, models } from '../helpers/end-to-end/plain-start.ts';
import { examine } from '../helpers/end-to-end/run-doctor.ts';
import { eventually } from '../helpers/eventually.ts';
import { OWN_DATABASE, query } from '../helpers/postgres/server.ts';
import { hasPostgres } from '../helpers/postgres/test-database.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

const PASSWORD = 'correct-horse-battery';

/** The address of a fresh database: these programs use the default schema. */
async function ownDatabase(): Promise<string> {
  const url = new URL(process.env.TEST_DATABASE_URL ?? '');
  const name = `${OWN_DATABASE}${randomBytes(4).toString('hex')}`;
  await query(url.href, `create database ${name}`);
  url.pathname = `/${name}`;
  return url.href;
}

test('a start on a database that cannot be reached says what to do, without the password', async () => {
  const DATABASE_URL = `postgres://me:${PASSWORD}@127.0.0.1:1/askwatch`;
  const { code, output } = await failedStart({ DATABASE_URL });
  // Other reasons: test/app/database-errors.postgres.test.ts
  expect(output).toMatch(
    /^DATABASE_URL: cannot reach the database: .*ECONNREFUSED.*Check that it is running/m,
  );
  expect(code).toBe(1);
  expect(output).not.toContain(PASSWORD);
});

describe.skipIf(!hasPostgres)('npx askwatch keys on a database', () => {
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

describe.skipIf(!hasPostgres)('npx askwatch doctor on a database', () => {
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

describe.skipIf(!hasPostgres)('npx askwatch move-state', () => {
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
