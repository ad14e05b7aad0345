import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { HttpServer } from './server-types.ts';

/** Where rooms declare their metrics; served at `/metrics` in Prometheus' text form. */
export type Metrics = ReturnType<typeof addMetrics>['metrics'];

/** The value of one combination of labels. */
interface Reading<L extends string> {
  labels: Record<L, string>;
  value: number;
}

const SECONDS_BOUNDS = [0.001, 0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 60];

/** Measures every request, and serves what rooms count. */
export function addMetrics(server: HttpServer) {
  const registry = new Registry();
  const registers = [registry];
  // Measured from now on.
  const ofProcess = processMetrics();

  /** A metric that is read at each scrape. */
  function addRead<L extends string>(
    Kind: typeof Counter<L> | typeof Gauge<L>,
    name: string,
    help: string,
    labelNames: readonly L[],
    read: () => Iterable<Reading<L>>,
  ): void {
    new Kind({
      name,
      help,
      labelNames,
      registers,
      collect(this: Counter<L> | Gauge<L>) {
        this.reset();
        for (const { labels, value } of read()) this.inc(labels, value);
      },
    });
  }

  const metrics = {
    counter: <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
      new Counter({ name, help, labelNames, registers }),
    /** `read` gives totals that are counted elsewhere; it is asked at each scrape. */
    counters: <L extends string>(
      name: string,
      help: string,
      labelNames: readonly L[],
      read: () => Iterable<Reading<L>>,
    ) => addRead(Counter<L>, name, help, labelNames, read),
    /** `bounds` are those of the buckets, rising. */
    histogram: <L extends string>(
      name: string,
      help: string,
      labelNames: readonly L[],
      bounds: readonly number[],
    ) => new Histogram({ name, help, labelNames, buckets: [...bounds], registers }),
    /** `read` is asked at each scrape. */
    gauge: (name: string, help: string, read: () => number) =>
      addRead(Gauge, name, help, [], () => [{ labels: {}, value: read() }]),
    /** As `gauge`, with a series for each entry that `read` gives. */
    gauges: <L extends string>(
      name: string,
      help: string,
      labelNames: readonly L[],
      read: () => Iterable<Reading<L>>,
    ) => addRead(Gauge<L>, name, help, labelNames, read),
  };
  const durations = metrics.histogram(
    'askwatch_http_request_seconds',
    'Time from a request to the end of its answer.',
    ['method', 'route', 'status'],
    SECONDS_BOUNDS,
  );
  /** Counts by route, never by URL, so that the number of series is bounded by the routes. */
  const observe = (method: string, route: string, status: number, seconds: number) =>
    durations.observe({ method, route, status }, seconds);
  server.addHook('onResponse', async (request, reply) => {
    const route = request.routeOptions.url ?? 'none';
    observe(request.method, route, reply.statusCode, reply.elapsedTime / 1000);
  });
  server.get('/metrics', { schema: { hide: true } }, async (_request, reply) => {
    reply.type(registry.contentType);
    return `${await ofProcess.metrics()}\n${await registry.metrics()}`;
  });
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
