import { sql } from 'kysely';
import type { Awaitable } from '../awaitable.ts';
import { StoreUnavailableError } from '../errors.ts';
import type { Taken, Windows, WindowsDeclaration, WindowView } from '../windows.ts';
import type { Database } from './database.ts';
import { WINDOW_SLOTS } from './migrations/state-migration.ts';
import type { PendingWork } from './pending-work.ts';
import { type Slots, windowOfSlots } from './slots.ts';

/** Result of `take_of_window`. */
interface WindowAnswer extends Slots {
  granted: number;
}

interface WindowWaiter {
  limit: number;
  resolve: (taken: Taken) => void;
  reject: (error: unknown) => void;
}

/** State of one window in this process. */
interface WindowCaller {
  waiting: WindowWaiter[];
  isAsking: boolean;
  /** The window as last read. */
  window: WindowView | undefined;
  /** Until then nobody with at most that limit needs to ask again. */
  full: { limit: number; untilMs: number } | undefined;
  usedAtMs: number;
}

interface WindowsOptions {
  database: Database;
  pending: PendingWork;
  assertOpen: () => void;
}

/**
 * Windows in rows of slots, by database time, so an amount leaves up to a slot late. Calls of the same moment share a
 * statement, and a refused caller isn't asked for again within a slot, so that floods stay in the process.
 */
export class PostgresWindows implements Windows {
  private readonly name: string;
  private readonly windowMs: number;
  private readonly slotMs: number;
  private readonly steadyMs: () => number;
  private readonly options: WindowsOptions;
  private readonly callers = new Map<string, WindowCaller>();
  private sweepAtMs: number;

  constructor(declaration: WindowsDeclaration, options: WindowsOptions) {
    this.name = declaration.name;
    this.windowMs = declaration.windowMs;
    this.slotMs = declaration.windowMs / WINDOW_SLOTS;
    this.steadyMs = declaration.steadyMs ?? (() => performance.now());
    this.options = options;
    this.sweepAtMs = performance.now() + declaration.windowMs;
  }

  take(who: string, limit: number): Awaitable<Taken> {
    this.options.assertOpen();
    const caller = this.callerFor(who);
    const { window, full } = caller;
    if (window && full && limit <= full.limit && performance.now() < full.untilMs) {
      return { place: undefined, used: limit, window };
    }
    return new Promise((resolve, reject) => {
      caller.waiting.push({ limit, resolve, reject });
      if (!caller.isAsking) void this.askForAll(who, caller);
    });
  }

  async takeBack(who: string, { place }: Taken): Promise<void> {
    this.options.assertOpen();
    if (place === undefined) return;
    const caller = this.callerFor(who);
    try {
      const answer = await this.ask(who, { limit: 0, wanted: 0, backSlot: place });
      caller.window = this.viewOf(answer);
      caller.full = undefined;
    } catch (error) {
      // It counts until it leaves the window by itself.
      if (!(error instanceof StoreUnavailableError)) throw error;
    }
  }

  async look(who: string): Promise<WindowView> {
    this.options.assertOpen();
    return this.viewOf(await this.ask(who, { limit: 0, wanted: 0 }));
  }

  known(who: string): WindowView | undefined {
    return this.callers.get(who)?.window;
  }

  private callerFor(who: string): WindowCaller {
    const nowMs = performance.now();
    if (nowMs >= this.sweepAtMs) this.sweep(nowMs);
    const caller = this.callers.get(who) ?? newCaller(nowMs);
    this.callers.set(who, caller);
    caller.usedAtMs = nowMs;
    return caller;
  }

  private sweep(nowMs: number): void {
    for (const [who, { waiting, isAsking, usedAtMs }] of this.callers) {
      const isIdle = !isAsking && waiting.length === 0 && usedAtMs < nowMs - this.windowMs;
      if (isIdle) this.callers.delete(who);
    }
    this.sweepAtMs = nowMs + this.windowMs;
  }

  private async askForAll(who: string, caller: WindowCaller): Promise<void> {
    caller.isAsking = true;
    while (caller.waiting.length > 0) {
      const waiters = caller.waiting.splice(0);
      try {
        await this.askFor(who, caller, waiters);
      } catch (error) {
        for (const { reject } of waiters) reject(error);
      }
    }
    caller.isAsking = false;
  }

  private async askFor(
    who: string,
    caller: WindowCaller,
    waiters: readonly WindowWaiter[],
  ): Promise<void> {
    const limit = waiters.at(-1)?.limit ?? 0;
    const answer = await this.ask(who, { limit, wanted: waiters.length });
    const { granted, at } = answer;
    const window = this.viewOf(answer);
    const usedBefore = answer.slots.reduce((sum, count) => sum + count, 0) - granted;
    caller.window = window;
    if (granted < waiters.length) {
      const freeMs = window.waitMs(limit - 1, this.steadyMs());
      caller.full = { limit, untilMs: performance.now() + Math.min(this.slotMs, freeMs) };
    }
    for (const [index, { resolve }] of waiters.entries()) {
      const place = index < granted ? at : undefined;
      resolve({ place, used: usedBefore + Math.min(index + 1, granted), window });
    }
  }

  /** After a lost answer an amount may count twice, which leaves less to others. Nothing is given back twice. */
  private async ask(
    who: string,
    { limit, wanted, backSlot = 0 }: { limit: number; wanted: number; backSlot?: number },
  ): Promise<WindowAnswer> {
    const { database, pending } = this.options;
    let back = backSlot === 0 ? 0 : 1;
    return await pending.track(
      database.again(async () => {
        const count = back;
        back = 0;
        const { rows } = await sql<{ answer: WindowAnswer }>`
          select ${sql.id(database.schema, 'take_of_window')}(${`${this.name} ${who}`},
            ${this.slotMs}::float8, ${limit}::bigint, ${wanted}::bigint,
            ${backSlot}::bigint, ${count}::bigint) as answer`.execute(database.db);
        return rows[0]?.answer as WindowAnswer;
      }),
    );
  }

  private viewOf(answer: WindowAnswer): WindowView {
    return windowOfSlots(answer, { windowMs: this.windowMs, nowMs: this.steadyMs() });
  }
}

const newCaller = (usedAtMs: number): WindowCaller => ({
  waiting: [],
  isAsking: false,
  window: undefined,
  full: undefined,
  usedAtMs,
});

/** Forgets windows that nobody has used for long. */
export async function sweepWindows({ db, schema }: Database): Promise<void> {
  await sql`delete from ${sql.id(schema, 'rate_window')}
    where used_at < clock_timestamp() - interval '1 hour'`.execute(db);
}
