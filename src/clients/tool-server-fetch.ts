import { AsyncLocalStorage } from 'node:async_hooks';
import { setMaxListeners } from 'node:events';
import { type Agent, request } from 'undici';
import { JSON_LIMITS, JsonLimitError, JsonScan, jsonFault } from '../contracts/parse-json.ts';
import { ContractError, NetworkError } from './errors.ts';

/** Bytes of one answer; lists of tools with long schemas have some 200 KB. */
const MAX_BYTES = 1024 * 1024;

/** A single tool with a deeply nested schema must not hide all others. */
const ANSWER_LIMITS = { ...JSON_LIMITS, depth: 200 };

/** Bytes of an error answer that are read. */
const MAX_ERROR_BYTES = 2_048;

/** Messages for one call: the call itself, refusals of the server's own requests, and requests for the rest of its answer. */
const MAX_MESSAGES = 20;

/** One call, over all messages that are sent for it. */
export interface CallScope {
  /** Counts one more message; returns how many there are. */
  sends(): number;
  /** Aborts when nobody waits for the answer any more. */
  signal: AbortSignal;
  /** The answer to one message has ended, whole or not. */
  ended(error?: unknown): void;
}

/** The call that a message belongs to, since the library doesn't pass it on. */
export const callScope = new AsyncLocalStorage<CallScope>();

export type ServerFetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

interface FetchOptions {
  url: URL;
  /** Name of the server in errors. */
  name: string;
  headers: Readonly<Record<string, string>>;
  connections: Agent;
}

type ServerResponse = Awaited<ReturnType<typeof request>>;

/**
 * Sends messages to one server, with its headers, and to no other origin. Answers are limited as they arrive. Throws `NetworkError`
 * and `ContractError`.
 */
export function createServerFetch(server: FetchOptions): ServerFetch {
  const { url, name } = server;
  return async (to, init = {}) => {
    const target = new URL(to);
    if (target.origin !== url.origin) {
      throw new NetworkError(`${name} tried to have a request sent to ${target.origin}.`);
    }
    // Only the rest of an answer is requested, and nothing that a server would send on its own.
    const isRest = new Headers(init.headers).has('last-event-id');
    if ((init.method ?? 'GET') === 'GET' && !isRest) return new Response(null, { status: 405 });
    const scope = callScope.getStore();
    if (scope && scope.sends() > MAX_MESSAGES) {
      const error = new ContractError(`${name} tried to send more requests than the call needs.`);
      scope.ended(error);
      throw error;
    }
    const answer = await send(server, target, init, scope);
    return await toResponse(server, target, answer, scope);
  };
}

async function send(
  { headers: serverHeaders, connections }: FetchOptions,
  target: URL,
  { method = 'GET', headers, body, signal }: RequestInit,
  scope: CallScope | undefined,
): Promise<ServerResponse> {
  // Some servers leave an answer open after its end. All messages of a call share its signal.
  const until = scope?.signal ?? signal;
  if (until) setMaxListeners(0, until);
  try {
    const answer = await request(target, {
      dispatcher: connections,
      method: method as 'GET' | 'POST' | 'DELETE',
      headers: {
        ...Object.fromEntries(new Headers(headers)),
        ...serverHeaders,
        // A small compressed answer can hide gigabytes.
        'accept-encoding': 'identity',
      },
      body: typeof body === 'string' ? body : null,
      signal: until ?? null,
    });
    // A body that is closed unread emits an error, which would end the process; a reader gets it anyway.
    answer.body.on('error', () => {});
    return answer;
  } catch (error) {
    scope?.ended(error);
    throw error;
  }
}

/** Passes an answer to the library, if its headers are acceptable. */
async function toResponse(
  { url, name }: FetchOptions,
  target: URL,
  { statusCode: status, headers: rawHeaders, body }: ServerResponse,
  scope: CallScope | undefined,
): Promise<Response> {
  const headers = headersOf(rawHeaders);
  // It names a place to log in, which nobody does.
  headers.delete('www-authenticate');
  const fault = faultOf(status, headers, { url, name, target });
  if (fault) {
    body.destroy();
    scope?.ended(fault);
    throw fault;
  }
  if (status < 200 || status === 204) {
    body.destroy();
    scope?.ended();
    return new Response(null, { status: 204, headers });
  }
  // The library knows the meaning of errors in the protocol.
  if (status >= 400) {
    const text = await readSome(body);
    scope?.ended();
    return new Response(text, { status, headers });
  }
  return new Response(bounded(body, name, scope), { status, headers });
}

function faultOf(
  status: number,
  headers: Headers,
  { url, name, target }: { url: URL; name: string; target: URL },
): Error | undefined {
  const location = status >= 300 && status <= 399 ? headers.get('location') : null;
  const origin = location === null ? url.origin : originOf(location, target);
  if (origin !== url.origin) {
    return new NetworkError(
      `${name} redirects to ${origin ?? 'no address'}, which is not followed. If it moved there, set that as its \`url\`.`,
    );
  }
  if ((headers.get('content-encoding') ?? 'identity') !== 'identity') {
    return new ContractError(`${name} sent a compressed answer, which was not requested.`);
  }
  return undefined;
}

function headersOf(headers: Record<string, string | string[] | undefined>): Headers {
  const copy = new Headers();
  for (const [key, value] of Object.entries(headers)) {
    for (const one of [value ?? []].flat()) copy.append(key, one);
  }
  return copy;
}

function originOf(location: string, base: URL): string | undefined {
  return URL.canParse(location, base.href) ? new URL(location, base).origin : undefined;
}

async function readSome(body: AsyncIterable<Buffer> & { destroy(): unknown }): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const part of body) {
      parts.push(part);
      bytes += part.length;
      if (bytes >= MAX_ERROR_BYTES) break;
    }
  } catch {
    // The bytes so far say enough.
  }
  body.destroy();
  return Buffer.concat(parts).subarray(0, MAX_ERROR_BYTES).toString('utf8');
}

/** Returns a body that ends with an error if it is too large or holds too many values. */
function bounded(
  body: AsyncIterable<Buffer> & { destroy(): unknown },
  name: string,
  scope: CallScope | undefined,
): ReadableStream<Uint8Array> {
  const parts = body[Symbol.asyncIterator]();
  const scan = new JsonScan(ANSWER_LIMITS);
  let bytes = 0;
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await parts.next();
        if (done) {
          controller.close();
          scope?.ended();
          return;
        }
        bytes += value.length;
        if (bytes > MAX_BYTES) {
          throw new ContractError(`${name} sent more than ${MAX_BYTES / 1024 / 1024} MB at once.`);
        }
        for (const [index, line] of value
          .toString('latin1')
          .split(/[\r\n]+/)
          .entries()) {
          if (index > 0) scan.endLine();
          scan.add(line);
        }
        controller.enqueue(new Uint8Array(value));
      } catch (cause) {
        const error =
          cause instanceof JsonLimitError
            ? new ContractError(`${name} sent data that ${jsonFault(cause)}.`)
            : cause;
        body.destroy();
        controller.error(error);
        scope?.ended(error);
      }
    },
    cancel() {
      body.destroy();
      scope?.ended();
    },
  });
}
