import { addIntakeRoutes } from '../../../src/app/features/intake-routes.ts';
import { intakeOf } from '../../../src/bot/intake/intake.ts';
import { createIntakes } from '../../../src/bot/intake/intakes.ts';
import type { Place } from '../../../src/bot/shared/place.ts';
import type { IntakeKind } from '../../../src/contracts/intake-kinds.ts';
import type { TestBot } from '../bot.ts';
import { post, runningServer } from '../http/running-server.ts';
import { recordingLog } from '../recording-log.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { openTestStore } from '../test-store.ts';

/** A folder with an intake of a place, for a bot that is started on it. */
export async function folderWithIntake(place: Place, kind: IntakeKind) {
  const folder = await temporaryFolder();
  const store = await openTestStore({ folder, log: recordingLog().log });
  const intakes = await createIntakes(store);
  const { token } = await intakes.add(place, { kind, name: 'Production', by: 'Amy' });
  await store.close();
  return { folder, token };
}

/** Returns a function that delivers payloads to a bot over real HTTP. */
export async function deliverTo({ bot }: Pick<TestBot, 'bot'>, path: string) {
  const { ask } = await runningServer((kit) => addIntakeRoutes(kit, () => intakeOf(bot).intake));
  return async (body: unknown) => (await ask(path, post(body))).status;
}
