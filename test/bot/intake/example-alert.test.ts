import { expect, onTestFinished, test } from 'vitest';
import { createChannels } from '../../../src/bot/channels/channels.ts';
import { NOTHING_WATCHED } from '../../../src/bot/intake/apply-reported.ts';
import { EXAMPLE_MS, exampleAlert } from '../../../src/bot/intake/example-alert.ts';
import { createIntake } from '../../../src/bot/intake/intake.ts';
import { createIntakes } from '../../../src/bot/intake/intakes.ts';
import { createUpkeep } from '../../../src/bot/intake/upkeep.ts';
import { openWatchState } from '../../../src/bot/watch/watch-store.ts';
import { createHandClock } from '../../helpers/bot/hand-clock.ts';
import { eventually } from '../../helpers/eventually.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { openTestStore } from '../../helpers/test-store.ts';

test('an example that nobody ends is ended after its time, and an alert of a sender is not', async () => {
  const store = await openTestStore();
  const state = await openWatchState(store);
  await state.update(() => NOTHING_WATCHED);
  const intakes = await createIntakes(store);
  const channels = createChannels(store);
  const clock = createHandClock(Date.UTC(2026, 10, 22));
  const core = { state, intakes, channels, clock, onChange() {}, log: recordingLog().log };
  const intake = createIntake({ ...core, nowMs: clock.nowMs });
  const upkeep = createUpkeep({ ...core, intake });
  onTestFinished(async () => {
    await upkeep.stop();
    await store.close();
  });
  const place = { platform: 'slack', channel: 'C1' };
  const { intake: owner } = await intakes.add(place, { kind: 'generic', by: 'Amy' });
  const example = exampleAlert(owner, 'firing', clock.nowMs());
  const alerts = [example, { ...example, key: 'another' }];
  await intake.take(owner, { alerts, truncated: 0 });
  const statuses = () => state.current()?.reported?.map(({ status }) => status);
  upkeep.start();
  for (const [afterMs, wanted] of [
    [EXAMPLE_MS - 1_000, 'WARNING,WARNING'],
    [10_000, 'RESOLVED,WARNING'],
  ] as const) {
    await eventually(clock.isAwaited);
    clock.goOn(afterMs);
    await eventually(clock.isAwaited);
    expect(statuses()?.join()).toBe(wanted);
  }
});
