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
import { type Caller, createTrustedProxies } from './trusted-proxies.ts';

/** Says what is wrong, or that nothing is, by throwing or not. */
type ReadyCheck = () => Promise<void> | void;

/** The server, and how rooms add to it. */
export type ServerKit = Awaited<ReturnType<typeof createServer>>;

/** Bytes of a request body when a route does not say otherwise. */
const BODY_LIMIT_BYTES = 256 * 1024;

/** Ten times as many values as any route has a use for: a schema takes longer over each wrong value than it took to send it. */
const BODY_LIMITS = { ...JSON_LIMITS, values: 2_000 };

/** Unfinished JSON bodies of all routes. */
const BODIES_BYTES = 32 * 1024 * 1024;

/** Bodies of a route that hands them on as they came. */
const RAW_BODY = { limitBytes: 1024 * 1024, roomBytes: 16 * 1024 * 1024, timeMs: 10_000 };

/** How long a client may take to send its whole request. */
const REQUEST_TIMEOUT_MS = 60_000;

/** How long `/readyz` waits for one part. */
const READY_DEADLINE_MS = 3_000;

/** Who has asked `/readyz` within this time is taken for a load balancer that goes on asking. */
const BALANCER_MS = 30_000;

/** A load balancer that asks every two seconds has heard of a stop by then. */
const DRAIN_MS = 3_000;

/**
 * Builds the server with what every route shares: request ids, the contracts' error body, metrics, health and the
 * OpenAPI document.
 */
