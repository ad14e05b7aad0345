import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { hostname } from 'node:os';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import type { Database } from './database.ts';

/** Times of membership, milliseconds. */
export interface MemberTimes {
  /** A process counts as alive so long after its last heartbeat. */
  ttlMs: number;
  beatMs: number;
}

export const MEMBER_TIMES: MemberTimes = { ttlMs: 5_000, beatMs: 1_000 };

const PROCESS_NAME = `${hostname()}:${process.pid}`;

/** Others take over when the database says so; this process stops so much earlier, whatever its clock says. */
const MARGIN_MS = 1_000;

interface MemberOptions {
  database: Database;
  version: string;
  /** The newest migration that this program knows. */
  knows: string;
  times?: Partial<MemberTimes>;
  log: Logger;
}

/** Joins the processes on the database, and sends heartbeats. */
export async function joinMembers(options: MemberOptions): Promise<Membership> {
  const membership = new Membership(options);
  await membership.join();
  return membership;
}

/**
 * One id of a process.
 *
 * - new: not in the table yet. The next heartbeat inserts it, and deletes the row of the id before.
 * - joined: a heartbeat came through. It is trusted until `trusted` by both clocks.
 * - ended: trust ran out, the row is gone, or the process leaves. Its leases are lost for good, and a new id follows.
 */
interface MemberLife {
  id: string;
  /** The id before, which nobody has to wait for any more. */
  before: string | null;
  ended: AbortController;
  joined: boolean;
  trusted: { steadyMs: number; wallMs: number };
}

function newLife(before: string | null = null): MemberLife {
  const ended = new AbortController();
  // Every lease listens.
  setMaxListeners(0, ended.signal);
  const never = Number.NEGATIVE_INFINITY;
  const trusted = { steadyMs: never, wallMs: never };
  return { id: randomUUID(), before, ended, joined: false, trusted };
}

/**
 * A process checks that it counts as alive by two of its clocks, counted from before the heartbeat: the monotonic clock
 * stands still while a machine sleeps, and the other one can be set.
 */
export class Membership {
  private life = newLife();
  private readonly options: MemberOptions;
  private readonly table;
  private readonly ttlMs: number;
  private readonly beatMs: number;
  private readonly trustMs: number;
  private readonly wants = new Set<string>();
  private beating: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private watching: NodeJS.Timeout | undefined;
  private hasLeft = false;

  constructor(options: MemberOptions) {
    const { ttlMs, beatMs } = { ...MEMBER_TIMES, ...options.times };
    this.options = options;
    this.table = sql.table(`${options.database.schema}.member`);
    this.ttlMs = ttlMs;
    this.beatMs = beatMs;
    this.trustMs = ttlMs - Math.min(MARGIN_MS, ttlMs / 2.5);
  }

  async join(): Promise<void> {
    const { database } = this.options;
    // A heartbeat may take long, so trust is checked in between.
    this.watching = setInterval(() => this.checkTrust(), Math.min(250, this.ttlMs / 10)).unref();
    await database.again(() => this.beat());
    await sql`delete from ${this.table}
      where until < clock_timestamp() - interval '1 hour'`.execute(database.db);
    this.beatLater();
  }

  /** The current id, which changes after the process was thought dead. */
  id(): string {
    return this.life.id;
  }

  /** Aborts when this process no longer counts as the current id. */
  signal(): AbortSignal {
    return this.life.ended.signal;
  }

  isAlive(): boolean {
    this.checkTrust();
    return this.life.joined;
  }

  /** Competes for leases of a kind, or no longer, from the next heartbeat on. */
  want(kind: string, does: boolean): void {
    if (does) this.wants.add(kind);
    else this.wants.delete(kind);
  }

  /** Sends a heartbeat now; concurrent calls share it. Rejects if the database can't be reached. */
  beat(): Promise<void> {
    this.beating ??= this.options.database
      .once(() => this.beatOnce())
      .finally(() => {
        this.beating = undefined;
      });
    return this.beating;
  }

  /** Ends the membership at once, so that others needn't wait. */
  async close(): Promise<void> {
    const { database, log } = this.options;
    this.hasLeft = true;
    clearTimeout(this.timer);
    clearInterval(this.watching);
    await this.beating?.catch(() => {});
    const { id, joined } = this.life;
    this.endLife('it left');
    if (!joined) return;
    await database
      .again(() => sql`delete from ${this.table} where id = ${id}::uuid`.execute(database.db))
      .catch((error: unknown) => {
        const message =
          'could not sign off this process; it counts as alive for a few more seconds';
        log.debug({ err: error }, message);
      });
  }

  private async beatOnce(): Promise<void> {
    this.checkTrust();
    const { life } = this;
    const sent = { steadyMs: performance.now(), wallMs: Date.now() };
    const rows = await this.sendHeartbeat(life);
    if (life !== this.life) return;
    if (rows.length === 0) return this.endLife('its last heartbeat was too long ago');
    life.joined = true;
    const { trustMs } = this;
    life.trusted = { steadyMs: sent.steadyMs + trustMs, wallMs: sent.wallMs + trustMs };
  }

  private async sendHeartbeat({ id, before, joined }: MemberLife) {
    const { database, version, knows } = this.options;
    const member = this.table;
    const until = sql`clock_timestamp() + ${`${this.ttlMs} milliseconds`}::interval`;
    const wants = [...this.wants];
    const { rows } = joined
      ? await sql`update ${member} set until = ${until}, wants = ${wants}
          where id = ${id} and until > clock_timestamp() returning id`.execute(database.db)
      : await sql`with gone as (delete from ${member} where id = ${before})
          insert into ${member} (id, name, version, wants, knows, until)
          values (${id}, ${PROCESS_NAME}, ${version}, ${wants}, ${knows}, ${until})
          on conflict (id) do update set until = excluded.until returning id`.execute(database.db);
    return rows;
  }

  private beatLater(): void {
    this.timer = setTimeout(() => {
      this.checkTrust();
      void this.beat()
        .catch((error: unknown) =>
          this.options.log.debug({ err: error }, 'could not send a heartbeat'),
        )
        .then(() => {
          if (!this.hasLeft) this.beatLater();
        });
    }, this.beatMs).unref();
  }

  /** A doubt is final, even if a heartbeat under way succeeds: holders have stopped already. */
  private checkTrust(): void {
    if (!this.life.joined || this.isTrusted(this.life)) return;
    this.endLife('its heartbeats did not reach the database');
  }

  private isTrusted({ trusted, ended }: MemberLife): boolean {
    return (
      !ended.signal.aborted &&
      performance.now() < trusted.steadyMs &&
      Date.now() < trusted.wallMs &&
      // A clock that was set back would extend the trust.
      trusted.wallMs - Date.now() <= this.trustMs
    );
  }

  /** Ends the rights of the current id. The process continues under a new one. */
  private endLife(why: string): void {
    const lost = this.life;
    this.life = newLife(lost.joined ? lost.id : lost.before);
    lost.ended.abort();
    if (this.hasLeft) return;
    this.options.log.warn({ member: lost.id }, `this process no longer counts as alive: ${why}`);
  }
}
