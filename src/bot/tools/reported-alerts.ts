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

/** A firing alert from another system. */
export const ReportedAlertState = z.object({
  name: z.string(),
  /** `FIRING`, or `WARNING` for a milder one. */
  status: z.string(),
  since: z.string(),
  summary: z.string().optional(),
  /** Name of the intake. */
  reported_by: z.string().optional(),
  /** Some labels and annotations. */
  facts: z.array(z.string()).optional(),
  /** Time of the last report, if that is so long ago that the state is unknown. */
  no_news_since: z.string().optional(),
  acknowledged_by: z.string().optional(),
});
export type ReportedAlertState = z.infer<typeof ReportedAlertState>;

export const ReportedIncident = z.object({
  name: z.string(),
  started_at: z.string(),
  /** Absent while it is ongoing. */
  ended_at: z.string().optional(),
  /** The person who closed it, which doesn't mean that it is over. */
  closed_by: z.string().optional(),
  summary: z.string().optional(),
});
type ReportedIncident = z.infer<typeof ReportedIncident>;

/** A firing alert from another system as it was when its change was proposed. */
export const DraftAlert = z.object({
  id: z.string(),
  name: z.string(),
  status: z.string(),
  /** Name of the intake. */
  reportedBy: z.string().optional(),
  cause: z.string().optional(),
});
export type DraftAlert = z.infer<typeof DraftAlert>;

/** Alerts from other systems in one channel. */
export interface ChannelReports {
  /** Oldest first. */
  firing: readonly Reported[];
  incidents: readonly Incident[];
}

const SHOWN_FACTS = 8;

const isoTime = (ms: number) => new Date(ms).toISOString();

/** `place` is a key. Alerts of other places are never included. Pure. */
export const reportsTo = (
  watching: Pick<Watching, 'alerts' | 'reported'> | undefined,
  place: string,
): ChannelReports => ({
  firing: (watching?.reported ?? []).filter((one) => one.place === place && isFiring(one)),
  incidents: incidentsIn(watching?.alerts ?? []).filter((one) => one.reported?.place === place),
});

/** Firing alerts that match a filter for monitors: a warning counts as DEGRADED. Pure. */
export function firingAlerts(
  { firing, incidents }: ChannelReports,
  { status, text = '' }: { status?: string; text?: string },
): ReportedAlertState[] {
  const isMatch = (one: Reported) => {
    const isStatus =
      status === undefined ||
      status === 'not_up' ||
      (status === 'down' && isDown(one)) ||
      (status === 'degraded' && isDegraded(one));
    return isStatus && one.name.toLowerCase().includes(text.toLowerCase());
  };
  const latest = latestOf(incidents);
  return firing.filter(isMatch).map((one) => reportedState(one, latest.get(one.id)));
}

/** The latest incident of each alert. */
const latestOf = (incidents: readonly Incident[]) =>
  new Map(incidents.map((one) => [one.monitorId, one]));

/** Firing alerts for a draft. Pure. */
export function draftAlerts({ firing, incidents }: ChannelReports): DraftAlert[] {
  const latest = latestOf(incidents);
  return firing.map(({ id, name, status }) => {
    const { target, reason } = latest.get(id) ?? {};
    return {
      ...{ id, name, status },
      reportedBy: target === undefined ? undefined : shortened(target, 100),
      cause: reason ? shortened(reason, 500) : undefined,
    };
  });
}

function reportedState(one: Reported, incident: Incident | undefined): ReportedAlertState {
  const { facts = [], silentSinceMs } = incident?.reported ?? {};
  const shown = facts
    .slice(0, SHOWN_FACTS)
    .map(({ label, value }) => `${label}: ${shortened(value, 100)}`);
  return {
    name: shortened(one.name, 200),
    status: one.status,
    since: isoTime(one.startedAtMs),
    summary: incident?.reason ? shortened(incident.reason, 300) : undefined,
    reported_by: incident && shortened(incident.target, 100),
    facts: shown.length > 0 ? shown : undefined,
    no_news_since: silentSinceMs === undefined ? undefined : isoTime(silentSinceMs),
    acknowledged_by: incident?.acknowledged?.by,
  };
}

/** Newest first. Pure. */
export function reportedIncidentsIn(
  { incidents }: ChannelReports,
  { fromMs, toMs }: { fromMs: number; toMs: number },
): ReportedIncident[] {
  return incidents
    .filter(({ startedAtMs, endedAtMs = toMs }) => startedAtMs < toMs && endedAtMs >= fromMs)
    .sort((a, b) => b.startedAtMs - a.startedAtMs)
    .map(({ name, startedAtMs, endedAtMs, closedBy, reason }) => ({
      name: shortened(name, 200),
      started_at: isoTime(startedAtMs),
      ended_at: endedAtMs === undefined ? undefined : isoTime(endedAtMs),
      closed_by: closedBy,
      summary: reason === undefined ? undefined : shortened(reason, 300),
    }));
}
