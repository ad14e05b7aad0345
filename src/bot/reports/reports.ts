import type { MonitoringClient } from '../../clients/monitoring.ts';
import type { Channels } from '../channels/channels.ts';
import { serviceOf } from '../commands/open-features.ts';
import { MAX_PAST, type Reported } from '../incidents/watch-state.ts';
import { type Card, textCard } from '../shared/card.ts';
import { CommandError } from '../shared/errors.ts';
import { type Place, placeKey } from '../shared/place.ts';
import { reportCard, titleOf } from './report-card.ts';
import { factsOf, readSpan, type SpanRecord } from './report-facts.ts';
import { reportedFigures } from './reported-figures.ts';
import type { ReportSpan } from './schedule.ts';
import type { Narrator } from './sentences.ts';

export type Reports = ReturnType<typeof createReports>;

export const reportsOf = serviceOf<Reports>('reports');

/** Reports that are created at about the same time. */
export type ReportRound = ReturnType<Reports['round']>;

export function createReports(options: {
  monitoring: MonitoringClient;
  channels: Pick<Channels, 'subscriptionOf'>;
  /** Channels that receive every alert, as the operator set it. */
  alertPlaces: readonly Place[];
  /** Alerts from other systems in a channel. */
  reportedTo?: (place: Place) => readonly Reported[];
  /** Has a model write an opening; no opening if absent. */
  narrate?: Narrator;
}) {
  const { monitoring, channels, alertPlaces, reportedTo, narrate } = options;

  async function cardOf(place: Place, record: SpanRecord, signal: AbortSignal): Promise<Card> {
    const hearsAll = alertPlaces.some((other) => placeKey(other) === placeKey(place));
    const hears = hearsAll ? () => true : await channels.subscriptionOf(place);
    const facts = await factsOf(record, hears);
    const sentences = await narrate?.(place, facts, signal);
    // Alerts from other systems have no tags.
    const alerts = record.span.tags ? [] : (reportedTo?.(place) ?? []);
    const reported = reportedFigures(alerts, record.span, MAX_PAST);
    return reportCard({ ...facts, reported }, sentences);
  }

  return {
    /** Throws like `readSpan`. */
    async of(place: Place, span: ReportSpan, signal: AbortSignal): Promise<Card> {
      return await cardOf(place, await readSpan(monitoring, span, signal), signal);
    },
    /**
     * Creates reports for many channels. Their spans are mostly the same, and each is read once. If the service keeps no
     * history, the report says so. Throws like the client.
     */
    round() {
      const records = new Map<string, Promise<SpanRecord>>();
      return {
        async of(place: Place, span: ReportSpan, signal: AbortSignal): Promise<Card> {
          const key = JSON.stringify([span.beforeMs, span.cuts]);
          const record = records.get(key) ?? readSpan(monitoring, span, signal);
          records.set(key, record);
          try {
            return await cardOf(place, { ...(await record), span }, signal);
          } catch (error) {
            if (!(error instanceof CommandError)) throw error;
            return textCard('info', `${titleOf(span)}: no data`, error.message);
          }
        },
      };
    },
  };
}
