import { HttpError } from '../http/errors.ts';
import { createRateLimit, rateLimitHeaders } from '../http/rate-limit.ts';

const MINUTE_MS = 60_000;

/** Wrong passwords from one address, in a minute and in an hour, and from all addresses in a minute. */
const FROM_ONE_A_MINUTE = 5;
const FROM_ONE_AN_HOUR = 20;
const FROM_ALL_A_MINUTE = 60;

/** What holds up who guesses the password. */
export interface LoginLimits {
  /**
   * Counts a try before it is known whether it is right, so that many at once are counted too. Throws the 429.
   * Call what it returns when the password was right: those who know it do not hold one another up.
   */
  take(address: string): () => void;
}

/** Makes the limits; `nowMs` is a clock that never goes back. */
export function createLoginLimits(nowMs: () => number = () => performance.now()): LoginLimits {
  const limit = (most: number, windowMs: number) =>
    createRateLimit({ limit: most, windowMs, nowMs });
  const [all, minute, hour] = [
    limit(FROM_ALL_A_MINUTE, MINUTE_MS),
    limit(FROM_ONE_A_MINUTE, MINUTE_MS),
    limit(FROM_ONE_AN_HOUR, 60 * MINUTE_MS),
  ];

  return {
    take(address) {
      // All first: then an address is remembered only while there is room for it. One that is refused takes none from others.
      const steps = [
        [all, 'all'],
        [minute, address],
        [hour, address],
      ] as const;
      const taken: Array<() => void> = [];
      const takeBack = () => {
        for (const back of taken) back();
      };
      for (const [limited, who] of steps) {
        const verdict = limited.take(who);
        if (!verdict.allowed) {
          takeBack();
          throw tooMany(limited === all, verdict.resetMs, rateLimitHeaders(verdict));
        }
        taken.push(verdict.takeBack);
      }
      return takeBack;
    },
  };
}

function tooMany(everywhere: boolean, waitMs: number, headers: Record<string, string>): HttpError {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000));
  const wait = seconds <= 90 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes`;
  const from = everywhere ? 'in all' : 'from this address';
  return new HttpError(
    429,
    'rate_limit_exceeded',
    `Too many wrong passwords ${from}. Wait ${wait}, and try again.`,
    { headers },
  );
}
