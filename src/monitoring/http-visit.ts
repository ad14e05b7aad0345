import http from 'node:http';
import type { Socket } from 'node:net';
import { type Connect, unlessAborted } from './connect.ts';
import { CheckFailure, errorCode } from './failure.ts';

const MAX_REDIRECTS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const MAX_HEADER_BYTES = 64 * 1024;

export interface Visit {
  url: URL;
  method: string;
  headers: Record<string, string>;
  /** A redirect with a status that is wanted is an answer, not a way. */
  isWanted: (status: number) => boolean;
}

/**
 * Makes one request over a new connection, follows up to five redirects by hand, each through the same guarded
 * `connect`, and gives the answer to `read`; then the connection is closed, whatever was read.
 * Throws a `CheckFailure`, or the signal's reason when it aborts. No cookies; nothing is kept between visits.
 */
export async function visit<T>(
  connect: Connect,
  { url, method, headers, isWanted }: Visit,
  signal: AbortSignal,
  read: (answer: http.IncomingMessage, status: number) => Promise<T>,
): Promise<T> {
  let here = url;
  let how = method;
  for (let redirects = 0; ; redirects += 1) {
    const socket = await connect(here, signal);
    try {
      const answer = await exchange(socket, here, how, headers, signal);
      const status = answer.statusCode ?? 0;
      const onward = isWanted(status) ? undefined : redirectOf(answer, status, here);
      if (onward === undefined) return await translated(read(answer, status), signal);
      if (redirects === MAX_REDIRECTS) {
        throw new CheckFailure('redirect', `more than ${MAX_REDIRECTS} redirects`);
      }
      here = onward;
      how = methodAfter(status, how);
    } finally {
      socket.destroy();
    }
  }
}

async function exchange(
  socket: Socket,
  url: URL,
  method: string,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<http.IncomingMessage> {
  const request = http.request({
    createConnection: () => socket,
    setHost: false,
    method,
    path: url.pathname + url.search,
    headers: { host: url.host, ...headers },
    maxHeaderSize: MAX_HEADER_BYTES,
  });
  const answer = new Promise<http.IncomingMessage>((resolve, reject) => {
    request.once('response', resolve);
    // Stays for the whole life of the request: an error after the answer began comes here too.
    request.on('error', reject);
  });
  request.end();
  return await translated(answer, signal);
}

/** Waits no longer than the signal allows, and says in words what broke. */
async function translated<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await unlessAborted(promise, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof CheckFailure) throw error;
    throw exchangeFailure(error);
  }
}

function exchangeFailure(error: unknown): CheckFailure {
  const code = errorCode(error) ?? 'unknown error';
  if (code === 'HPE_HEADER_OVERFLOW') {
    return new CheckFailure('protocol', 'the headers of the answer are too large', {
      cause: error,
    });
  }
  if (code.startsWith('HPE_')) {
    return new CheckFailure('protocol', `the answer is not valid HTTP (${code})`, { cause: error });
  }
  if (code === 'ECONNRESET' || code === 'EPIPE' || code === 'ERR_STREAM_PREMATURE_CLOSE') {
    return new CheckFailure('connection', 'the connection broke before the answer was complete', {
      cause: error,
    });
  }
  return new CheckFailure('connection', `the connection failed (${code})`, { cause: error });
}

/** Where an answer sends the visitor, or `undefined` when it does not. */
function redirectOf(answer: http.IncomingMessage, status: number, from: URL): URL | undefined {
  const { location } = answer.headers;
  if (!REDIRECTS.has(status) || location === undefined) return undefined;
  const to = URL.canParse(location, from.href) ? new URL(location, from.href) : undefined;
  if (to === undefined || (to.protocol !== 'http:' && to.protocol !== 'https:')) {
    throw new CheckFailure('redirect', 'it redirects to something that is not a web address');
  }
  to.username = '';
  to.password = '';
  return to;
}

/** As browsers do: 303 turns into GET, and so does a POST at 301 and 302. Source: RFC 9110 §15.4. */
function methodAfter(status: number, method: string): string {
  if (method === 'HEAD') return method;
  if (status === 303 || (method === 'POST' && status < 303)) return 'GET';
  return method;
}
