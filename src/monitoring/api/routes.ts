import type { Logger } from 'pino';
import { MONITORING_PREFIX } from '../../contracts/monitoring.ts';
import { notFound } from '../../http/errors.ts';
import type { Keys } from '../../http/keys.ts';
import { refuseOtherMethods } from '../../http/other-methods.ts';
import type { ServerKit } from '../../http/server.ts';
import type { HttpRequest, HttpServer } from '../../http/server-types.ts';
import type { Store } from '../../store/store.ts';
import { addChangesRoute } from './changes-route.ts';
import { addHistoryRoutes } from './history-routes.ts';
import { createListWriter } from './list-writer.ts';
import { addMaintenanceRoutes } from './maintenance-routes.ts';
import { addMonitorActions } from './monitor-actions.ts';
import { createMetricsWriter } from './monitor-metrics.ts';
import { addMonitorRoutes } from './monitor-routes.ts';
import { addPushRoutes } from './push-routes.ts';
import { createPushShortcut } from './push-shortcut.ts';
import { createRateLimitHook } from './rate-limit-hook.ts';
import type { RouteTools } from './route-scope.ts';

export function addRoutes(
  options: Omit<RouteTools, 'keyOf'> & {
    kit: ServerKit;
    keys: Keys;
    store: Store;
    log: Logger;
  },
): void {
  const { kit, keys, store, log, ...parts } = options;
  const { monitors, runner, clock } = parts;
  const limits = createRateLimitHook({ keys, monitors, store, nowMs: clock.monotonicMs });
  const { hook, keyOf, countPush } = limits;
  const write = createListWriter({ wallMs: clock.wallMs, isStale: runner.isStale });
  const tools: RouteTools = { ...parts, keyOf };
  kit.addShortcut(createPushShortcut({ monitors, runner, countPush, log }));
  const writeMetrics = createMetricsWriter({ monitors, owns: runner.owns });
  kit.metrics.addKeyed(async (request, reply) => {
    await hook(request, reply);
    return await writeMetrics();
  });

  // A scope of its own, so that the hook runs for every request under the prefix, even for unknown paths.
  kit.server.register(
    async (scope: HttpServer) => {
      scope.addHook('onRequest', hook);
      scope.setNotFoundHandler((request) => {
        throw notFound(`There is nothing at ${request.method} ${pathOf(request)}.`);
      });
      // Otherwise Fastify would parse text and refuse it as "not an object" instead of with a 415.
      scope.removeContentTypeParser('text/plain');
      const refuseOthers = refuseOtherMethods(scope);
      scope.register(async (known: HttpServer) => {
        // An earlier answer of another process must hold here, too.
        known.addHook('preHandler', async ({ method }) => {
          await monitors.catchUp({ notes: method === 'GET' || method === 'HEAD' });
          // The schedule may not have started a window yet that has begun since the last answer.
          await runner.showMaintenance();
        });
        addMonitorRoutes(known, { ...tools, write });
        addMonitorActions(known, tools);
        addMaintenanceRoutes(known, tools);
        known.register(async (reads: HttpServer) => addHistoryRoutes(reads, tools));
      });
      scope.register(async (changes: HttpServer) => addChangesRoute(changes, { ...tools, write }));
      scope.register(async (pushes: HttpServer) => addPushRoutes(pushes, tools));
      scope.register(refuseOthers);
    },
    { prefix: MONITORING_PREFIX },
  );
}

const pathOf = (request: HttpRequest) => request.url.split('?')[0] ?? '';
