import fc from 'fast-check';
import { expect, test } from 'vitest';
import { phaseOf } from '../../src/monitoring/rhythm.ts';
import { createSchedule } from '../../src/monitoring/schedule.ts';
import { createFakeClock } from './fake-clock.ts';

const long = process.env.ASKWATCH_TEST_LONG === '1';

/** A schedule whose runs take `takesMs` and are written down. */
function setUp(
  options: {
    takesMs?: (id: string) => number;
    maxInFlight?: number;
    maxPerHost?: number;
    latenessMs?: () => number;
  } = {},
) {
  const { takesMs = () => 0, latenessMs, ...caps } = options;
  const clock = createFakeClock(undefined, latenessMs);
  const starts: Array<{ id: string; atMs: number }> = [];
  const under = new Map<string, number>();
  const seen = { overlaps: 0, mostAtOnce: 0, mostOf: new Map<string, number>() };
  const errors: unknown[] = [];
  const schedule = createSchedule({
    clock,
    ...caps,
    async run(id) {
      starts.push({ id, atMs: clock.monotonicMs() });
      const host = id.split('/')[0] ?? '';
      if (under.get(id)) seen.overlaps += 1;
      under.set(id, (under.get(id) ?? 0) + 1);
      under.set(`host ${host}`, (under.get(`host ${host}`) ?? 0) + 1);
      seen.mostOf.set(host, Math.max(seen.mostOf.get(host) ?? 0, under.get(`host ${host}`) ?? 0));
      seen.mostAtOnce = Math.max(seen.mostAtOnce, schedule.inFlight() + 1);
      const ms = takesMs(id);
      if (ms > 0) await new Promise<void>((resolve) => clock.after(ms, resolve));
      under.set(id, (under.get(id) ?? 0) - 1);
      under.set(`host ${host}`, (under.get(`host ${host}`) ?? 0) - 1);
    },
    onError: (error) => errors.push(error),
  });
  const startsOf = (id: string) => starts.filter((run) => run.id === id).map((run) => run.atMs);
  const every = (id: string, intervalMs: number, firstMs = clock.monotonicMs()) =>
    schedule.every(id, {
      intervalMs,
      firstMs,
      host: id.includes('/') ? id.split('/')[0] : undefined,
    });
  return { clock, schedule, starts, startsOf, seen, errors, every };
}

const gaps = (times: number[]) => times.slice(1).map((time, index) => time - (times[index] ?? 0));

test('checks a new job at once, then on a rhythm whose phase comes from its id', async () => {
  const { clock, schedule, startsOf, every } = setUp();
  schedule.start();
  every('a', 60_000);
  const [first] = startsOf('a');
  expect(first).toBe(clock.monotonicMs());
  await clock.advance(10 * 60_000);
  const [toSecond = 0, ...rest] = gaps(startsOf('a'));
  expect(toSecond).toBeGreaterThan(30_000);
  expect(toSecond).toBeLessThanOrEqual(90_000);
  expect(new Set(rest.map(Math.round))).toEqual(new Set([60_000]));
  const wallOffset = clock.wallMs() - clock.monotonicMs();
  for (const time of startsOf('a').slice(1)) {
    expect(Math.round(time + wallOffset - phaseOf('a', 60_000)) % 60_000).toBe(0);
  }
});

test('runs nothing before it is started and nothing after it is stopped', async () => {
  const { clock, schedule, starts, every } = setUp();
  every('a', 5_000);
  await clock.advance(20_000);
  expect(starts).toEqual([]);
  schedule.start();
  await clock.advance(20_000);
  const count = starts.length;
  expect(count).toBeGreaterThan(2);
  await schedule.stop();
  await clock.advance(60_000);
  expect(starts).toHaveLength(count);
});

test('does not drift over days, however long the runs take', async () => {
  const days = long ? 30 : 2;
  const { clock, schedule, startsOf, every } = setUp({
    takesMs: () => 4_321,
    latenessMs: () => 9,
  });
  schedule.start();
  every('a', 60_000);
  await clock.advance(days * 86_400_000);
  const [, second = 0, ...rest] = startsOf('a');
  expect(rest.length).toBeGreaterThan(days * 1_430);
  rest.forEach((time, index) => {
    expect(Math.abs(time - second - (index + 1) * 60_000)).toBeLessThan(20);
  });
});

