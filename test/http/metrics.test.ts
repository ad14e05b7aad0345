import fc from 'fast-check';
import { Histogram, Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { createHistogram } from '../../src/http/histogram.ts';
import { runningServer } from '../helpers/http/running-server.ts';

test('a histogram of ours is told as one of prom-client is', async () => {
  const bounds = [0.5, 1, 10];
  const observations = fc.array(
    fc.record({
      route: fc.constantFrom('/a', 'with "quotes"'),
      value: fc.oneof(
        fc.constantFrom(...bounds, 0, 1e9),
        fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }),
      ),
    }),
  );
  await fc.assert(
    fc.asyncProperty(observations, async (observed) => {
      const shared = { name: 'seconds', help: 'How long\nit took.' };
      const [ours, theirs] = [new Registry(), new Registry()];
      const series = createHistogram<'route'>(ours, { ...shared, bounds });
      const byRoute = new Map<string, ReturnType<typeof series>>();
      const peer = new Histogram({
        ...shared,
        labelNames: ['route'],
        buckets: bounds,
        registers: [theirs],
      });
      for (const { route, value } of observed) {
        if (!byRoute.has(route)) byRoute.set(route, series({ route }));
        byRoute.get(route)?.observe(value);
        peer.observe({ route }, value);
      }
      // The order of a line's labels is free.
      const lines = async (registry: Registry) =>
        (await registry.metrics())
          .split('\n')
          .map((line) => line.replace(/\{(.*)\}/, (_, labels) => labels.split(',').sort().join()));
      expect(await lines(ours)).toEqual(await lines(theirs));
    }),
  );
});

test('a name stands for one metric', () => {
  const registry = new Registry();
  const options = { name: 'seconds', help: 'x', bounds: [1] };
  createHistogram(registry, options);
  expect(() => createHistogram(registry, options)).toThrow(/already/);
});

test('totals that are counted elsewhere are read at each scrape', async () => {
  const totals = new Map([['a', 1]]);
  const { ask } = await runningServer(({ metrics }) => {
    metrics.counters('askwatch_things_total', 'Things.', ['of'], () =>
      [...totals].map(([of, value]) => ({ labels: { of }, value })),
    );
  });
  const things = async () =>
    (await ask('/metrics')).text.match(/^(# TYPE )?askwatch_things.*$/gm)?.slice();
  expect(await things()).toEqual([
    '# TYPE askwatch_things_total counter',
    'askwatch_things_total{of="a"} 1',
  ]);
  totals.set('a', 3).set('b', 2);
  expect((await things())?.slice(1)).toEqual([
    'askwatch_things_total{of="a"} 3',
    'askwatch_things_total{of="b"} 2',
  ]);
});

test('requests are timed by method, route and status', async () => {
  const { ask } = await runningServer(({ server }) => {
    for (const path of ['/a', '/b']) server.get(path, () => 'x');
    server.post('/a', () => 'x');
  });
  for (const path of ['/a', '/b', '/a', '/c']) await ask(path);
  await ask('/a', { method: 'POST' });
  const { text } = await ask('/metrics');
  const counts = text.match(/^askwatch_http_request_seconds_count.*$/gm);
  expect(counts).toEqual([
    'askwatch_http_request_seconds_count{method="GET",route="/a",status="200"} 2',
    'askwatch_http_request_seconds_count{method="GET",route="/b",status="200"} 1',
    'askwatch_http_request_seconds_count{method="GET",route="none",status="404"} 1',
    'askwatch_http_request_seconds_count{method="POST",route="/a",status="200"} 1',
  ]);
});
