/**
 * The headers that tell a caller how much of its quota is left.
 * `X-RateLimit-Limit` and `X-RateLimit-Remaining` are the contract's (monitoring service, "Limits").
 * Our choice: `X-RateLimit-Reset` (whole seconds until the oldest counted request no longer counts) and, with a 429,
 * `Retry-After` in whole seconds, at least 1. They stand on every answer, errors included, and a refused request uses no quota.
 */
export const RateLimitHeader = {
  limit: 'x-ratelimit-limit',
  remaining: 'x-ratelimit-remaining',
  reset: 'x-ratelimit-reset',
  retryAfter: 'retry-after',
} as const;

/** Requests one key may make in any 60 seconds. Source: monitoring contract, "Limits". */
export const MONITORING_REQUESTS_PER_MINUTE = 120;
