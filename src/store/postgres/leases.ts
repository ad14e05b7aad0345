import { setMaxListeners } from 'node:events';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import type { Lease, LeaseGroup, PartHolder } from '../store.ts';
import type { Database } from './database.ts';
import type { Membership } from './members.ts';

/** The leases of this process: each is held while the process counts as alive, and not given back. */
export type PostgresLeases = ReturnType<typeof createLeases>;

/** Interval at which free parts are taken, and parts are released that others should have. */
const BALANCE_EVERY_MS = 500;

/** The lease that stands for a name is the only one of its kind. */
const ONLY = 0;

/** A Unix time, so that a fence is never given out again, even if the state moves to another engine. */
const NOW_FENCE = sql`(extract(epoch from clock_timestamp()) * 1000)::bigint`;

interface HeldLease {
  kind: string;
  lease: Lease;
}

interface LeaseOptions {
  database: Database;
  members: Membership;
  log: Logger;
}

/** Leases are rows. Every new holder raises the fence. */
export function createLeases(options: LeaseOptions) {
  const rows = new LeaseRows(options);
  const groups = new Set<PartGroup>();
  return {
    take: (name: string) => rows.take(name),
    /** Competes for the parts of a whole, which are spread evenly over the processes that compete. */
    group(kind: string, count: number, holder: PartHolder): LeaseGroup {
      const group = new PartGroup({ kind, count, holder, rows }, options);
      groups.add(group);
      return {
        holds: (part) => group.parts.has(part),
        count: () => group.parts.size,
        setAble: (able) => group.setAble(able),
        async close() {
          groups.delete(group);
          await group.close();
        },
      };
    },
    /** Releases all of them. */
    async close(): Promise<void> {
      await Promise.all([...groups].map((group) => group.close()));
      await rows.releaseAll();
    },
  };
}

class LeaseRows {
  readonly lease;
  readonly member;
  readonly isFree;
  private readonly options: LeaseOptions;
  private readonly held = new Set<HeldLease>();
  private readonly taking = new Set<string>();

  constructor(options: LeaseOptions) {
    const { schema } = options.database;
    this.options = options;
    this.lease = sql.table(`${schema}.lease`);
    this.member = sql.table(`${schema}.member`);
    this.isFree = sql`(l.holder is null or not exists (
      select from ${this.member} m where m.id = l.holder and m.until > clock_timestamp()))`;
  }

  async take(name: string): Promise<Lease | undefined> {
    if (this.taking.has(name) || [...this.held].some(({ kind }) => kind === name)) return undefined;
    this.taking.add(name);
    try {
      const { database, members } = this.options;
      const holder = members.id();
      const fence = await database.again(() => this.takeAs(holder, name));
      if (fence === undefined || holder !== members.id()) return undefined;
      return this.hold(name, ONLY, fence);
    } finally {
      this.taking.delete(name);
    }
  }

  async releaseAll(): Promise<void> {
    await Promise.all([...this.held].map(({ lease }) => lease.release()));
  }

  /** The lease for its holder, until it is released or the process counts as dead. */
  hold(kind: string, no: number, fence: number): Lease {
    const { members } = this.options;
    const ended = new AbortController();
    // Everything under the lease listens to it.
    setMaxListeners(0, ended.signal);
    const alive = members.signal();
    const holder = members.id();
    const end = () => {
      alive.removeEventListener('abort', end);
      this.held.delete(own);
      ended.abort();
    };
    const lease: Lease = {
      fence,
      isHeld: () => !ended.signal.aborted && members.id() === holder && members.isAlive(),
      signal: ended.signal,
      release: async () => {
        if (ended.signal.aborted) return;
        end();
        await this.release({ kind, no, holder, fence });
      },
    };
    const own = { kind, lease };
    this.held.add(own);
    alive.addEventListener('abort', end, { once: true });
    if (alive.aborted) end();
    return lease;
  }

  private async takeAs(holder: string, name: string): Promise<number | undefined> {
    // This process may hold the lease already, if the answer that said so was lost.
    const isTakable = sql`(${this.isFree} or l.holder = ${holder}::uuid)`;
    // The row is read first, because a conflict locks it, and standby processes ask all the time.
    const { rows } = await sql<{ fence: number }>`
      insert into ${this.lease} as l (kind, no, holder, fence)
      select ${name}, ${ONLY}, m.id, ${NOW_FENCE} from ${this.member} m
        where m.id = ${holder} and m.until > clock_timestamp() and not exists (
          select from ${this.lease} l where l.kind = ${name} and l.no = ${ONLY} and not ${isTakable})
      on conflict (kind, no) do update
        set holder = excluded.holder, fence = greatest(l.fence + 1, excluded.fence)
        where ${isTakable} returning fence`.execute(this.options.database.db);
    return rows[0]?.fence;
  }

