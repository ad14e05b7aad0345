import http from 'node:http';
import type { Socket } from 'node:net';
import type { CheckContext } from './check-context.ts';
import { CheckFailure, CLOSED_EARLY, errorCode } from './check-result.ts';
import type { Connect } from './connect.ts';

const MAX_HEADER_BYTES = 64 * 1024;

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** Headers that describe a body and go with it. Source: WHATWG Fetch, "request-body-header name". */
const OF_THE_BODY = new Set([
  'content-encoding',
  'content-language',
  'content-location',
  'content-type',
]);

/** Spoken over TLS. Source: IANA, "TLS ALPN Protocol IDs". */
const HTTP_1 = ['http/1.1'];

/** Interim answers (100, 103); servers send one or two. */
const MAX_INTERIM_ANSWERS = 10;

export interface Visit {
  url: URL;
  method: string;
  /** Sent to every host on the way. */
  headers: Record<string, string>;
  /** Sent over `headers`, and only to the origin of `url`. */
  ownHeaders: Record<string, string>;
  body: string | undefined;
  /** A redirect with a wanted status is the answer and isn't followed. */
  isWanted: (status: number) => boolean;
  /** `undefined` if redirects aren't followed. */
  maxRedirects: number | undefined;
  ignoreTls: boolean;
}

/**
 * Sends one request over a new connection, follows redirects through the same guarded `connect`, and passes the answer to `read`; then
 * closes the connection. Throws a `CheckFailure`, or the signal's reason if it aborts. No cookies; visits share nothing.
 */
export async function visit<T>(
  connect: Connect,
  start: Visit,
  context: CheckContext,
  read: (answer: http.IncomingMessage, status: number) => Promise<T>,
): Promise<T> {
  const been: string[] = [];
  for (let here = start; ; ) {
    const socket = await connect(here.url, context, {
      ignoreTls: here.ignoreTls,
      protocols: HTTP_1,
    });
    try {
      const answer = await exchange(socket, here, context);
      context.step = 'body';
      const status = answer.statusCode ?? 0;
      const onward =
        here.maxRedirects === undefined || here.isWanted(status)
          ? undefined
          : redirectOf(answer, status, here.url);
      if (onward === undefined) return await read(answer, status);
      been.push(here.url.href);
      if (been.length > (here.maxRedirects ?? 0)) throw tooManyRedirects(been, onward);
      here = redirected(here, status, onward);
      context.redirected = true;
    } catch (error) {
      context.signal.throwIfAborted();
      const code = errorCode(error);
      // An error without a code is a bug of ours, not the target's fault.
      if (error instanceof CheckFailure || code === undefined) throw error;
      throw exchangeFailure(error, code, context, socket);
    } finally {
      socket.destroy();
    }
  }
}

function exchange(
  socket: Socket,
  visit: Visit,
  context: CheckContext,
): Promise<http.IncomingMessage> {
  context.step = 'answer';
  const { url, method, body } = visit;
  const headers: Record<string, string> = { host: url.host, ...visit.headers };
  for (const [name, value] of Object.entries(visit.ownHeaders)) headers[name.toLowerCase()] = value;
  headers.host = url.host;
  // Node leaves it out for DELETE and OPTIONS.
  if (body !== undefined) headers['content-length'] = String(Buffer.byteLength(body));
  const request = http.request({
    createConnection: () => socket,
    setHost: false,
    method,
    path: url.pathname + url.search,
    headers,
    maxHeaderSize: MAX_HEADER_BYTES,
  });
  return new Promise((resolve, reject) => {
    let interim = 0;
    request.once('response', (answer) => {
      // The request knows the cause of a later error, such as an invalid chunk; the answer would only say "aborted".
      request.on('error', (error) => answer.destroy(error));
      resolve(answer);
    });
    request.on('information', () => {
      interim += 1;
      if (interim <= MAX_INTERIM_ANSWERS) return;
      reject(new CheckFailure('protocol', 'it sends interim answers (1xx) but no final one'));
    });
    request.once('upgrade', () =>
      reject(new CheckFailure('protocol', 'it switched to another protocol unasked')),
    );
    request.on('error', reject);
    request.once('close', () => reject(CLOSED_EARLY));
    request.end(body);
  });
}

/** The request that follows a redirect, as browsers make it. Source: WHATWG Fetch, "HTTP-redirect fetch". */
function redirected(visit: Visit, status: number, url: URL): Visit {
  const next = { ...visit, url, method: methodAfter(status, visit.method) };
  if (next.method !== visit.method) {
    next.body = undefined;
    next.ownHeaders = headersWhere(next.ownHeaders, (name) => !OF_THE_BODY.has(name));
  }
  // Another origin gets only headers that describe the body, which hold no secrets.
  if (url.origin !== visit.url.origin) {
    next.ownHeaders = headersWhere(next.ownHeaders, (name) => OF_THE_BODY.has(name));
  }
  return next;
}

function headersWhere(
  headers: Record<string, string>,
  keeps: (name: string) => boolean,
): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => keeps(name.toLowerCase())));
}

function exchangeFailure(
  error: unknown,
  code: string,
  { peer }: CheckContext,
  socket: Socket,
): CheckFailure {
  const say = (outcome: 'protocol' | 'connection', reason: string) =>
    new CheckFailure(outcome, reason, { cause: error });
  if (code === 'HPE_HEADER_OVERFLOW')
    return say('protocol', 'the headers of the answer are too large');
  if (code.startsWith('HPE_')) return say('protocol', `the answer is not valid HTTP (${code})`);
  if (code === 'ECONNRESET' || code === 'EPIPE' || code === 'ERR_STREAM_PREMATURE_CLOSE') {
    return say(
      'connection',
      socket.bytesRead === 0
        ? `${peer} closed the connection without an answer`
        : `the connection to ${peer} broke before the answer was complete`,
    );
  }
  return say('connection', `the connection to ${peer} failed (${code})`);
}

/** Target of a redirect; `undefined` for other answers. Throws a `CheckFailure` if it isn't a web address. */
function redirectOf(answer: http.IncomingMessage, status: number, from: URL): URL | undefined {
  const { location } = answer.headers;
  if (!REDIRECTS.has(status) || location === undefined) return undefined;
  const to = URL.canParse(location, from.href) ? new URL(location, from.href) : undefined;
  if (to === undefined || (to.protocol !== 'http:' && to.protocol !== 'https:')) {
    throw new CheckFailure('redirect', "it redirects to an address that isn't http or https");
  }
  to.username = '';
  to.password = '';
  return to;
}

/** 303 turns into GET, and so does a POST at 301 and 302, as in browsers. Source: RFC 9110 §15.4. */
function methodAfter(status: number, method: string): string {
  if (method === 'HEAD') return method;
  if (status === 303 || (method === 'POST' && status < 303)) return 'GET';
  return method;
}

/** The failure of a path that is too long: `been` are the redirecting pages, `to` is the next. */
function tooManyRedirects(been: readonly string[], to: URL): CheckFailure {
  const limit = been.length - 1;
  if (limit === 0) return new CheckFailure('redirect', 'it redirects, and max_redirects is 0');
  const circle = been.includes(to.href) ? ', in a loop' : '';
  return new CheckFailure(
    'redirect',
    `more than ${limit} ${limit === 1 ? 'redirect' : 'redirects'}${circle}`,
  );
}
