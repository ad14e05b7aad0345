import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { Agent, request } from 'undici';
import { CallError, ContractError, NetworkError, StatusError, TimeoutError } from './errors.ts';
import { refusalOf, type ServiceResponse } from './service-response.ts';

export interface ServiceRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  /** Replaces a path with a secret in errors and logs. */
  shownPath?: string;
  headers?: Record<string, string>;
  /** Sent as JSON. */
  body?: unknown;
  /** Reports a rate limit at once, because the service has retried already or a person waits. */
  failsWhenLimited?: boolean;
}

const ATTEMPTS = 3;
const FIRST_PAUSE_MS = 200;

/** If the service asks for a longer pause, the call fails instead. */
const LONGEST_PAUSE_MS = 5_000;

const CONNECT_TIMEOUT_MS = 5_000;

/** Characters of a foreign sentence that an error may quote. */
const FOREIGN_TEXT_LENGTH = 500;

/** Codes of failures before anything was sent. */
const UNSENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** Opens connections to a service, which calls with several keys can share. */
export function openConnections(): Agent {
  // `CallLimit` has the time limits, because undici's own timers start again with every byte.
  return new Agent({
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: { timeout: CONNECT_TIMEOUT_MS },
  });
}

/** Uses its own connections unless some are passed. Throws if the address isn't valid, or a header can't hold the key. */
export function openServiceConnection(options: {
  baseUrl: string;
  apiKey: string;
  connections?: Agent;
  log?: Logger;
}) {
  const { apiKey, connections: agent = openConnections(), log } = options;
  const base = readBaseUrl(options.baseUrl);
  if (!/^[\x21-\x7e]+$/.test(apiKey)) {
    throw new Error(
      `The key for ${base} is empty, or contains characters that are not allowed in a header.`,
    );
  }
  /** Returns method and address of a call for errors, without key and query. */
  const nameOf = (call: ServiceRequest) =>
    `${call.method} ${base}${call.shownPath ?? call.path.split('?')[0]}`;
  const clean = (text: string) => cleanText(text.replaceAll(apiKey, '[secret]'));

  async function attempt<T>(
    call: ServiceRequest,
    limit: CallLimit,
    read: (answer: ServiceResponse) => Promise<T> | T,
  ): Promise<T> {
    const what = nameOf(call);
    try {
      const { statusCode, headers, body } = await request(base + call.path, {
        dispatcher: agent,
        signal: limit.signal,
        method: call.method,
        headers: {
          ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
          ...call.headers,
        },
        body: call.body === undefined ? undefined : JSON.stringify(call.body),
      });
      // A body that is closed unread emits an error, which would end the process; a reader gets it anyway.
      body.on('error', () => {});
      const answer = { status: statusCode, headers, body, what, clean };
      if (statusCode < 200 || statusCode > 299) throw await refusalOf(answer);
      return await read(answer);
    } catch (error) {
      if (limit.signal.aborted) throw limit.signal.reason;
      if (error instanceof CallError || error instanceof ContractError) throw error;
      throw networkError(what, error);
    }
  }

  /** `read` and the call are repeated if that is harmless. Throws `NetworkError`, `StatusError`, `ContractError`, or the limit's reason. */
  async function send<T>(
    call: ServiceRequest,
    limit: CallLimit,
    read: (answer: ServiceResponse) => Promise<T> | T,
  ): Promise<T> {
    for (let tried = 1; ; tried++) {
      try {
        return await attempt(call, limit, read);
      } catch (error) {
        const pauseMs = tried < ATTEMPTS ? pauseBeforeRepeat(call, error, tried) : undefined;
        if (pauseMs === undefined) throw error;
        log?.debug({ call: nameOf(call), err: error, pauseMs }, 'calling again');
        await pauseOrGiveUp(pauseMs, limit, error);
      }
    }
  }

  const begin = (ms: number, call: ServiceRequest, signal: AbortSignal | undefined) =>
    createCallLimit(ms, nameOf(call), signal);

  return {
    begin,
    send,
    async sendWithin<T>(
      ms: number,
      call: ServiceRequest,
      signal: AbortSignal | undefined,
      read: (answer: ServiceResponse) => Promise<T> | T,
    ): Promise<T> {
      const limit = begin(ms, call, signal);
      try {
        return await send(call, limit, read);
      } finally {
        limit.release();
      }
    },
    /** Ends all calls in progress. */
    close: () => agent.destroy(),
  };
}

