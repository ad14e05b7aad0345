import { type QueryExecutorProvider, sql } from 'kysely';
import type { Database } from './database.ts';

const DAY_MS = 86_400_000;

/** Another process did the same at the same moment: the table is gone, or no partition any more. */
const DONE_BY_ANOTHER = ['42P01', '42809', '55000'];

/** The partitions of a table, one for each UTC day, in names that tell the day: `check_result_20270115`. */
export function createDayPartitions(database: Database, table: string) {
  const { db, schema } = database;
  const parent = sql.table(`${schema}.${table}`);
  const known = new Set<number>();

  const nameOf = (day: number) =>
    `${table}_${new Date(day * DAY_MS).toISOString().slice(0, 10).replaceAll('-', '')}`;
  const own = (name: string) => sql.table(`${schema}.${name}`);
  const startOf = (day: number) => sql.lit(new Date(day * DAY_MS).toISOString());

  /** Tables of days; one that is not attached was left by a removal that did not end. */
  async function list(queries: QueryExecutorProvider, name = `^${table}_[0-9]{8}$`) {
    const { rows } = await sql<{ name: string; isAttached: boolean }>`
      select c.relname as name, coalesce(not i.inhdetachpending, false) as "isAttached"
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      left join pg_inherits i on i.inhrelid = c.oid
      where n.nspname = ${schema} and c.relkind = 'r' and c.relname ~ ${name}`.execute(queries);
    return rows;
  }

  /** Made apart and then attached, which no reader and no writer has to wait for; one process at a time. */
  async function make(day: number): Promise<void> {
    const name = nameOf(day);
    await db.transaction().execute(async (transaction) => {
      await sql`select pg_advisory_xact_lock(hashtext(${`${schema}.${table}`}))`.execute(
        transaction,
      );
      const [before] = await list(transaction, `^${name}$`);
      if (before?.isAttached) return;
      if (before) await sql`drop table ${own(name)}`.execute(transaction);
      await sql`create table ${own(name)} (like ${parent} including all)`.execute(transaction);
      await sql`alter table ${parent} attach partition ${own(name)}
        for values from (${startOf(day)}) to (${startOf(day + 1)})`.execute(transaction);
    });
  }

  /** Detached first, since dropping it at once would hold up everybody who reads or writes any day. */
  async function remove({
    name,
    isAttached,
  }: Awaited<ReturnType<typeof list>>[number]): Promise<void> {
    if (isAttached) {
      await sql`alter table ${parent} detach partition ${own(name)} concurrently`
        .execute(db)
        .catch(orDoneByAnother);
    }
    await sql`drop table if exists ${own(name)}`.execute(db);
  }

  return {
    dayOf: (atMs: number) => Math.floor(atMs / DAY_MS),
    /** False also if this process hasn't looked yet. */
    isKnown: (day: number) => known.has(day),
    /** Sees to it that there is one for this day. */
    async need(day: number): Promise<void> {
      if (known.has(day)) return;
      await database.again(() => make(day));
      known.add(day);
    },
    /** Makes `need` look again. */
    forgetKnown: () => known.clear(),
    /** Drops the partitions of earlier days. */
    async removeBefore(day: number): Promise<void> {
      for (const each of await list(db)) {
        // Names have one form, so they sort by time.
        if (each.name < nameOf(day)) await remove(each);
      }
    },
  };
}

function orDoneByAnother(error: { code?: string }) {
  if (!DONE_BY_ANOTHER.includes(error.code ?? '')) throw error;
}
