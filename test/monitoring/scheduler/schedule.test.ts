import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Schedule } from '../../../src/monitoring/scheduler/schedule.ts';
import { phaseOf } from '../../../src/monitoring/time/rhythm.ts';
import { long } from '../../helpers/long.ts';
import { createFakeClock } from '../../helpers/monitoring/fake-clock.ts';

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
  const woken: number[] = [];
  const late: Array<number | 'timely'> = [];
  const schedule = new Schedule({
    clock,
    maxInFlight: 256,
    ...caps,
    onWake: (sleptMs) => void woken.push(sleptMs),
    onLate: (lateMs) => void late.push(lateMs),
    onTimely: () => void late.push('timely'),
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
  return { clock, schedule, starts, startsOf, seen, errors, every, woken, late };
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

test.each([-2, 2])(
  'keeps to the wall clock, of which the other one gains or loses %i ms a minute',
  async (ms) => {
    const { clock, schedule, startsOf, every } = setUp();
    schedule.start();
    every('a', 60_000);
    await clock.advance(90_000);
    const offBy: number[] = [];
    for (let minute = 0; minute < 300; minute += 1) {
      clock.jump(ms);
      await clock.advance(60_000);
      const wallMs = (startsOf('a').at(-1) ?? 0) + clock.wallMs() - clock.monotonicMs();
      offBy.push(((wallMs - phaseOf('a', 60_000) + 30_000) % 60_000) - 30_000);
    }
    expect(startsOf('a').length).toBeGreaterThanOrEqual(300);
    expect(Math.max(...offBy.map(Math.abs))).toBeLessThanOrEqual(2.5);
  },
);

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

describe('after a sleep', () => {
  test.each(['stopped', 'suspended'])(
    'of a %s machine nothing is made up for, and what is due is spread',
    async (how) => {
      const { clock, schedule, starts, startsOf, every, woken } = setUp();
      schedule.start();
      const ids = Array.from({ length: 60 }, (_, index) => `job ${index}`);
      for (const id of ids) every(id, 60_000);
      await clock.advance(600_000);
      const before = new Map(ids.map((id) => [id, startsOf(id).length]));
      const missed = schedule.missed();
      if (how === 'stopped') await clock.sleep(3_600_000);
      else clock.jump(3_600_000);
      const awakeMs = clock.monotonicMs();
      await clock.advance(32_000);
      expect(woken).toEqual([expect.closeTo(3_600_000, -4)]);
      expect(schedule.sleeps()).toBe(1);
      expect(schedule.missed()).toBe(missed);
      expect(schedule.lagMs()).toBeLessThan(10);
      const inTime = starts.filter(({ atMs }) => atMs >= awakeMs).map(({ atMs }) => atMs);
      // One run each, half a second apart; a timer notices a suspended machine up to a second later.
      expect(inTime.length).toBeGreaterThanOrEqual(60);
      for (const id of ids) expect(startsOf(id).length - (before.get(id) ?? 0)).toBe(1);
      expect(Math.max(...inTime) - Math.min(...inTime)).toBeGreaterThan(29_000);
      await clock.advance(120_000);
      // Back on the rhythm of the wall clock.
      const wallOffset = clock.wallMs() - clock.monotonicMs();
      for (const id of ids) {
        const last = startsOf(id).at(-1) ?? 0;
        expect(Math.round(last + wallOffset - phaseOf(id, 60_000)) % 60_000).toBe(0);
      }
    },
  );

  test.each(['stopped', 'suspended'])(
    'of a %s machine a job that ran meanwhile is run again soon, and not beside itself',
    async (how) => {
      const { clock, schedule, startsOf, seen, every } = setUp({
        takesMs: (id) => (id === 'long' ? 30_000 : 0),
      });
      schedule.start();
      every('long', 86_400_000);
      // Its timers notice the machine's sleep while the other job still runs.
      every('often', 5_000);
      await clock.advance(4_000);
      expect(startsOf('long')).toHaveLength(1);
      if (how === 'stopped') await clock.sleep(3_600_000);
      else clock.jump(3_600_000);
      const awakeMs = clock.monotonicMs();
      await clock.advance(60_000);
      expect(schedule.sleeps()).toBe(1);
      const [, again = Number.POSITIVE_INFINITY, ...more] = startsOf('long');
      expect(again - awakeMs).toBeLessThan(45_000);
      expect(more).toEqual([]);
      expect(seen.overlaps).toBe(0);
      // And then in its time, once a day.
      await clock.advance(2 * 86_400_000);
      expect(startsOf('long').length).toBeLessThanOrEqual(5);
      expect(seen.overlaps).toBe(0);
    },
  );

  test('a job that is not due keeps its time of day', async () => {
    const { clock, schedule, startsOf, every } = setUp();
    schedule.start();
    every('often', 5_000);
    every('daily', 86_400_000);
    await clock.advance(86_400_000 * 2);
    const last = (startsOf('daily').at(-1) ?? 0) + clock.wallMs() - clock.monotonicMs();
    const daily = startsOf('daily').length;
    clock.jump(3_600_000);
    await clock.advance(last + 86_400_000 - clock.wallMs() - 10);
    expect(startsOf('daily')).toHaveLength(daily);
    await clock.advance(20);
    expect(startsOf('daily')).toHaveLength(daily + 1);
  });

  test('a wall clock that is set back is reported, and is no sleep', async () => {
    const { clock, schedule, every, woken } = setUp();
    schedule.start();
    every('a', 10_000);
    clock.jump(-3_600_000);
    await clock.advance(20_000);
    expect(woken).toEqual([0]);
    expect(schedule.sleeps()).toBe(0);
  });

  test('a busy event loop counts as late, not as asleep', async () => {
    const { clock, schedule, every, woken } = setUp();
    schedule.start();
    every('a', 10_000);
    await clock.advance(60_000);
    await clock.work(25_000);
    expect(woken).toEqual([]);
    expect(schedule.missed()).toBeGreaterThan(0);
    expect(schedule.lagMs()).toBeGreaterThan(10_000);
  });
});

describe('lag', () => {
  test('is reported once when the head of the queue waits for room, and once when it is over', async () => {
    let takesMs = 9_000;
    const { clock, schedule, every, late } = setUp({ maxInFlight: 1, takesMs: () => takesMs });
    schedule.start();
    for (const id of ['a', 'b', 'c']) every(id, 10_000);
    await clock.advance(120_000);
    expect(late).toHaveLength(1);
    expect(late[0]).toBeGreaterThan(1_000);
    expect(schedule.isOverloaded()).toBe(true);
    takesMs = 10;
    await clock.advance(120_000);
    expect(late).toEqual([late[0], 'timely']);
    expect(schedule.isOverloaded()).toBe(false);
  });

  test('does not count jobs that wait for their host', async () => {
    const { clock, schedule, every, late } = setUp({ maxPerHost: 1, takesMs: () => 4_000 });
    schedule.start();
    for (const id of ['h/1', 'h/2', 'h/3', 'h/4']) every(id, 60_000);
    await clock.advance(120_000);
    expect(late).toEqual([]);
    expect(schedule.lagMs()).toBeGreaterThan(7_000);
  });
});

describe('a job that is set anew while it runs', () => {
  test('takes the new interval and host, and never runs twice at once', async () => {
    const { clock, schedule, startsOf, seen, every } = setUp({ takesMs: () => 3_000 });
    schedule.start();
    every('h/a', 60_000);
    await clock.advance(1_000);
    schedule.every('h/a', { intervalMs: 20_000, firstMs: clock.monotonicMs(), host: 'other' });
    await clock.advance(1_000);
    expect(startsOf('h/a')).toHaveLength(1);
    await clock.advance(90_000);
    expect(seen.overlaps).toBe(0);
    const [first, toThird, ...rest] = gaps(startsOf('h/a')).map(Math.round);
    expect(first).toBe(3_000);
    expect(toThird).toBeLessThanOrEqual(30_000);
    expect(new Set(rest)).toEqual(new Set([20_000]));
  });

  test('is gone when it was removed, and back when it was put on again', async () => {
    const { clock, schedule, startsOf, seen, every } = setUp({ takesMs: () => 3_000 });
    schedule.start();
    for (const id of ['gone', 'back']) every(id, 60_000);
    await clock.advance(1_000);
    schedule.remove('gone');
    schedule.remove('back');
    every('back', 60_000);
    await clock.advance(200_000);
    expect(startsOf('gone')).toHaveLength(1);
    expect(startsOf('back').length).toBeGreaterThan(3);
    expect(seen.overlaps).toBe(0);
  });

  test('gives back the place at the host that it took it from', async () => {
    const { clock, schedule, startsOf, every } = setUp({ takesMs: () => 3_000, maxPerHost: 1 });
    schedule.start();
    for (const id of ['h/a', 'h/b', 'h/c']) every(id, 3_600_000);
    await clock.advance(1_000);
    schedule.every('h/a', { intervalMs: 3_600_000, firstMs: clock.monotonicMs(), host: 'other' });
    // Waits in line, and goes elsewhere.
    schedule.every('h/b', { intervalMs: 3_600_000, firstMs: clock.monotonicMs(), host: 'third' });
    expect(startsOf('h/b')).toHaveLength(1);
    await clock.advance(30_000);
    expect(startsOf('h/a')).toHaveLength(2);
    expect(startsOf('h/b')).toHaveLength(1);
    expect(startsOf('h/c')).toHaveLength(1);
    schedule.every('h/d', { intervalMs: 3_600_000, firstMs: clock.monotonicMs(), host: 'h' });
    expect(startsOf('h/d')).toHaveLength(1);
  });
});

test('runs a job a second time beside its rhythm, which stays', async () => {
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

test('a run that takes the place of a first one still to come leaves no gap before the rhythm', async () => {
  const { clock, schedule, startsOf, every } = setUp();
  schedule.start();
  const startMs = clock.monotonicMs();
  const jobs = Array.from({ length: 20 }, (_, index) => `job ${index}`);
  for (const job of jobs) every(job, 60_000, startMs + 59_000);
  await clock.advance(1_000);
  for (const job of jobs) schedule.at(job, clock.monotonicMs());
  await clock.advance(5 * 60_000);
  for (const job of jobs) {
    const [toSecond = 0, ...rest] = gaps(startsOf(job));
    expect(startsOf(job)[0]).toBe(startMs + 1_000);
    expect(toSecond).toBeGreaterThan(30_000);
    expect(toSecond).toBeLessThanOrEqual(90_001);
    expect(new Set(rest.map(Math.round))).toEqual(new Set([60_000]));
  }
});

test('runs a job without a rhythm once, at the last time that was set', async () => {
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
  // The range ends after 24.8 days.
  const days = long ? 300 : 30;
  schedule.at('far', clock.monotonicMs() + days * 86_400_000);
  await clock.advance((days - 1) * 86_400_000);
  expect(startsOf('far')).toEqual([]);
  await clock.advance(2 * 86_400_000);
  expect(startsOf('far')).toHaveLength(1);
});

test('goes on after a run that threw', async () => {
  const clock = createFakeClock();
  const errors: unknown[] = [];
  let runs = 0;
  const schedule = new Schedule({
    clock,
    maxInFlight: 256,
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

test('a job that is to run now while it runs waits until it has ended', async () => {
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

test('keeps every promise whatever the jobs, their run times and the limits', async () => {
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
          // Never more runs than intervals have begun: nothing is made up for. The first is extra, and one each sleep.
          const elapsedMs = clock.monotonicMs() - beganMs;
          const most = elapsedMs / (intervalSeconds * 1000) + 2 + sleeps.length;
          expect(times.length).toBeLessThanOrEqual(most);
          expect(times.length).toBeGreaterThan(0);
        });
        // With room for all, each run starts on time: the error does not grow. The second check may come half an
        // interval after the first, and waits for a first one that takes longer than that.
        const isShort = jobs.every(({ takesShare }) => takesShare < 0.5);
        const hasRoom = maxInFlight > jobs.length && maxPerHost > jobs.length;
        if (isShort && hasRoom && sleeps.length === 0) {
          expect(schedule.lagMs()).toBeLessThan(2);
        }
      },
    ),
    { numRuns: long ? 1_000 : 15 },
  );
});
