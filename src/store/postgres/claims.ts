import { sql } from 'kysely';
import { type AbandonedRow, type ClaimTable, GIVEN_UP_MS } from '../claims.ts';
import type { Database } from './database.ts';
import type { Membership } from './members.ts';
import type { PendingWork } from './pending-work.ts';

/** Taken over with one statement. */
const ABANDONED_COUNT = 100;

/**
 * Claims in rows, which processes hold while they count as alive. What is asked twice because an answer was lost is answered
 * as the first time.
 */
export function createPostgresClaims(
  name: string,
  options: {
    database: Database;
    members: Membership;
    pending: PendingWork;
    assertOpen: () => void;
  },
): ClaimTable {
  const { database, members, pending, assertOpen } = options;
  const { db, schema } = database;
  const claim = sql.table(`${schema}.claim`);
  const member = sql.table(`${schema}.member`);
  const isDeserted = sql`(c.holder is null or not exists (
    select from ${member} m where m.id = c.holder and m.until > clock_timestamp()))`;
  const until = (keptMs: number) =>
    sql`clock_timestamp() + ${keptMs}::float8 * interval '1 millisecond'`;

  /** In the name of this process, which counts as alive while it is done. */
  async function asMember<R extends { isAlive: boolean }>(ask: (holder: string) => Promise<R>) {
    assertOpen();
    return await members.asMember((id) => pending.track(database.again(() => ask(id))));
  }

  return {
    async take(key, request) {
      const { done, held } = await asMember(async (holder) => {
        const { rows } = await sql<{ isAlive: boolean; isTaken: boolean }>`
          with me as (select id from ${member} where id = ${holder} and until > clock_timestamp()),
          taken as (
            insert into ${claim} as c (name, key, holder, request)
            select ${name}, ${key}, me.id, ${request ?? null}::json from me
            on conflict (name, key) do update set at = clock_timestamp(), done = false,
              holder = excluded.holder, request = excluded.request, takeovers = 0
            where case when c.done then c.until <= clock_timestamp()
              -- A kept claim continues. The same words from the same process are this attempt, sent again.
              when c.request is not null then c.holder = excluded.holder and c.request::text = excluded.request::text
              else c.holder = excluded.holder or ${isDeserted} end
            returning 1
          ) select exists (select from me) as "isAlive", exists (select from taken) as "isTaken"`.execute(
          db,
        );
        return rows[0] ?? { isAlive: false, isTaken: false };
      });
      return done.isTaken ? held : undefined;
    },
    async finish(key, keptMs) {
      assertOpen();
      const { rows } = await pending.track(
        database.again(() =>
          sql`insert into ${claim} as c (name, key, done, until)
            values (${name}, ${key}, true, ${until(keptMs)})
            on conflict (name, key) do update set at = clock_timestamp(), done = true,
              until = excluded.until, holder = null, request = null, takeovers = 0
            where c.done or c.holder = ${members.id()} or ${isDeserted}
            returning 1`.execute(db),
        ),
      );
      return rows.length > 0;
    },
    async giveBack(key) {
      assertOpen();
      await pending.track(
        database.again(() =>
          sql`delete from ${claim} c where c.name = ${name} and c.key = ${key}
            and (c.done or c.holder = ${members.id()} or ${isDeserted})`.execute(db),
        ),
      );
    },
    async takeAbandoned(busy) {
      const { done, held } = await asMember(async (holder) => {
        // Its own that it does not do: it took them, and the answer was lost.
        const { rows } = await sql<{ isAlive: boolean; taken: Taken[] | null }>`
          with me as (select id from ${member} where id = ${holder} and until > clock_timestamp()),
          left_over as (
            select c.key from ${claim} c, me where c.name = ${name} and not c.done and c.request is not null
              and (${isDeserted} or c.holder = me.id and c.key <> all(${[...busy]}::text[]))
            order by c.at limit ${ABANDONED_COUNT} for update of c skip locked
          ), taken as (
            update ${claim} c set holder = me.id, takeovers = c.takeovers + 1
            from left_over, me where c.name = ${name} and c.key = left_over.key
            returning c.key, c.request::text as request, c.takeovers, c.at
          ) select exists (select from me) as "isAlive",
            (select json_agg(taken order by taken.at) from taken) as taken`.execute(db);
        return rows[0] ?? { isAlive: false, taken: null };
      });
      return { held, rows: done.taken ?? [] };
    },
  };
}

type Taken = AbandonedRow;

/** Removes what is refused no more, and what nobody goes on with. */
export async function sweepClaims({ db, schema }: Database): Promise<void> {
  await sql`delete from ${sql.table(`${schema}.claim`)}
    where (done and until <= clock_timestamp())
      or (not done and at < clock_timestamp() - ${GIVEN_UP_MS}::float8 * interval '1 millisecond')`.execute(
    db,
  );
}
