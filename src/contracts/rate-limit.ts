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

/**
 * How long an answer asks to be left alone: `retry-after-ms`, else `Retry-After` in seconds or as a date; `undefined`
 * when it says nothing that can be read.
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

/** Only plain numbers: `Date.parse` and `Number` read much more than anybody means. */
function isNumber(text: string): boolean {
  return /^\d{1,12}(\.\d{1,6})?$/.test(text);
}
