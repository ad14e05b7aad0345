import { expect, test } from 'vitest';
import { counting, startAdditions, startSteppedWatch } from '../../helpers/bot/stepped-watch.ts';

const START_MS = Date.parse('2026-11-27T12:00:00Z');
const MINUTE_MS = 60_000;

test('What nobody acknowledges is told to others while the monitors cannot be seen, too, once', async () => {
  const monitor = counting('shop', 0);
  const service = await startAdditions([monitor]);
  const watch = await startSteppedWatch(service, { nowMs: START_MS });
  await watch.channels.change(
    { platform: 'slack', channel: 'C1' },
    { settings: { escalation: { afterMs: 10 * MINUTE_MS, place: 'slack:C2' } } },
  );
  Object.assign(monitor, { status: 'DOWN', status_changes: 1 });
  await watch.poll(START_MS + MINUTE_MS);
  expect(watch.incidents()).toHaveLength(1);
  service.show(false);
  const escalations = () =>
    watch.alerts().filter((alert) => alert.kind === 'group' && alert.escalation);
  await watch.poll(START_MS + 10 * MINUTE_MS);
  expect(escalations()).toEqual([]);
  await watch.poll(START_MS + 11 * MINUTE_MS);
  expect(escalations()).toMatchObject([
    { place: 'slack:C2', openedAtMs: START_MS + 11 * MINUTE_MS },
  ]);
  await watch.poll(START_MS + 30 * MINUTE_MS);
  service.show(true);
  await watch.poll(START_MS + 31 * MINUTE_MS);
  expect(escalations()).toHaveLength(1);
});
