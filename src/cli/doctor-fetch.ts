import { request } from 'undici';
import { isLoopback } from '../config/settings.ts';

/** What one call may take, from the first byte out to the last byte in. */
export const CALL_LIMIT_MS = 8_000;

/** Bytes of an answer; the longest list of models that a provider has is about 1 MB. */
const ANSWER_LIMIT_BYTES = 16 * 1024 * 1024;

/** How our clock stood to a server's when it answered. */
export interface ClockReading {
  /** Ours is ahead by at least so much, or behind when negative; 0 when the trip there and back explains the difference. */
  skewMs: number;
  /** The server may be this machine, whose clock is ours. */
  near: boolean;
}

/** Calls others on behalf of the checks. */
export interface Probe {
  /**
   * Stands for `fetch`, bounded in time and size. Throws `NoAnswerError`, for a redirect too: keys must not travel to an
   * address that nobody chose.
   */
  fetch: typeof fetch;
  /** What the answers so far told of the time. */
  readings: ClockReading[];
}

/** A call had no answer that can be used; the message says why, without the address, which may hold a password. */
export class NoAnswerError extends Error {
  override name = 'NoAnswerError' as const;
  /** Such as `ECONNREFUSED`; absent when somebody is there, but says nothing or the wrong thing. */
  readonly code: string | undefined;

  constructor(message: string, options: { code?: string | undefined; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.code = options.code;
  }
}

export function createProbe(): Probe {
  const readings: ClockReading[] = [];
  return {
    readings,
    async fetch(input, init = {}) {
      const signal = AbortSignal.timeout(CALL_LIMIT_MS);
      try {
        return await send(new URL(String(input)), { ...init, signal }, readings);
      } catch (error) {
        if (error instanceof NoAnswerError) throw error;
        if (signal.aborted) throw new NoAnswerError(`no answer within ${CALL_LIMIT_MS / 1000} s`);
        const { message, code } = error as { message?: string; code?: string };
        throw new NoAnswerError(message || code || 'no reason given', { code, cause: error });
      }
    },
  };
}

/** One call, whose answer is read whole; its time is added to `readings`. */
async function send(
  url: URL,
  { method = 'GET', headers, body, signal }: RequestInit & { signal: AbortSignal },
  readings: ClockReading[],
): Promise<Response> {
  const sentMs = performance.now();
  const answer = await request(url, {
    method: method as 'GET' | 'POST',
    headers: headers as Record<string, string>,
    body: body as string,
    signal,
  });
  const { statusCode: status } = answer;
  const told = new Headers(answer.headers as Record<string, string>);
  const skewMs = readClock(told, performance.now() - sentMs);
  const near = isLoopback(url.hostname.replace(/^\[|\]$/g, ''));
  if (skewMs !== undefined) readings.push({ skewMs, near });
  const text = await readWhole(answer.body);
  if (status >= 300 && status <= 399) {
    throw new NoAnswerError(`a redirect (${status}), which Askwatch does not follow`);
  }
  return new Response(text === '' ? null : text, { status, headers: told });
}

/**
 * How far our clock is off at least. A server's time is in whole seconds, rounded down, and it was written at any moment of
 * the trip. One that an intermediary kept says nothing. Source: RFC 9110, section 6.6.1; RFC 9111, section 5.1.
 */
export function readClock(
  headers: Headers,
  tripMs: number,
  nowMs = Date.now(),
): number | undefined {
  const theirsMs = Date.parse(headers.get('date') ?? '');
  if (Number.isNaN(theirsMs) || headers.has('age')) return undefined;
  const aheadMs = nowMs - tripMs - (theirsMs + 1_000);
  const behindMs = theirsMs - nowMs;
  if (aheadMs > 0) return aheadMs;
  return behindMs > 0 ? -behindMs : 0;
}

async function readWhole(body: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of body) {
    bytes += part.length;
    if (bytes > ANSWER_LIMIT_BYTES) throw new NoAnswerError('the answer is too large');
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}