/** `undefined` if a repeat could do harm or can't help: a POST that may have been received, a refusal, a wrong shape. */
function pauseBeforeRepeat(
  call: ServiceRequest,
  error: unknown,
  tried: number,
): number | undefined {
  const ownPauseMs = FIRST_PAUSE_MS * 2 ** (tried - 1) * (1 + Math.random() / 2);
  if (error instanceof StatusError) {
    const passing =
      error.status === 429 ? !call.failsWhenLimited : call.method === 'GET' && error.status >= 500;
    const pauseMs = error.retryAfterMs ?? ownPauseMs;
    return passing && pauseMs <= LONGEST_PAUSE_MS ? pauseMs : undefined;
  }
  if (!(error instanceof NetworkError)) return undefined;
  return call.method === 'GET' || wasUnsent(error) ? ownPauseMs : undefined;
}

export const wasUnsent = (error: unknown) =>
  error instanceof NetworkError && UNSENT.has(codeOf(error.cause) ?? '');

/** Waits. If the call's time runs out meanwhile, throws the earlier error, which says more. */
async function pauseOrGiveUp(pauseMs: number, limit: CallLimit, error: unknown): Promise<void> {
  try {
    await pause(pauseMs, undefined, { signal: limit.signal });
  } catch {
    const { reason } = limit.signal;
    throw reason instanceof TimeoutError ? error : reason;
  }
}

export function networkError(what: string, cause: unknown): NetworkError {
  const code = codeOf(cause);
  const why = cause instanceof Error && cause.message ? cause.message : code;
  const happened = UNSENT.has(code ?? '') ? 'could not be reached' : 'lost its connection';
  return new NetworkError(`${what} ${happened}: ${why ?? 'no reason was given'}.`, { cause });
}

function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}

/** Appends a query to a path, without the values that are `undefined`. */
export function withQuery(
  path: string,
  values: Readonly<Record<string, string | number | boolean | undefined>>,
): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined) query.set(name, String(value));
  }
  return query.size === 0 ? path : `${path}?${query}`;
}

function readBaseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new Error(`'${text}' is not an address such as https://api.example.com.`);
  }
  return url.origin + url.pathname.replace(/\/+$/, '');
}

function cleanText(text: string): string {
  const oneLine = text.replace(/[\p{Cc}\s]+/gu, ' ').trim();
  return oneLine.length > FOREIGN_TEXT_LENGTH
    ? `${oneLine.slice(0, FOREIGN_TEXT_LENGTH)}…`
    : oneLine;
}

/** Ends a call early, for its caller or a timeout. Release it when the call has ended. */
export type CallLimit = ReturnType<typeof createCallLimit>;

/** Throws a `TimeoutError` after `ms`. Unlike `AbortSignal.any`, it leaves nothing on a long-lived signal. */
export function createCallLimit(ms: number, what: string, signal: AbortSignal | undefined) {
  const controller = new AbortController();
  const timer = setTimeout(
    () => controller.abort(new TimeoutError(`${what} did not answer within ${ms / 1000} s.`)),
    ms,
  );
  const abort = () => controller.abort(signal?.reason);
  if (signal?.aborted) abort();
  signal?.addEventListener('abort', abort, { once: true });
  return {
    /** Aborts with the reason to throw: the caller's own, or a `TimeoutError`. */
    signal: controller.signal,
    release(): void {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    },
  };
}
