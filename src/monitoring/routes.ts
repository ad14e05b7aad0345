import { ErrorCode } from '../contracts/error.ts';
import {
  MONITORING_PREFIX,
  type Monitor,
  MonitoringPath,
  pushPath,
} from '../contracts/monitoring.ts';
import { createAuthentication } from '../http/authentication.ts';
import { HttpError, notFound } from '../http/errors.ts';
import type { Keys } from '../http/keys.ts';
import type { HttpRequest, HttpServer } from '../http/server.ts';
import type { Admit } from './admission.ts';
import type { Monitors, WatchedMonitor } from './monitors.ts';
import { createRateLimitHook } from './rate-limit-hook.ts';
import { createSchema, listSchema, pushSchema } from './route-schemas.ts';
import type { Watch } from './watch.ts';

const within = (path: string) => path.slice(MONITORING_PREFIX.length);
const MONITORS = within(MonitoringPath.monitors);
const PUSH = within(MonitoringPath.push);

/** Adds the API of the monitoring contract to the server. */
export function addRoutes(options: {
  server: HttpServer;
  keys: Keys;
  monitors: Monitors;
  admit: Admit;
  watch: Watch;
  baseUrl: () => string;
  /** A clock that never goes back, for the rate limit. */
  nowMs: () => number;
}): void {
  const { server, keys, monitors, admit, watch, baseUrl, nowMs } = options;
  const hook = createRateLimitHook({
    authenticate: createAuthentication(keys, { acceptApiKeyHeader: true }),
    heartbeatOf: (request) => {
      if (request.routeOptions.url !== MonitoringPath.push) return undefined;
      return monitors.byToken(tokenOf(request))?.id ?? null;
    },
    nowMs,
  });

  // A scope of its own: the hook is for every answer under the prefix, also where there is nothing, and however the
  // path was written.
  server.register(
    async (scope: HttpServer) => {
      scope.addHook('onRequest', hook);
      scope.setNotFoundHandler((request) => {
        throw notFound(`There is nothing at ${request.method} ${pathOf(request)}.`);
      });
      // Text would be read by Fastify and then refused as "not an object"; 415 says what is meant.
      scope.removeContentTypeParser('text/plain');
      addMonitorRoutes(scope, { monitors, admit, watch, baseUrl });
      refuseOtherMethods(scope, MONITORS, ['PUT', 'PATCH', 'DELETE', 'OPTIONS'], 'GET, HEAD, POST');
      scope.register(async (pushes: HttpServer) => addPushRoute(pushes, monitors, watch));
    },
    { prefix: MONITORING_PREFIX },
  );
}

function addMonitorRoutes(
  scope: HttpServer,
  tools: { monitors: Monitors; admit: Admit; watch: Watch; baseUrl: () => string },
): void {
  const { monitors, admit, watch, baseUrl } = tools;
  scope.get(MONITORS, { schema: listSchema }, () => {
    const listed = monitors.all().map(listedMonitor);
    return { count: listed.length, monitors: listed };
  });

  scope.post(MONITORS, { schema: createSchema }, async (request, reply) => {
    const definition = request.body;
    await admit(definition);
    const { monitor, token } = await orUnavailable(
      monitors.add(definition),
      'The monitor could not be stored and was not created. Try again.',
    );
    watch.begin(monitor);
    reply.code(201);
    return {
      id: monitor.id,
      name: definition.name,
      check_type: definition.check_type,
      target: definition.target,
      status: monitor.state.status,
      created_at: utc(monitor.createdAtMs),
      interval_seconds: intervalSeconds(monitor),
      ...(token ? { push_url: baseUrl().replace(/\/+$/, '') + pushPath(token) } : {}),
    };
  });
}

function addPushRoute(scope: HttpServer, monitors: Monitors, watch: Watch): void {
  // A ping has no body; whatever a job sends along is taken and not looked at.
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, _body, done) => done(null));
  scope.route({
    method: ['GET', 'HEAD', 'POST'],
    url: PUSH,
    schema: pushSchema,
    handler: async (request) => {
      const monitor = monitors.byToken(tokenOf(request));
      if (monitor === undefined) {
        throw notFound('There is no heartbeat with this token. Check the push URL.');
      }
      await orUnavailable(watch.ping(monitor), 'The ping could not be stored. Send it again.');
      return { ok: true as const };
    },
  });
  refuseOtherMethods(scope, PUSH, ['PUT', 'PATCH', 'DELETE', 'OPTIONS'], 'GET, HEAD, POST');
}

function refuseOtherMethods(
  scope: HttpServer,
  url: string,
  method: Array<'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS'>,
  allow: string,
): void {
  scope.route({
    method,
    url,
    schema: { hide: true },
    // Before the body is read: it does not matter what it holds.
    onRequest: async (request) => {
      throw new HttpError(
        405,
        ErrorCode.methodNotAllowed,
        `${request.method} is not possible here. Possible are ${allow}.`,
        { headers: { allow } },
      );
    },
    handler: () => undefined,
  });
}

/** What a failing store means to a caller: nothing happened, and trying again may help. */
async function orUnavailable<T>(work: Promise<T>, sentence: string): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    if (cause instanceof HttpError) throw cause;
    throw new HttpError(503, ErrorCode.unavailable, sentence, { cause });
  }
}

function listedMonitor(monitor: WatchedMonitor): Monitor {
  const { id, definition, state } = monitor;
  return {
    id,
    name: definition.name,
    check_type: definition.check_type,
    target: definition.target,
    status: state.status,
    interval_seconds: intervalSeconds(monitor),
    status_changed_at: utc(state.sinceMs),
    status_changes: state.changes,
    ...(state.status !== 'UP' && state.problem ? { status_reason: state.problem.reason } : {}),
    last_checked_at: state.lastCheckedMs === null ? null : utc(state.lastCheckedMs),
    response_time_ms: state.responseTimeMs,
  };
}

/** For HEARTBEAT the time between two pings. */
function intervalSeconds({ definition }: WatchedMonitor): number {
  return definition.check_type === 'HEARTBEAT'
    ? definition.config.period_seconds
    : definition.config.interval_seconds;
}

const utc = (ms: number) => new Date(ms).toISOString();
const tokenOf = (request: HttpRequest) => (request.params as { token: string }).token;
const pathOf = (request: HttpRequest) => request.url.split('?')[0] ?? '';
