import { RateLimitHeader } from '../contracts/rate-limit.ts';
import { type Awaitable, whenKnown } from '../store/awaitable.ts';
import { createMemoryWindows } from '../store/memory-windows.ts';
import type { Taken, Windows } from '../store/windows.ts';

export type RateLimit = ReturnType<typeof createRateLimit>;
export type RateLimitVerdict = ReturnType<typeof verdictOf>;

/** A sliding window in this process. Refused requests don't count. */
export function createRateLimit(options: {
  limit: number;
  windowMs: number;
  /** A monotonic clock, in milliseconds. */
  nowMs?: () => number;
}) {
  const { limit, windowMs, nowMs = () => performance.now() } = options;
  const windows = createMemoryWindows({ windowMs, steadyMs: nowMs });
  return {
    /** Counts one request of `who` if it is allowed. */
    take: (who: string) => verdictOf(windows.take(who, limit), limit, nowMs()),
  };
}

export function createSharedRateLimit(options: {
  limit: number;
  windows: Windows;
  /** The clock of `windows`. */
  nowMs: () => number;
}) {
  const { limit, windows, nowMs } = options;
  return {
    /** Counts one request of `who` if it is allowed. */
    take: (who: string): Awaitable<RateLimitVerdict> =>
      whenKnown(windows.take(who, limit), (taken) => verdictOf(taken, limit, nowMs())),
  };
}

function verdictOf({ place, used, window }: Taken, limit: number, nowMs: number) {
  return {
    allowed: place !== undefined,
    limit,
    remaining: Math.max(0, limit - used),
    /** Milliseconds until the oldest counted request leaves the window; 0 if none is counted. */
    resetMs: window.oldestMs(nowMs),
  };
}

/** Rate-limit headers; `Retry-After` only on a refusal. */
export function rateLimitHeaders(verdict: RateLimitVerdict): Record<string, string> {
  const resetSeconds = Math.ceil(verdict.resetMs / 1000);
  return {
    [RateLimitHeader.limit]: String(verdict.limit),
    [RateLimitHeader.remaining]: String(verdict.remaining),
    [RateLimitHeader.reset]: String(resetSeconds),
    ...(verdict.allowed ? {} : { [RateLimitHeader.retryAfter]: String(Math.max(1, resetSeconds)) }),
  };
}
