import { z } from 'zod';
import {
  type Incident,
  incidentsIn,
  isFiring,
  type Reported,
  type Watching,
} from '../incidents/watch-state.ts';
import { isDegraded, isDown } from '../shared/status.ts';
import { shortened } from '../shared/text-format.ts';

/** An alert that another system reports to a channel, as results have it. */
export const ReportedAlertState = z.object({
  name: z.string(),
  /** `FIRING`, or `WARNING` for what is milder. */
  status: z.string(),
  since: z.string(),
  /** What is wrong, as the sender says. */
  summary: z.string().optional(),
  /** What the intake is called that it came in by. */
  reported_by: z.string().optional(),
  /** Labels and annotations, some of them. */
  facts: z.array(z.string()).optional(),
  /** When it was heard of last, where that is so long ago that nobody knows how it is. */
  no_news_since: z.string().optional(),
  acknowledged_by: z.string().optional(),
});
export type ReportedAlertState = z.infer<typeof ReportedAlertState>;

/** A time in which such an alert fired. */
export const ReportedIncident = z.object({
  name: z.string(),
  started_at: z.string(),
  /** Absent while it goes on. */
  ended_at: z.string().optional(),
  /** Who ended it, which says nothing about whether it is over. */
  closed_by: z.string().optional(),
  summary: z.string().optional(),
});
type ReportedIncident = z.infer<typeof ReportedIncident>;

/** What other systems report to one channel. */
export interface ChannelReports {
  /** Those that fire, as far as it is known, the oldest first. */
  firing: readonly Reported[];
  /** Incidents of them that are kept. */
  incidents: readonly Incident[];
}

const SHOWN_FACTS = 8;

const isoTime = (ms: number) => new Date(ms).toISOString();

/** What other systems report to a place, in its one-word form, and to no other. Pure. */
export const reportsTo = (
  watching: Pick<Watching, 'alerts' | 'reported'> | undefined,
  place: string,
): ChannelReports => ({
  firing: (watching?.reported ?? []).filter((one) => one.place === place && isFiring(one)),
  incidents: incidentsIn(watching?.alerts ?? []).filter((one) => one.reported?.place === place),
});

/** Those that fire, as a list of monitors of one status has them: a warning is as DEGRADED. Pure. */
export function firingAlerts(
  { firing, incidents }: ChannelReports,
  { status, text = '' }: { status?: string | undefined; text?: string | undefined },
): ReportedAlertState[] {
  const isAsked = (one: Reported) =>
    (status === undefined || status === 'not_up'
      ? true
      : status === 'down'
        ? isDown(one)
        : status === 'degraded' && isDegraded(one)) &&
    one.name.toLowerCase().includes(text.toLowerCase());
  const latest = new Map(incidents.map((one) => [one.monitorId, one]));
  return firing.filter(isAsked).map((one) => stateOf(one, latest.get(one.id)));
}

function stateOf(one: Reported, incident: Incident | undefined): ReportedAlertState {
  const { facts = [], silentSinceMs } = incident?.reported ?? {};
  return {
    ...{ name: shortened(one.name, 200), status: one.status, since: isoTime(one.startedAtMs) },
    ...(incident?.reason && { summary: shortened(incident.reason, 300) }),
    ...(incident && { reported_by: shortened(incident.target, 100) }),
    ...(facts.length > 0 && {
      facts: facts
        .slice(0, SHOWN_FACTS)
        .map(({ label, value }) => `${label}: ${shortened(value, 100)}`),
    }),
    ...(silentSinceMs !== undefined && { no_news_since: isoTime(silentSinceMs) }),
    ...(incident?.acknowledged && { acknowledged_by: incident.acknowledged.by }),
  };
}

/** The incidents that fall into a time span, newest first. Pure. */
export function reportedIncidentsIn(
  { incidents }: ChannelReports,
  { fromMs, toMs }: { fromMs: number; toMs: number },
): ReportedIncident[] {
  return incidents
    .filter(({ startedAtMs, endedAtMs = toMs }) => startedAtMs < toMs && endedAtMs >= fromMs)
    .sort((a, b) => b.startedAtMs - a.startedAtMs)
    .map(({ name, startedAtMs, endedAtMs, closedBy, reason }) => ({
      ...{ name: shortened(name, 200), started_at: isoTime(startedAtMs) },
      ...(endedAtMs !== undefined && { ended_at: isoTime(endedAtMs) }),
      ...(closedBy !== undefined && { closed_by: closedBy }),
      ...(reason !== undefined && { summary: shortened(reason, 300) }),
    }));
}