test('runs once after a long sleep, late, and skips what was missed', async () => {
  const { clock, schedule, startsOf, every } = setUp();
  schedule.start();
  every('a', 10_000);
  await clock.advance(60_000);
  const before = startsOf('a').length;
  await clock.sleep(3_600_000);
  expect(startsOf('a').length).toBe(before + 1);
  expect(schedule.missed()).toBeGreaterThanOrEqual(358);
  expect(schedule.lagMs()).toBeGreaterThan(3_500_000);
  await clock.advance(30_000);
  expect(startsOf('a').length).toBe(before + 4);
});

test('looks a second time beside the rhythm, which stays', async () => {
  const { clock, schedule, startsOf, every } = setUp();
  schedule.start();
  every('a', 60_000);
  await clock.advance(200_000);
  const last = startsOf('a').at(-1) ?? 0;
  const lookMs = clock.monotonicMs() + 5_000;
  schedule.at('a', lookMs);
  await clock.advance(120_000);
  const sinceLast = startsOf('a')
    .filter((time) => time > last)
    .map((time) => Math.round(time - last));
  expect(sinceLast).toContain(Math.round(lookMs - last));
  expect(sinceLast.filter((ms) => ms % 60_000 === 0)).toEqual([60_000, 120_000]);
  expect(sinceLast).toHaveLength(3);
});

test('runs a job without a rhythm once, at the last time it was told', async () => {
  const { clock, schedule, startsOf } = setUp();
  schedule.start();
  const nowMs = clock.monotonicMs();
  schedule.at('deadline', nowMs + 1_000);
  schedule.at('deadline', nowMs + 9_000);
  await clock.advance(5_000);
  expect(startsOf('deadline')).toEqual([]);
  await clock.advance(100_000);
  expect(startsOf('deadline').map(Math.round)).toEqual([Math.round(nowMs + 9_000)]);
  schedule.at('deadline', clock.monotonicMs() + 1_000);
  schedule.at('deadline', Number.POSITIVE_INFINITY);
  await clock.advance(100_000);
  expect(startsOf('deadline')).toHaveLength(1);
});

test('waits for timers beyond the range of setTimeout', async () => {
  const { clock, schedule, startsOf } = setUp();
  schedule.start();
  schedule.at('far', clock.monotonicMs() + 300 * 86_400_000);
  await clock.advance(299 * 86_400_000);
  expect(startsOf('far')).toEqual([]);
  await clock.advance(2 * 86_400_000);
  expect(startsOf('far')).toHaveLength(1);
});

test('goes on after a run that threw', async () => {
  const clock = createFakeClock();
  const errors: unknown[] = [];
  let runs = 0;
  const schedule = createSchedule({
    clock,
    run: async () => {
      runs += 1;
      throw new Error('broken');
    },
    onError: (error) => errors.push(error),
  });
  schedule.start();
  schedule.every('a', { intervalMs: 5_000, firstMs: clock.monotonicMs(), host: undefined });
  await clock.advance(60_000);
  expect(runs).toBeGreaterThan(10);
  expect(errors).toHaveLength(runs);
  expect(schedule.inFlight()).toBe(0);
});

test('a job that is told to run while it runs waits until it has ended', async () => {
  const { clock, schedule, startsOf, seen, every } = setUp({ takesMs: () => 3_000 });
  schedule.start();
  every('a', 60_000);
  schedule.at('a', clock.monotonicMs() + 1_000);
  await clock.advance(10_000);
  expect(seen.overlaps).toBe(0);
  expect(gaps(startsOf('a')).map(Math.round)).toEqual([3_000]);
});

