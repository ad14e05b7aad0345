import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openHistory } from '../../../src/monitoring/history/history.ts';
import { long } from '../../helpers/long.ts';
import { type Check, resultOf, seenIn } from '../../helpers/monitoring/seen-in.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';
import { openTestStore } from '../../helpers/test-store.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const START = Date.UTC(2027, 0, 15, 20, 17, 3, 111);

function rollupsOf(checks: readonly Check[], everyMs: number, lengthMs: number, range: Range) {
  const rollups = [];
  const firstMs = Math.floor(range.fromMs / lengthMs) * lengthMs;
  for (let startMs = firstMs; startMs < range.toMs; startMs += lengthMs) {
    const endMs = startMs + lengthMs;
    const { upMs, downMs } = seenIn(checks, everyMs, startMs, Math.min(endMs, range.nowMs));
    const counted = checks.filter(
      ({ as, atMs }) => as !== 'paused' && atMs >= startMs && atMs < endMs,
    );
    const took = counted.filter((each) => resultOf(each).result.ok).map(({ tookMs }) => tookMs);
    if (counted.length === 0 && upMs + downMs === 0) continue;
    const mean = took.reduce((sum, each) => sum + each, 0) / took.length;
    rollups.push({
      starts_at: new Date(startMs).toISOString(),
      checks: counted.length,
      failures: counted.length - took.length,
      response_time_ms:
        took.length === 0
          ? null
          : {
              min: Math.min(...took),
              mean: expect.closeTo(mean, 0.06),
              max: Math.max(...took),
            },
      up_ms: upMs,
      down_ms: downMs,
    });
  }
  return rollups;
}

/** The newest 90 days, even without monitored time. */
function daysOf(checks: readonly Check[], everyMs: number, nowMs: number) {
  const today = Math.floor(nowMs / DAY);
  const days = Array.from({ length: 90 }, (_, place) => {
    const startMs = (today - 89 + place) * DAY;
    return seenIn(checks, everyMs, startMs, Math.min(startMs + DAY, nowMs));
  });
  return { upMs: days.map(({ upMs }) => upMs), downMs: days.map(({ downMs }) => downMs) };
}

interface Range {
  fromMs: number;
  toMs: number;
  nowMs: number;
}

const check = fc.record({
  what: fc.constant('check' as const),
  as: fc.constantFrom<Check['as']>('up', 'up', 'down', 'unconfirmed', 'covered', 'paused'),
  afterMs: fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 1, max: 2 * MINUTE }) },
    { weight: 3, arbitrary: fc.integer({ min: 1, max: 3 * HOUR }) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 2 * DAY }) },
  ),
  tookMs: fc.integer({ min: 0, max: 20_000 }).map((tenths) => tenths / 10),
});
const others = fc.oneof(
  { weight: 3, arbitrary: fc.record({ what: fc.constant('store' as const) }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('restart' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      what: fc.constant('wait' as const),
      afterMs: fc.integer({ min: 0, max: 5 * HOUR }),
    }),
  },
  {
    // In a row, more than memory holds.
    weight: 1,
    arbitrary: fc.record({
      what: fc.constant('many' as const),
      apartMs: fc.integer({ min: 100, max: 40_000 }),
    }),
  },
);
const story = fc.record({
  everyMs: fc.constantFrom(10_000, MINUTE, 20 * MINUTE, 6 * HOUR, DAY),
  steps: fc.array(fc.oneof({ weight: 5, arbitrary: check }, { weight: 4, arbitrary: others }), {
    minLength: 1,
    maxLength: 60,
  }),
  cut: fc.tuple(fc.nat({ max: 100 }), fc.nat({ max: 100 })),
});

type Story = typeof story extends fc.Arbitrary<infer Value> ? Value : never;

const lookSoon = { what: 'check', as: 'up', afterMs: 30_000, tookMs: 5 } as const;
/** Stored hours are read again with the newest results, and an hour that is not stored is read after a long stop. */
const restarts = [
  [
    lookSoon,
    lookSoon,
    { what: 'wait', afterMs: 100 * MINUTE },
    { what: 'store' },
    { what: 'restart' },
  ],
  [
    lookSoon,
    { what: 'wait', afterMs: 70 * MINUTE },
    { what: 'store' },
    { what: 'wait', afterMs: 5 * HOUR },
    { what: 'restart' },
  ],
] as const;

/** Hours without a check of their own are stored, and the time after them begins with a check that was stored before. */
const seldomChecked = [
  lookSoon,
  { what: 'wait', afterMs: 119 * MINUTE },
  { what: 'store' },
  { what: 'wait', afterMs: HOUR },
  { what: 'store' },
  { what: 'restart' },
  lookSoon,
] as const;

/** Minutes are kept of a time before the hours that are stored, and begin with a check before both. */
const beforeMemory = [
  lookSoon,
  { what: 'wait', afterMs: 57 * MINUTE },
  lookSoon,
  { ...lookSoon, afterMs: 105 * MINUTE },
  { what: 'store' },
  { what: 'restart' },
  lookSoon,
] as const;

