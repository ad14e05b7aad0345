import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifySchema } from 'fastify';
import type { Logger } from 'pino';
import { asHttpError, errorBody } from './error-answers.ts';

/**
 * A POST route that reads its request and writes its answer itself. Fastify's pipeline around a handler costs more CPU
 * than forwarding a chat call does, so the one route that carries the traffic goes past it, on the same listener.
 */
export interface DirectRoute {
  path: string;
  /** For the OpenAPI document alone: the route checks its requests itself. */
  schema: FastifySchema;
  /** May return what the log line of the answer is to tell beside status and time; called when the answer has ended. */
  handle(exchange: Exchange): (() => object) | undefined;
}

/**
 * Answers the common requests of routes of Fastify's past it, for the same reason. The routes stay, for all requests that it
 * leaves: those that are unusual, and those that are refused.
 */
export interface Shortcut {
  /** What the URLs begin with that it is asked for. */
  prefix: string;
  /** The route whose request it answers; `undefined` leaves the request, untouched, to Fastify. */
  take(exchange: Exchange): string | undefined;
}

/** One request and its answer. */
export interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  /** The address of who asks, as `request.ip` of Fastify's routes tells it. */
  ip: string | undefined;
  /** Stands in the header `x-request-id` of the answer. */
  id: string;
}

/** Is told of every answer: its status, and how long it took. */
type Observe = (method: string, route: string, status: number, seconds: number) => void;

/** nginx's status for a caller that left before it was answered. */
const LEFT_UNANSWERED = 499;

/** Measures and logs an answer once it has ended; `tell` is asked then for more of the log line. */
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

/** Hands a request to the direct route or the shortcut that it is for; false when Fastify is to have it. */
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
      // After the route's own listeners, so that it knows how the answer ended.
      observe(exchange, route, startMs, tell);
      return true;
    },
    /** Leaves what still comes to Fastify, which refuses it once the server closes. */
    close(): void {
      closing = true;
    },
  };
}

/** Answers with JSON that is already text. `headers` are names and values in turn, a name once. */
export function sendJson(
  { response, id }: Exchange,
  status: number,
  json: string,
  headers: readonly string[] = [],
): void {
  if (response.destroyed) return;
  // Node takes half as long for a list as for an object.
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

/** Answers with the contracts' error body; what we did not expect is told to the log only. */
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
  // The rest of a body nobody reads would have to be read before the connection could serve another request.
  const close = exchange.request.complete ? {} : { connection: 'close' };
  const all = Object.entries({ ...headers, ...refusal.headers, ...close }).flat();
  sendJson(exchange, refusal.status, JSON.stringify(errorBody(refusal)), all);
}
