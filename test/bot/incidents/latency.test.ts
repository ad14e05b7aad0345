import v8 from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, onTestFinished, test } from 'vitest';
import { alertCard } from '../../../src/bot/alerts/alert-card.ts';
import { latencyFacts } from '../../../src/bot/incidents/latency.ts';
import { inUnits } from '../../../src/bot/shared/text-format.ts';
import {
  type Asked,
  counting,
  startAdditions,
  startSteppedWatch,
} from '../../helpers/bot/stepped-watch.ts';
import { textOf } from '../../helpers/bot.ts';

const START = 1_800_000_000_000;
const wordsOf = (responseTimesMs: number[]) => latencyFacts({ responseTimesMs })[0]?.value;

test('response times are shown as a line with its first and last value', () => {
  expect(wordsOf([120, 130, 300, 800, 2400])).toBe('▁▁▂▃█ 120 ms → 2.4 s');
  // Bars that are all alike say nothing.
  expect(wordsOf([120, 120, 120])).toBe('120 ms');
  expect(wordsOf([120, 123, 118])).toBe('120 ms → 118 ms');
  expect(wordsOf([0, 0])).toBe('<1 ms');
  // Eight of many fit on one line, each with the slowest of its part.
  expect(wordsOf([...Array(29).fill(100), 900])).toBe('▁▁▁▁▁▁▁█ 100 ms → 900 ms');
  expect(wordsOf([120])).toBe('120 ms');
  expect(latencyFacts({ responseTimesMs: [] })).toEqual([]);
  expect(latencyFacts({})).toEqual([]);
  // One huge value does not flatten the others.
  expect(wordsOf([100, 400, 100, 9_999_999, 100, 400, 400])).toBe('▁▂▁█▁▂▂ 100 ms → 400 ms');
  expect([0.2, 0.5, 999, 999.6, 9_940, 9_960, 61_234].map(inUnits)).toEqual([
    ...['<1 ms', '1 ms', '999 ms', '1.0 s', '9.9 s', '10 s', '61 s'],
  ]);
});

v8.setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

const record = (ok: boolean, response_time_ms: number) => ({
  ...{ at: new Date(START).toISOString(), ok, outcome: ok ? 'ok' : 'timeout' },
  response_time_ms,
});

/** A monitor goes down at a service with these answers. */
async function goDown(answer: Asked, given: Parameters<typeof counting>[2] = {}) {
  const monitor = counting('a', 0, given);
  const service = await startAdditions([monitor], answer);
  const watch = await startSteppedWatch(service, { nowMs: START });
  Object.assign(monitor, { status: 'DOWN', status_changes: 1 });
  await watch.poll(START + 5000);
  const [incident] = watch.incidents();
  if (!incident) throw new Error('There is no incident.');
  return { asked: service.asked, incident, text: textOf(alertCard(incident, {})) };
}

test('an alert shows how the answers slowed before it, of the checks that passed', async () => {
  const results = [
    ...[record(false, 5000), record(true, 2400), record(false, 1), record(true, 120.04)],
    ...Array.from({ length: 40 }, () => record(true, 110)),
  ];
  const { asked, incident, text } = await goDown(() => ({ body: { results } }));
  expect(asked).toEqual(['results a']);
  expect(incident.responseTimesMs).toEqual([...Array(26).fill(110), 120, 2400]);
  expect(text).toMatch(/\nResponse time: ▁{7}█ 110 ms → 2\.4 s\n/);
});

test('an alert comes without response times where there are none to be had', async () => {
  const silent = ({ incident, text }: Awaited<ReturnType<typeof goDown>>) => {
    expect(incident?.responseTimesMs).toBeUndefined();
    expect(text).not.toContain('Response time');
  };
  const refused = await goDown(() => ({ status: 404, body: {} }));
  expect(refused.asked).toHaveLength(1);
  silent(refused);
  silent(await goDown(() => ({ body: { results: [record(false, 100)] } })));
  silent(await goDown(() => ({ body: { results: 'nonsense' } })));
  // A request without an answer doesn't delay the alert.
  const freeing = setInterval(collectGarbage, 500);
  onTestFinished(() => clearInterval(freeing));
  silent(await goDown(() => undefined));
  clearInterval(freeing);
  // A job is not asked how long it takes to answer.
  const results = () => ({ body: { results: [record(true, 100)] } });
  const job = await goDown(results, { check_type: 'HEARTBEAT' });
  expect(job.asked).toEqual([]);
  silent(job);
});

test('a service of the contract alone is never asked', async () => {
  const monitor = counting('a', 0);
  delete monitor.status_changes;
  const service = await startAdditions([monitor]);
  const watch = await startSteppedWatch(service, { nowMs: START });
  monitor.status = 'DOWN';
  await watch.poll(START + 5000);
  expect(watch.incidents()).toHaveLength(1);
  expect(service.asked).toEqual([]);
});