test('roll-ups and uptime are what was seen, whatever was stored and restarted in between', async () => {
  await fc.assert(
    fc.asyncProperty(story, async ({ everyMs, steps, cut }) => {
      const { log, lines } = recordingLog();
      const folder = await temporaryFolder();
      let nowMs = START;
      let store = await openTestStore({ folder, log });
      let history = await openHistory({ store, wallMs: () => nowMs, log });
      const checks: Check[] = [];
      let writes: Promise<void>[] = [];

      function add(next: Check) {
        nowMs = next.atMs;
        checks.push(next);
        if (next.as === 'paused') return history.cover('a', nowMs);
        const { result, found } = resultOf(next);
        return history.add('a', nowMs, result, { found, everyMs, covered: next.as === 'covered' });
      }

      for (const step of steps) {
        if (step.what === 'wait') nowMs += step.afterMs;
        if (step.what === 'check') writes.push(add({ ...step, atMs: nowMs + step.afterMs }));
        if (step.what === 'many') {
          for (let index = 0; index < 150; index += 1) {
            const as = index % 7 === 0 ? 'down' : 'up';
            writes.push(add({ as, tookMs: index, atMs: nowMs + step.apartMs }));
          }
        }
        if (step.what === 'store') {
          // Cached days must not outlive newly stored hours, even if they are being read.
          const asked = [history.days('a', { count: 90, nowMs })];
          const stored = history.prune(nowMs);
          asked.push(history.days('a', { count: 90, nowMs }));
          await stored;
          asked.push(history.days('a', { count: 90, nowMs }));
          const days = daysOf(checks, everyMs, nowMs);
          for (const each of asked) expect(await each).toEqual(days);
        }
        if (step.what === 'restart') {
          await Promise.all(writes);
          writes = [];
          await history.close();
          await store.close();
          store = await openTestStore({ folder, log });
          history = await openHistory({ store, wallMs: () => nowMs, log });
        }
      }

      await Promise.all(writes);
      const range = { fromMs: START - DAY, toMs: nowMs + DAY };
      for (const [by, lengthMs] of [
        ['minute', MINUTE],
        ['hour', HOUR],
        ['day', DAY],
      ] as const) {
        const keptMs = by === 'minute' ? Math.floor((nowMs - 2 * HOUR) / MINUTE) * MINUTE : 0;
        const asked = { fromMs: Math.max(range.fromMs, keptMs), toMs: range.toMs, nowMs };
        expect(await history.rollups('a', { by, ...range }), by).toEqual(
          rollupsOf(checks, everyMs, lengthMs, asked),
        );
      }
      expect(await history.days('a', { count: 90, nowMs })).toEqual(daysOf(checks, everyMs, nowMs));
      const newest = checks.filter(({ as }) => as !== 'paused').slice(-20);
      expect((await history.results('a', 20)).map(({ at }) => Date.parse(at))).toEqual(
        newest.map(({ atMs }) => atMs).reverse(),
      );
      const all = await history.uptime('a', range);
      expect(all).toMatchObject(seenIn(checks, everyMs, range.fromMs, nowMs));
      expect(all.upMs + all.downMs + all.unseenMs).toBe(range.toMs - range.fromMs);

      // Wherever it is cut, but for hours in which it changed more often than is kept.
      const spanMs = range.toMs - range.fromMs;
      const [low = 0, high = 0] = [...cut].sort((a, b) => a - b);
      const edges = [low, high].map(
        (percent) => range.fromMs + Math.floor((spanMs * percent) / 100),
      );
      const [fromMs = 0, toMs = 0] = edges;
      const part = await history.uptime('a', { fromMs, toMs });
      expect(part.upMs + part.downMs + part.unseenMs).toBe(toMs - fromMs);
      for (const ms of Object.values(part)) expect(ms).toBeGreaterThanOrEqual(0);
      if (!steps.some(({ what }) => what === 'many')) {
        expect(part).toMatchObject(seenIn(checks, everyMs, fromMs, Math.min(toMs, nowMs)));
      }
      const hours = (ms: number) => Math.floor(ms / HOUR) * HOUR;
      const whole = { fromMs: hours(fromMs), toMs: hours(toMs) };
      expect(await history.uptime('a', whole)).toMatchObject(
        seenIn(checks, everyMs, whole.fromMs, Math.min(whole.toMs, nowMs)),
      );

      await history.close();
      await store.close();
      expect(lines.filter(({ level }) => Number(level) > 30)).toEqual([]);
    }),
    {
      numRuns: long ? 200 : 8,
      examples: [
        ...restarts.map((steps): [Story] => [
          { everyMs: MINUTE, steps: [...steps], cut: [0, 100] },
        ]),
        [{ everyMs: DAY, steps: [...seldomChecked], cut: [0, 100] }],
        [{ everyMs: DAY, steps: [...beforeMemory], cut: [0, 100] }],
      ],
    },
  );
});
