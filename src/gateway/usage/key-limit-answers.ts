import { ErrorCode } from '../../contracts/error.ts';
import { LimitHeader } from '../../contracts/gateway.ts';
import { HttpError } from '../../http/errors.ts';

type Headers = Record<string, string>;

/** A limit by the minute as its headers tell it. */
interface Level {
  limit: number;
  used: number;
  /** Until nothing counts any more. */
  resetMs: number;
}

/** Tokens that a request asks for, and those set aside for others of the same key. */
interface Asked {
  prompt: number;
  reply: number;
  reserved: number;
}

/** A limit for a day or month, and what of it is used. */
export interface Budget {
  period: 'day' | 'month';
  limit: number;
  used: number;
  nowMs: number;
}

const WHO = 'Who runs this gateway can change the limit (askwatch keys limit).';

/** The headers of the limits by the minute. */
export function minuteHeaders(requests: Level | undefined, tokens: Level | undefined): Headers {
  const headers: Headers = {};
  if (requests) {
    headers[LimitHeader.limitRequests] = String(requests.limit);
    headers[LimitHeader.remainingRequests] = String(Math.max(0, requests.limit - requests.used));
    headers[LimitHeader.resetRequests] = duration(requests.resetMs);
  }
  if (tokens) {
    headers[LimitHeader.limitTokens] = String(tokens.limit);
    headers[LimitHeader.remainingTokens] = String(Math.max(0, tokens.limit - tokens.used));
    headers[LimitHeader.resetTokens] = duration(tokens.resetMs);
  }
  return headers;
}

/** The 429 of a key that has made its requests of this minute. */
export function requestsRefusal(
  { limit, waitMs }: { limit: number; waitMs: number },
  headers: Headers,
): HttpError {
  return rateLimited(
    'requests',
    waitMs,
    `This key may make ${limit} ${limit === 1 ? 'request' : 'requests'} a minute, and has made them.`,
    headers,
  );
}

/** The 429 of a request for which too few tokens are left in this minute. */
export function tokensRefusal(
  { limit, used, waitMs }: { limit: number; used: number; waitMs: number },
  asked: Asked,
  headers: Headers,
): HttpError {
  return rateLimited(
    'tokens',
    waitMs,
    `This key may use ${limit} tokens a minute: ${used} were used, ${asked.reserved} are set aside for requests under way, and ${needOf(asked)}.`,
    headers,
  );
}

/** The 429 of a request that is larger than a whole minute's limit. Trying it again cannot help. */
export function tooLargeRefusal(limit: number, asked: Asked, headers: Headers): HttpError {
  return quotaRefusal(
    'tokens',
    `This key may use ${limit} tokens a minute, and ${needOf(asked)}, so it never fits. Send less, or ask for a shorter answer with max_tokens. ${WHO}`,
    headers,
  );
}

/** The 429 of a request for which too few tokens are left for today or in this month. */
export function budgetRefusal(budget: Budget, asked: Asked, headers: Headers): HttpError {
  const { period, limit, used, nowMs } = budget;
  const state = `This key may use ${limit} tokens a ${period}: ${used} were used, ${asked.reserved} are set aside for requests under way, and ${needOf(asked)}.`;
  // Tokens set aside are mostly more than are used in the end.
  if (used + asked.prompt + asked.reply <= limit) {
    return rateLimited('tokens', 0, state, headers);
  }
  const anew = new Date(nextStartMs(period, nowMs)).toISOString().slice(0, 16);
  return quotaRefusal(
    ErrorCode.insufficientQuota,
    `${state} The next ${period} begins at ${anew}Z. ${WHO}`,
    headers,
  );
}

function needOf({ prompt, reply }: Asked): string {
  return `this request needs about ${prompt + reply} (${prompt} for the prompt, up to ${reply} for the answer)`;
}

function rateLimited(type: string, waitMs: number, state: string, headers: Headers): HttpError {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000));
  return new HttpError(
    429,
    ErrorCode.rateLimited,
    `${state} Wait ${seconds} s (Retry-After) and try again. ${WHO}`,
    { type, headers: { ...headers, 'retry-after': String(seconds) } },
  );
}

function quotaRefusal(type: string, message: string, headers: Headers): HttpError {
  return new HttpError(429, ErrorCode.insufficientQuota, message, {
    type,
    // Clients repeat every 429 on their own otherwise.
    headers: { ...headers, 'x-should-retry': 'false' },
  });
}

function nextStartMs(period: Budget['period'], nowMs: number): number {
  const now = new Date(nowMs);
  const [year, month] = [now.getUTCFullYear(), now.getUTCMonth()];
  return period === 'day' ? Date.UTC(year, month, now.getUTCDate() + 1) : Date.UTC(year, month + 1);
}

/** A time as in `12ms`, `8.64s` and `6m0s`. */
function duration(ms: number): string {
  const whole = Math.ceil(ms);
  if (whole < 1000) return `${whole}ms`;
  const minutes = Math.floor(whole / 60_000);
  const seconds = (whole - minutes * 60_000) / 1000;
  return minutes === 0 ? `${seconds}s` : `${minutes}m${seconds}s`;
}