test.each(['removed', 'moved to later'])(
  'a job that is %s when its turn at a host has come does not hold up the others',
  async (how) => {
    const takes: Record<string, number> = { 'h/1': 1_000, x: 5_000, overdue: 10_000 };
    const { clock, schedule, startsOf, every } = setUp({
      takesMs: (id) => takes[id] ?? 0,
      maxPerHost: 1,
      maxInFlight: 2,
    });
    schedule.start();
    for (const id of ['h/1', 'h/2', 'h/3', 'x']) every(id, 86_400_000);
    // Takes the slot that is free after h/1, for which h/2 has been woken.
    every('overdue', 86_400_000, clock.monotonicMs() - 10);
    await clock.advance(2_000);
    expect(startsOf('overdue')).toHaveLength(1);
    expect(startsOf('h/2')).toEqual([]);
    if (how === 'removed') schedule.remove('h/2');
    else schedule.at('h/2', clock.monotonicMs() + 3_600_000);
    await clock.advance(10_000);
    expect(startsOf('h/3')).toHaveLength(1);
    expect(startsOf('h/2')).toEqual([]);
  },
);

test('a job that is moved to later while it waits for its host leaves its turn to the next', async () => {
  const { clock, schedule, startsOf, every } = setUp({ takesMs: () => 1_000, maxPerHost: 1 });
  schedule.start();
  for (const id of ['h/1', 'h/2', 'h/3']) every(id, 86_400_000);
  const laterMs = clock.monotonicMs() + 3_600_000;
  schedule.at('h/2', laterMs);
  await clock.advance(10_000);
  expect(startsOf('h/3')).toHaveLength(1);
  expect(startsOf('h/2')).toEqual([]);
  await clock.advance(3_600_000);
  expect(startsOf('h/2')).toHaveLength(1);
});

test('keeps every promise whatever the jobs, their run times and the caps', async () => {
  const job = fc.record({
    host: fc.integer({ min: 0, max: 3 }),
    intervalSeconds: fc.integer({ min: 5, max: 120 }),
    takesShare: fc.double({ min: 0, max: 0.95, noNaN: true }),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(job, { minLength: 1, maxLength: 25 }),
      fc.integer({ min: 1, max: 8 }),
      fc.integer({ min: 1, max: 4 }),
      fc.array(fc.integer({ min: 1, max: 900 }), { maxLength: 4 }),
      async (jobs, maxInFlight, maxPerHost, sleeps) => {
        const ids = jobs.map(({ host }, index) => `h${host}/${index}`);
        const takes = new Map(
          jobs.map(({ intervalSeconds, takesShare }, index) => [
            ids[index] ?? '',
            Math.floor(intervalSeconds * 1000 * takesShare),
          ]),
        );
        const { clock, schedule, startsOf, seen, errors, every } = setUp({
          takesMs: (id) => takes.get(id) ?? 0,
          maxInFlight,
          maxPerHost,
        });
        schedule.start();
        jobs.forEach(({ intervalSeconds }, index) => {
          every(ids[index] ?? '', intervalSeconds * 1000);
        });
        const beganMs = clock.monotonicMs();
        await clock.advance(600_000);
        for (const seconds of sleeps) {
          await clock.sleep(seconds * 1000);
          await clock.advance(300_000);
        }
        expect(errors).toEqual([]);
        expect(seen.overlaps).toBe(0);
        expect(seen.mostAtOnce).toBeLessThanOrEqual(maxInFlight);
        for (const most of seen.mostOf.values()) expect(most).toBeLessThanOrEqual(maxPerHost);
        jobs.forEach(({ intervalSeconds }, index) => {
          const times = startsOf(ids[index] ?? '');
          // Never more runs than intervals have begun: nothing is made up for. The first is extra.
          const elapsedMs = clock.monotonicMs() - beganMs;
          expect(times.length).toBeLessThanOrEqual(elapsedMs / (intervalSeconds * 1000) + 2);
          expect(times.length).toBeGreaterThan(0);
        });
        // With room for all, each run starts on time: the error does not grow. The second look may come half an
        // interval after the first, and waits for a first one that takes longer than that.
        const isShort = jobs.every(({ takesShare }) => takesShare < 0.5);
        const hasRoom = maxInFlight > jobs.length && maxPerHost > jobs.length;
        if (isShort && hasRoom && sleeps.length === 0) {
          expect(schedule.lagMs()).toBeLessThan(2);
        }
      },
    ),
    { numRuns: long ? 1_000 : 40 },
  );
});