export async function createServer(options: {
  log: Logger;
  version: string;
  /** Networks and addresses of the proxies whose `X-Forwarded-For`, `-Proto` and `-Host` are believed; none when absent. */
  trustedProxies?: readonly string[];
  /** Files and connections that the process may have open; no bound when absent. */
  openFiles?: number;
}) {
  const log = ownLog(options.log);
  const proxies = createTrustedProxies(options.trustedProxies ?? [], log);
  const observeAnswer = createAnswerObserver((...answer) => observe(...answer), log);
  const direct = createDirectRoutes(observeAnswer);
  const callers = new WeakMap<IncomingMessage, Caller>();
  let forwarder: Forwarder | undefined;
  const server: HttpServer = fastify({
    loggerInstance: log as FastifyBaseLogger,
    // One line an answer comes from the hook below; Fastify's own two lines would say it twice.
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
        (request, response) => {
          function serve(caller?: Caller) {
            if (caller) callers.set(request, caller);
            const ip = caller ? caller.ip : proxies.addressOf(request);
            if (direct.take(request, response, ip)) return;
            hideMethod(request);
            pass(request, response);
          }
          if (forwarder) forwarder.take(request, response, serve);
          else serve();
        },
      ).on('connect', (_request, socket) => answerConnect(socket as Socket)),
    clientErrorHandler: answerBrokenRequest,
    // For requests that no route could be looked up for; the hooks below are not asked.
    frameworkErrors(error, request, reply) {
      reply.header('x-request-id', request.id);
      answerError(error, request, reply);
    },
    // Of the way only its beginning is left by then, which is who asks.
    trustProxy: (address, hop) => hop === 0 && proxies.isTrusted(address),
    forceCloseConnections: 'idle',
    genReqId: () => randomUUID(),
    routerOptions: { maxParamLength: 500 },
  }).withTypeProvider<ZodTypeProvider>();

  const { openFiles } = options;
  const exempt =
    openFiles === undefined
      ? undefined
      : boundConnections(server.server, { openFiles, isProxy: proxies.isTrusted, log });
  const dropUnused = trackUnused(server.server);

  server.setValidatorCompiler(({ schema, httpPart }) => (data: unknown) => {
    const result = (schema as z.ZodType).safeParse(data, { error: plainWords });
    return result.success
      ? { value: result.data }
      : { error: validationError(result.error.issues, data, httpPart) };
  });
  server.setSerializerCompiler(serializerCompiler);
  const refuseOthers = refuseOtherMethods(server);
  // Fastify accepts text/plain too, which no contract does.
  server.removeContentTypeParser(['application/json', 'text/plain']);
  addJsonParser(server);
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
  // Nobody reads what is sent to a path that doesn't exist. It is refused after a key is asked for and a limit is counted.
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
  const { metrics, observe } = addMetrics(server);

  await server.register(swagger, openApi(options.version));
  server.get('/openapi.json', { schema: { hide: true } }, () => server.swagger());

  const readyChecks = new Map<string, ReadyCheck>();
  let readyAskedMs = Number.NEGATIVE_INFINITY;
  server.get('/healthz', { schema: { hide: true } }, () => ({ ok: true }));
  server.get('/readyz', { schema: { hide: true } }, async (_request, reply) => {
    readyAskedMs = performance.now();
    const parts = await Promise.all(
      [...readyChecks].map(async ([name, check]) => {
        try {
          await withDeadline(check);
          return [name, 'ok'] as const;
        } catch (error) {
          return [name, error instanceof Error ? error.message : String(error)] as const;
        }
      }),
    );
    const ready = parts.every(([, state]) => state === 'ok');
    reply.code(ready ? 200 : 503);
    return { ready, parts: Object.fromEntries(parts) };
  });

  return {
    server,
    metrics,
    /** Adds a part that `/readyz` asks; its name stands in the answer. */
    addReadyCheck: (name: string, check: ReadyCheck) => void readyChecks.set(name, check),
    /** Adds a route for a library that reads requests itself; it finds the body as it came in `rawBody`. */
    addRawRoute(
      method: 'GET' | 'POST',
      path: string,
      handle: (request: IncomingMessage, response: ServerResponse) => void,
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
    },
    /** Adds a route that goes past Fastify. */
    addDirectRoute(route: DirectRoute): void {
      direct.add(route);
      // The document is made from Fastify's routes, and Fastify is asked for the same path in another spelling.
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
        // Another process connects for many, as a proxy does.
        onForwarded: ({ socket }) => exempt?.(socket),
        observe: observeAnswer,
        log,
      });
    },
    /** Starts to listen; resolves to the address as `http://host:port`. */
    async listen({ host, port }: { host: string; port: number }): Promise<string> {
      // Last, when all routes are there.
      server.register(refuseOthers);
      return await server.listen({ host, port });
    },
    /** Waits until a load balancer, where one asks `/readyz`, has heard that the program stops since then. */
    async drain(sinceMs = performance.now()): Promise<void> {
      if (performance.now() - readyAskedMs > BALANCER_MS) return;
      await pause(Math.max(0, sinceMs + DRAIN_MS - performance.now()));
    },
    /** Stops taking connections and waits for answers under way. */
    async close(): Promise<void> {
      direct.close();
      forwarder?.close();
      dropUnused();
      await server.close();
      forwarder?.disconnect();
    },
  };
}

/** Fastify would say who has forwarded the request. */
function defineCaller(request: HttpRequest, { ip, protocol, host }: Caller): void {
  Object.defineProperties(request, {
    ip: { value: ip },
    protocol: { value: protocol },
    host: { value: host },
  });
}

const nothingAt = ({ method, url }: HttpRequest) =>
  notFound(`There is nothing at ${method} ${shownPath(url)}.`);

/** A path as it may be said: a part of it that is as long as a token may be one. */
const shownPath = (url: string) => (url.split('?')[0] ?? '').replace(/[\w-]{24,}/g, '…');

/** Parses JSON bodies once they are known to be bounded in size, depth and number of values. */
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

/** Adds a route whose request is neither read nor checked. */
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

/** Fastify tells at `info` where it listens, which the program tells people in its own words. */
function ownLog(log: Logger): Logger {
  return log.child({}, { level: log.level === 'info' ? 'warn' : log.level });
}

/**
 * Browsers hold spare connections on which they have asked nothing yet. Closing Node's server ends idle connections only
 * after their first request, stops the timer that would end the others, and waits for them for ever. The returned
 * function drops them, now and from now on.
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
