import type { MonitoringClient } from '../../clients/monitoring.ts';
import type { Channels } from '../channels/channels.ts';
import type { Card } from '../shared/card.ts';
import { type Place, placeKey } from '../shared/place.ts';
import { reportCard } from './report-card.ts';
import { gatherFacts } from './report-facts.ts';
import type { ReportSpan } from './schedule.ts';

/** What makes reports. */
export type Reports = ReturnType<typeof createReports>;

export function createReports(options: {
  monitoring: MonitoringClient;
  channels: Pick<Channels, 'hears'>;
  /** Channels that hear every alert, as the operator set it. */
  alertPlaces: readonly Place[];
}) {
  const { monitoring, channels, alertPlaces } = options;
  return {
    /** The report of a time for a channel. Throws as `gatherFacts` does. */
    async of(place: Place, span: ReportSpan, { signal }: { signal: AbortSignal }): Promise<Card> {
      const hearsAll = alertPlaces.some((other) => placeKey(other) === placeKey(place));
      const hears = hearsAll ? () => true : await channels.hears(place);
      return reportCard(await gatherFacts({ monitoring, hears, span, signal }));
    },
  };
}
