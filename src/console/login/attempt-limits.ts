import type { Logger } from 'pino';
import { z } from 'zod';
import type { Collection } from '../../bot/platform.ts';
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

/** When wrong passwords were given, Unix time in milliseconds, oldest first. */
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

/** A try, which counts already while it is not known whether it is wrong. */
interface Try {
  who: string;
  /** By the clock that never goes back. */
  atMs: number;
  isWrong: boolean;
}

/** Opens what holds up who guesses the password, with the tries that an earlier start has counted. */
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
  const isOver = ({ atMs }: Try) => clockMs() - atMs >= HOUR_MS;

  /** Throws the 429 when there have been as many of these as the limit takes. */
  function requireRoom(
    those: (one: Try) => boolean,
    { limit, windowMs }: { limit: number; windowMs: number },
    from: string,
  ) {
    const startMs = clockMs() - windowMs;
    const times = tries.filter((one) => one.atMs > startMs && those(one)).map(({ atMs }) => atMs);
    const oldestMs = times.sort((a, b) => a - b).at(-limit);
    if (oldestMs !== undefined) throw tooMany(from, limit, oldestMs - startMs);
  }

  /** What is known of one by now; nothing when that is over. */
  const store = (who: string) =>
    stored.update(who, () => {
      const ago = clockMs() - nowMs();
      const own = tries.filter((one) => one.who === who && one.isWrong && !isOver(one));
      return own.length === 0 ? undefined : { atMs: own.map(({ atMs }) => Math.round(atMs - ago)) };
    });

  const storeOrWarn = (who: string) =>
    store(who).catch((error: unknown) =>
      log.warn({ err: error }, 'wrong passwords were not stored; a restart forgets them'),
    );

  async function sweep() {
    for (const who of new Set(tries.filter(isOver).map((one) => one.who))) {
      try {
        await store(who);
        tries = tries.filter((one) => one.who !== who || !isOver(one));
      } catch (error) {
        // The next sweep tries again.
        log.warn({ err: error }, 'an address that gave wrong passwords was not forgotten yet');
      }
    }
  }

  for (const { id: who, document } of await stored.list()) {
    const ago = clockMs() - nowMs();
    // What lies ahead was written before the clock was set back. It counts as given now: no longer than any other, nor shorter.
    const times = document.atMs.map((time) => Math.min(time, nowMs()) + ago).sort((a, b) => a - b);
    const newest = times.slice(-FROM_ONE_AN_HOUR.limit);
    tries.push(...newest.map((atMs) => ({ who, atMs, isWrong: true })));
    if (document.atMs.some((time) => time > nowMs())) await storeOrWarn(who);
  }
  await sweep();
  const timer = setInterval(sweep, options.sweepEveryMs ?? SWEEP_EVERY_MS);
  timer.unref();

  return {
    /**
     * Counts a try before it is known whether it is right, so that many at once are counted too. Throws the 429. Who is logged
     * in is counted by session alone, so that no stranger can hold them up.
     */
    take(guesser: Guesser) {
      const isSession = 'session' in guesser;
      const who = isSession ? SESSION + guesser.session : guesser.address;
      const isOwn = (one: Try) => one.who === who;
      const from = isSession ? 'from this browser' : 'from this address';
      // All first: then an address is remembered only while there is room for it.
      if (!isSession) {
        requireRoom((one) => !one.who.startsWith(SESSION), FROM_ALL_A_MINUTE, 'in all');
      }
      requireRoom(isOwn, FROM_ONE_A_MINUTE, from);
      requireRoom(isOwn, FROM_ONE_AN_HOUR, from);
      const made: Try = { who, atMs: clockMs(), isWrong: false };
      tries.push(made);
      return {
        /** Counts it no more: those who know the password do not hold one another up. */
        wasRight() {
          tries = tries.filter((one) => one !== made);
        },
        /** Resolves once a restart will not forget it. */
        async wasWrong() {
          made.isWrong = true;
          await storeOrWarn(who);
        },
      };
    },
    /** Ends the sweeps. */
    close: () => clearInterval(timer),
  };
}

function tooMany(from: string, limit: number, resetMs: number): HttpError {
  const seconds = Math.max(1, Math.ceil(resetMs / 1000));
  const wait = seconds <= 90 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes`;
  return new HttpError(
    429,
    'rate_limit_exceeded',
    `Too many wrong passwords ${from}. Wait ${wait}, and try again.`,
    { headers: rateLimitHeaders({ allowed: false, limit, remaining: 0, resetMs }) },
  );
}
