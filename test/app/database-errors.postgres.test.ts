import { expect, test } from 'vitest';
import { openStore } from '../../src/app/open-store.ts';
import { startupSentence } from '../../src/app/startup-errors.ts';
import { ownServer } from '../helpers/postgres/own-server.ts';
import { query } from '../helpers/postgres/server.ts';
import { recordingLog } from '../helpers/recording-log.ts';

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

const open = (url: string) =>
  openStore(
    { dataDir: '', database: { url, directUrl: undefined, poolSize: 2, schema: 'askwatch' } },
    { version: '1.2.3', log: recordingLog().log },
  );

const CASES: Array<[why: string, makeUrl: () => Promise<string>, sentence: RegExp]> = [
  [
    'rejects the password',
    async () => {
      await query(address({}), `create role guarded login password '${PASSWORD}'`);
      return address({ user: 'guarded', password: `${PASSWORD}x` });
    },
    /^DATABASE_URL: password authentication failed for user "guarded"\. Check the user and password/m,
  ],
  [
    'requires a password',
    async () => address({ user: 'guarded' }),
    /^DATABASE_URL: the server requires a password, but the address has none/m,
  ],
  [
    "doesn't exist",
    async () => address({ database: 'nowhere' }),
    /^DATABASE_URL: database "nowhere" does not exist\. Create it .*createdb/m,
  ],
  [
    "doesn't let the user create a schema",
    async () => {
      const url = new URL(await ownDatabase());
      await query(address({}), 'create role powerless login');
      url.username = 'powerless';
      return url.href;
    },
    /^DATABASE_URL: this user lacks a right: permission denied for database .*create schema askwatch authorization/m,
  ],
  [
    "doesn't answer",
    async () => `postgres://me:${PASSWORD}@127.0.0.1:1/askwatch`,
    /^DATABASE_URL: cannot reach the database: .*ECONNREFUSED.*Check that it is running/m,
  ],
  [
    'has an unknown host name',
    async () => `postgres://me:${PASSWORD}@nowhere.invalid/askwatch`,
    /^DATABASE_URL: cannot reach the database: .*nowhere\.invalid/m,
  ],
  [
    'requires TLS',
    async () => {
      await query(address({}), 'create role over_tls login');
      return address({ user: 'over_tls' });
    },
    /^DATABASE_URL: the server doesn't accept this user from here: .*If it requires TLS, add \?sslmode=verify-full/m,
  ],
  [
    'offers no TLS',
    async () => address({ search: '?sslmode=verify-full' }),
    /^DATABASE_URL: the server offers no TLS, but the address requires it/m,
  ],
  [
    "doesn't accept the user from here",
    async () => {
      await query(address({}), 'create role shut_out login');
      return address({ user: 'shut_out' });
    },
    /^DATABASE_URL: the server doesn't accept this user from here: .*shut_out.*Allow it/m,
  ],
  [
    'has no connection left',
    async () => {
      await query(address({}), 'create role crowded login connection limit 0');
      return address({ user: 'crowded' });
    },
    /^DATABASE_URL: the server accepts no more connections: too many connections for role "crowded".*DATABASE_POOL/m,
  ],
  [
    'is read-only',
    async () => {
      const url = await ownDatabase();
      const name = new URL(url).pathname.slice(1);
      // A standby has the tables.
      await (await open(url)).store.close();
      await query(address({}), `alter database ${name} set default_transaction_read_only = on`);
      return url;
    },
    /^DATABASE_URL: the database is read-only: .*read-only.*Set the address of the primary/m,
  ],
  [
    'was changed by a newer version',
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

test.skipIf(!server).each(CASES)(
  'a start says what to do if the database %s, without the password',
  async (_, makeUrl, sentence) => {
    const told = await open(await makeUrl()).then(() => 'It opened.', startupSentence);
    expect(told).toMatch(sentence);
    expect(told).not.toContain(PASSWORD);
  },
);
