import { sql } from 'kysely';
import type { Logger } from 'pino';
import { keyOf } from '../claims.ts';
import type { Turn, Turns, TurnsDeclaration } from '../turns.ts';
import type { Database } from './database.ts';
import type { Membership } from './members.ts';
import type { News } from './news.ts';
import type { PendingWork } from './pending-work.ts';

/** The place of one that died is kept so long for whoever goes on with it, counted from when it was missed. */
const KEPT_MS = 20_000;

/** Nothing of which turns are asked for takes this long. */
const GIVEN_UP_AFTER = sql`interval '1 day'`;

interface Waiting {
  look(): Promise<void>;
}

/** What came of taking a place. */
type Taken = { isAlive: false } | { isAlive: true; no: number | null; waits: boolean };

/** Places in rows, numbered for each key: whoever has the smallest number has the turn. */
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
  async function enter(key: string, id: string, holder: string): Promise<Taken> {
    const { rows } = await pending.track(
      database.again(() =>
        sql<{ taken: Taken }>`select ${sql.id(schema, 'take_place')}(
          ${name}, ${key}, ${id}, ${holder}::uuid, ${maxWaiting}::int) as taken`.execute(db),
      ),
    );
    return rows[0]?.taken ?? { isAlive: false };
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
              log.warn({ err: error }, 'could not end a turn; others wait for some time');
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
      assertOpen();
      const { done, held } = await members.asMember((holder) => enter(key, id, holder));
      const { no, waits } = done;
      if (no === null) return undefined;
      const turn = turnOf(key, id, held.id);
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
