import { RateLimitHeader } from '../contracts/rate-limit.ts';

export interface RateLimit {
  /** Counts one request of `who` if it is allowed. */
  take(who: string): RateLimitVerdict;
}

export interface RateLimitVerdict {
  allowed: boolean;
  limit: number;
  remaining: number;
  /** Until the oldest counted request leaves the window, milliseconds; 0 when none is counted. */
  resetMs: number;
}

/**
 * A true sliding window: no window of `windowMs` ever holds more than `limit` allowed requests of one `who`.
 * Refused requests are not counted. Those who have been silent for a window are forgotten, so memory is bounded by the
 * requests of one window.
 */
export function createRateLimit(options: {
  limit: number;
  windowMs: number;
  /** A clock that never goes back, milliseconds. */
  nowMs?: () => number;
}): RateLimit {
  const { limit, windowMs, nowMs = () => performance.now() } = options;
  const timesOf = new Map<string, number[]>();
  let sweepAtMs = nowMs() + windowMs;

  function sweep(now: number) {
    for (const [who, times] of timesOf) {
      if ((times.at(-1) ?? 0) <= now - windowMs) timesOf.delete(who);
    }
    sweepAtMs = now + windowMs;
  }

  return {
    take(who) {
      const now = nowMs();
      if (now >= sweepAtMs) sweep(now);
      const times = (timesOf.get(who) ?? []).filter((time) => time > now - windowMs);
      const allowed = times.length < limit;
      if (allowed) times.push(now);
      timesOf.set(who, times);
      return {
        allowed,
        limit,
        remaining: limit - times.length,
        resetMs: (times[0] ?? now - windowMs) + windowMs - now,
      };
    },
  };
}

/** The headers that tell the caller where it stands; `Retry-After` only on a refusal. */
export function rateLimitHeaders(verdict: RateLimitVerdict): Record<string, string> {
  const resetSeconds = Math.ceil(verdict.resetMs / 1000);
  return {
    [RateLimitHeader.limit]: String(verdict.limit),
    [RateLimitHeader.remaining]: String(verdict.remaining),
    [RateLimitHeader.reset]: String(resetSeconds),
    ...(verdict.allowed ? {} : { [RateLimitHeader.retryAfter]: String(Math.max(1, resetSeconds)) }),
  };
}
