import { expect, onTestFinished, test } from 'vitest';
import { openHistory } from '../../../src/monitoring/history/history.ts';
import type { Store } from '../../../src/store/store.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { openTestStore } from '../../helpers/test-store.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const NOON_MS = Date.UTC(2027, 0, 15, 12);

/** A store whose rollups are read no sooner than `letThrough`. */
function heldReads(store: Store) {
  let letThrough = () => {};
  const gate = new Promise<void>((resolve) => {
    letThrough = resolve;
  });
  let isHeld = false;
  const held: Store = {
    ...store,
    collection(declaration) {
      const collection = store.collection(declaration);
      if (declaration.name !== 'monitor-rollups') return collection;
      return {
        ...collection,
        async get(id) {
          if (isHeld) await gate;
          return await collection.get(id);
        },
      };
    },
  };
  return {
    held,
    hold: () => {
      isHeld = true;
    },
    letThrough,
  };
}

test('hours that are stored while days are read count once', async () => {
  const { log } = recordingLog();
  const store = await openTestStore({ log });
  onTestFinished(() => store.close());
  const { held, hold, letThrough } = heldReads(store);
  let nowMs = NOON_MS;
  const history = await openHistory({ store: held, wallMs: () => nowMs, log });
  const up = { ok: true, outcome: 'ok', responseTimeMs: 5 } as const;
  for (let minute = 0; minute < 60; minute += 1) {
    nowMs = NOON_MS + minute * MINUTE_MS;
    await history.add('a', nowMs, up, { found: 'UP', everyMs: MINUTE_MS, covered: false });
  }
  nowMs = NOON_MS + 2 * HOUR_MS;
  // Loads the open hours, so that `hold` only holds the reading of stored ones.
  await history.uptime('a', { fromMs: NOON_MS, toMs: nowMs });
  hold();
  const asked = history.days('a', { count: 2, nowMs });
  await history.prune(nowMs);
  letThrough();
  const seenMs = 61 * MINUTE_MS;
  expect(await asked).toEqual({ upMs: [0, seenMs], downMs: [0, 0] });
  expect(await history.days('a', { count: 2, nowMs })).toEqual(await asked);
  await history.close();
});
