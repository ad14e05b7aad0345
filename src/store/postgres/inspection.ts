import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { sql } from 'kysely';
import { Client } from 'pg';
import type { Logger } from 'pino';
import { readDocument } from '../documents.ts';
import type { CollectionDeclaration } from '../store.ts';
import {
  asStoreError,
  connectionConfig,
  type Database,
  type DatabaseSettings,
  openDatabase,
} from './database.ts';
import { documentRows, keyOf } from './document-changes.ts';
import { appliedTo, livesWith, migrations, unknownOf } from './migrations/migrations.ts';
import { assertNotMoved } from './moved.ts';

const TRIPS = 9;
const WORDS = 5;

/** Word that was not heard by then does not come through. */
const HEAR_LIMIT_MS = 3_000;

export type DatabaseFacts = Awaited<ReturnType<typeof inspect>>;

/** Read-only. Throws `StoreUnavailableError`, else the server's own error. */
export async function inspectDatabase(
  settings: DatabaseSettings & {
    log: Logger;
    /** The clock of this machine, Unix time. */
    clockMs?: () => number;
  },
) {
  const database = openDatabase({ ...settings, poolSize: 2 });
  try {
    return await database.once(() => inspect(database, settings));
  } finally {
    await database.close();
  }
}

/** Reads a document; `undefined` if there is none. Throws if it is damaged. */
export async function lookAtDocument<T>(
  settings: DatabaseSettings & { log: Logger },
  declaration: CollectionDeclaration<T>,
  id: string,
): Promise<T | undefined> {
  const database = openDatabase({ ...settings, poolSize: 1 });
  try {
    const [row] = await database.once(() =>
      documentRows(database, declaration.name, sql`key = ${keyOf(id)}`),
    );
    if (!row || row.body === null) return undefined;
    return readDocument(declaration, { version: row.version, document: JSON.parse(row.body) });
  } finally {
    await database.close();
  }
}

async function inspect(
  database: Database,
  settings: Pick<DatabaseSettings, 'url' | 'directUrl'> & { clockMs?: () => number },
) {
  const { url, directUrl, clockMs = Date.now } = settings;
  const server = await askServer(database);
  const trips = await measureTrips(database, clockMs);
  const rights = await askRights(database);
  const listening = server.isStandby ? undefined : await tryListening(database, directUrl ?? url);
  const isReadable =
    !rights.hasSchema || (rights.mayUse && rights.tables.every(({ isUsable }) => isUsable));
  const hasTables = rights.tables.length > 0;
  return {
    server,
    ...trips,
    rights,
    /** `undefined` where nobody can say anything, on a standby. */
    listening,
    schema: isReadable ? await askSchema(database, url) : undefined,
    processes: isReadable && hasTables ? await askProcesses(database) : undefined,
    tables: await askTables(database),
  };
}

async function askServer({ pool }: Database) {
  const { rows } = await pool.query<{
    version: string;
    versionNumber: number;
    isStandby: boolean;
    isReadOnly: boolean;
    user: string;
    unsafe: string[];
    autovacuum: string;
    maxConnections: number;
    reservedConnections: number;
    usedConnections: number;
  }>(`
    select current_setting('server_version') as version,
      current_setting('server_version_num')::int as "versionNumber",
      pg_is_in_recovery() as "isStandby",
      current_setting('transaction_read_only') = 'on' as "isReadOnly",
      current_user::text as user,
      array(select name from unnest(array['fsync', 'full_page_writes', 'synchronous_commit']) name
        where current_setting(name) = 'off') as unsafe,
      current_setting('autovacuum') as autovacuum,
      current_setting('max_connections')::int as "maxConnections",
      current_setting('superuser_reserved_connections')::int
        + coalesce(current_setting('reserved_connections', true)::int, 0) as "reservedConnections",
      (select sum(numbackends)::int from pg_stat_database) as "usedConnections"`);
  const [found] = rows;
  if (!found) throw new Error('the server reports nothing about itself');
  return found;
}

async function measureTrips({ pool }: Database, clockMs: () => number) {
  const trips: Array<{ tripMs: number; skewMs: number }> = [];
  for (let trip = 0; trip < TRIPS; trip += 1) {
    const [sentMs, steadyMs] = [clockMs(), performance.now()];
    const { rows } = await pool.query<{ now: Date }>('select clock_timestamp() as now');
    const tripMs = performance.now() - steadyMs;
    const theirsMs = rows[0]?.now.getTime() ?? Number.NaN;
    // It was that late at any moment of the trip.
    const [least, most] = [sentMs - theirsMs, sentMs + tripMs - theirsMs];
    const skewMs = least > 0 ? least : Math.min(0, most);
    trips.push({ tripMs, skewMs });
  }
  const inOrder = trips.sort((a, b) => a.tripMs - b.tripMs);
  return {
    /** The median of some trips there and back. */
    tripMs: inOrder[Math.floor(TRIPS / 2)]?.tripMs ?? Number.NaN,
    /** Our clock is ahead of the database's by at least so much; behind if negative. */
    skewMs: inOrder[0]?.skewMs ?? 0,
  };
}

