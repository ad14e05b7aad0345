import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { hostname } from 'node:os';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import type { Database } from './database.ts';

/** This process among those that use the database. */
export type Membership = Awaited<ReturnType<typeof joinMembers>>;

/** Times of membership, milliseconds. */
export interface MemberTimes {
  /** How long a process counts as alive after its last sign of life. */
  ttlMs: number;
  beatMs: number;
}

export const MEMBER_TIMES: MemberTimes = { ttlMs: 5_000, beatMs: 1_000 };

/** Others take over when the database says so; this process stops so much earlier, whatever its clock says. */
const MARGIN_MS = 1_000;

/**
 * Joins those who use the database, and gives signs of life. A process trusts that it counts as alive by two clocks of its
 * own, counted from before it asked: the monotonic one stands still while a machine sleeps, the other can be set.
 */
export async function joinMembers(options: {
  database: Database;
  version: string;
  /** The newest migration that this program knows. */
  knows: string;
  times?: Partial<MemberTimes> | undefined;
  log: Logger;
}) {
  const { database, version, knows, log } = options;
  const { db, schema } = database;
  const { ttlMs, beatMs } = { ...MEMBER_TIMES, ...options.times };
  const trustMs = ttlMs - Math.min(MARGIN_MS, ttlMs / 2.5);
  const name = `${hostname()}:${process.pid}`;
  const wants = new Set<string>();
  const member = sql.table(`${schema}.member`);
  const until = sql`clock_timestamp() + ${`${ttlMs} milliseconds`}::interval`;

  let life = newLife();
  let beating: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let left = false;

  /** `before` is who it was until now, for whom nobody has to wait any more. */
  function newLife(before: string | null = null) {
    const ended = new AbortController();
    // Every lease listens.
    setMaxListeners(0, ended.signal);
    return {
      id: randomUUID(),
      before,
      ended,
      joined: false,
      trusted: { steadyMs: Number.NEGATIVE_INFINITY, wallMs: Number.NEGATIVE_INFINITY },
    };
  }

  const isTrusted = ({ trusted, ended }: typeof life) =>
    !ended.signal.aborted &&
    performance.now() < trusted.steadyMs &&
    Date.now() < trusted.wallMs &&
    // A clock that was set back would make it live longer.
    trusted.wallMs - Date.now() <= trustMs;

  /** Ends what this process may do as who it was; it goes on as somebody else. */
  function loseLife(why: string) {
    const lost = life;
    life = newLife(lost.joined ? lost.id : lost.before);
    lost.ended.abort();
    if (!left) log.warn({ member: lost.id }, `this process no longer counts as alive: ${why}`);
  }

  /** What was doubted once is over, whatever a sign of life that was under way meanwhile comes to: others were told so. */
  function checkTrust() {
    if (life.joined && !isTrusted(life)) loseLife('its heartbeats did not reach the database');
  }

  async function beatOnce() {
    checkTrust();
    const own = life;
    const sent = { steadyMs: performance.now(), wallMs: Date.now() };
    const list = [...wants];
    const { rows } = own.joined
      ? await sql`update ${member} set until = ${until}, wants = ${list}
          where id = ${own.id} and until > clock_timestamp() returning id`.execute(db)
      : await sql`with gone as (delete from ${member} where id = ${own.before})
          insert into ${member} (id, name, version, wants, knows, until)
          values (${own.id}, ${name}, ${version}, ${list}, ${knows}, ${until})
          on conflict (id) do update set until = excluded.until returning id`.execute(db);
    if (own !== life) return;
    if (rows.length === 0) return loseLife('its last heartbeat was too long ago');
    own.joined = true;
    own.trusted = { steadyMs: sent.steadyMs + trustMs, wallMs: sent.wallMs + trustMs };
  }

  /** A sign of life now; those who ask meanwhile share it. Rejects when the database cannot be reached. */
  function beat(): Promise<void> {
    beating ??= database.once(beatOnce).finally(() => {
      beating = undefined;
    });
    return beating;
  }

  function beatLater() {
    timer = setTimeout(() => {
      checkTrust();
      void beat()
        .catch((error: unknown) => log.debug({ err: error }, 'could not send a heartbeat'))
        .then(() => {
          if (!left) beatLater();
        });
    }, beatMs).unref();
  }

  // Between two signs of life that take long, too.
  const watching = setInterval(checkTrust, Math.min(250, ttlMs / 10)).unref();
  await database.again(beat);
  await db
    .deleteFrom('member')
    .where('until', '<', sql<Date>`clock_timestamp() - interval '1 hour'`)
    .execute();
  beatLater();

  return {
    /** Its id now; another one after it was thought dead. */
    id: () => life.id,
    name,
    /** Aborts when this process no longer counts as who it is now. */
    signal: () => life.ended.signal,
    /** Whether this process may still act as who it is. */
    isAlive() {
      checkTrust();
      return life.joined;
    },
    beat,
    /** Competes for leases of a kind, or no longer, from the next sign of life on. */
    want(kind: string, does: boolean): void {
      if (does) wants.add(kind);
      else wants.delete(kind);
    },
    /** Ends the membership at once, so that others need not wait. */
    async close(): Promise<void> {
      left = true;
      clearTimeout(timer);
      clearInterval(watching);
      await beating?.catch(() => {});
      const { id, joined } = life;
      loseLife('it left');
      if (!joined) return;
      await database
        .again(() => db.deleteFrom('member').where('id', '=', id).execute())
        .catch((error: unknown) => {
          log.debug(
            { err: error },
            'could not sign off this process; it counts as alive for a few more seconds',
          );
        });
    },
  };
}
