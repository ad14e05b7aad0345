import { randomUUID } from 'node:crypto';
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import swagger from '@fastify/swagger';
import {
  type FastifyBaseLogger,
  type FastifySchema,
  fastify,
  LogController,
  type RawServerDefault,
} from 'fastify';
import { serializerCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod';
import type { Logger } from 'pino';
import type { z } from 'zod';
import { JSON_LIMITS, JsonScan } from '../contracts/parse-json.ts';
import { plainWords } from '../contracts/plain-words.ts';
import { createBodyReader } from './body-reader.ts';
import { clientKeyOf } from './client-address.ts';
import { boundConnections, closeUnlessComplete } from './connections.ts';
import {
  createAnswerObserver,
  createDirectRoutes,
  type DirectRoute,
  type Shortcut,
} from './direct-route.ts';
import { addDocsPage } from './docs-page.ts';
import {
  answerBrokenRequest,
  answerConnect,
  answerError,
  validationError,
} from './error-answers.ts';
import { notFound } from './errors.ts';
import { Forwarder, type Forwarding } from './forwarding.ts';
import { addMetrics } from './metrics.ts';
import { openApi } from './openapi.ts';
import { hideMethod, refuseOtherMethods, restoreMethod } from './other-methods.ts';
import type { HttpReply, HttpRequest, HttpServer } from './server-types.ts';
import { createTrustedProxies, type RequestCaller } from './trusted-proxies.ts';

/** Throws or rejects with the reason if a part isn't ready. */
type ReadyCheck = () => Promise<void> | void;

export type ServerKit = Awaited<ReturnType<typeof createServer>>;

const BODY_LIMIT_BYTES = 256 * 1024;

/** Ten times the values that any route needs: validating a wrong value takes longer than sending it. */
const BODY_LIMITS = { ...JSON_LIMITS, values: 2_000 };

/** Memory for the unfinished JSON bodies of all routes. */
const BODIES_BYTES = 32 * 1024 * 1024;

/** Limits of a route that gets its body unparsed. */
const RAW_BODY = { limitBytes: 1024 * 1024, roomBytes: 16 * 1024 * 1024, timeMs: 10_000 };

/** Time for a client to send its whole request. */
const REQUEST_TIMEOUT_MS = 60_000;

const READY_DEADLINE_MS = 3_000;

/** A load balancer is assumed if `/readyz` was requested within this time. */
const BALANCER_MS = 30_000;

/** A load balancer that checks every two seconds notices a stop within this time. */
const DRAIN_MS = 3_000;

/** Interval at which a server that closes looks for connections whose answers have ended. */
const CLOSE_IDLE_MS = 50;

export interface HttpServerOptions {
  log: Logger;
  version: string;
  /** Networks and addresses of the proxies whose `X-Forwarded-For`, `-Proto` and `-Host` are trusted; none if absent. */
  trustedProxies?: readonly string[];
  /** The process's limit of open files; unlimited if absent. */
  openFiles?: number;
}

export async function createServer(options: HttpServerOptions) {
  const log = ownLog(options.log);
  const proxies = createTrustedProxies(options.trustedProxies ?? [], log);
  const observeAnswer = createAnswerObserver((...answer) => observe(...answer), log);
  const direct = createDirectRoutes(observeAnswer);
  const callers = new WeakMap<IncomingMessage, RequestCaller>();
  let forwarder: Forwarder | undefined;
  const server = createFastify({
    log,
    isTrustedProxy: proxies.isTrusted,
    receive(request, response, pass) {
      function serve(caller?: RequestCaller) {
        if (caller) callers.set(request, caller);
        const ip = caller ? caller.ip : proxies.addressOf(request);
        if (direct.take(request, response, ip)) return;
        hideMethod(request);
        pass(request, response);
      }
      if (forwarder) forwarder.take(request, response, serve);
      else serve();
    },
  });

  const { openFiles } = options;
  const exempt =
    openFiles === undefined
      ? undefined
      : boundConnections(server.server, { openFiles, isProxy: proxies.isTrusted, log });
  const dropUnused = trackUnused(server.server);
  const refuseOthers = refuseOtherMethods(server);
  addParsing(server);
  addAnswering(server, callers);
  const { metrics, observe } = addMetrics(server);
  await server.register(swagger, openApi(options.version));
  server.get('/openapi.json', { schema: { hide: true } }, () => server.swagger());
  addDocsPage(server);
  const health = addHealth(server);

  return {
    server,
    metrics,
    addReadyCheck: health.addReadyCheck,
    /** Adds a route for a library that reads requests itself; it finds the unparsed body in `rawBody`. */
    addRawRoute: (
      method: 'GET' | 'POST',
      path: string,
      handle: (request: IncomingMessage, response: ServerResponse) => void,
    ) => addRawRoute(server, method, path, handle),
    addDirectRoute(route: DirectRoute): void {
      direct.add(route);
      // Fastify needs the route for the OpenAPI document, and for other spellings of the path.
      addUnreadRoute(server, 'POST', route.path, route.schema, ({ raw, ip, id }, reply) => {
        reply.hijack();
        route.handle({ request: raw, response: reply.raw, ip, id });
      });
    },
    addShortcut: (shortcut: Shortcut) => direct.addShortcut(shortcut),
    /** Forwards requests for the bot to the process that holds it, before any route sees them. */
    addForwarding(forwarding: Forwarding): void {
      forwarder = new Forwarder({
        ...forwarding,
        callerOf: proxies.callerOf,
        // Another process connects for many clients, as a proxy does.
        onForwarded: ({ socket }) => exempt?.(socket),
        observe: observeAnswer,
        log,
      });
    },
    /** Resolves to the address as `http://host:port`. */
    async listen({ host, port }: { host: string; port: number }): Promise<string> {
      // The plugin needs all routes, so it comes last.
      server.register(refuseOthers);
      return await server.listen({ host, port });
    },
    /** Resolves when a load balancer, if there is one, has noticed the stop that began at `sinceMs`. */
    drain: health.drain,
    /** Stops accepting connections and waits for responses in progress. */
    async close(): Promise<void> {
      direct.close();
      forwarder?.close();
      dropUnused();
      // Node.js only closes connections that are idle at this moment. Others would stay until their clients leave.
      const closingIdle = setInterval(() => server.server.closeIdleConnections(), CLOSE_IDLE_MS);
      await server.close().finally(() => clearInterval(closingIdle));
      forwarder?.disconnect();
    },
  };
}

type Receive = (request: IncomingMessage, response: ServerResponse) => void;

function createFastify(options: {
  log: Logger;
  isTrustedProxy(address: string | undefined): boolean;
  /** Gets every request first; `pass` hands it to Fastify. */
  receive(request: IncomingMessage, response: ServerResponse, pass: Receive): void;
}): HttpServer {
  const { log, isTrustedProxy, receive } = options;
  return fastify({
    loggerInstance: log as FastifyBaseLogger,
    // The hook below logs one line per response; Fastify would log two more.
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: BODY_LIMIT_BYTES,
    serverFactory: (pass) =>
      createHttpServer(
        {
          requestTimeout: REQUEST_TIMEOUT_MS,
          headersTimeout: 10_000,
          connectionsCheckingInterval: 1_000,
          keepAliveTimeout: 65_000,
        },
        (request, response) => receive(request, response, pass),
      ).on('connect', (_request, socket) => answerConnect(socket as Socket)),
    clientErrorHandler: answerBrokenRequest,
    // Fastify doesn't run hooks for a request whose path can't be decoded.
    frameworkErrors(error, request, reply) {
      reply.header('x-request-id', request.id);
      answerError(error, request, reply);
    },
    // `addressOf` has already reduced X-Forwarded-For to the client's address.
    trustProxy: (address, hop) => hop === 0 && isTrustedProxy(address),
    forceCloseConnections: 'idle',
    genReqId: () => randomUUID(),
    routerOptions: { maxParamLength: 500 },
  }).withTypeProvider<ZodTypeProvider>();
}

function addParsing(server: HttpServer): void {
  server.setValidatorCompiler(({ schema, httpPart }) => (data: unknown) => {
    const result = (schema as z.ZodType).safeParse(data, { error: plainWords });
    return result.success
      ? { value: result.data }
      : { error: validationError(result.error.issues, data, httpPart) };
  });
  server.setSerializerCompiler(serializerCompiler);
  // The contracts have no text bodies, which Fastify accepts by default.
  server.removeContentTypeParser(['application/json', 'text/plain']);
  addJsonParser(server);
}

function addAnswering(server: HttpServer, callers: WeakMap<IncomingMessage, RequestCaller>): void {
  server.setErrorHandler(answerError);
  server.setNotFoundHandler((request) => {
    throw nothingAt(request);
  });
  server.addHook('onRequest', async (request, reply) => {
    restoreMethod(request.raw);
    const caller = callers.get(request.raw);
    if (caller) defineCaller(request, caller);
    reply.header('x-request-id', request.id);
  });
  // An unknown path is refused before its body is read, but after the key and the rate limit are checked.
  server.addHook('preParsing', async (request) => {
    if (request.is404) throw nothingAt(request);
  });
  server.addHook('onResponse', async (request, reply) => {
    request.log.debug(
      {
        method: request.method,
        route: request.routeOptions.url ?? 'none',
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime),
      },
      'answered',
    );
    closeUnlessComplete(request.raw);
  });
}

