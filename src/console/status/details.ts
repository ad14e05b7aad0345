import { z } from 'zod';
import { windowEndMs, windowWords } from '../../bot/shared/maintenance-words.ts';
import { shownTarget } from '../../bot/shared/target-link.ts';
import { inWords, shortened } from '../../bot/shared/text-format.ts';
import { runbookAddress } from '../../contracts/monitoring.ts';
import type { Viewer } from '../login/guards.ts';
import type {
  LatencyPoint,
  StatusDays,
  StatusDetails,
  StatusIncident,
  StatusMonitor,
} from './api-types.ts';
import type { MonitorFacts, ShownHours } from './facts.ts';
import type { StatusSnapshot } from './poller.ts';
import { observedOver, publicMonitor, publicName, utcOf } from './report.ts';

const HOUR_MS = 3_600_000;
const MAX_TEXT_LENGTH = 500;

export function detailsOf(
  monitor: StatusMonitor,
  facts: MonitorFacts,
  { hours, viewer, snapshot }: { hours: ShownHours; viewer: Viewer; snapshot: StatusSnapshot },
): StatusDetails {
  const { shown, incidents } = facts;
  const intervalSeconds = shown?.interval_seconds ?? snapshot.intervalSeconds(monitor.id);
  const isPublic = viewer === 'anyone';
  return {
    monitor: isPublic ? publicMonitor(monitor) : monitor,
    interval_seconds: intervalSeconds,
    latency: latencyOf(facts, hours),
    latency_step_ms: facts.stepMs,
    uptime: uptimes(monitor.days, facts),
    incidents: incidents.flatMap((one) => incidentOf({ ...one, monitor }, viewer) ?? []),
    certificate_ends_at: (shown?.certificate_ends_at && utcOf(shown.certificate_ends_at)) ?? null,
    heartbeat: shown?.check_type === 'HEARTBEAT' ? heartbeatOf(shown) : null,
    maintenance: (shown?.maintenance ?? []).flatMap(
      (window) => windowSentence(window, facts.atMs, isPublic) ?? [],
    ),
    runbook: isPublic ? undefined : shownRunbook(shown?.runbook),
  };
}

type ListedIncident = MonitorFacts['incidents'][number];

/** Shapes an incident for a viewer; undefined if its times are invalid. Pure. */
export function incidentOf(
  incident: ListedIncident & { monitor: Pick<StatusMonitor, 'id' | 'name'> },
  viewer: Viewer,
): StatusIncident | undefined {
  const startedAt = utcOf(incident.started_at);
  const endedAt = incident.ended_at === null ? null : utcOf(incident.ended_at);
  if (startedAt === undefined || endedAt === undefined) return undefined;
  return {
    id: shortened(incident.id, MAX_TEXT_LENGTH),
    monitor: incident.monitor.id,
    name: viewer === 'anyone' ? publicName(incident.monitor) : incident.monitor.name,
    started_at: startedAt,
    ended_at: endedAt,
    cause: viewer === 'member' ? shortened(incident.cause, MAX_TEXT_LENGTH) : undefined,
    outcome: wordOf(incident.outcome) ?? 'failed',
    ended_as: incident.ended_as === null ? null : (wordOf(incident.ended_as) ?? 'over'),
  };
}

/** Another service may write a whole reason where ours names a kind in one word. */
const wordOf = (text: string) => (/^[A-Za-z_-]{1,40}$/.test(text) ? text : undefined);

/** Response times at equal steps up to now; null where nothing was checked. */
function latencyOf({ rollups, stepMs, atMs }: MonitorFacts, hours: ShownHours): LatencyPoint[] {
  const timesAt = new Map(
    rollups.map(({ starts_at, response_time_ms }) => [
      Date.parse(utcOf(starts_at) ?? ''),
      response_time_ms,
    ]),
  );
  const lastMs = Math.floor(atMs / stepMs) * stepMs;
  const count = (hours * HOUR_MS) / stepMs;
  return Array.from({ length: count }, (_, place) => {
    const startMs = lastMs - (count - 1 - place) * stepMs;
    const times = timesAt.get(startMs) ?? undefined;
    return {
      at: new Date(startMs).toISOString(),
      mean_ms: times?.mean ?? null,
      min_ms: times?.min ?? null,
      max_ms: times?.max ?? null,
    };
  });
}

function uptimes(days: StatusDays | undefined, { lastDay }: MonitorFacts): StatusDetails['uptime'] {
  const ofDay = lastDay
    ? [{ days: 1, uptime: lastDay.uptime, seen_ms: lastDay.up_ms + lastDay.down_ms }]
    : [];
  if (!days) return ofDay;
  return [...ofDay, ...[7, 30, 90].map((n) => ({ days: n, ...observedOver(days, n) }))];
}

const HeartbeatConfig = z.object({
  period_seconds: z.number().positive().catch(86_400),
  cron: z.string().max(200).optional().catch(undefined),
  timezone: z.string().max(100).catch('UTC'),
  grace_seconds: z.number().positive().catch(3_600),
});

function heartbeatOf(shown: NonNullable<MonitorFacts['shown']>): StatusDetails['heartbeat'] {
  const { cron, timezone, period_seconds, grace_seconds } = HeartbeatConfig.parse(shown.config);
  const often = cron ? `At ${cron} (crontab, ${timezone})` : `Every ${words(period_seconds)}`;
  return {
    expected: `${often}, at most ${words(grace_seconds)} late`,
    last_signal_at: (shown.last_checked_at && utcOf(shown.last_checked_at)) ?? null,
  };
}

const words = (seconds: number) => inWords(seconds * 1000);

type ListedWindow = NonNullable<MonitorFacts['shown']>['maintenance'][number];

function shownRunbook(runbook: string | undefined): StatusDetails['runbook'] {
  if (!runbook) return undefined;
  const address = runbookAddress(runbook);
  if (address === undefined) return { text: runbook };
  return { text: shownTarget(address), url: shownTarget(address) };
}

/** Describes a maintenance window; undefined once it is over. Its reason isn't public. */
function windowSentence(
  window: ListedWindow,
  nowMs: number,
  isPublic: boolean,
): string | undefined {
  const why = !isPublic && window.reason ? `: ${shortened(window.reason, 200)}` : '';
  const endMs = windowEndMs(window);
  if (endMs !== undefined && endMs <= nowMs) return undefined;
  return `${windowWords(window)}${why}`;
}
