import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createRecentResults, RECENT_COUNT } from '../../src/monitoring/recent-results.ts';
import { type Entry, entryOf, kindOf, tookOf } from '../../src/monitoring/results-journal.ts';
import { Outcome } from '../../src/monitoring/state.ts';

type Kept = Exclude<Entry, { what: 'forgotten' }>;

const entry = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      what: fc.constant('result' as const),
      monitor: fc.constantFrom('a', 'b', 'c'),
      atMs: fc.integer({ min: 1_700_000_000_000, max: 1_900_000_000_000 }),
      result: fc.record(
        {
          ok: fc.boolean(),
          outcome: fc.constantFrom(...Outcome.options),
          responseTimeMs: fc.integer({ min: 0, max: 600_000 }).map((tenths) => tenths / 10),
          reason: fc.constantFrom('too slow', 'no answer', 'status 500'),
        },
        { requiredKeys: ['ok', 'outcome', 'responseTimeMs'] },
      ),
      seen: fc.record({
        found: fc.constantFrom('UP' as const, 'DOWN' as const, 'DEGRADED' as const),
        everyMs: fc.integer({ min: 1, max: 86_400_000 }),
        covered: fc.boolean(),
      }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      what: fc.constant('covered' as const),
      monitor: fc.constantFrom('a', 'b', 'c'),
      atMs: fc.integer({ min: 1_700_000_000_000, max: 1_900_000_000_000 }),
    }),
  },
);

test('the newest entries of each monitor are there as they came', () => {
  const steps = fc.array(
    fc.oneof(
      { weight: 200, arbitrary: entry.map((value): Kept => value as Kept) },
      { weight: 1, arbitrary: fc.constantFrom('a', 'b') },
    ),
    { maxLength: 1_500, size: 'max' },
  );
  fc.assert(
    fc.property(steps, (all) => {
      const recent = createRecentResults();
      const model = new Map<string, Kept[]>();
      for (const step of all) {
        if (typeof step === 'string') {
          recent.forget(step);
          model.delete(step);
        } else {
          recent.add(step);
          model.set(step.monitor, [...(model.get(step.monitor) ?? []), step]);
        }
      }
      for (const monitor of ['a', 'b', 'c']) {
        const told = model.get(monitor) ?? [];
        expect(recent.of(monitor)).toEqual(told.slice(-RECENT_COUNT));
        expect(recent.isFull(monitor)).toBe(told.length >= RECENT_COUNT);
      }
    }),
    { numRuns: 50 },
  );
});

test('more monitors than a page holds do not mix', () => {
  const recent = createRecentResults();
  for (let round = 0; round < 3; round += 1) {
    for (let index = 0; index < 200; index += 1) {
      recent.add({ what: 'covered', monitor: `m${index}`, atMs: 1_000 * index + round });
    }
  }
  for (let index = 0; index < 200; index += 1) {
    const times = recent.of(`m${index}`).map(({ atMs }) => atMs);
    expect(times).toEqual([0, 1, 2].map((round) => 1_000 * index + round));
  }
});

test('with too many different reasons in memory, results are kept without', () => {
  const recent = createRecentResults();
  const failed = (monitor: string, reason: string): Kept => ({
    what: 'result',
    monitor,
    atMs: 1,
    result: { ok: false, outcome: 'status', responseTimeMs: 1, reason },
    seen: { found: 'DOWN', everyMs: 1, covered: false },
  });
  for (let index = 0; index < 65_535; index += 1) {
    recent.add(failed(`m${Math.floor(index / RECENT_COUNT)}`, `reason ${index}`));
  }
  recent.add(failed('late', 'one too many'));
  expect(recent.of('late')).toMatchObject([{ result: { outcome: 'status' } }]);
  expect(recent.of('late')[0]).not.toHaveProperty('result.reason');
  recent.forget('m0');
  recent.add(failed('later', 'there is room again'));
  expect(recent.of('later')).toMatchObject([{ result: { reason: 'there is room again' } }]);
});

test('reasons go with the results that they belong to', () => {
  const recent = createRecentResults();
  for (let index = 0; index < 70_000; index += 1) {
    recent.add({
      what: 'result',
      monitor: 'a',
      atMs: index,
      result: { ok: false, outcome: 'status', responseTimeMs: 1, reason: `reason ${index}` },
      seen: { found: 'DOWN', everyMs: 1, covered: false },
    });
  }
  expect(recent.of('a').at(-1)).toMatchObject({ result: { reason: 'reason 69999' } });
});

test('the numbers that outcomes have in the journal never change', () => {
  const numbers = Outcome.options.map((outcome) => {
    const result = { ok: false, outcome, responseTimeMs: 0 };
    const seen = { found: 'UP', everyMs: 1, covered: false } as const;
    const kind = kindOf({ what: 'result', monitor: 'a', atMs: 0, result, seen });
    const back = entryOf('a', 0, kind, { took: tookOf(0), everyMs: 1, reason: undefined });
    expect(back).toMatchObject({ result: { outcome } });
    return `${outcome} ${kind}`;
  });
  expect(numbers).toEqual([
    'ok 16',
    'slow 32',
    'expiring 48',
    'timeout 64',
    'connection 80',
    'name 96',
    'tls 112',
    'protocol 128',
    'status 144',
    'redirect 160',
    'keyword 176',
    'dns 192',
    'blocked 208',
    'late 224',
    'failed 240',
  ]);
});
