import {
  Kysely,
  type Migration,
  Migrator,
  PostgresDialect,
  type QueryExecutorProvider,
  sql,
} from 'kysely';
import { Pool } from 'pg';
import type { Logger } from 'pino';
import { NewerSchemaError } from '../../errors.ts';
import { connectionConfig, type DatabaseSettings, DEFAULT_SCHEMA } from '../database.ts';
import { stateMigration } from './state-migration.ts';

/**
 * Changes of the schema by name, in order, applied at a start while older programs run. A `contract` removes something that they
 * use, so it waits until none of them is alive.
 */
export type Migrations = Record<string, Migration>;

type Queries = QueryExecutorProvider;

const MIGRATION_TABLE = 'migration';
const LOCK_TABLE = 'migration_lock';

/** A change that older programs cannot live with has this in its name: `0007-contract-...`. */
const isContract = (name: string) => /^\d+-contract\b/.test(name);

export const migrations: Migrations = { '0001-state': stateMigration };

export const newestOf = (all: Migrations): string => Object.keys(all).sort().at(-1) ?? '';

/** Applied changes that a program doesn't know, in order. */
export const unknownOf = (applied: readonly string[], known: Migrations): string[] =>
  applied.filter((name) => !(name in known)).sort();

/** True if a program that knows `known` can use a schema with all of `applied`. */
export const livesWith = (applied: readonly string[], known: Migrations): boolean =>
  !unknownOf(applied, known).some(isContract);

/** Applies the changes that this program knows, one process at a time. Throws what the database says. */
export async function migrate(
  settings: DatabaseSettings & { migrations: Migrations; log: Logger },
): Promise<void> {
  const { url, directUrl = url, schema = DEFAULT_SCHEMA, migrations, log } = settings;
  const pool = new Pool({ ...connectionConfig(directUrl), max: 2 });
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  const db = new Kysely<Record<string, never>>({ dialect: new PostgresDialect({ pool }) });
  try {
    // Even where it is there, making it `if not exists` asks for the right to make one, which its owner need not have.
    if (!(await hasSchema(db, schema))) {
      await sql`create schema if not exists ${sql.id(schema)}`.execute(db).catch(ifThereAlready);
    }
    const migrator = new Migrator({
      db: db.withSchema(schema),
      provider: { getMigrations: async () => await applicable(db, schema, migrations) },
      migrationTableSchema: schema,
      migrationTableName: MIGRATION_TABLE,
      migrationLockTableName: LOCK_TABLE,
    });
    const { error, results = [] } = await migrator.migrateToLatest();
    if (error) throw error;
    for (const { migrationName } of results) {
      log.info({ migration: migrationName }, 'changed the database schema');
    }
  } finally {
    await pool.end();
  }
}

async function hasSchema(db: Queries, schema: string): Promise<boolean> {
  const { rows } = await sql`select from pg_namespace where nspname = ${schema}`.execute(db);
  return rows.length > 0;
}

/** Two processes may create it at the same moment. */
function ifThereAlready(error: { code?: string }) {
  if (error.code !== '23505' && error.code !== '42P06') throw error;
}

/** Changes that may be applied now, and the ones that were, also by a newer program. */
async function applicable(db: Queries, schema: string, known: Migrations): Promise<Migrations> {
  const applied = await appliedTo(db, schema);
  const unknown = unknownOf(applied, known).map((name) => [name, { up: async () => {} }]);
  const pending = Object.keys(known)
    .filter((name) => !applied.includes(name))
    .sort();
  const contract = pending.find(isContract);
  const waits = contract !== undefined && (await livesWithout(db, schema, contract));
  const withheld = waits ? pending.slice(pending.indexOf(contract)) : [];
  const usable = Object.entries(known).filter(([name]) => !withheld.includes(name));
  return { ...Object.fromEntries(usable), ...Object.fromEntries(unknown) };
}

export async function appliedTo(db: Queries, schema: string): Promise<string[]> {
  const table = `${schema}.${MIGRATION_TABLE}`;
  const { rows } = await sql<{ there: boolean }>`
    select to_regclass(${table}) is not null as there`.execute(db);
  if (!rows[0]?.there) return [];
  const { rows: applied } = await sql<{ name: string }>`
    select name from ${sql.table(table)} order by name`.execute(db);
  return applied.map(({ name }) => name);
}

/** Throws `NewerSchemaError` when a newer program has changed the schema so that this one cannot live with it. */
export async function assertSchemaKnown(
  db: Queries,
  schema: string,
  known: Migrations,
): Promise<void> {
  if (livesWith(await appliedTo(db, schema), known)) return;
  throw new NewerSchemaError(
    'A newer version of this program changed the database. Start that version here, too.',
  );
}

/** True if a process is alive whose program doesn't know a change yet. */
async function livesWithout(db: Queries, schema: string, name: string): Promise<boolean> {
  const { rows } = await sql<{ lives: boolean }>`
    select to_regclass(${`${schema}.member`}) is not null as lives`.execute(db);
  if (!rows[0]?.lives) return false;
  const { rows: older } = await sql`
    select from ${sql.table(`${schema}.member`)}
    where until > clock_timestamp() and knows < ${name} limit 1`.execute(db);
  return older.length > 0;
}
