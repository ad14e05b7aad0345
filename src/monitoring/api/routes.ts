import type { IncomingMessage } from 'node:http';
import { MONITORING_PREFIX, MonitoringPath } from '../../contracts/monitoring.ts';
import { AddedPath } from '../../contracts/monitoring-additions.ts';
import { createAuthentication, type KeyedRequest } from '../../http/authentication.ts';
import { notFound } from '../../http/errors.ts';
import type { KeyInfo, Keys } from '../../http/keys.ts';
import { refuseOtherMethods } from '../../http/other-methods.ts';
import type { HttpRequest, HttpServer } from '../../http/server-types.ts';
import { addHistoryRoutes } from './history-routes.ts';
import { addMonitorActions } from './monitor-actions.ts';
import { addMonitorRoutes } from './monitor-routes.ts';
import { addPushRoutes } from './push-routes.ts';
import { createRateLimitHook } from './rate-limit-hook.ts';
import type { RouteTools } from './route-scope.ts';

/** Where a token in the path is the credential. */
const PUSH_PATHS: ReadonlyArray<string | undefined> = [MonitoringPath.push, AddedPath.pushSignal];

/** Adds the API of the monitoring contract to the server, and what we add to it. */
export function addRoutes(
  options: Omit<RouteTools, 'keyOf'> & { server: HttpServer; keys: Keys },
): void {
  const { server, keys, ...parts } = options;
  const { monitors, clock } = parts;
  const { authenticate, keyOf } = rememberedKeys(keys);
  const tools: RouteTools = { ...parts, keyOf };
  const hook = createRateLimitHook({
    authenticate,
    heartbeatOf: ({ routeOptions, params }) => {
      if (!PUSH_PATHS.includes(routeOptions.url)) return undefined;
      return monitors.byToken((params as { token: string }).token)?.id ?? null;
    },
    nowMs: clock.monotonicMs,
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
      const refuseOthers = refuseOtherMethods(scope);
      addMonitorRoutes(scope, tools);
      addMonitorActions(scope, tools);
      scope.register(async (reads: HttpServer) => addHistoryRoutes(reads, tools));
      scope.register(async (pushes: HttpServer) => addPushRoutes(pushes, tools));
      scope.register(refuseOthers);
    },
    { prefix: MONITORING_PREFIX },
  );
}

/** Authentication that can be asked later whose request it was. */
function rememberedKeys(keys: Keys) {
  const found = new WeakMap<IncomingMessage, KeyInfo>();
  const ask = createAuthentication(keys, { acceptApiKeyHeader: true });
  return {
    authenticate(request: KeyedRequest): KeyInfo {
      const key = ask(request);
      found.set(request.raw, key);
      return key;
    },
    keyOf({ raw }: HttpRequest): KeyInfo {
      const key = found.get(raw);
      if (key === undefined) throw new Error('This route needs no key, and nobody asked for one.');
      return key;
    },
  };
}

const pathOf = (request: HttpRequest) => request.url.split('?')[0] ?? '';
