import { expect, onTestFinished, test } from 'vitest';
import { createChannels } from '../../../src/bot/channels/channels.ts';
import type { BotCore, BotParts } from '../../../src/bot/commands/open-features.ts';
import { Investigator } from '../../../src/bot/investigations/investigator.ts';
import { openWatchState } from '../../../src/bot/watch/watch-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { createHandClock } from '../../helpers/bot/hand-clock.ts';
import { incident, NOTHING_WATCHED } from '../../helpers/bot/watch-changes.ts';
import { eventually } from '../../helpers/eventually.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { openTestStore } from '../../helpers/test-store.ts';

test('reads no settings while no alert is ongoing', async () => {
  const store = await openTestStore();
  onTestFinished(() => store.close());
  let reads = 0;
  const counting: Store['collection'] = (declaration) => {
    const collection = store.collection(declaration);
    return { ...collection, list: () => collection.list().finally(() => (reads += 1)) };
  };
  const state = await openWatchState(store);
  const clock = createHandClock(Date.UTC(2026, 10, 29));
  const core = {
    ...{ state, clock, log: recordingLog().log, onChange: () => {} },
    channels: createChannels({ ...store, collection: counting }),
  };
  const investigator = new Investigator(core as unknown as BotCore);
  onTestFinished(() => investigator.stop());
  const over = { ...incident('a'), endedAtMs: clock.nowMs() };
  await state.update(() => ({ ...NOTHING_WATCHED, alerts: [over] }));
  investigator.start({} as BotParts);
  for (let looks = 0; looks < 3; looks += 1) {
    await eventually(() => clock.isAwaited());
    clock.goToNext();
  }
  expect(reads).toBe(0);
  await state.update((now) => now && { ...now, alerts: [...now.alerts, incident('b')] });
  await eventually(() => clock.isAwaited());
  clock.goToNext();
  await eventually(() => reads === 1);
});
