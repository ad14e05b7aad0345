import { expect, onTestFinished, test } from 'vitest';
import type { CheckResult } from '../../../src/monitoring/checks/check-result.ts';
import { type MonitorHistory, openHistory } from '../../../src/monitoring/history/history.ts';
import type { StatusChange } from '../../../src/monitoring/state/state.ts';
import { long } from '../../helpers/long.ts';
import { longOnly } from '../../helpers/long-only.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { type AtEnd, temporaryFolder } from '../../helpers/temporary-folder.ts';
import { openTestStore } from '../../helpers/test-store.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** Noon of a day. */
const NOON = Date.UTC(2027, 0, 15, 12);

const passed: CheckResult = { ok: true, outcome: 'ok', responseTimeMs: 20 };
const timedOut: CheckResult = {
  ok: false,
  outcome: 'timeout',
  reason: 'no answer within 5 s',
  responseTimeMs: 5_000,
};

async function startHistory(startMs = NOON, atEnd: AtEnd = onTestFinished) {
  const folder = await temporaryFolder(atEnd);
  const { log, lines } = recordingLog();
  let nowMs = startMs;
  async function open() {
    const store = await openTestStore({ folder, log });
    return { store, history: await openHistory({ store, wallMs: () => nowMs, log }) };
  }
  let current = await open();
  const stop = async () => {
    await current.history.close();
    await current.store.close();
  };
  atEnd(stop);
  return {
    lines,
    get history(): MonitorHistory {
      return current.history;
    },
    at(ms: number) {
      nowMs = ms;
    },
    async restart() {
      await stop();
      current = await open();
    },
    /** A result at a moment, which becomes the present. */
    async look(monitor: string, atMs: number, result = passed, more: { covered?: boolean } = {}) {
      nowMs = atMs;
      const found = result.ok ? 'UP' : 'DOWN';
      await current.history.add(monitor, atMs, result, {
        found,
        everyMs: MINUTE,
        covered: more.covered ?? false,
      });
    },
  };
}

/** More than are shown at once, with a restart after that. */
const ROUNDS = long ? 40 : 28;

// Side by side: each result waits a quarter of a second for its write.
test.concurrent.for([
  ['every minute', MINUTE],
  ...longOnly([
    ['every ten minutes', 10 * MINUTE],
    ['hourly', HOUR],
  ] as const),
  ['daily', 24 * HOUR],
] as const)(
  'a start shows the results that were shown before, of one that is checked %s',
  async ([, everyMs], { expect, onTestFinished: atEnd }) => {
    const service = await startHistory(NOON, atEnd);
    for (let round = 1; round <= ROUNDS; round += 1) {
      const atMs = NOON + round * everyMs;
      const failed = { ...timedOut, reason: `no answer, "${round}"; none` };
      await service.look('a', atMs, round % 3 === 0 ? failed : passed);
      await service.history.prune(atMs);
      if (round % 9 !== 0) continue;
      const before = await service.history.results('a', 20);
      expect(before).toHaveLength(Math.min(round, 20));
      await service.restart();
      expect(await service.history.results('a', 20)).toEqual(before);
    }
  },
);

test('what is past is told also in the moment in which an hour begins, and once the clock was set back', async () => {
  const service = await startHistory();
  await service.look('a', NOON);
  await service.look('a', NOON + HOUR, timedOut);
  const past = { fromMs: NOON, toMs: NOON + 30 * MINUTE };
  const seen = { upMs: 2 * MINUTE, downMs: 0, unseenMs: 28 * MINUTE };
  expect(await service.history.uptime('a', past)).toEqual(seen);
  service.at(NOON + 40 * MINUTE);
  expect(await service.history.uptime('a', past)).toEqual(seen);
});

const change = (number: number, more: Partial<StatusChange>): StatusChange => ({
  atMs: NOON + number * SECOND,
  sinceMs: NOON + number * SECOND,
  from: 'UP',
  to: 'DOWN',
  number,
  ...more,
});

test('the history of a removed monitor does not come back', async () => {
  const service = await startHistory();
  await service.look('a', NOON);
  await service.look('b', NOON);
  await service.history.addChanges('a', [change(1, {})]);
  await service.history.forget('a');
  for (let run = 0; run < 2; run += 1) {
    expect(await service.history.results('a', 10)).toEqual([]);
    expect(await service.history.incidents('a', 10)).toEqual([]);
    expect(await service.history.results('b', 10)).toHaveLength(1);
    await service.restart();
  }
});

test('results are kept until their hours are stored, however old they are', async () => {
  const service = await startHistory();
  // One round stores the hours of 200 monitors.
  const names = Array.from({ length: 201 }, (_, at) => `m${at}`);
  await Promise.all(names.map((name) => service.look(name, NOON)));
  service.at(NOON + 5 * 24 * HOUR);
  await service.history.prune(NOON + 5 * 24 * HOUR);
  await service.restart();
  const range = { fromMs: NOON, toMs: NOON + HOUR };
  for (const name of names.slice(-2)) {
    expect(await service.history.rollups(name, { by: 'hour', ...range })).toMatchObject([
      { checks: 1 },
    ]);
  }
});
