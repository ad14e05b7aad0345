import { addIntakeRoutes } from '../../../src/app/intake-routes.ts';
import { createIntakes } from '../../../src/bot/intake/intakes.ts';
import type { IntakeKind } from '../../../src/bot/intake/reported-alert.ts';
import type { Place } from '../../../src/bot/shared/place.ts';
import { openLowdbStore } from '../../../src/store/lowdb/lowdb-store.ts';
import type { TestBot } from '../bot.ts';
import { post, runningServer } from '../http/running-server.ts';
import { recordingLog } from '../recording-log.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/** A folder with an intake of a place, for a bot that is started on it. */
export async function folderWithIntake(place: Place, kind: IntakeKind) {
  const folder = await temporaryFolder();
  const store = await openLowdbStore({ folder, log: recordingLog().log });
  const intakes = await createIntakes(store);
  const { token } = await intakes.add(place, { kind, name: 'Production', by: 'Amy' });
  await store.close();
  return { folder, token };
}

/** What delivers to a bot over real HTTP. */
export async function deliverTo({ bot }: TestBot, path: string) {
  const { ask } = await runningServer((kit) => addIntakeRoutes(kit, () => bot.intake));
  return async (body: unknown) => (await ask(path, post(body))).status;
}
