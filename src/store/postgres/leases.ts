import { setMaxListeners } from 'node:events';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import type { Lease, LeaseGroup, PartHolder } from '../store.ts';
import type { Database } from './database.ts';
import type { Membership } from './members.ts';

/** The leases of this process: each is held while the process counts as alive, and not given back. */
export type Leases = ReturnType<typeof createLeases>;

/** How often parts are taken that nobody has, and given back when others have fewer. */
const BALANCE_EVERY_MS = 500;

/** The lease that stands for a name is the only one of its kind. */
const ONLY = 0;

interface Held {
  kind: string;
  lease: Lease;
  end: () => void;
}

/** Leases are rows; whoever takes one adds one to its fence. */
export function createLeases(options: { database: Database; members: Membership; log: Logger }) {
  const { database, members, log } = options;
  const { db, schema } = database;
  const held = new Set<Held>();
  const taking = new Set<string>();
  const groups = new Set<{ close(): Promise<void> }>();
  const lease = sql.table(`${schema}.lease`);
  const member = sql.table(`${schema}.member`);
  const isFree = sql`(l.holder is null or not exists (
    select from ${member} m where m.id = l.holder and m.until > clock_timestamp()))`;

  /** The lease as its holder has it, until it is given back or the process counts as dead. */
  function hold(kind: string, no: number, fence: number): Held {
    const ended = new AbortController();
    // All that is done under a lease listens.
    setMaxListeners(0, ended.signal);
    const alive = members.signal();
    const holder = members.id();
    const end = () => {
      alive.removeEventListener('abort', end);
      held.delete(own);
      ended.abort();
    };
    const own: Held = {
      kind,
      end,
      lease: {
        fence,
        isHeld: () => !ended.signal.aborted && members.id() === holder && members.isAlive(),
        signal: ended.signal,
        async release() {
          if (ended.signal.aborted) return;
          end();
          await database
            .again(() =>
              db
                .updateTable('lease')
                .set({ holder: null })
                .where('kind', '=', kind)
                .where('no', '=', no)
                .where('holder', '=', holder)
                .where('fence', '=', fence)
                .execute(),
            )
            .catch((error: unknown) => {
              log.debug(
                { err: error, kind, no },
                'could not release a lease; it expires by itself',
              );
            });
        },
      },
    };
    held.add(own);
    alive.addEventListener('abort', end, { once: true });
    if (alive.aborted) end();
    return own;
  }

  async function take(name: string): Promise<Lease | undefined> {
    if (taking.has(name) || [...held].some(({ kind }) => kind === name)) return undefined;
    taking.add(name);
    try {
      const holder = members.id();
      const fence = await database.again(() => takeAs(holder, name));
      if (fence === undefined || holder !== members.id()) return undefined;
      return hold(name, ONLY, fence).lease;
    } finally {
      taking.delete(name);
    }
  }

  async function takeAs(holder: string, name: string): Promise<number | undefined> {
    // This process may hold the lease already: the answer that said so may have been lost.
    const isTakable = sql`(${isFree} or l.holder = ${holder}::uuid)`;
    // The row is read first, since a conflict locks it, and processes that stand by ask all the time.
    const { rows } = await sql<{ fence: number }>`
      insert into ${lease} as l (kind, no, holder, fence)
      select ${name}, ${ONLY}, m.id, 1 from ${member} m
        where m.id = ${holder} and m.until > clock_timestamp() and not exists (
          select from ${lease} l where l.kind = ${name} and l.no = ${ONLY} and not ${isTakable})
      on conflict (kind, no) do update set holder = excluded.holder, fence = l.fence + 1
        where ${isTakable} returning fence`.execute(db);
    return rows[0]?.fence;
  }

  /** Parts of a whole, each with one holder, spread evenly over the processes that compete for them. */
  function group(kind: string, count: number, holder: PartHolder): LeaseGroup {
    const parts = new Map<number, Held>();
    let turn: Promise<void> | undefined;
    let closed = false;
    let isAble = true;
    let prepared = false;
    members.want(kind, true);

    async function prepare() {
      await sql`insert into ${lease} (kind, no) select ${kind}, no
        from generate_series(0, ${count - 1}::int) no on conflict do nothing`.execute(db);
      await members.beat();
      prepared = true;
    }

    /** How many this process is to have. */
    async function share(): Promise<number> {
      const { rows } = await sql<{ others: number }>`
        select count(*)::int as others from ${member}
        where until > clock_timestamp() and ${kind} = any(wants) and id <> ${members.id()}`.execute(
        db,
      );
      const others = rows[0]?.others ?? 0;
      if (!isAble) return others > 0 ? 0 : parts.size;
      return Math.ceil(count / (others + 1));
    }

    async function takeSome(most: number) {
      const id = members.id();
      const { rows } = await sql<{ no: number; fence: number; abandoned: boolean }>`
        with free as (
          select l.no, l.holder is not null as abandoned from ${lease} l where l.kind = ${kind} and ${isFree}
          order by random() limit ${most} for update skip locked)
        update ${lease} l set holder = m.id, fence = l.fence + 1
        from free, ${member} m
        where l.kind = ${kind} and l.no = free.no and m.id = ${id} and m.until > clock_timestamp()
        returning l.no, l.fence, free.abandoned`.execute(db);
      if (id !== members.id()) return;
      for (const { no, fence } of rows) {
        const part = hold(kind, no, fence);
        parts.set(no, part);
        part.lease.signal.addEventListener('abort', () => {
          if (parts.get(no) !== part) return;
          parts.delete(no);
          holder.lost(no);
        });
      }
      const abandoned = rows.filter((row) => row.abandoned);
      if (rows.length > 0) {
        await holder.taken(
          rows.map(({ no }) => no),
          new Set(abandoned.map(({ no }) => no)),
        );
      }
    }

    async function giveBack(nos: readonly number[]) {
      if (nos.length === 0) return;
      await holder.giving(nos);
      await Promise.all(
        nos.map(async (no) => {
          const part = parts.get(no);
          parts.delete(no);
          await part?.lease.release();
        }),
      );
    }

    async function balance() {
      if (closed) return;
      if (!prepared) await prepare();
      if (!members.isAlive()) return;
      const most = await share();
      if (parts.size > most) await giveBack([...parts.keys()].slice(most));
      else if (parts.size < most) await takeSome(most - parts.size);
    }

    function inTurn(): Promise<void> {
      turn ??= balance()
        .catch((error: unknown) => log.debug({ err: error, kind }, 'could not balance leases'))
        .finally(() => {
          turn = undefined;
        });
      return turn;
    }

    const timer = setInterval(() => void inTurn(), BALANCE_EVERY_MS).unref();
    void inTurn();
    const own: LeaseGroup = {
      holds: (no) => parts.has(no),
      count: () => parts.size,
      setAble(able) {
        isAble = able;
        members.want(kind, able);
        void members.beat().then(inTurn, () => {});
      },
      async close() {
        if (closed) return;
        closed = true;
        clearInterval(timer);
        groups.delete(own);
        await turn;
        await giveBack([...parts.keys()]);
      },
    };
    groups.add(own);
    return own;
  }

  return {
    take,
    group,
    /** Gives back all of them. */
    async close(): Promise<void> {
      await Promise.all([...groups].map((each) => each.close()));
      await Promise.all([...held].map(({ lease }) => lease.release()));
    },
  };
}
