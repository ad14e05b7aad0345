import type { Feature } from '../commands/feature.ts';
import { openAlertmanagers } from './alertmanager-of.ts';
import { endExample, monitorIntake } from './commands.ts';
import { createIntake } from './intake.ts';
import { createIntakes, type Intakes } from './intakes.ts';
import { Silencer, silenceFor } from './silences.ts';
import { createUpkeep } from './upkeep.ts';

/** Alerts from other systems, and silences in Alertmanager. The program adds the routes. */
export const intake: Feature<Intakes> = {
  name: 'intake',
  commands: [monitorIntake],
  actions: [endExample],
  openShared: ({ store }) => createIntakes(store),
  open(core, intakes) {
    const { settings, clock, onChange } = core;
    const alertmanagers = openAlertmanagers({ intakes, urls: settings.alertmanagerUrls });
    const silencer = new Silencer({ ...core, clientFor: alertmanagers.clientFor });
    const receiver = createIntake({
      ...core,
      intakes,
      nowMs: clock.nowMs,
      onChange() {
        onChange();
        silencer.wake();
      },
    });
    const upkeep = createUpkeep({ ...core, intakes, intake: receiver });
    return {
      service: { intakes, intake: receiver },
      start() {
        upkeep.start();
        silencer.start();
      },
      async stop() {
        await Promise.all([receiver.stop(), upkeep.stop(), silencer.stop()]);
      },
      close: alertmanagers.close,
      onAlertsChange: () => silencer.wake(),
      silenceFor: (incident) =>
        silenceFor(incident, { hasAddress: alertmanagers.urlFor(incident) !== undefined }),
      places: async () => intakes.places(),
      forgetPlaces: (gone) => intakes.forgetPlaces(gone),
    };
  },
};