function addHealth(server: HttpServer) {
  const readyChecks = new Map<string, ReadyCheck>();
  let readyRequestedAtMs = Number.NEGATIVE_INFINITY;
  server.get('/healthz', { schema: { hide: true } }, () => ({ ok: true }));
  server.get('/readyz', { schema: { hide: true } }, async (_request, reply) => {
    readyRequestedAtMs = performance.now();
    const parts = await Promise.all(
      [...readyChecks].map(async ([name, check]) => [name, await readyState(check)] as const),
    );
    const ready = parts.every(([, state]) => state === 'ok');
    reply.code(ready ? 200 : 503);
    return { ready, parts: Object.fromEntries(parts) };
  });
  return {
    addReadyCheck: (name: string, check: ReadyCheck) => void readyChecks.set(name, check),
    async drain(sinceMs = performance.now()): Promise<void> {
      if (performance.now() - readyRequestedAtMs > BALANCER_MS) return;
      await pause(Math.max(0, sinceMs + DRAIN_MS - performance.now()));
    },
  };
}

async function readyState(check: ReadyCheck): Promise<string> {
  try {
    await withDeadline(check);
    return 'ok';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function addRawRoute(
  server: HttpServer,
  method: 'GET' | 'POST',
  path: string,
  handle: Receive,
): void {
  const { limitBytes, ...room } = RAW_BODY;
  const readBody = createBodyReader(room);
  addUnreadRoute(server, method, path, { hide: true }, async ({ raw, ip }, reply) => {
    const response = reply.raw;
    const sender = clientKeyOf(ip);
    const rawBody = await readBody(raw, { sender, limitBytes, response });
    reply.hijack();
    handle(Object.assign(raw, { rawBody }), response);
  });
}

/** Sets the original client; Fastify would report the process that forwarded the request. */
function defineCaller(request: HttpRequest, { ip, protocol, host }: RequestCaller): void {
  Object.defineProperties(request, {
    ip: { value: ip },
    protocol: { value: protocol },
    host: { value: host },
  });
}

const nothingAt = ({ method, url }: HttpRequest) =>
  notFound(`There is nothing at ${method} ${shownPath(url)}.`);

/** Hides long parts of a path, because they may be tokens. */
const shownPath = (url: string) => (url.split('?')[0] ?? '').replace(/[\w-]{24,}/g, '…');

/** Parses JSON bodies after their size, depth and number of values have been checked. */
function addJsonParser(server: HttpServer): void {
  const readBody = createBodyReader({ roomBytes: BODIES_BYTES, timeMs: REQUEST_TIMEOUT_MS });
  const parseJson = server.getDefaultJsonParser('error', 'error');
  server.addContentTypeParser('application/json', async (request: HttpRequest) => {
    const limitBytes = request.routeOptions.bodyLimit ?? BODY_LIMIT_BYTES;
    const body = await readBody(request.raw, { sender: clientKeyOf(request.ip), limitBytes });
    const text = body.toString();
    new JsonScan(BODY_LIMITS).add(text);
    return await new Promise((resolve, reject) => {
      void parseJson(request, text, (error, value) => (error ? reject(error) : resolve(value)));
    });
  });
}

/** Adds a route whose request body is neither read nor validated. */
function addUnreadRoute(
  server: HttpServer,
  method: 'GET' | 'POST',
  url: string,
  schema: FastifySchema,
  handle: (request: HttpRequest, reply: HttpReply) => void,
): void {
  server.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null));
    scope.route({
      method,
      url,
      schema,
      validatorCompiler: () => () => true,
      handler: handle,
    });
  });
}

/** Fastify logs its address at `info`; the banner shows it already. */
function ownLog(log: Logger): Logger {
  return log.child({}, { level: log.level === 'info' ? 'warn' : log.level });
}

/**
 * Browsers open spare connections without sending a request, and Node's `close` waits for them forever. The returned function closes
 * them, and new ones as they arrive.
 */
function trackUnused(server: RawServerDefault): () => void {
  const unused = new Set<Socket>();
  let closing = false;
  server.on('connection', (socket) => {
    if (closing) return void socket.destroy();
    unused.add(socket);
    socket.once('close', () => unused.delete(socket));
  });
  server.on('request', ({ socket }) => unused.delete(socket));
  return () => {
    closing = true;
    for (const socket of unused) socket.destroy();
  };
}

async function withDeadline(check: ReadyCheck): Promise<void> {
  const late = pause(READY_DEADLINE_MS, undefined, { ref: false }).then(() => {
    throw new Error(`It did not answer within ${READY_DEADLINE_MS / 1000} seconds.`);
  });
  await Promise.race([Promise.resolve().then(check), late]);
}
