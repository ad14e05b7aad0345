import { expect, test } from 'vitest';
import { resultEntry } from '../../../src/monitoring/history/result-record.ts';
import { SharedHours } from '../../../src/monitoring/history/shared-hours.ts';
import { recordingLog } from '../../helpers/recording-log.ts';

const HOUR = 3_600_000;
const NOON = Date.UTC(2027, 0, 15, 12);

test('a process that loses a monitor while it reads its rows does not store the hours', async () => {
  const stored: string[] = [];
  let isOwner = true;
  let whileReading = () => {};
  const entry = resultEntry(
    'a',
    NOON,
    { ok: true, outcome: 'ok', responseTimeMs: 20 },
    { found: 'UP', everyMs: 60_000, covered: false },
  );
  const hours = new SharedHours({
    rollups: {
      begin: async () => ({ finalMs: 0, last: undefined, newest: { entries: [], isAll: true } }),
      add: async (monitor) => void stored.push(monitor),
    },
    series: {
      async between() {
        whileReading();
        return [];
      },
    },
    writer: {
      async read(_monitors, readRows, use) {
        await readRows();
        return use(() => [entry]);
      },
    },
    handed: { of: async () => new Map(), async *all() {} },
    owns: () => isOwner,
    isForgotten: () => false,
    log: recordingLog().log,
  });
  hours.add(entry);
  await hours.open('a', NOON);
  whileReading = () => {
    isOwner = false;
  };
  await hours.storeDue(NOON + 3 * HOUR, () => false);
  expect(stored).toEqual([]);

  whileReading = () => {};
  isOwner = true;
  await hours.storeDue(NOON + 3 * HOUR, () => false);
  expect(stored).toEqual(['a']);
});
