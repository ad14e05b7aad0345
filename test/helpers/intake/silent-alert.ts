import { newDelivery } from '../../../src/bot/incidents/incidents.ts';
import { reportedId } from '../../../src/bot/incidents/watch-state.ts';
import { createIntakes } from '../../../src/bot/intake/intakes.ts';
import { type Place, placeKey } from '../../../src/bot/shared/place.ts';
import { openWatchState } from '../../../src/bot/watch/watch-store.ts';
import { openLowdbStore } from '../../../src/store/lowdb/lowdb-store.ts';
import { recordingLog } from '../recording-log.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/** A folder in which an alert of an intake of this place fires that was not heard of for very long. */
export async function folderWithSilentAlert(place: Place): Promise<string> {
  const folder = await temporaryFolder();
  const store = await openLowdbStore({ folder, log: recordingLog().log });
  const intakes = await createIntakes(store);
  const { intake } = await intakes.add(place, { kind: 'generic', name: 'Production', by: 'Amy' });
  const state = await openWatchState(store);
  const heardAtMs = Date.now() - 86_400_000;
  const id = reportedId(intake.id, 'queue');
  const key = placeKey(place);
  await state.update(() => ({
    ...{ known: [], learnt: true, shortLooks: 0 },
    alerts: [
      {
        ...{ kind: 'incident', id: 'silent-1', version: 1, openedAtMs: heardAtMs, monitorId: id },
        ...{ name: 'Queue', target: 'Production', checkType: 'ALERT', status: 'FIRING' },
        ...{
          startedAtMs: heardAtMs,
          intake: intake.id,
          deliveries: [newDelivery(key, 'silent-1')],
        },
        reported: { place: key, facts: [], links: [], silentSinceMs: heardAtMs },
      },
    ],
    reported: [
      {
        ...{ id, intake: intake.id, place: key, key: 'queue', name: 'Queue', status: 'FIRING' },
        ...{ startedAtMs: heardAtMs, heardAtMs },
      },
    ],
  }));
  await store.close();
  return folder;
}
