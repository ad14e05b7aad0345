/**
 * Headers with the caller's quota.
 * `X-RateLimit-Limit` and `X-RateLimit-Remaining` are the contract's (monitoring service, "Limits").
 * Our choice: `X-RateLimit-Reset` (whole seconds until the oldest counted request no longer counts) and, with a 429,
 * `Retry-After` in whole seconds, at least 1. Every answer has them, errors included, and a refused request uses no quota.
 */
export const RateLimitHeader = {
  limit: 'x-ratelimit-limit',
  remaining: 'x-ratelimit-remaining',
  reset: 'x-ratelimit-reset',
  retryAfter: 'retry-after',
} as const;

/** Requests one key may make in any 60 seconds. Source: monitoring contract, "Limits". */
export const MONITORING_REQUESTS_PER_MINUTE = 120;

/**
 * Reads how long the caller should wait: `retry-after-ms`, else `Retry-After` in seconds or as a date; `undefined` if
 * there is nothing readable.
 * Source: RFC 9110, 10.2.3; openai-node, `retryRequest`, for the milliseconds.
 */
export function readRetryAfterMs(
  headers: Readonly<Record<string, unknown>>,
  nowMs = Date.now(),
): number | undefined {
  const ms = headers['retry-after-ms'];
  if (typeof ms === 'string' && isNumber(ms)) return Math.ceil(Number(ms));
  const value = headers[RateLimitHeader.retryAfter];
  if (typeof value !== 'string') return undefined;
  if (isNumber(value)) return Math.ceil(Number(value) * 1000);
  const untilMs = Date.parse(value);
  return Number.isNaN(untilMs) ? undefined : Math.max(0, untilMs - nowMs);
}

/** Accepts only plain numbers, because `Number` also reads texts such as `0x10` and `1e9`. */
function isNumber(text: string): boolean {
  return /^\d{1,12}(\.\d{1,6})?$/.test(text);
}
