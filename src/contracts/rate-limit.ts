/**
 * Headers of every answer; a refused request uses no quota. Source: monitoring contract, "Limits". Our choice: `reset`, in whole seconds
 * until the oldest counted request expires, and `Retry-After` with a 429.
 */
export const RateLimitHeader = {
  limit: 'x-ratelimit-limit',
  remaining: 'x-ratelimit-remaining',
  reset: 'x-ratelimit-reset',
  retryAfter: 'retry-after',
} as const;

/** Requests one key may make in any 60 seconds. Source: monitoring contract, "Limits". */
export const MONITORING_REQUESTS_PER_MINUTE = 120;

/** Reads `retry-after-ms`, else `Retry-After` in seconds or as a date. Source: RFC 9110, 10.2.3; openai-node, `retryRequest`. */
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
