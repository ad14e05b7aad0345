import { RateLimitHeader } from '../contracts/rate-limit.ts';
import { createSlidingWindow, type SlidingWindow } from '../store/sliding-window.ts';

/** Who may make how many requests in a time. */
export type RateLimit = ReturnType<typeof createRateLimit>;
export type RateLimitVerdict = ReturnType<RateLimit['take']>;

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
}) {
  const { limit, windowMs, nowMs = () => performance.now() } = options;
  const windowOf = new Map<string, SlidingWindow>();
  let sweepAtMs = nowMs() + windowMs;

  function sweep(now: number) {
    for (const [who, window] of windowOf) {
      if (window.used(now) === 0) windowOf.delete(who);
    }
    sweepAtMs = now + windowMs;
  }

  function windowFor(who: string): SlidingWindow {
    const known = windowOf.get(who);
    if (known) return known;
    const fresh = createSlidingWindow(windowMs);
    windowOf.set(who, fresh);
    return fresh;
  }

  return {
    /** Counts one request of `who` if it is allowed. */
    take(who: string) {
      const now = nowMs();
      if (now >= sweepAtMs) sweep(now);
      const window = windowFor(who);
      const used = window.used(now);
      const allowed = used < limit;
      if (allowed) window.add(1, now);
      return {
        allowed,
        limit,
        remaining: allowed ? limit - used - 1 : 0,
        /** Until the oldest counted request leaves the window, milliseconds; 0 when none is counted. */
        resetMs: window.oldestMs(now),
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
