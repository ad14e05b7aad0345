import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { HttpServer } from './server.ts';

/** Where rooms declare their counters; served at `/metrics` in Prometheus' text form. */
export interface Metrics {
  counter<L extends string>(name: string, help: string, labels?: readonly L[]): Counter<L>;
  /** `read` is asked at each scrape. */
  gauge(name: string, help: string, read: () => number): void;
}

const SECONDS_BUCKETS = [0.001, 0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 60];

/** Measures every request by route, never by URL, so that the number of series is bounded by the routes. */
export function addMetrics(server: HttpServer): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const durations = new Histogram({
    name: 'askwatch_http_request_seconds',
    help: 'Time from a request to the end of its answer.',
    labelNames: ['method', 'route', 'status'] as const,
    buckets: SECONDS_BUCKETS,
    registers: [registry],
  });
  server.addHook('onResponse', async (request, reply) => {
    durations.observe(
      {
        method: request.method,
        route: request.routeOptions.url ?? 'none',
        status: reply.statusCode,
      },
      reply.elapsedTime / 1000,
    );
  });
  server.get('/metrics', { schema: { hide: true } }, async (_request, reply) => {
    reply.type(registry.contentType);
    return await registry.metrics();
  });
  return {
    counter: (name, help, labels = []) =>
      new Counter({ name, help, labelNames: labels, registers: [registry] }),
    gauge(name, help, read) {
      new Gauge({
        name,
        help,
        registers: [registry],
        collect() {
          this.set(read());
        },
      });
    },
  };
}
