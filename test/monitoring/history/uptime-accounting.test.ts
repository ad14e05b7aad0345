import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  addSnapshot,
  finalBoundary,
  putBefore,
  type StatusSince,
  startAccount,
  talliesAt,
  type UptimeAccount,
} from '../../../src/monitoring/history/uptime-accounting.ts';
import { long } from '../../helpers/long.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const HOURS = 8;

const sight = fc.record({
  atMs: fc.integer({ min: 0, max: HOURS * HOUR }),
  worthMs: fc.constantFrom(2 * MINUTE, HOUR, 5 * HOUR),
  as: fc.constantFrom<StatusSince['as']>('up', 'down', 'unseen', 'unconfirmed'),
});
const inOrder = fc
  .uniqueArray(sight, { maxLength: 30, selector: ({ atMs }) => atMs })
  .map((sights) => sights.sort((a, b) => a.atMs - b.atMs));

function count(sights: readonly StatusSince[]): UptimeAccount {
  const time = startAccount({ lengthMs: HOUR, countedMs: 0, last: undefined });
  for (const each of sights) addSnapshot(time, each, { ok: each.as === 'up', responseTimeMs: 5 });
  return time;
}

test('time that is counted on its own and put after what is stored is as if it had been counted in one go', () => {
  fc.assert(
    fc.property(
      inOrder,
      fc.integer({ min: 0, max: HOURS }),
      fc.integer({ min: 0, max: HOURS * HOUR }),
      sight,
      (sights, finalHour, sinceMs, later) => {
        // A failure that may be confirmed yet keeps its hour open.
        const finalMs = finalBoundary(
          count(sights.filter(({ atMs }) => atMs < finalHour * HOUR)),
          finalHour * HOUR,
        );
        const last = sights.findLast(({ atMs }) => atMs < finalMs);
        // A start may read more than what is not stored.
        const own = sights.filter(({ atMs }) => atMs >= Math.min(sinceMs, finalMs));
        const time = count(own);
        putBefore(time, { lengthMs: HOUR, countedMs: finalMs, last }, own[0]?.atMs ?? 0);
        const whole = count(sights);
        const expected = (nowMs: number) =>
          talliesAt(whole, nowMs).filter(({ startMs }) => startMs >= finalMs);
        const nowMs = HOURS * HOUR + 3 * HOUR;
        expect(talliesAt(time, nowMs)).toEqual(expected(nowMs));
        // Both continue alike.
        const next = { ...later, atMs: HOURS * HOUR + later.atMs };
        for (const each of [time, whole]) addSnapshot(each, next);
        expect(talliesAt(time, 3 * nowMs)).toEqual(expected(3 * nowMs));
      },
    ),
    { numRuns: long ? 1_000 : 250 },
  );
});