  private async release(row: { kind: string; no: number; holder: string; fence: number }) {
    const { database, log } = this.options;
    const { kind, no, holder, fence } = row;
    await database
      .again(() =>
        sql`update ${this.lease} set holder = null where kind = ${kind} and no = ${no}
          and holder = ${holder}::uuid and fence = ${fence}`.execute(database.db),
      )
      .catch((error: unknown) => {
        log.debug({ err: error, kind, no }, 'could not release a lease; it expires by itself');
      });
  }
}

/** This process's share of the parts of a whole. */
class PartGroup {
  readonly parts = new Map<number, Lease>();
  private readonly kind: string;
  private readonly count: number;
  private readonly holder: PartHolder;
  private readonly rows: LeaseRows;
  private readonly options: LeaseOptions;
  private readonly timer: NodeJS.Timeout;
  private turn: Promise<void> | undefined;
  private isClosed = false;
  private isAble = true;
  private isPrepared = false;

  constructor(
    whole: { kind: string; count: number; holder: PartHolder; rows: LeaseRows },
    options: LeaseOptions,
  ) {
    this.kind = whole.kind;
    this.count = whole.count;
    this.holder = whole.holder;
    this.rows = whole.rows;
    this.options = options;
    options.members.want(this.kind, true);
    this.timer = setInterval(() => void this.balanceInTurn(), BALANCE_EVERY_MS).unref();
    void this.balanceInTurn();
  }

  setAble(able: boolean): void {
    const { members } = this.options;
    this.isAble = able;
    members.want(this.kind, able);
    void members.beat().then(
      () => this.balanceInTurn(),
      () => {},
    );
  }

  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    clearInterval(this.timer);
    await this.turn;
    await this.releaseParts([...this.parts.keys()]);
  }

  private balanceInTurn(): Promise<void> {
    this.turn ??= this.balance()
      .catch((error: unknown) =>
        this.options.log.debug({ err: error, kind: this.kind }, 'could not balance leases'),
      )
      .finally(() => {
        this.turn = undefined;
      });
    return this.turn;
  }

  private async balance(): Promise<void> {
    if (this.isClosed) return;
    if (!this.isPrepared) await this.prepare();
    if (!this.options.members.isAlive()) return;
    const share = await this.fairShare();
    const { parts } = this;
    if (parts.size > share) await this.releaseParts([...parts.keys()].slice(share));
    else if (parts.size < share) await this.takeParts(share - parts.size);
  }

  private async prepare(): Promise<void> {
    const { database, members } = this.options;
    await sql`insert into ${this.rows.lease} (kind, no) select ${this.kind}, no
      from generate_series(0, ${this.count - 1}::int) no on conflict do nothing`.execute(
      database.db,
    );
    await members.beat();
    this.isPrepared = true;
  }

  private async fairShare(): Promise<number> {
    const { database, members } = this.options;
    const { rows } = await sql<{ others: number }>`
      select count(*)::int as others from ${this.rows.member}
      where until > clock_timestamp() and ${this.kind} = any(wants) and id <> ${members.id()}`.execute(
      database.db,
    );
    const others = rows[0]?.others ?? 0;
    if (!this.isAble) return others > 0 ? 0 : this.parts.size;
    return Math.ceil(this.count / (others + 1));
  }

  private async takeParts(most: number): Promise<void> {
    const { database, members } = this.options;
    const id = members.id();
    const { rows } = await sql<{ no: number; fence: number; abandoned: boolean }>`
      with free as (
        select l.no, l.holder is not null as abandoned from ${this.rows.lease} l
        where l.kind = ${this.kind} and ${this.rows.isFree}
        order by random() limit ${most} for update skip locked)
      update ${this.rows.lease} l set holder = m.id, fence = l.fence + 1
      from free, ${this.rows.member} m
      where l.kind = ${this.kind} and l.no = free.no and m.id = ${id} and m.until > clock_timestamp()
      returning l.no, l.fence, free.abandoned`.execute(database.db);
    if (id !== members.id()) return;
    for (const { no, fence } of rows) this.addPart(no, this.rows.hold(this.kind, no, fence));
    if (rows.length === 0) return;
    const abandoned = rows.filter((row) => row.abandoned);
    await this.holder.taken(
      rows.map(({ no }) => no),
      new Set(abandoned.map(({ no }) => no)),
    );
  }

  private addPart(no: number, lease: Lease): void {
    this.parts.set(no, lease);
    lease.signal.addEventListener('abort', () => {
      if (this.parts.get(no) !== lease) return;
      this.parts.delete(no);
      this.holder.lost(no);
    });
  }

  private async releaseParts(nos: readonly number[]): Promise<void> {
    if (nos.length === 0) return;
    await this.holder.giving(nos);
    await Promise.all(
      nos.map(async (no) => {
        const lease = this.parts.get(no);
        this.parts.delete(no);
        await lease?.release();
      }),
    );
  }
}
