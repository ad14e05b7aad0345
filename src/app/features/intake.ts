import { intakeOf } from '../../bot/intake/intake.ts';
import { createIntakes } from '../../bot/intake/intakes.ts';
import type { ProgramFeature } from '../program.ts';
import { accountIntakes } from './account-intakes.ts';
import { addIntakeRoutes } from './intake-routes.ts';

/** Addresses that receive alerts from other systems, and their list in the console. */
export const intake: ProgramFeature = {
  name: 'intake',
  async open({ store, kit, bot, addressFor, knowsBot }) {
    const shared = await createIntakes(store);
    if (knowsBot) {
      addIntakeRoutes(kit, () => {
        const opened = bot();
        return opened && intakeOf(opened).intake;
      });
    }
    return {
      shared,
      account: { intakes: { manage: accountIntakes(shared), addressFor } },
      isForBot: (path) => path === '/v2/enqueue' || path.startsWith('/hooks/'),
    };
  },
};
