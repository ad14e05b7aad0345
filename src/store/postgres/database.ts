import { Kysely, PostgresDialect, type PostgresPoolClient } from 'kysely';
import { type ClientConfig, DatabaseError, Pool, type PoolClient, types } from 'pg';
import type { Logger } from 'pino';
import { LeaseLostError, StoreUnavailableError } from '../errors.ts';
import type { Lease } from '../store.ts';

/** Connection settings of PostgreSQL. */
export interface DatabaseSettings {
  /** `postgres://user:password@host:port/database`; a pooler may be in between. */
  url: string;
  /** Address without a pooler, for LISTEN and migrations; default `url`. */
  directUrl?: string;
  /** Maximum connections of this process, plus one that listens and one for heartbeats. */
  poolSize?: number;
  /** The schema that all tables are in. */
  schema?: string;
}

export type Database = ReturnType<typeof openDatabase>;

export const DEFAULT_POOL_SIZE = 10;
export const DEFAULT_SCHEMA = 'askwatch';

const APPLICATION_NAME = 'askwatch';

const CONNECT_LIMIT_MS = 5_000;

/** The server ends longer statements, and transactions that stay idle. */
const STATEMENT_LIMIT_MS = 5_000;
const IDLE_TRANSACTION_LIMIT_MS = 10_000;

/** A server that doesn't end its statements in time is gone, whatever TCP says. */
const ANSWER_LIMIT_MS = 8_000;

const RETRY_AFTER_MS = [50, 250];

const INT8 = 20;

/** Numbers of ours stay far below 2^53, so that they need not be texts. */
const numberParsers = {
  getTypeParser: ((oid: number, format: 'text') =>
    oid === INT8 ? Number : types.getTypeParser(oid, format)) as typeof types.getTypeParser,
};

export function connectionConfig(url: string): ClientConfig {
  return {
    connectionString: url,
    application_name: APPLICATION_NAME,
    connectionTimeoutMillis: CONNECT_LIMIT_MS,
    keepAlive: true,
    types: numberParsers,
  };
}

/** Opens the pool; connections are made when they are needed. */
export function openDatabase(options: DatabaseSettings & { log: Logger }) {
  const { url, poolSize = DEFAULT_POOL_SIZE, schema = DEFAULT_SCHEMA, log } = options;
  const pool = new Pool({
    ...connectionConfig(url),
    max: poolSize,
    query_timeout: ANSWER_LIMIT_MS,
    // Set with each new connection, not at its start: PgBouncer refuses parameters that it does not know.
    verify: (client, done) => {
      client.query(
        `set statement_timeout = ${STATEMENT_LIMIT_MS}; set idle_in_transaction_session_timeout = ${IDLE_TRANSACTION_LIMIT_MS}`,
        (error) => done(error ?? undefined),
      );
    },
  });
  pool.on('connect', (client) => {
    // The query under way reports a backend that ended. Without a listener the error would end the process.
    client.on('error', (error) => log.debug({ err: error }, 'a connection to the database ended'));
  });
  pool.on('error', () => {
    // The pool has dropped an idle connection.
  });
  const db = tablesOn(pool);

  return {
    db,
    /** Tables for statements that write, which `databaseUnder` may refuse. */
    writes: db,
    assertWritable() {},
    schema,
    /** Runs what may be done twice, again when the database could not be reached; throws `StoreUnavailableError` then. */
    async again<R>(task: () => Promise<R>): Promise<R> {
      for (const afterMs of RETRY_AFTER_MS) {
        try {
          return await task();
        } catch (error) {
          if (!isUnavailable(error) && !isConflict(error)) throw error;
          await new Promise((resolve) => setTimeout(resolve, afterMs));
        }
      }
      return await once(task);
    },
    once,
    pool,
    close: () => pool.end(),
  };
}

/** A view of the database for the holder of a lease: `writes` rejects with `LeaseLostError` once the lease isn't held. */
export function databaseUnder(database: Database, lease: Lease): Database {
  const assertWritable = () => {
    if (!lease.isHeld()) throw new LeaseLostError();
  };
  const writes = tablesOn(database.pool, assertWritable);
  return { ...database, writes, assertWritable };
}

/** `before` is called right before each statement, when there is a connection for it. */
function tablesOn(pool: Pool, before = () => {}): Kysely<unknown> {
  return new Kysely<unknown>({
    dialect: new PostgresDialect({
      pool: {
        connect: async () => withRepair(await pool.connect(), before),
        end: () => pool.end(),
      },
    }),
  });
}

async function once<R>(task: () => Promise<R>): Promise<R> {
  try {
    return await task();
  } catch (error) {
    throw asStoreError(error);
  }
}

function withRepair(client: PoolClient, before: () => void): PostgresPoolClient {
  let broken = false;
  const query = async (text: string, values: unknown[]) => {
    try {
      before();
      return await client.query(text, values);
    } catch (error) {
      if (!(error instanceof DatabaseError)) broken = true;
      throw error;
    }
  };
  return {
    query: query as unknown as PostgresPoolClient['query'],
    release: () => client.release(broken),
  };
}

/** Turns an unreachable database into `StoreUnavailableError`; other errors stay. */
export function asStoreError(error: unknown): unknown {
  if (error instanceof StoreUnavailableError || !isUnavailable(error)) return error;
  const { message } = error as Error;
  return new StoreUnavailableError(`The database is not available: ${message}`, { cause: error });
}

/** Classes and codes of SQLSTATE after which the same statement may work later. Source: appendix A of the manual. */
const UNAVAILABLE = [
  // Connection exceptions; insufficient resources; operator intervention, such as a shutdown or a time-out.
  /^08/,
  /^53/,
  /^57(014|P0)/,
  // A standby, as after a failover, and what is left of a session that ran out of time.
  /^25006$/,
  /^25P03$/,
];

/** Sentences of `pg`, which has no codes for what happens to a connection. */
const LOST_CONNECTION =
  /^(Connection terminated|Connection ended|timeout expired|timeout exceeded when trying to connect|Query read timeout|Client (was closed|has encountered))/;

/** True if the database can't be reached, or accepts nothing now. */
export function isUnavailable(error: unknown): boolean {
  if (error instanceof StoreUnavailableError) return true;
  if (error instanceof DatabaseError) {
    return UNAVAILABLE.some((pattern) => pattern.test(error.code ?? ''));
  }
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown };
  return (
    (typeof code === 'string' && /^E[A-Z_]+$/.test(code)) ||
    (typeof message === 'string' && LOST_CONNECTION.test(message))
  );
}

/** Deadlocks and serialization failures, which are gone when tried again. */
export function isConflict(error: unknown): boolean {
  return error instanceof DatabaseError && (error.code === '40P01' || error.code === '40001');
}

/** True if the row exists already, because it was sent again after a lost answer. */
export const isRepeated = (error: unknown, constraint: string): boolean =>
  error instanceof DatabaseError && error.code === '23505' && error.constraint === constraint;
