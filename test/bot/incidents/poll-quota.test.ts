import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRequestQuota } from '../../../src/bot/incidents/poll-quota.ts';
import { NetworkError, StatusError } from '../../../src/clients/errors.ts';
import { counting, startAdditions, startSteppedWatch } from '../../helpers/bot/stepped-watch.ts';
import { long } from '../../helpers/long.ts';

const START = 1_800_000_000_000;

/** A quota whose time is set. */
function budgetAt(nowMs = START) {
  const clock = { nowMs };
  return { clock, quota: createRequestQuota({ nowMs: () => clock.nowMs }) };
}

const takeAll = (quota: ReturnType<typeof createRequestQuota>, leaving = 0) => {
  let taken = 0;
  while (quota.take({ leaving })) taken += 1;
  return taken;
};

test('the request quota is thirty a minute, also across its edges', () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 20_000 }), { maxLength: 300 }), (steps) => {
      const { clock, quota } = budgetAt();
      const takenAtMs: number[] = [];
      for (const step of steps) {
        clock.nowMs += step;
        for (let n = 0; n < 3; n += 1) if (quota.take()) takenAtMs.push(clock.nowMs);
      }
      for (const from of takenAtMs) {
        const within = takenAtMs.filter((atMs) => atMs >= from && atMs < from + 60_000);
        expect(within.length).toBeLessThanOrEqual(30);
      }
    }),
    { numRuns: long ? 2_000 : 100 },
  );
  const { clock, quota } = budgetAt();
  expect(takeAll(quota)).toBe(30);
  clock.nowMs += 59_999;
  expect(takeAll(quota)).toBe(0);
  clock.nowMs += 1;
  expect(takeAll(quota)).toBe(30);
});

test('the request quota is left in part to more important requests', () => {
  const { quota } = budgetAt();
  expect(takeAll(quota, 10)).toBe(20);
  expect(takeAll(quota)).toBe(10);
});

test('the request quota counts the repeats of a request that had no answer, and none of a refusal', () => {
  const { quota } = budgetAt();
  quota.take();
  quota.failed(new NetworkError('ECONNRESET'));
  quota.take();
  quota.failed(new StatusError('gone', { status: 404 }));
  expect(takeAll(quota)).toBe(26);
  expect(quota.mayAsk()).toBe(true);
  quota.failed(new StatusError('broken', { status: 500 }));
  expect(quota.mayAsk()).toBe(false);
});

test('the request quota is empty for as long as a 429 says, or half a minute', () => {
  for (const [retryAfterMs, restMs] of [
    [90_000, 90_000],
    [undefined, 30_000],
    [86_400_000, 600_000],
  ] as const) {
    const { clock, quota } = budgetAt();
    quota.failed(new StatusError('slow', { status: 429, ...(retryAfterMs && { retryAfterMs }) }));
    clock.nowMs += restMs - 1;
    expect([quota.take(), quota.mayAsk()]).toEqual([false, false]);
    clock.nowMs += 1;
    expect([quota.take(), quota.mayAsk()]).toEqual([true, true]);
  }
});

test('the request quota does not stay empty for an hour when the clock is set back by one', () => {
  const { clock, quota } = budgetAt();
  takeAll(quota);
  quota.failed(new StatusError('slow', { status: 429, retryAfterMs: 30_000 }));
  clock.nowMs -= 3_600_000;
  expect(takeAll(quota)).toBe(30);
});

/** An outage that came and went between two polls. */
const outage = (change: number, atMs: number) => ({
  ...{ id: `o${change}`, change, cause: 'x', outcome: 'status', ended_as: 'UP' },
  started_at: new Date(atMs).toISOString(),
  ended_at: new Date(atMs + 1000).toISOString(),
});

test('missed incidents are fetched within the quota, before response times, and none is lost', async () => {
  const flapping = Array.from({ length: 45 }, (_, at) => counting(`m${at}`, 0));
  const down = Array.from({ length: 8 }, (_, at) => counting(`d${at}`, 0));
  const service = await startAdditions([...flapping, ...down], (what) => ({
    body: what === 'results' ? { results: [] } : { incidents: [outage(1, START + 1000)] },
  }));
  const watch = await startSteppedWatch(service, { nowMs: START });
  expect(service.asked).toEqual([]);

  for (const monitor of flapping) monitor.status_changes = 2;
  for (const monitor of down) Object.assign(monitor, { status: 'DOWN', status_changes: 1 });
  const count = (what: string) => service.asked.filter((one) => one.startsWith(what)).length;
  const perLook: Array<[number, number]> = [];
  for (const afterMs of [5_000, 10_000, 15_000, 20_000, 64_999, 65_000, 70_000]) {
    const [missed, times] = [count('incidents'), count('results')];
    await watch.poll(START + afterMs);
    perLook.push([count('incidents') - missed, count('results') - times]);
  }
  // Ten and five; the rest of thirty; nothing until a minute after the first.
  expect(perLook).toEqual([
    ...[[10, 5] as const, [10, 0] as const, [5, 0] as const, [0, 0] as const, [0, 0] as const],
    ...[[10, 0] as const, [10, 0] as const],
  ]);
  const told = watch.incidents().filter(({ monitorId }) => monitorId.startsWith('m'));
  expect(told).toHaveLength(45);
  expect(new Set(told.map(({ startedAtMs }) => startedAtMs))).toEqual(new Set([START + 1000]));
});

test('a 429 ends the requests at once, and the rest is fetched when it is over', async () => {
  const monitors = ['a', 'b', 'c'].map((id) => counting(id, 0));
  let isLimited = true;
  const service = await startAdditions(monitors, () =>
    isLimited
      ? { status: 429, headers: { 'retry-after': '40' }, body: {} }
      : { body: { incidents: [outage(1, START + 1000)] } },
  );
  const watch = await startSteppedWatch(service, { nowMs: START });
  for (const monitor of monitors) monitor.status_changes = 2;
  await watch.poll(START + 5_000);
  expect(service.asked).toEqual(['incidents a']);
  isLimited = false;
  await watch.poll(START + 44_999);
  expect(service.asked).toHaveLength(1);
  expect(watch.incidents()).toEqual([]);
  await watch.poll(START + 45_000);
  expect(service.asked).toHaveLength(4);
  expect(watch.incidents().map(({ monitorId }) => monitorId)).toEqual(['a', 'b', 'c']);
});
