import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifySchema } from 'fastify';
import type { Logger } from 'pino';
import { asHttpError, errorBody } from './error-answers.ts';

/** A POST route without Fastify's pipeline, which costs more CPU than forwarding a chat call does. */
export interface DirectRoute {
  path: string;
  /** Only for the OpenAPI document; the route checks its requests itself. */
  schema: FastifySchema;
  /** The returned function adds fields to the log line, once the response has ended. */
  handle(exchange: Exchange): (() => object) | undefined;
}

/** Answers common requests of a Fastify route without Fastify, for speed. */
export interface Shortcut {
  /** URLs with this prefix are offered to `take`. */
  prefix: string;
  /** Returns the answered route, or `undefined` to leave the request to Fastify untouched. */
  take(exchange: Exchange): string | undefined;
}

export interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  /** The client's address, behind trusted proxies. */
  ip: string | undefined;
  /** Sent as `x-request-id`. */
  id: string;
}

type Observe = (method: string, route: string, status: number, seconds: number) => void;

/** nginx's status for a client that closed the connection before the response. */
const LEFT_UNANSWERED = 499;

export type ObserveAnswer = ReturnType<typeof createAnswerObserver>;

export function createAnswerObserver(observe: Observe, log: Logger) {
  return (
    { request: { method = '' }, response, id }: Exchange,
    route: string,
    startMs: number,
    tell?: () => object,
  ): void => {
    response.on('close', () => {
      const ms = performance.now() - startMs;
      const status = response.headersSent ? response.statusCode : LEFT_UNANSWERED;
      observe(method, route, status, ms / 1000);
      if (log.isLevelEnabled('debug')) {
        const answer = { method, route, status, ms: Math.round(ms) };
        log.debug({ reqId: id, ...answer, ...tell?.() }, 'answered');
      }
    });
  };
}

/** Routes that bypass Fastify. `take` returns false for a request that Fastify should handle. */
export function createDirectRoutes(observe: ObserveAnswer) {
  const routes = new Map<string, DirectRoute>();
  const shortcuts: Shortcut[] = [];
  let closing = false;

  return {
    add: (route: DirectRoute) => void routes.set(route.path, route),
    addShortcut: (shortcut: Shortcut) => void shortcuts.push(shortcut),
    take(request: IncomingMessage, response: ServerResponse, ip: string | undefined): boolean {
      const { method, url = '' } = request;
      const direct = method === 'POST' ? routes.get(url) : undefined;
      const shortcut =
        direct || closing ? undefined : shortcuts.find(({ prefix }) => url.startsWith(prefix));
      if (!direct && !shortcut) return false;
      const startMs = performance.now();
      const exchange = { request, response, ip, id: randomUUID() };
      const tell = direct?.handle(exchange);
      const route = direct ? direct.path : shortcut?.take(exchange);
      if (route === undefined) return false;
      // The route's own listeners must run first, because the log line has fields from them.
      observe(exchange, route, startMs, tell);
      return true;
    },
    /** Leaves new requests to Fastify, which refuses them while the server closes. */
    close(): void {
      closing = true;
    },
  };
}

/** Sends JSON text. `headers` alternates names and values; each name occurs once. */
export function sendJson(
  { response, id }: Exchange,
  status: number,
  json: string,
  headers: readonly string[] = [],
): void {
  if (response.destroyed) return;
  // Node needs half the time for a list of headers than for an object.
  response.writeHead(status, [
    'content-type',
    'application/json; charset=utf-8',
    'content-length',
    String(Buffer.byteLength(json)),
    'x-request-id',
    id,
    ...headers,
  ]);
  response.end(json);
}

export function sendError(
  exchange: Exchange,
  error: unknown,
  log: Logger,
  headers: Record<string, string> = {},
): void {
  const refusal = asHttpError(error);
  if (refusal !== error && refusal.status >= 500) {
    log.error({ err: error, reqId: exchange.id }, 'request failed');
  }
  // Otherwise Node would have to read the rest of the body before the connection could serve another request.
  const close = exchange.request.complete ? {} : { connection: 'close' };
  const all = Object.entries({ ...headers, ...refusal.headers, ...close }).flat();
  sendJson(exchange, refusal.status, JSON.stringify(errorBody(refusal)), all);
}
