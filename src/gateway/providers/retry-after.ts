import type { IncomingHttpHeaders } from 'node:http';
import { RateLimitHeader } from '../../contracts/rate-limit.ts';

/**
 * How long an answer asks to be left alone: `retry-after-ms`, else `Retry-After` in seconds or as a date; `undefined`
 * when it says nothing that can be read.
 * Source: RFC 9110, 10.2.3; openai-node, `retryRequest`, for the milliseconds.
 */
export function readRetryAfterMs(
  headers: IncomingHttpHeaders,
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
