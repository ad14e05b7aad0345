import { sql } from 'kysely';
import { StoreUnavailableError } from '../errors.ts';
import type { Taken, Windows, WindowsDeclaration, WindowView } from '../windows.ts';
import type { Database } from './database.ts';
import { WINDOW_SLOTS } from './migrations/counters-migration.ts';
import type { PendingWork } from './pending-work.ts';
import { type Slots, windowOfSlots } from './slots.ts';

/**
 * Above so many in a window a process takes some ahead, and uses them without asking. They count a slot longer, and up to a
 * slot's share of the limit is taken and not used yet: together at most 5 % of the limit are refused that need not be.
 */
const AHEAD_ABOVE = 600;

/** What `take_of_window` answers. */
interface Answer extends Slots {
  granted: number;
  /** The slot in which that is counted. */
  slot: number;
}

interface Waiter {
  limit: number;
  resolve: (taken: Taken) => void;
  reject: (error: unknown) => void;
}

/** What this process knows of one window. */
interface Caller {
  waiting: Waiter[];
  isAsking: boolean;
  /** As it was last told. */
  window: WindowView | undefined;
  /** What was taken ahead and may still be used, until then by both clocks: the monotonic one sleeps with the machine. */
  ahead: { slot: number; left: number; untilMs: number; untilWallMs: number } | undefined;
  /** For so long nobody below that limit need ask again. */
  full: { limit: number; untilMs: number } | undefined;
  usedAtMs: number;
}

/**
 * Windows in rows of slots, by database time: what is counted leaves up to a slot late. Those who come at the same moment
 * share a statement, and who was just refused is not asked for again within a slot, so that floods stay with the process.
 */
export function createPostgresWindows(
  { name, windowMs, steadyMs = () => performance.now() }: WindowsDeclaration,
  options: { database: Database; pending: PendingWork; assertOpen: () => void },
): Windows {
  const { database, pending, assertOpen } = options;
  const { db, schema } = database;
  const slotMs = windowMs / WINDOW_SLOTS;
  const takeOfWindow = sql.id(schema, 'take_of_window');
  const callers = new Map<string, Caller>();
  let sweepAtMs = performance.now() + windowMs;

  function sweep(nowMs: number) {
    for (const [who, { waiting, isAsking, usedAtMs }] of callers) {
      if (!isAsking && waiting.length === 0 && usedAtMs < nowMs - windowMs) callers.delete(who);
    }
    sweepAtMs = nowMs + windowMs;
  }

  function callerFor(who: string): Caller {
    const nowMs = performance.now();
    if (nowMs >= sweepAtMs) sweep(nowMs);
    let caller = callers.get(who);
    if (!caller) {
      caller = {
        ...{ waiting: [], isAsking: false, usedAtMs: nowMs },
        ...{ window: undefined, ahead: undefined, full: undefined },
      };
      callers.set(who, caller);
    }
    caller.usedAtMs = nowMs;
    return caller;
  }

  /** Where an answer was lost, something may be counted twice, which leaves less to others; nothing is given back twice. */
  async function ask(
    who: string,
    change: { limit: number; wanted: number; back?: { slot: number; count: number } },
  ): Promise<Answer> {
    const { limit, wanted } = change;
    let back = change.back;
    return await pending.track(
      database.again(async () => {
        const { slot, count } = back ?? { slot: 0, count: 0 };
        back = undefined;
        const { rows } = await sql<{ answer: Answer }>`
          select ${takeOfWindow}(${`${name} ${who}`}, ${slotMs}::float8, ${limit}::bigint,
            ${wanted}::bigint, ${limit > AHEAD_ABOVE}, ${slot}::bigint, ${count}::bigint
          ) as answer`.execute(db);
        return rows[0]?.answer as Answer;
      }),
    );
  }

  const viewOf = (answer: Answer) => windowOfSlots(answer, { windowMs, nowMs: steadyMs() });

  async function askForAll(who: string, caller: Caller) {
    caller.isAsking = true;
    while (caller.waiting.length > 0) {
      const waiters = caller.waiting.splice(0);
      try {
        await askFor(who, caller, waiters);
      } catch (error) {
        for (const { reject } of waiters) reject(error);
      }
    }
    caller.isAsking = false;
  }

  async function askFor(who: string, caller: Caller, waiters: readonly Waiter[]) {
    const limit = waiters.at(-1)?.limit ?? 0;
    const unused = caller.ahead && { slot: caller.ahead.slot, count: caller.ahead.left };
    // From here on it is given back, and not used.
    caller.ahead = undefined;
    const [sentMs, sentWallMs] = [performance.now(), Date.now()];
    const answer = await ask(who, {
      ...{ limit, wanted: waiters.length },
      ...(unused && { back: unused }),
    });
    const { granted, slot } = answer;
    const window = viewOf(answer);
    const before = answer.slots.reduce((sum, count) => sum + count, 0) - granted;
    caller.window = window;
    const left = granted - waiters.length;
    if (left > 0) {
      const [untilMs, untilWallMs] = [sentMs + slotMs, sentWallMs + slotMs];
      caller.ahead = { slot, left, untilMs, untilWallMs };
    }
    if (left < 0) {
      const freeMs = window.waitMs(limit - 1, steadyMs());
      caller.full = { limit, untilMs: performance.now() + Math.min(slotMs, freeMs) };
    }
    for (const [index, { resolve }] of waiters.entries()) {
      const isGranted = index < granted;
      const used = before + Math.min(index + 1, granted);
      resolve({ place: isGranted ? slot : undefined, used, window });
    }
  }

  /** What may be used without asking. */
  function usable({ ahead }: Caller) {
    if (!ahead || ahead.left === 0) return undefined;
    return performance.now() < ahead.untilMs && Date.now() < ahead.untilWallMs ? ahead : undefined;
  }

  return {
    take(who, limit) {
      assertOpen();
      const caller = callerFor(who);
      const { window, full } = caller;
      const ahead = usable(caller);
      if (window && ahead && limit > AHEAD_ABOVE) {
        ahead.left -= 1;
        return { place: ahead.slot, used: window.used(steadyMs()) - ahead.left, window };
      }
      if (window && full && limit <= full.limit && performance.now() < full.untilMs) {
        return { place: undefined, used: limit, window };
      }
      return new Promise((resolve, reject) => {
        caller.waiting.push({ limit, resolve, reject });
        if (!caller.isAsking) void askForAll(who, caller);
      });
    },
    takeBack(who, { place }) {
      assertOpen();
      if (place === undefined) return;
      const caller = callerFor(who);
      const ahead = usable(caller);
      if (ahead?.slot === place) {
        ahead.left += 1;
        return;
      }
      return ask(who, { limit: 0, wanted: 0, back: { slot: place, count: 1 } }).then(
        (answer) => {
          caller.window = viewOf(answer);
          caller.full = undefined;
        },
        (error: unknown) => {
          // It counts until it leaves the window by itself.
          if (!(error instanceof StoreUnavailableError)) throw error;
        },
      );
    },
    async look(who) {
      assertOpen();
      return viewOf(await ask(who, { limit: 0, wanted: 0 }));
    },
    known: (who) => callers.get(who)?.window,
  };
}

/** Forgets windows that nobody has used for long. */
export async function sweepWindows({ db, schema }: Database): Promise<void> {
  await sql`delete from ${sql.id(schema, 'rate_window')}
    where used_at < clock_timestamp() - interval '1 hour'`.execute(db);
}
