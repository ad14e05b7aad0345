import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { HttpServer } from './server-types.ts';

/** Where rooms declare their counters; served at `/metrics` in Prometheus' text form. */
export interface Metrics {
  counter<L extends string>(name: string, help: string, labels?: readonly L[]): Counter<L>;
  /** `read` gives totals that are counted elsewhere; it is asked at each scrape. */
  counters<L extends string>(
    name: string,
    help: string,
    labels: readonly L[],
    read: () => Iterable<Reading<L>>,
  ): void;
  /** `bounds` are those of the buckets, rising. */
  histogram<L extends string>(
    name: string,
    help: string,
    labels: readonly L[],
    bounds: readonly number[],
  ): Histogram<L>;
  /** `read` is asked at each scrape. */
  gauge(name: string, help: string, read: () => number): void;
  /** As `gauge`, with a series for each entry that `read` gives. */
  gauges<L extends string>(
    name: string,
    help: string,
    labels: readonly L[],
    read: () => Iterable<Reading<L>>,
  ): void;
}

/** The value of one combination of labels. */
export interface Reading<L extends string> {
  labels: Record<L, string>;
  value: number;
}

const SECONDS_BOUNDS = [0.001, 0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 60];

/** Where an answer is counted: by route, never by URL, so that the number of series is bounded by the routes. */
type ObserveRequest = (method: string, route: string, status: number, seconds: number) => void;

/** Measures every request, and serves what rooms count. */
export function addMetrics(server: HttpServer): { metrics: Metrics; observe: ObserveRequest } {
  const registry = new Registry();
  // Measured from now on.
  const ofProcess = processMetrics();
  const histogram: Metrics['histogram'] = (name, help, labelNames, bounds) =>
    new Histogram({ name, help, labelNames, buckets: [...bounds], registers: [registry] });
  const durations = histogram(
    'askwatch_http_request_seconds',
    'Time from a request to the end of its answer.',
    ['method', 'route', 'status'],
    SECONDS_BOUNDS,
  );
  const observe: ObserveRequest = (method, route, status, seconds) =>
    durations.observe({ method, route, status }, seconds);
  server.addHook('onResponse', async (request, reply) => {
    const route = request.routeOptions.url ?? 'none';
    observe(request.method, route, reply.statusCode, reply.elapsedTime / 1000);
  });
  server.get('/metrics', { schema: { hide: true } }, async (_request, reply) => {
    reply.type(registry.contentType);
    return `${await ofProcess.metrics()}\n${await registry.metrics()}`;
  });
  const metrics: Metrics = {
    counter: (name, help, labels = []) =>
      new Counter({ name, help, labelNames: labels, registers: [registry] }),
    counters<L extends string>(
      name: string,
      help: string,
      labels: readonly L[],
      read: () => Iterable<Reading<L>>,
    ) {
      new Counter({
        name,
        help,
        labelNames: labels,
        registers: [registry],
        collect() {
          this.reset();
          for (const { labels: of, value } of read()) this.inc(of, value);
        },
      });
    },
    histogram,
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
    gauges<L extends string>(
      name: string,
      help: string,
      labels: readonly L[],
      read: () => Iterable<Reading<L>>,
    ) {
      new Gauge({
        name,
        help,
        labelNames: labels,
        registers: [registry],
        collect() {
          this.reset();
          for (const { labels: of, value } of read()) this.set(of, value);
        },
      });
    },
  };
  return { metrics, observe };
}

let processRegistry: Registry | undefined;

/**
 * What prom-client measures of the process itself, made at the first call and then shared. Each set of these has a timer
 * every 10 ms and an observer of the garbage collection that nothing ends, and that keep their registry.
 * Source: prom-client 15, `lib/metrics/eventLoopLag.js` and `gc.js`.
 */
function processMetrics(): Registry {
  if (!processRegistry) {
    processRegistry = new Registry();
    collectDefaultMetrics({ register: processRegistry });
  }
  return processRegistry;
}
