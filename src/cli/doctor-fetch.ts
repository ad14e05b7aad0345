import { request } from 'undici';
import { isLoopback } from '../app/settings.ts';

/** Time limit of one request, including its whole response. */
export const CALL_LIMIT_MS = 8_000;

/** The longest list of models that a provider has is about 1 MB. */
const ANSWER_LIMIT_BYTES = 16 * 1024 * 1024;

/** A comparison of this machine's clock with a server's. */
export interface ClockReading {
  /** This clock is ahead by at least this much; negative if it is behind, 0 if the round trip explains the difference. */
  skewMs: number;
  /** The server may be this machine, so the comparison proves nothing. */
  near: boolean;
}

export interface Probe {
  /** Throws `NoAnswerError`, also for a redirect: keys must not reach an address that isn't configured. */
  fetch: typeof fetch;
  readings: ClockReading[];
}

/** A request without a usable response. The message gives the reason without the address, which may contain a password. */
export class NoAnswerError extends Error {
  override name = 'NoAnswerError' as const;
  /** Absent if the server accepted the connection. */
  readonly code: string | undefined;

  constructor(message: string, options: { code?: string; cause?: unknown } = {}) {
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
 * The least difference that a `Date` header proves: it is rounded down to a second, and may have been written at any moment of the trip.
 * Cached responses are ignored. Source: RFC 9110 §6.6.1; RFC 9111 §5.1.
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