async function askRights({ pool, schema }: Database) {
  const { rows: places } = await pool.query<{ mayUse: boolean | null; mayMakeSchema: boolean }>(
    `select has_database_privilege(current_database(), 'CREATE') as "mayMakeSchema",
      (select has_schema_privilege(oid, 'CREATE') and has_schema_privilege(oid, 'USAGE')
        from pg_namespace where nspname = $1) as "mayUse"`,
    [schema],
  );
  const { rows: tables } = await pool.query<{
    name: string;
    owner: string;
    isOwn: boolean;
    isUsable: boolean;
  }>(
    `select c.relname::text as name, pg_get_userbyid(c.relowner)::text as owner,
      pg_has_role(c.relowner, 'USAGE') as "isOwn",
      has_schema_privilege(n.oid, 'USAGE') and has_table_privilege(c.oid, 'SELECT')
        and has_table_privilege(c.oid, 'INSERT') and has_table_privilege(c.oid, 'UPDATE')
        and has_table_privilege(c.oid, 'DELETE') as "isUsable"
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = $1 and c.relkind in ('r', 'p') order by 1`,
    [schema],
  );
  const { mayUse = null, mayMakeSchema = false } = places[0] ?? {};
  return { hasSchema: mayUse !== null, mayUse: mayUse === true, mayMakeSchema, tables };
}

/** Tests whether notifications arrive on a connection of their own, and how fast. */
async function tryListening(database: Database, url: string) {
  const client = new Client(connectionConfig(url));
  client.on('error', () => {});
  const channel = `askwatch_doctor_${randomBytes(8).toString('hex')}`;
  try {
    await client.connect();
    const isSame = (await serverOf(client)) === (await serverOf(database.pool));
    await client.query(`listen ${client.escapeIdentifier(channel)}`);
    const times: number[] = [];
    for (let word = 0; word < WORDS; word += 1) {
      const sentMs = performance.now();
      const heard = once(client, 'notification', { signal: AbortSignal.timeout(HEAR_LIMIT_MS) });
      await database.pool.query('select pg_notify($1, $2)', [channel, String(word)]);
      if (!(await heard.catch(() => undefined))) return { isSame, heardAfterMs: undefined };
      times.push(performance.now() - sentMs);
    }
    return { isSame, heardAfterMs: times.sort((a, b) => a - b)[Math.floor(WORDS / 2)] };
  } catch (error) {
    return { error: asStoreError(error) };
  } finally {
    await client.end().catch(() => {});
  }
}

/** Identifies one database of one server. */
async function serverOf(connection: Pick<Client, 'query'>): Promise<string> {
  const { rows } = await connection.query(
    `select oid::text || ' ' || pg_postmaster_start_time()::text as name
      from pg_database where datname = current_database()`,
  );
  return String(rows[0]?.name);
}

async function askSchema(database: Database, url: string) {
  const { db, schema } = database;
  const applied = await appliedTo(db, schema);
  const isComplete = applied.length > 0;
  return {
    applied,
    unknown: unknownOf(applied, migrations),
    isKnown: livesWith(applied, migrations),
    pending: Object.keys(migrations).filter((name) => !applied.includes(name)),
    /** Why the program would not use what is there, such as that it was moved away. */
    refusal: isComplete
      ? await assertNotMoved(database, url).then(
          () => undefined,
          (error: Error) => error.message,
        )
      : undefined,
  };
}

async function askProcesses({ db, schema }: Database) {
  const [member, lease] = [sql.table(`${schema}.member`), sql.table(`${schema}.lease`)];
  const { rows: members } = await sql<{ name: string; version: string; wants: string[] }>`
    select name, version, wants from ${member}
    where until > clock_timestamp() order by name`.execute(db);
  const { rows: leases } = await sql<{ kind: string; holder: string | null; count: number }>`
    select l.kind, m.name as holder, count(*)::int as count from ${lease} l
    left join ${member} m on m.id = l.holder and m.until > clock_timestamp()
    group by l.kind, m.id, m.name order by l.kind, m.name nulls last`.execute(db);
  return { members, leases };
}

async function askTables({ pool, schema }: Database) {
  const { rows } = await pool.query<{
    name: string;
    live: number;
    dead: number;
    bytes: number;
    vacuumedAt: Date | null;
  }>(
    `select relname::text as name, n_live_tup as live, n_dead_tup as dead,
      coalesce(pg_total_relation_size(relid), 0) as bytes,
      greatest(last_vacuum, last_autovacuum) as "vacuumedAt"
    from pg_stat_user_tables where schemaname = $1 order by bytes desc, relname`,
    [schema],
  );
  return rows;
}
