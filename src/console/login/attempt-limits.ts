import type { Logger } from 'pino';
import { z } from 'zod';
import type { Collection } from '../../bot/platform.ts';
import { forgetOldest } from '../../bot/shared/forget-oldest.ts';
import { HttpError } from '../../http/errors.ts';
import { rateLimitHeaders } from '../../http/rate-limit.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Wrong passwords from all addresses in a minute, and from one address or session in a minute and in an hour. */
const FROM_ALL_A_MINUTE = { limit: 60, windowMs: MINUTE_MS };
const FROM_ONE_A_MINUTE = { limit: 5, windowMs: MINUTE_MS };
const FROM_ONE_AN_HOUR = { limit: 20, windowMs: HOUR_MS };

/** How often those are removed whose last try is an hour ago. */
const SWEEP_EVERY_MS = MINUTE_MS;

/** What lies further ahead was written by a clock that was set back since; clocks of several machines differ by less. */
const MAX_AHEAD_MS = MINUTE_MS;

/** When passwords were tried that were not right, Unix time in milliseconds, oldest first. */
const StoredTries = z.object({ atMs: z.array(z.int()) });
export type StoredTries = z.infer<typeof StoredTries>;

/**
 * Where wrong passwords are kept, each under the address or the session that gave it, for an hour: at most as many addresses
 * as there are tries from all of them in that time.
 */
export const triesCollection = {
  name: 'console-login-tries',
  schema: StoredTries,
  version: 1,
  whenCorrupt: 'forget' as const,
};

/** Who tries: somebody who is logged in, else whoever is at an address. */
export type Guesser = { session: string } | { address: string };

/** What sessions are counted by begins with it, and no address does. */
const SESSION = 'session ';

/** A try of this process, or of one before it. */
interface Try {
  who: string;
  /** By the clock that never goes back. */
  atMs: number;
}

/** Addresses and sessions that the store has refused. */
const MAX_REFUSED = 1_000;

type Limit = typeof FROM_ONE_A_MINUTE;

/**
 * Opens what holds up who guesses the password, with the tries that an earlier start has counted. The store counts those of
 * all processes; what one has counted itself spares it most of the asking.
 */
