import { expect, test } from 'vitest';
import type { Watching } from '../../../src/bot/incidents/watch-state.ts';
import {
  ApplyQueue,
  OverloadError,
  RemovedIntakeError,
} from '../../../src/bot/intake/apply-queue.ts';
import type { ReportedAlert } from '../../../src/bot/intake/reported-alert.ts';
import { recordingLog } from '../../helpers/recording-log.ts';

/** Acknowledgements of unknown alerts, which change nothing. */
const delivery = (count: number) => ({
  intake: { id: 'prod', name: 'Production', place: 'slack:C1' },
  alerts: Array.from(
    { length: count },
    (_, at): ReportedAlert => ({
      key: `${at}`,
      state: 'acknowledged',
      name: `Alert ${at}`,
      severity: 'critical',
      facts: [],
      links: [],
    }),
  ),
  truncated: 0,
});

function openQueue(intakeExists = () => true) {
  let watching: Watching | undefined;
  return new ApplyQueue({
    state: {
      current: () => watching,
      async update(change) {
        watching = change(watching);
      },
    },
    channels: { settings: async () => () => ({}) },
    intakes: { get: () => (intakeExists() ? ({} as never) : undefined) },
    nowMs: Date.now,
    onChange: () => {},
    log: recordingLog().log,
  });
}

test('a delivery returns its room in the queue', async () => {
  const queue = openQueue();
  const first = queue.apply(delivery(15_000));
  await expect(queue.apply(delivery(15_000))).rejects.toBeInstanceOf(OverloadError);
  await first;
  await queue.apply(delivery(15_000));
});

test('a delivery whose intake is removed while it waits is refused', async () => {
  let isThere = true;
  const queue = openQueue(() => isThere);
  const waiting = queue.apply(delivery(1));
  isThere = false;
  await expect(waiting).rejects.toBeInstanceOf(RemovedIntakeError);
});
