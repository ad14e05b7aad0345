import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type CheckResult, Outcome } from '../../../src/monitoring/checks/check-result.ts';
import {
  createRecentResults,
  RECENT_COUNT,
} from '../../../src/monitoring/history/recent-results.ts';
import {
  coveredEntry,
  type HistoryEntry,
  outcomeOf,
  resultEntry,
} from '../../../src/monitoring/history/result-record.ts';
import { long } from '../../helpers/long.ts';

const moment = {
  monitor: fc.constantFrom('a', 'b', 'c'),
  atMs: fc.integer({ min: 1_700_000_000_000, max: 1_900_000_000_000 }),
};
const result = fc.record({
  ...moment,
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
    everyMs: fc.oneof(fc.constant(60_000), fc.integer({ min: 1, max: 400 * 86_400_000 })),
    covered: fc.boolean(),
  }),
});
const entry = fc.oneof(
  {
    weight: 8,
    arbitrary: result.map((each) =>
      resultEntry(each.monitor, each.atMs, each.result as CheckResult, each.seen),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.record(moment).map(({ monitor, atMs }) => coveredEntry(monitor, atMs)),
  },
);

test('the newest entries of each monitor are there as they came', () => {
  const steps = fc.array(
    fc.oneof(
      { weight: 200, arbitrary: entry },
      { weight: 1, arbitrary: fc.constantFrom('a', 'b') },
    ),
    { maxLength: 1_500, size: 'max' },
  );
  fc.assert(
    fc.property(steps, (all) => {
      const recent = createRecentResults();
      const model = new Map<string, HistoryEntry[]>();
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
    { numRuns: long ? 500 : 25 },
  );
});

test('the numbers that outcomes have in the journal never change', () => {
  const numbers = Outcome.options.map((outcome) => {
    const result = { ok: false, outcome, responseTimeMs: 0 };
    const seen = { found: 'UP', everyMs: 1, covered: false } as const;
    const entry = resultEntry('a', 0, result, seen);
    expect(outcomeOf(entry)).toBe(outcome);
    return `${outcome} ${entry.kind}`;
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
    'answer 256',
    'value 272',
    'dns 192',
    'blocked 208',
    'late 224',
    'failed 240',
  ]);
});
