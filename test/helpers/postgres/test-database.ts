import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { onTestFinished } from 'vitest';
import {
  openPostgresStore,
  type PostgresOptions,
  type PostgresStore,
} from '../../../src/store/postgres/postgres-store.ts';
import { recordingLog } from '../recording-log.ts';
import { OWN_DATABASE, query } from './server.ts';

/** True if a server is available; the run prints once if none is. */
export const hasPostgres = process.env.TEST_DATABASE_URL !== undefined;

/** Each process has its own database, because migrations lock all of it. */
let database: Promise<string> | undefined;

async function ownDatabase(): Promise<string> {
  const server = process.env.TEST_DATABASE_URL ?? '';
  const name = `${OWN_DATABASE}${process.pid}_${randomBytes(4).toString('hex')}`;
  await query(server, `create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

/** A schema of its own on the server of this run, with stores of several processes on it; gone after the test. */
export async function testDatabase() {
  database ??= ownDatabase();
  const url = await database;
  const schema = `test_${randomBytes(6).toString('hex')}`;
  const { log, lines } = recordingLog();
  const stores = new Set<PostgresStore>();
  onTestFinished(async () => {
    await Promise.all([...stores].map((store) => store.close().catch(() => {})));
    await query(url, `drop schema if exists "${schema}" cascade`);
  });
  return {
    url,
    schema,
    log,
    lines,
    /** Opens a store as one more process would. */
    async open(options: Partial<PostgresOptions> = {}): Promise<PostgresStore> {
      const store = await openPostgresStore({ url, schema, log, version: '0.0.0', ...options });
      stores.add(store);
      return store;
    },
    /** One statement; `#` in it stands for the schema. */
    query: (text: string, values?: unknown[]) =>
      query(url, text.replaceAll('#', `"${schema}"`), values),
    /** Holds the locks of a statement until the returned function is called. */
    async hold(text: string): Promise<() => Promise<void>> {
      const holder = new pg.Client({ connectionString: url });
      await holder.connect();
      onTestFinished(() => holder.end());
      await holder.query('begin');
      await holder.query(text.replaceAll('#', `"${schema}"`));
      return async () => void (await holder.query('rollback'));
    },
    /** Ends what is connected with a last statement like this, as a failover does; gives how many those were. */
    async endConnections(like = `%${schema}%`): Promise<number> {
      const ended = await query(
        url,
        `select pg_terminate_backend(pid) from pg_stat_activity
        where pid <> pg_backend_pid() and datname = current_database() and query like $1`,
        [like],
      );
      return ended.length;
    },
  };
}
