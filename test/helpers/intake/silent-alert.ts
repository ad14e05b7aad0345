import { newDelivery } from '../../../src/bot/incidents/incidents.ts';
import { reportedId } from '../../../src/bot/incidents/watch-state.ts';
import { createIntakes } from '../../../src/bot/intake/intakes.ts';
import { type Place, placeKey } from '../../../src/bot/shared/place.ts';
import { openWatchState } from '../../../src/bot/watch/watch-store.ts';
import { recordingLog } from '../recording-log.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { openTestStore } from '../test-store.ts';

/** Creates a data folder with a firing alert of this place's intake whose sender has long been silent. */
export async function folderWithSilentAlert(place: Place): Promise<string> {
  const folder = await temporaryFolder();
  const store = await openTestStore({ folder, log: recordingLog().log });
  const intakes = await createIntakes(store);
  const { intake } = await intakes.add(place, { kind: 'generic', name: 'Production', by: 'Amy' });
  const state = await openWatchState(store);
  const lastReportAtMs = Date.now() - 86_400_000;
  const id = reportedId(intake.id, 'queue');
  const key = placeKey(place);
  await state.update(() => ({
    ...{ known: [], isLearned: true, shortLists: 0 },
    alerts: [
      {
        ...{
          kind: 'incident',
          id: 'silent-1',
          version: 1,
          openedAtMs: lastReportAtMs,
          monitorId: id,
        },
        ...{ name: 'Queue', target: 'Production', checkType: 'ALERT', status: 'FIRING' },
        ...{
          startedAtMs: lastReportAtMs,
          intake: intake.id,
          deliveries: [newDelivery(key, 'silent-1')],
        },
        reported: { place: key, facts: [], links: [], silentSinceMs: lastReportAtMs },
      },
    ],
    reported: [
      {
        ...{ id, intake: intake.id, place: key, key: 'queue', name: 'Queue', status: 'FIRING' },
        ...{ startedAtMs: lastReportAtMs, lastReportAtMs },
      },
    ],
  }));
  await store.close();
  return folder;
}
