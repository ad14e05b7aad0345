import { collectDefaultMetrics, Registry } from 'prom-client';

let registry: Registry | undefined;

/**
 * What prom-client measures of the process itself, made at the first call and then shared. Each set of these has a timer
 * every 10 ms and an observer of the garbage collection that nothing ends, and that keep their registry.
 * Source: prom-client 15, `lib/metrics/eventLoopLag.js` and `gc.js`.
 */
export function processMetrics(): Registry {
  if (!registry) {
    registry = new Registry();
    collectDefaultMetrics({ register: registry });
  }
  return registry;
}
