import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  coveredEntry,
  type HistoryEntry,
  resultEntry,
} from '../../../src/monitoring/history/result-record.ts';
import {
  countFrom,
  countOne,
  fromText,
  hoursBefore,
  isDue,
  isFinalFrom,
  setStored,
  toText,
} from '../../../src/monitoring/history/unstored-hours.ts';
import { talliesAt } from '../../../src/monitoring/history/uptime-accounting.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NOON = Date.UTC(2027, 0, 15, 12);
const BEGIN = { finalMs: NOON, last: { atMs: NOON - 5, worthMs: 2 * MINUTE, as: 'down' } } as const;

const entries = fc
  .array(
    fc.record({
      afterMs: fc.integer({ min: 0, max: 20 * MINUTE }),
      as: fc.constantFrom('up', 'down', 'covered', 'paused'),
      took: fc.integer({ min: 0, max: 20_000 }),
    }),
    { maxLength: 25 },
  )
  .map((steps) => {
    let atMs = NOON;
    return steps.map(({ afterMs, as, took }): HistoryEntry => {
      atMs += afterMs;
      if (as === 'paused') return coveredEntry('a', atMs);
      const ok = as !== 'down';
      const result = { ok, outcome: ok ? 'ok' : 'timeout', responseTimeMs: took / 10 } as const;
      const context = {
        found: ok ? 'UP' : 'DOWN',
        everyMs: MINUTE,
        covered: as === 'covered',
      } as const;
      return resultEntry('a', atMs, result, context);
    });
  });

/** Sums of tenths, which the text rounds. */
const rounded = (tallies: ReturnType<typeof talliesAt>) =>
  tallies.map((tally) => ({ ...tally, sumMs: Math.round(tally.sumMs * 10) / 10, last: null }));

test('hours that are handed over as text go on as if they had not been', () => {
  fc.assert(
    fc.property(entries, fc.nat(), (all, cut) => {
      const at = all.length === 0 ? 0 : cut % all.length;
      const alone = countFrom(BEGIN, all);
      const text = toText(countFrom(BEGIN, all.slice(0, at)));
      const handed = fromText(JSON.parse(JSON.stringify(text)));
      for (const entry of all.slice(at)) expect(handed && countOne(handed, entry)).toBe(true);
      const endMs = NOON + 30 * HOUR;
      expect(rounded(talliesAt(handed?.time ?? alone.time, endMs))).toEqual(
        rounded(talliesAt(alone.time, endMs)),
      );
      expect(handed?.finalMs).toBe(NOON);
      expect(isFinalFrom(text, NOON)).toBe(true);
      expect(isFinalFrom(text, NOON + 1)).toBe(false);
    }),
  );
});

test('a text of a usual monitor is small, and one of very many hours is none', () => {
  const ok = { ok: true, outcome: 'ok', responseTimeMs: 123.4 } as const;
  const look = (atMs: number, everyMs: number) =>
    resultEntry('a', atMs, ok, { found: 'UP', everyMs, covered: false });
  const usual = Array.from({ length: 115 }, (_, minute) => look(NOON + minute * MINUTE, MINUTE));
  expect(toText(countFrom(BEGIN, usual))?.length).toBeLessThan(200);
  const long = [look(NOON, 24 * HOUR), look(NOON + 40 * HOUR, 24 * HOUR)];
  expect(toText(countFrom(BEGIN, long))).toBeNull();
});

test('what is no text of hours is told as that', () => {
  const good = '1|1800014400000|1800014400000,60000,1|500004,1,0,5,0,1.5,1.5,1.5';
  expect(fromText(good)?.time.tallies).toHaveLength(1);
  expect(fromText('1|1800014400000|')?.time.last).toBeUndefined();
  const others = [
    undefined,
    null,
    {},
    7,
    '',
    good.replace('1|', '2|'),
    good.slice(0, -4),
    `${good},1`,
    good.replace(',1|', ',4|'),
    good.replace('60000,1', '60000'),
    good.replace('500004', '50.00.4'),
    good.replace('500004', 'x'),
    `1|${'1'.repeat(5_000)}|`,
  ];
  for (const other of others) expect(fromText(other), String(other)).toBeUndefined();
  expect(isFinalFrom(null, 0)).toBe(false);
  expect(isFinalFrom('', 0)).toBe(false);
});

test('hours are due when something was seen in them, and gone when they are stored', () => {
  const look = resultEntry(
    'a',
    NOON + 10 * MINUTE,
    { ok: true, outcome: 'ok', responseTimeMs: 1 },
    { found: 'UP', everyMs: HOUR, covered: false },
  );
  const hours = countFrom({ finalMs: NOON, last: undefined }, [look]);
  expect(isDue(hours, NOON)).toBe(false);
  expect(isDue(hours, NOON + HOUR)).toBe(true);
  expect(hoursBefore(hours, NOON + HOUR)).toMatchObject({
    hours: [{ startMs: NOON, checks: 1, upMs: 50 * MINUTE }],
    last: { atMs: NOON + 10 * MINUTE, as: 'up' },
  });
  setStored(hours, NOON + HOUR);
  expect(isDue(hours, NOON + HOUR)).toBe(false);
  // It is worth two hours.
  expect(isDue(hours, NOON + 2 * HOUR)).toBe(true);
  setStored(hours, NOON + 3 * HOUR);
  expect(isDue(hours, NOON + 9 * HOUR)).toBe(false);
  expect(countOne(hours, look)).toBe(true);
  expect(hours.time.tallies).toEqual([]);
});
