import { expect, test } from 'vitest';
import { runningServer } from '../helpers/http/running-server.ts';

test('a histogram counts what is at most each bound, by its labels', async () => {
  const { ask } = await runningServer(({ metrics }) => {
    const help = 'How long it took.';
    const seconds = metrics.histogram('askwatch_seconds', help, ['of'], [0.5, 1]);
    for (const value of [0.5, 0.75, 1.5]) seconds('a').observe(value);
  });
  expect((await ask('/metrics')).text.match(/^(# \w+ )?askwatch_seconds.*$/gm)).toEqual([
    '# HELP askwatch_seconds How long it took.',
    '# TYPE askwatch_seconds histogram',
    'askwatch_seconds_bucket{le="0.5",of="a"} 1',
    'askwatch_seconds_bucket{le="1",of="a"} 2',
    'askwatch_seconds_bucket{le="+Inf",of="a"} 3',
    'askwatch_seconds_sum{of="a"} 2.75',
    'askwatch_seconds_count{of="a"} 3',
  ]);
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
