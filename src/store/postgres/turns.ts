import { sql } from 'kysely';
import type { Logger } from 'pino';
import { keyOf } from '../claims.ts';
import { StoreUnavailableError } from '../errors.ts';
import type { Turn, Turns, TurnsDeclaration } from '../turns.ts';
import { type Database, isRepeated } from './database.ts';
import type { Membership } from './members.ts';
import type { News } from './news.ts';
import type { PendingWork } from './pending-work.ts';

/** The place of one that died is kept so long for whoever goes on with it, counted from when it was missed. */
const KEPT_MS = 20_000;

/** Several that come to one key at the same moment have to take their places one after another. */
const MAX_TRIES = 50;

/** Over which time these tries are spread when it is crowded. */
const TRY_WITHIN_MS = 20;

/** Nothing of which turns are asked for takes this long. */
const GIVEN_UP_AFTER = sql`interval '1 day'`;

interface Waiting {
  look(): Promise<void>;
}

/**
 * Places in rows, numbered for each key. Of two that take one at the same moment the key of the table refuses one, which
 * tries again: so whoever has the smallest number has seen all that came before.
 */
export function createPostgresTurns(
  { name, maxWaiting }: TurnsDeclaration,
  options: {
    database: Database;
    members: Membership;
    news: News;
    pending: PendingWork;
    assertOpen: () => void;
    log: Logger;
  },
): Turns {
  const { database, members, news, pending, assertOpen, log } = options;
  const { db, schema } = database;
  const table = sql.table(`${schema}.turn`);
  const member = sql.table(`${schema}.member`);
  const topic = `turn:${name}`;
  const waiting = new Set<Waiting>();
  news.follow(topic, async () => {
    await Promise.all([...waiting].map((each) => each.look()));
  });

  const isDead = sql`not exists (select from ${member} m where m.id = t.holder and m.until > clock_timestamp())`;
  const isOver = sql`coalesce(t.missed_at < clock_timestamp() - ${KEPT_MS}::float8 * interval '1 millisecond', false)`;
  const isBefore = (key: string, no: number) =>
    sql`t.name = ${name} and t.key = ${key} and t.no < ${no}::int`;

  /** Takes a place, or the one it had; `no` is missing when there is none free. */
  async function enter(key: string, id: string, holder: string) {
    const { rows } = await sql<{ isAlive: boolean; no: number | null; waits: boolean }>`
      with me as (select id from ${member} where id = ${holder} and until > clock_timestamp()),
      others as (select coalesce(max(t.no), 0) as last, count(*) as count from ${table} t
        where t.name = ${name} and t.key = ${key} and t.id <> ${id}),
      own as (
        insert into ${table} as t (name, key, id, no, holder)
        select ${name}, ${key}, ${id}, others.last + 1, me.id from me, others
          where others.count <= ${maxWaiting}
            or exists (select from ${table} t where t.name = ${name} and t.key = ${key} and t.id = ${id})
        on conflict (name, key, id) do update set holder = excluded.holder, missed_at = null
        returning no)
      select exists (select from me) as "isAlive", (select no from own) as no,
        exists (select from ${table} t, own where t.name = ${name} and t.key = ${key} and t.no < own.no) as waits`.execute(
      db,
    );
    return rows[0] ?? { isAlive: false, no: null, waits: false };
  }

  async function enterAlone(key: string, id: string) {
    for (let left = MAX_TRIES; left > 0; left -= 1) {
      assertOpen();
      const holder = members.id();
      try {
        const entered = await pending.track(database.again(() => enter(key, id, holder)));
        if (entered.isAlive) return { ...entered, holder };
        await members.beat();
      } catch (error) {
        if (!isRepeated(error, 'turn_no')) throw error;
        await new Promise((resolve) => setTimeout(resolve, Math.random() * TRY_WITHIN_MS));
      }
    }
    throw new StoreUnavailableError('The database is too busy with this thread. Try again.');
  }

  /** Whether those before it are gone; the first who misses the holder of a place notes when that was. */
  async function isNext(key: string, no: number): Promise<boolean> {
    const before = isBefore(key, no);
    const { rows } = await database.again(() =>
      sql<{ waits: boolean }>`
        with missed as (
          update ${table} t set missed_at = case when ${isDead} then clock_timestamp() end
          where ${before} and (t.missed_at is null) = ${isDead} returning 1),
        gone as (delete from ${table} t where ${before} and ${isOver} and ${isDead} returning 1)
        select exists (select from ${table} t where ${before} and not (${isOver} and ${isDead})) as waits`.execute(
        db,
      ),
    );
    return rows[0]?.waits === false;
  }

  /** Resolves when nobody is before it. */
  function wait(key: string, no: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (then: () => void) => {
        waiting.delete(own);
        signal.removeEventListener('abort', onAbort);
        then();
      };
      const onAbort = () => settle(() => reject(signal.reason));
      const own: Waiting = {
        async look() {
          const isFree = await isNext(key, no);
          if (isFree && waiting.has(own)) settle(resolve);
        },
      };
      waiting.add(own);
      signal.addEventListener('abort', onAbort, { once: true });
      if (signal.aborted) onAbort();
      // What ended since it entered was said before it listened.
      news.wake(topic);
    });
  }

  function turnOf(key: string, id: string, holder: string): Turn {
    let isOver = false;
    return {
      end() {
        if (isOver) return;
        isOver = true;
        void pending
          .track(
            database.again(() =>
              sql`delete from ${table} where name = ${name} and key = ${key} and id = ${id}
                and holder = ${holder}`.execute(db),
            ),
          )
          .then(
            () => {
              news.wake(topic);
              news.announce(topic);
            },
            (error: unknown) => {
              log.warn({ err: error }, 'a turn could not be ended; others wait for some time');
            },
          );
      },
      leave() {
        isOver = true;
      },
    };
  }

  return {
    async take(thing, id, signal) {
      signal.throwIfAborted();
      const key = keyOf(thing);
      const { no, waits, holder } = await enterAlone(key, id);
      if (no === null) return undefined;
      const turn = turnOf(key, id, holder);
      try {
        signal.throwIfAborted();
        if (waits) await wait(key, no, signal);
        return turn;
      } catch (error) {
        turn.end();
        throw error;
      }
    },
    async isTaken(thing) {
      assertOpen();
      const { rows } = await pending.track(
        database.again(() =>
          sql`select from ${table} t where t.name = ${name} and t.key = ${keyOf(thing)}
            and not (${isOver} and ${isDead}) limit 1`.execute(db),
        ),
      );
      return rows.length > 0;
    },
  };
}

/** Removes what nobody ended. */
export async function sweepTurns({ db, schema }: Database): Promise<void> {
  await sql`delete from ${sql.table(`${schema}.turn`)}
    where at < clock_timestamp() - ${GIVEN_UP_AFTER}`.execute(db);
}
