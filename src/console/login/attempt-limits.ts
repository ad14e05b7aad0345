import type { Logger } from 'pino';
import { z } from 'zod';
import type { Collection } from '../../bot/platform.ts';
import { HttpError } from '../../http/errors.ts';
import { createRateLimit, rateLimitHeaders } from '../../http/rate-limit.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Wrong passwords from one address or session, in a minute and in an hour, and from all addresses in a minute. */
const FROM_ONE_A_MINUTE = 5;
const FROM_ONE_AN_HOUR = 20;
const FROM_ALL_A_MINUTE = 60;

/** How often those are looked for whose last try is an hour ago. */
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

/** Opens what holds up who guesses the password, with the tries that an earlier start has counted. */
export async function openLoginLimits(options: {
  stored: Collection<StoredTries>;
  log: Logger;
  /** Unix time in milliseconds: it is all that outlives the process. */
  nowMs?: () => number;
  /** A clock that never goes back, milliseconds: what is set on the other while the program runs changes nothing. */
  clockMs?: () => number;
  sweepEveryMs?: number;
}) {
  const { stored, log, nowMs = Date.now, clockMs = () => performance.now() } = options;
  /** When each gave a wrong password, by the clock that never goes back; oldest first. */
  const wrong = new Map<string, number[]>();
  let countingMs: number | undefined;
  const limit = (most: number, windowMs: number) =>
    createRateLimit({ limit: most, windowMs, nowMs: () => countingMs ?? clockMs() });
  const [all, minute, hour] = [
    limit(FROM_ALL_A_MINUTE, MINUTE_MS),
    limit(FROM_ONE_A_MINUTE, MINUTE_MS),
    limit(FROM_ONE_AN_HOUR, HOUR_MS),
  ];

  /** Gives what takes it back, or the refusal. */
  function count(who: string): (() => void) | HttpError {
    const isSession = who.startsWith(SESSION);
    const from = isSession ? 'from this browser' : 'from this address';
    // All first: then an address is remembered only while there is room for it. One that is refused takes none from others.
    const steps = [
      ...(isSession ? [] : [[all, 'all', 'in all'] as const]),
      [minute, who, from] as const,
      [hour, who, from] as const,
    ];
    const taken: Array<() => void> = [];
    const takeBack = () => {
      for (const back of taken) back();
    };
    for (const [limited, counted, where] of steps) {
      const verdict = limited.take(counted);
      if (!verdict.allowed) {
        takeBack();
        return tooMany(where, verdict.resetMs, rateLimitHeaders(verdict));
      }
      taken.push(verdict.takeBack);
    }
    return takeBack;
  }

  /** What is known of one by now; nothing when that is over. */
  const store = (who: string) =>
    stored.update(who, () => {
      const times = wrong.get(who);
      const ago = clockMs() - nowMs();
      return times && { atMs: times.map((time) => Math.round(time - ago)) };
    });

  const storeOrTell = (who: string) =>
    store(who).catch((error: unknown) =>
      log.warn({ err: error }, 'wrong passwords were not stored; a restart forgets them'),
    );

  async function sweep() {
    for (const [who, times] of wrong) {
      if (clockMs() - (times.at(-1) ?? 0) < HOUR_MS) continue;
      wrong.delete(who);
      try {
        await store(who);
      } catch (error) {
        // Looked at again with the next sweep.
        if (!wrong.has(who)) wrong.set(who, times);
        log.warn({ err: error }, 'an address that gave wrong passwords was not forgotten yet');
      }
    }
  }

  /** What lies ahead was written before the clock was set back. It counts as given now: no longer than any other, nor shorter. */
  async function countStored() {
    const ago = clockMs() - nowMs();
    const counted = (await stored.list()).map(({ id, document: { atMs } }) => {
      const isAhead = atMs.some((time) => time > nowMs());
      const times = atMs.map((time) => Math.min(time, nowMs()) + ago).sort((a, b) => a - b);
      wrong.set(id, times.slice(-FROM_ONE_AN_HOUR));
      return { id, isAhead, times };
    });
    const tries = counted.flatMap(({ id, times }) => times.map((time) => ({ id, time })));
    for (const { id, time } of tries.sort((a, b) => a.time - b.time)) {
      countingMs = time;
      count(id);
    }
    countingMs = undefined;
    for (const { id, isAhead } of counted) {
      if (isAhead) await storeOrTell(id);
    }
  }

  await countStored();
  await sweep();
  const timer = setInterval(sweep, options.sweepEveryMs ?? SWEEP_EVERY_MS);
  timer.unref();

  return {
    /**
     * Counts a try before it is known whether it is right, so that many at once are counted too. Throws the 429. Who is logged
     * in is counted by session alone, so that no stranger can hold them up.
     */
    take(guesser: Guesser) {
      const who = 'session' in guesser ? SESSION + guesser.session : guesser.address;
      const counted = count(who);
      if (counted instanceof HttpError) throw counted;
      return {
        /** Counts it no more: those who know the password do not hold one another up. */
        wasRight: counted,
        /** Resolves once a restart will not forget it. */
        async wasWrong() {
          wrong.set(who, [...(wrong.get(who) ?? []), clockMs()].slice(-FROM_ONE_AN_HOUR));
          await storeOrTell(who);
        },
      };
    },
    /** Looks no more for what is over. */
    close: () => clearInterval(timer),
  };
}

function tooMany(from: string, waitMs: number, headers: Record<string, string>): HttpError {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000));
  const wait = seconds <= 90 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes`;
  return new HttpError(
    429,
    'rate_limit_exceeded',
    `Too many wrong passwords ${from}. Wait ${wait}, and try again.`,
    { headers },
  );
}
