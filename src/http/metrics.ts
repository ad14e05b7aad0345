import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { keyIn } from './authentication.ts';
import type { HttpReply, HttpRequest, HttpServer } from './server-types.ts';

export type Metrics = ReturnType<typeof addMetrics>['metrics'];

interface MetricValue<L extends string> {
  labels: Record<L, string>;
  value: number;
}

/** Returns lines in the format of Prometheus, with their HELP and TYPE. */
type KeyedWriter = (request: HttpRequest, reply: HttpReply) => Promise<string>;

const SECONDS_BOUNDS = [0.001, 0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 60];

export function addMetrics(server: HttpServer) {
  const registry = new Registry();
  const registers = [registry];
  const shared = sharedProcessMetrics();
  const keyedWriters: KeyedWriter[] = [];

  function addRead<L extends string>(
    Kind: typeof Counter<L> | typeof Gauge<L>,
    name: string,
    help: string,
    labelNames: readonly L[],
    read: () => Iterable<MetricValue<L>>,
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
    /** Returns a function from label values, in the order of `labelNames`, to their counter. */
    counter<L extends string>(name: string, help: string, labelNames: readonly L[] = []) {
      const counter = new Counter<L>({ name, help, labelNames, registers });
      return (...values: string[]) => counter.labels(...values);
    },
    /** `read` returns totals that are counted elsewhere, at each scrape. */
    counters: <L extends string>(
      name: string,
      help: string,
      labelNames: readonly L[],
      read: () => Iterable<MetricValue<L>>,
    ) => addRead(Counter<L>, name, help, labelNames, read),
    /** `bounds` are the upper bounds of the buckets, ascending. Returns a function as `counter` does. */
    histogram<L extends string>(
      name: string,
      help: string,
      labelNames: readonly L[],
      bounds: readonly number[],
    ) {
      const buckets = [...bounds];
      const histogram = new Histogram<L>({ name, help, labelNames, buckets, registers });
      return (...values: string[]) => histogram.labels(...values);
    },
    gauge: (name: string, help: string, read: () => number) =>
      addRead(Gauge, name, help, [], () => [{ labels: {}, value: read() }]),
    gauges: <L extends string>(
      name: string,
      help: string,
      labelNames: readonly L[],
      read: () => Iterable<MetricValue<L>>,
    ) => addRead(Gauge<L>, name, help, labelNames, read),
    /** `write` adds metrics that a request gets only with an API key; it refuses a wrong one. */
    addKeyed: (write: KeyedWriter) => void keyedWriters.push(write),
  };
  const durations = metrics.histogram(
    'askwatch_http_request_seconds',
    'Time from a request to the end of its answer.',
    ['method', 'route', 'status'],
    SECONDS_BOUNDS,
  );
  /** The label is the route, never the URL, so that the number of series is bounded. */
  const observe = (method: string, route: string, status: number, seconds: number) =>
    durations(method, route, String(status)).observe(seconds);
  server.addHook('onResponse', async (request, reply) => {
    const route = request.routeOptions.url ?? 'none';
    observe(request.method, route, reply.statusCode, reply.elapsedTime / 1000);
  });
  server.get('/metrics', { schema: { hide: true } }, async (request, reply) => {
    const writers = keyIn(request.raw) ? keyedWriters : [];
    const keyed = await Promise.all(writers.map((write) => write(request, reply)));
    reply.type(registry.contentType);
    return [await shared.metrics(), await registry.metrics(), ...keyed].join('\n');
  });
  return { metrics, observe };
}

let processRegistry: Registry | undefined;

/**
 * Shared by all servers, because each set of default metrics starts a timer and an observer that never end. Source: prom-client 15,
 * `lib/metrics/eventLoopLag.js` and `gc.js`.
 */
function sharedProcessMetrics(): Registry {
  if (!processRegistry) {
    processRegistry = new Registry();
    collectDefaultMetrics({ register: processRegistry });
  }
  return processRegistry;
}
