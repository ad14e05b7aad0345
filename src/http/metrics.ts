import { Counter, collectDefaultMetrics, Gauge, type Metric, Registry } from 'prom-client';
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
    /** Gives the total for values of the labels, in the order of `labelNames`. */
    counter<L extends string>(name: string, help: string, labelNames: readonly L[] = []) {
      const series = createSeries(labelNames, (labels) => new Count(labels));
      addRead(Counter<L>, name, help, labelNames, series.values);
      return series.of;
    },
    /** `read` gives totals that are counted elsewhere; it is asked at each scrape. */
    counters: <L extends string>(
      name: string,
      help: string,
      labelNames: readonly L[],
      read: () => Iterable<Reading<L>>,
    ) => addRead(Counter<L>, name, help, labelNames, read),
    /** `bounds` are those of the buckets, rising. Gives the distribution for values of the labels, in the order of `labelNames`. */
    histogram: <L extends string>(
      name: string,
      help: string,
      labelNames: readonly L[],
      bounds: readonly number[],
    ) => {
      const series = createSeries(labelNames, (labels) => new Distribution(labels, bounds));
      registry.registerMetric(histogramOf(name, help, series.values));
      return series.of;
    },
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
    durations(method, route, String(status)).observe(seconds);
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

/** A total that only rises. */
class Count<L extends string> {
  readonly labels: Record<L, string>;
  value = 0;

  constructor(labels: Record<L, string>) {
    this.labels = labels;
  }

  add(amount = 1): void {
    this.value += amount;
  }
}

/** How values are spread over buckets. */
class Distribution {
  readonly labels: Record<string, string>;
  readonly bounds: readonly number[];
  /** How many values are at most each bound, and more than the one before; then the rest. */
  readonly counts: number[];
  sum = 0;

  constructor(labels: Record<string, string>, bounds: readonly number[]) {
    this.labels = labels;
    this.bounds = bounds;
    this.counts = new Array(bounds.length + 1).fill(0);
  }

  observe(value: number): void {
    let at = 0;
    while (at < this.bounds.length && value > (this.bounds[at] as number)) at += 1;
    this.counts[at] = (this.counts[at] ?? 0) + 1;
    this.sum += value;
  }
}

/**
 * The series of a metric by the values of its labels, in the order of their names. prom-client makes and checks an object of
 * labels for every value, which took a twentieth of a chat call; so it only writes what is counted here.
 */
function createSeries<L extends string, S>(
  labelNames: readonly L[],
  create: (labels: Record<L, string>) => S,
) {
  const byLabels = new Map<string, S>();
  return {
    values: () => byLabels.values(),
    of(...labels: string[]): S {
      const key = labels.length === 1 ? (labels[0] as string) : labels.join('\n');
      let series = byLabels.get(key);
      if (series === undefined) {
        const entries = labelNames.map((name, at) => [name, labels[at]]);
        series = create(Object.fromEntries(entries) as Record<L, string>);
        byLabels.set(key, series);
      }
      return series;
    },
  };
}

/** A histogram as prom-client's registry writes it. Source: prom-client 15, `lib/histogram.js`, `get`. */
function histogramOf(name: string, help: string, series: () => Iterable<Distribution>): Metric {
  const get = async () => ({
    ...{ name, help, type: 'histogram', aggregator: 'sum' },
    values: [...series()].flatMap(({ labels, bounds, counts, sum }) => {
      let total = 0;
      const buckets = counts.map((count, at) => {
        total += count;
        const le = bounds[at] ?? '+Inf';
        return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: total };
      });
      return [
        ...buckets,
        { metricName: `${name}_sum`, labels, value: sum },
        { metricName: `${name}_count`, labels, value: total },
      ];
    }),
  });
  return { name, help, get } as unknown as Metric;
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
