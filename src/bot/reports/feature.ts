import type { Feature } from '../commands/feature.ts';
import { placeKey } from '../shared/place.ts';
import { monitorReport } from './command.ts';
import { createReporter } from './reporter.ts';
import { createReports } from './reports.ts';
import { createNarrator } from './sentences.ts';

/** Daily, weekly and monthly reports. */
export const reports: Feature = {
  name: 'reports',
  commands: [monitorReport],
  after: 'monitor alerts',
  open(core) {
    const { monitoring, channels, settings, state } = core;
    const service = createReports({
      monitoring,
      channels,
      alertPlaces: settings.alertPlaces,
      reportedTo: (place) =>
        (state.current()?.reported ?? []).filter((one) => one.place === placeKey(place)),
      narrate: createNarrator(core),
    });
    const { start, stop } = createReporter({ ...core, reports: service });
    return { service, start, stop };
  },
};
