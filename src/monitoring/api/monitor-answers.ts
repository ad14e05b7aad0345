import {
  type ManagedBy,
  type Monitor,
  type MonitorCreated,
  shortRunbook,
} from '../../contracts/monitoring.ts';
import type { Incident, MonitorDetails } from '../../contracts/monitoring-additions.ts';
import { isHeartbeat } from '../checks/check-type.ts';
import { shownTarget, withoutSecrets } from '../checks/secret-values.ts';
import { incidentId } from '../history/incidents.ts';
import { awaitsFirstPing } from '../monitors/heartbeat.ts';
import { comingWindows } from '../monitors/maintenance.ts';
import type { StoredManagedBy as ManagedByFile } from '../monitors/managed-by.ts';
import type { WatchedMonitor } from '../monitors/monitors.ts';
import { isFlapping } from '../state/state.ts';
import { parseCron } from '../time/cron.ts';
import { failAsUnavailable, type RouteTools } from './route-scope.ts';

export function listedMonitor(
  monitor: WatchedMonitor,
  now: { wallMs: number; stale: boolean },
): Monitor & Pick<MonitorDetails, 'created_at'> {
  const { id, definition, createdAtMs, settingsChangedAtMs, published: state } = monitor;
  const { managedBy, channels } = monitor;
  const isJob = isHeartbeat(definition);
  const { depends_on: dependsOn = [], tags = [], runbook } = definition;
  const endsMs = state.certificateEndsMs;
  const isBad = state.status === 'DOWN' || state.status === 'DEGRADED';
  return {
    id,
    name: definition.name,
    check_type: definition.check_type,
    target: shownTarget(definition),
    status: state.status,
    interval_seconds: intervalSeconds(monitor),
    created_at: utc(createdAtMs),
    settings_changed_at: settingsChangedAtMs === undefined ? undefined : utc(settingsChangedAtMs),
    status_changed_at: utc(state.sinceMs),
    status_changes: state.changes,
    status_reason: isBad ? state.problem?.reason : undefined,
    last_checked_at: state.lastCheckedMs === null ? null : utc(state.lastCheckedMs),
    response_time_ms: state.responseTimeMs,
    certificate_ends_at: endsMs === undefined ? undefined : utc(endsMs),
    flapping: isFlapping(state, now.wallMs),
    waiting_for_first_ping: (isJob && awaitsFirstPing(state)) || undefined,
    stale: now.stale,
    depends_on: dependsOn.length > 0 ? dependsOn : undefined,
    tags: tags.length > 0 ? tags : undefined,
    runbook: runbook ? shortRunbook(runbook) : undefined,
    managed_by: managedBy && shownManagedBy(managedBy),
    channels,
  };
}

/** All details of a monitor, with its newest incident. Throws a 503 if the history can't be read. */
export async function detailsOf(
  monitor: WatchedMonitor,
  { history, runner, clock }: RouteTools,
): Promise<MonitorDetails> {
  const [lastIncident] = await failAsUnavailable(
    history.incidents(monitor.id, 1),
    "The monitor's history could not be read. Try again.",
  );
  const { definition, maintenance } = monitor;
  const listed = listedMonitor(monitor, { wallMs: clock.wallMs(), stale: runner.isStale(monitor) });
  return {
    ...listed,
    runbook: definition.runbook || undefined,
    config: { ...withoutSecrets(definition).config },
    maintenance,
    planned_maintenance:
      maintenance.length > 0 ? comingWindows(maintenance, clock.wallMs()) : undefined,
    certificate_ends_at: listed.certificate_ends_at ?? null,
    incident: currentIncident(monitor, lastIncident),
  };
}

/** The ongoing incident, which reaches the history a moment after the status. */
function currentIncident(
  { id, published: state }: WatchedMonitor,
  last: Incident | undefined,
): Incident | null {
  if (state.status !== 'DOWN') return null;
  const now = incidentId(id, state.changes);
  if (last?.id === now) return last;
  return {
    id: now,
    change: state.changes,
    started_at: utc(state.sinceMs),
    ended_at: null,
    cause: state.problem?.reason ?? 'the check failed',
    outcome: state.problem?.outcome ?? 'failed',
    ended_as: null,
  };
}

/** The answer to a create. `definition` is the requested one, and the status is always UP, so that a repeat gets the same answer. */
export function createdMonitor(
  monitor: WatchedMonitor,
  definition: WatchedMonitor['definition'],
  pushUrl: string | undefined,
): MonitorCreated {
  return {
    id: monitor.id,
    name: definition.name,
    check_type: definition.check_type,
    target: shownTarget(definition),
    status: 'UP',
    created_at: utc(monitor.createdAtMs),
    interval_seconds: intervalSeconds({ ...monitor, definition }),
    push_url: pushUrl,
  };
}

/** Crontabs are slow, and the list is requested all the time. */
const cronSeconds = new WeakMap<object, number>();

/** For HEARTBEAT the time between two pings; with a crontab, between the first two after the monitor's creation. */
function intervalSeconds({
  definition,
  createdAtMs,
}: Pick<WatchedMonitor, 'definition' | 'createdAtMs'>): number {
  if (!isHeartbeat(definition)) return definition.config.interval_seconds;
  const { config } = definition;
  if (config.cron === undefined) return config.period_seconds;
  const known = cronSeconds.get(config);
  if (known !== undefined) return known;
  const times = parseCron(config.cron, config.timezone);
  const first = times.nextAfter(createdAtMs);
  const second = first === undefined ? undefined : times.nextAfter(first);
  const seconds =
    first === undefined || second === undefined ? config.period_seconds : (second - first) / 1000;
  cronSeconds.set(config, seconds);
  return seconds;
}

function shownManagedBy({ leftAtMs, ...place }: ManagedByFile): ManagedBy {
  return { ...place, left_at: leftAtMs === undefined ? undefined : utc(leftAtMs) };
}

const utc = (ms: number) => new Date(ms).toISOString();
