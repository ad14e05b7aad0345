import type { MonitoringClient } from '../../clients/monitoring.ts';
import type { Channels } from '../channels/channels.ts';
import { MAX_PAST, type Reported } from '../incidents/watch-state.ts';
import { type Card, textCard } from '../shared/card.ts';
import { CommandError } from '../shared/errors.ts';
import { type Place, placeKey } from '../shared/place.ts';
import { reportCard, titleOf } from './report-card.ts';
import { factsOf, readSpan, type SpanRecord } from './report-facts.ts';
import { reportedFigures } from './reported-figures.ts';
import type { ReportSpan } from './schedule.ts';
import type { Narrator } from './sentences.ts';

/** What makes reports. */
export type Reports = ReturnType<typeof createReports>;

/** Reports that are made at about one time. */
export type ReportRound = ReturnType<Reports['round']>;

export function createReports(options: {
  monitoring: MonitoringClient;
  channels: Pick<Channels, 'hears'>;
  /** Channels that hear every alert, as the operator set it. */
  alertPlaces: readonly Place[];
  /** Alerts that other systems report to a channel; none when left out. */
  reportedTo?: (place: Place) => readonly Reported[];
  /** What has a model say what matters most; nothing is said when left out. */
  narrate?: Narrator;
}) {
  const { monitoring, channels, alertPlaces, reportedTo, narrate } = options;

  async function cardOf(place: Place, record: SpanRecord, signal: AbortSignal): Promise<Card> {
    const hearsAll = alertPlaces.some((other) => placeKey(other) === placeKey(place));
    const hears = hearsAll ? () => true : await channels.hears(place);
    const facts = await factsOf(record, hears);
    const sentences = await narrate?.(place, facts, signal);
    const reported = reportedFigures(reportedTo?.(place) ?? [], record.span, MAX_PAST);
    return reportCard({ ...facts, ...(reported && { reported }) }, sentences);
  }

  return {
    /** The report of a time for a channel. Throws as `readSpan` does. */
    async of(place: Place, span: ReportSpan, signal: AbortSignal): Promise<Card> {
      return await cardOf(place, await readSpan(monitoring, span, signal), signal);
    },
    /**
     * Makes reports for many channels, whose times are mostly the same: of each the service is asked once. Where it tells nothing
     * of the past, a report says so. Throws what the client throws.
     */
    round() {
      const records = new Map<string, Promise<SpanRecord>>();
      return {
        async of(place: Place, span: ReportSpan, signal: AbortSignal): Promise<Card> {
          const key = JSON.stringify([span.beforeMs, span.cuts]);
          const asked = records.get(key) ?? readSpan(monitoring, span, signal);
          records.set(key, asked);
          try {
            return await cardOf(place, { ...(await asked), span }, signal);
          } catch (error) {
            if (!(error instanceof CommandError)) throw error;
            return textCard('info', `${titleOf(span)}: no data`, error.message);
          }
        },
      };
    },
  };
}