export async function openLoginLimits(options: {
  stored: Collection<StoredTries>;
  log: Logger;
  /** Unix time in milliseconds: it is all that outlives the process. */
  nowMs?: (() => number) | undefined;
  /** A clock that never goes back, milliseconds: what is set on the other while the program runs changes nothing. */
  clockMs?: () => number;
  sweepEveryMs?: number | undefined;
}) {
  const { stored, log, nowMs = Date.now, clockMs = () => performance.now() } = options;
  /** Those of the last hour: the limits let in a few thousand at most. */
  let tries: Try[] = [];
  /** Whom the store has refused, and until when. */
  const refused = new Map<string, { from: string; limit: number; untilMs: number }>();
  const isOver = ({ atMs }: Try) => clockMs() - atMs >= HOUR_MS;

  /** Throws when there have been as many of these as the limit takes. */
  function requireRoom(times: readonly number[], byMs: number, limit: Limit, from: string) {
    const startMs = byMs - limit.windowMs;
    const inWindow = times.filter((atMs) => atMs > startMs).sort((a, b) => a - b);
    const oldestMs = inWindow.at(-limit.limit);
    if (oldestMs !== undefined) throw new NoRoom(from, limit.limit, oldestMs - startMs);
  }

  /** Tries that still count, of what is stored. */
  function counted(document: StoredTries | undefined): number[] {
    const now = nowMs();
    const times = document?.atMs ?? [];
    return times.filter((time) => time > now - HOUR_MS && time <= now + MAX_AHEAD_MS);
  }

  /** Stores a try where those of all processes leave room for it; resolves to its time. Throws `NoRoom`. */
  async function store(who: string, from: string): Promise<number> {
    const atMs = Math.round(nowMs());
    await stored.update(who, (current) => {
      const times = counted(current);
      requireRoom(times, atMs, FROM_ONE_A_MINUTE, from);
      requireRoom(times, atMs, FROM_ONE_AN_HOUR, from);
      return { atMs: [...times, atMs] };
    });
    if (who.startsWith(SESSION)) return atMs;
    // Its own counts already: so however many ask at once, no more than the limit find room.
    const strangers = (await stored.list()).filter(({ id }) => !id.startsWith(SESSION));
    const times = strangers.flatMap(({ document }) => counted(document));
    try {
      requireRoom(without(times, atMs), atMs, FROM_ALL_A_MINUTE, IN_ALL);
    } catch (error) {
      await takeBack(who, atMs);
      throw error;
    }
    return atMs;
  }

  const takeBack = (who: string, atMs: number) =>
    stored.update(who, (current) => {
      const times = without(current?.atMs ?? [], atMs);
      return times.length === 0 ? undefined : { atMs: times };
    });

  async function storeOrWarn(who: string, from: string): Promise<number | undefined> {
    try {
      return await store(who, from);
    } catch (error) {
      if (error instanceof NoRoom) throw error;
      log.warn({ err: error }, 'could not store a login attempt; a restart forgets it');
      return undefined;
    }
  }

  async function sweep() {
    const isPast = ({ atMs }: StoredTries) => atMs.every((time) => time <= nowMs() - HOUR_MS);
    try {
      for (const { id, document } of await stored.list()) {
        if (isPast(document))
          await stored.update(id, (now) => (now && isPast(now) ? undefined : now));
      }
    } catch (error) {
      // The next sweep tries again.
      log.warn({ err: error }, 'could not remove old login attempts; trying again later');
    }
    tries = tries.filter((one) => !isOver(one));
  }

  for (const { id: who, document } of await stored.list()) {
    const ago = clockMs() - nowMs();
    // What lies ahead was written before the clock was set back. It counts as given now: no longer than any other, nor shorter.
    const newest = [...document.atMs].sort((a, b) => a - b).slice(-FROM_ONE_AN_HOUR.limit);
    const times = newest.map((time) => Math.min(time, nowMs()));
    tries.push(...times.map((time) => ({ who, atMs: time + ago })));
    if (document.atMs.some((time) => time > nowMs() + MAX_AHEAD_MS)) {
      const atMs = times.map(Math.round);
      await stored.update(who, () => ({ atMs }));
    }
  }
  await sweep();
  const timer = setInterval(sweep, options.sweepEveryMs ?? SWEEP_EVERY_MS);
  timer.unref();

  async function take(guesser: Guesser) {
    const isSession = 'session' in guesser;
    const who = isSession ? SESSION + guesser.session : guesser.address;
    const from = isSession ? 'from this browser' : 'from this address';
    const timesOf = (those: (one: Try) => boolean) => tries.filter(those).map(({ atMs }) => atMs);
    const now = clockMs();
    // All first: then an address is remembered only while there is room for it.
    if (!isSession) {
      requireNotRefused(IN_ALL, now);
      const strangers = timesOf((one) => !one.who.startsWith(SESSION));
      requireRoom(strangers, now, FROM_ALL_A_MINUTE, IN_ALL);
    }
    requireNotRefused(who, now);
    const own = timesOf((one) => one.who === who);
    requireRoom(own, now, FROM_ONE_A_MINUTE, from);
    requireRoom(own, now, FROM_ONE_AN_HOUR, from);
    const made: Try = { who, atMs: now };
    const uncount = () => {
      tries = tries.filter((one) => one !== made);
    };
    tries.push(made);
    try {
      const storedAtMs = await storeOrWarn(who, from);
      return {
        /** Counts it no more: those who know the password do not hold one another up. */
        async wasRight() {
          uncount();
          if (storedAtMs !== undefined) await takeBack(who, storedAtMs);
        },
      };
    } catch (error) {
      uncount();
      if (error instanceof NoRoom) refuse(error.from === IN_ALL ? IN_ALL : who, error);
      throw error;
    }
  }

  /** What the store has refused is refused here until that is over, so that it is not asked again and again. */
  function refuse(whom: string, { from, limit, resetMs }: NoRoom) {
    refused.set(whom, { from, limit, untilMs: clockMs() + resetMs });
    forgetOldest(refused, MAX_REFUSED);
  }

  function requireNotRefused(whom: string, now: number) {
    const found = refused.get(whom);
    if (found && found.untilMs > now)
      throw new NoRoom(found.from, found.limit, found.untilMs - now);
    refused.delete(whom);
  }

  return {
    /**
     * Counts a try before it is known whether it is right, so that many at once are counted too, and a restart does not forget
     * it. Throws the 429. Who is logged in is counted by session alone, so that no stranger can hold them up.
     */
    async take(guesser: Guesser) {
      try {
        return await take(guesser);
      } catch (error) {
        throw error instanceof NoRoom ? tooMany(error) : error;
      }
    },
    /** Ends the sweeps. */
    close: () => clearInterval(timer),
  };
}

const IN_ALL = 'in all';

/** The times without one of these. */
function without(times: readonly number[], one: number): number[] {
  const at = times.indexOf(one);
  return at < 0 ? [...times] : times.toSpliced(at, 1);
}

/** There have been as many tries as the limit takes. */
class NoRoom extends Error {
  readonly from: string;
  readonly limit: number;
  readonly resetMs: number;

  constructor(from: string, limit: number, resetMs: number) {
    super(`Too many wrong passwords ${from}.`);
    this.from = from;
    this.limit = limit;
    this.resetMs = resetMs;
  }
}

function tooMany({ from, limit, resetMs }: NoRoom): HttpError {
  const seconds = Math.max(1, Math.ceil(resetMs / 1000));
  const wait = seconds <= 90 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes`;
  return new HttpError(
    429,
    'rate_limit_exceeded',
    `Too many wrong passwords ${from}. Try again in ${wait}.`,
    { headers: rateLimitHeaders({ allowed: false, limit, remaining: 0, resetMs }) },
  );
}
