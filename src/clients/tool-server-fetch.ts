import { AsyncLocalStorage } from 'node:async_hooks';
import { setMaxListeners } from 'node:events';
import { type Agent, request } from 'undici';
import { JSON_LIMITS, JsonLimitError, JsonScan, jsonFault } from '../contracts/parse-json.ts';
import { ContractError, NetworkError } from './errors.ts';

/** Bytes of one answer of a server; lists of tools with long schemas have some 200 KB. */
const MAX_BYTES = 1024 * 1024;

/** One tool whose schema is nested deep must not hide all others. */
const ANSWER_LIMITS = { ...JSON_LIMITS, depth: 200 };

/** Of an answer that is an error nobody reads more. */
const MAX_ERROR_BYTES = 2_048;

/** Messages for one call: the call itself, refusals of what its server asks for, and requests for the rest of its answer. */
const MAX_MESSAGES = 20;

/** One call, over all messages that are sent for it. */
export interface CallScope {
  /** One more is sent; how many that makes. */
  sends(): number;
  /** Aborts when nobody waits for the answer any more. */
  signal: AbortSignal;
  /** The answer to one has come to its end, whole or not. */
  ended(error?: unknown): void;
}

/** For which call something is sent: the library between does not tell. */
export const callScope = new AsyncLocalStorage<CallScope>();

/** Stands for `fetch` where a library asks for one. */
export type ServerFetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/**
 * Sends messages to one server, with its headers, to its origin and nowhere else. Answers are bounded in size, depth and values as they
 * come. Throws `NetworkError`, for a redirect to another origin too, and `ContractError`.
 */
export function createServerFetch(server: {
  url: URL;
  /** As errors name it. */
  name: string;
  headers: Readonly<Record<string, string>>;
  connections: Agent;
}): ServerFetch {
  const { url, name, headers: own, connections: dispatcher } = server;

  return async (to, { method = 'GET', headers, body, signal } = {}) => {
    const target = new URL(to);
    if (target.origin !== url.origin) {
      throw new NetworkError(`${name} tried to have a request sent to ${target.origin}.`);
    }
    const scope = callScope.getStore();
    // The rest of an answer is asked for, and nothing that a server would say by itself.
    const isRest = new Headers(headers).has('last-event-id');
    if (method === 'GET' && !isRest) return new Response(null, { status: 405 });
    if (scope && scope.sends() > MAX_MESSAGES) {
      const error = new ContractError(`${name} tried to send more requests than the call needs.`);
      scope.ended(error);
      throw error;
    }
    // Some servers leave an answer open after its end. All messages of a call share its signal.
    const until = scope?.signal ?? signal;
    if (until) setMaxListeners(0, until);
    let answer: Awaited<ReturnType<typeof request>>;
    try {
      answer = await request(target, {
        dispatcher,
        method: method as 'GET' | 'POST' | 'DELETE',
        headers: {
          ...Object.fromEntries(new Headers(headers)),
          ...own,
          // What is small on its way may be large when it is unpacked.
          'accept-encoding': 'identity',
        },
        body: typeof body === 'string' ? body : null,
        signal: until ?? null,
      });
    } catch (error) {
      scope?.ended(error);
      throw error;
    }
    // Closed unread, a body would emit an error that nobody hears; a reader hears it all the same.
    answer.body.on('error', () => {});
    const { statusCode: status } = answer;
    const told = headersOf(answer.headers);
    // Where somebody could log in is a server's word: nobody does.
    told.delete('www-authenticate');
    const drop = (error?: Error) => {
      answer.body.destroy();
      scope?.ended(error);
      if (error) throw error;
    };
    const location = status >= 300 && status <= 399 ? told.get('location') : null;
    if (location !== null && originOf(location, target) !== url.origin) {
      drop(
        new NetworkError(
          `${name} redirects to ${originOf(location, target) ?? 'no address'}, which is not followed. If it moved there, set that as its \`url\`.`,
        ),
      );
    }
    const encoding = told.get('content-encoding') ?? 'identity';
    if (encoding !== 'identity') {
      drop(new ContractError(`${name} sent a compressed answer, which was not requested.`));
    }
    if (status < 200 || status === 204) {
      drop();
      return new Response(null, { status: 204, headers: told });
    }
    // What they mean to the protocol the library knows.
    if (status >= 400) {
      const text = await readSome(answer.body);
      scope?.ended();
      return new Response(text, { status, headers: told });
    }
    return new Response(bounded(answer.body, name, scope), { status, headers: told });
  };
}

function headersOf(headers: Record<string, string | string[] | undefined>): Headers {
  const told = new Headers();
  for (const [key, value] of Object.entries(headers)) {
    for (const one of [value ?? []].flat()) told.append(key, one);
  }
  return told;
}

function originOf(location: string, base: URL): string | undefined {
  return URL.canParse(location, base.href) ? new URL(location, base).origin : undefined;
}

/** The beginning of a body; the rest is not waited for. */
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
    // What has come says enough.
  }
  body.destroy();
  return Buffer.concat(parts).subarray(0, MAX_ERROR_BYTES).toString('utf8');
}

/** A body that ends with an error where it is too large or holds too much. */
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
