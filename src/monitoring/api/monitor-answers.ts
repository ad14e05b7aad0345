import type { ManagedBy, Monitor, MonitorCreated } from '../../contracts/monitoring.ts';
import type { Incident, MonitorDetails } from '../../contracts/monitoring-additions.ts';
import { isHeartbeat } from '../checks/check-type.ts';
import { shownTarget, withoutSecrets } from '../checks/secret-values.ts';
import { incidentId } from '../history/incidents.ts';
import { awaitsFirstPing } from '../monitors/heartbeat.ts';
import { comingWindows } from '../monitors/maintenance.ts';
import type { ManagedBy as ManagedByFile } from '../monitors/managed-by.ts';
import type { WatchedMonitor } from '../monitors/monitors.ts';
import { isFlapping } from '../state/state.ts';
import { parseCron } from '../time/cron.ts';
import { orUnavailable, type RouteTools } from './route-scope.ts';

/** A monitor as it stands in the list. */
export function listedMonitor(
  monitor: WatchedMonitor,
  now: { wallMs: number; stale: boolean },
): Monitor & Pick<MonitorDetails, 'created_at'> {
  const { id, definition, createdAtMs, published: state, managedBy, channels } = monitor;
  const isJob = isHeartbeat(definition);
  const { depends_on: dependsOn = [] } = definition;
  const isBad = state.status === 'DOWN' || state.status === 'DEGRADED';
  return {
    id,
    name: definition.name,
    check_type: definition.check_type,
    target: shownTarget(definition),
    status: state.status,
    interval_seconds: intervalSeconds(monitor),
    created_at: utc(createdAtMs),
    status_changed_at: utc(state.sinceMs),
    status_changes: state.changes,
    ...(isBad && state.problem ? { status_reason: state.problem.reason } : {}),
    last_checked_at: state.lastCheckedMs === null ? null : utc(state.lastCheckedMs),
    response_time_ms: state.responseTimeMs,
    flapping: isFlapping(state, now.wallMs),
    ...(isJob && awaitsFirstPing(state) && { waiting_for_first_ping: true }),
    stale: now.stale,
    ...(dependsOn.length > 0 && { depends_on: dependsOn }),
    ...(managedBy && { managed_by: shownManagedBy(managedBy) }),
    ...(channels && { channels }),
  };
}

/** Everything known of a monitor, with its newest incident. Throws the 503 when the history cannot be read. */
export async function detailsOf(
  monitor: WatchedMonitor,
  { history, runner, clock }: RouteTools,
): Promise<MonitorDetails> {
  const [lastIncident] = await orUnavailable(
    history.incidents(monitor.id, 1),
    "The monitor's history could not be read. Try again.",
  );
  const { definition, published: state, maintenance } = monitor;
  const endsMs = state.certificateEndsMs;
  return {
    ...listedMonitor(monitor, { wallMs: clock.wallMs(), stale: runner.isStale(monitor) }),
    config: { ...withoutSecrets(definition).config },
    maintenance,
    ...(maintenance.length > 0 && {
      planned_maintenance: comingWindows(maintenance, clock.wallMs()),
    }),
    certificate_ends_at: endsMs === undefined ? null : utc(endsMs),
    incident: incidentNow(monitor, lastIncident),
  };
}

/** What goes on now: the history learns of it a moment after the status. */
function incidentNow(
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

/**
 * The answer to a create. `definition` is what was asked for, and UP what every new monitor is, so that a repeat has the
 * same answer whatever became of the monitor meanwhile.
 */
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
    ...(pushUrl !== undefined && { push_url: pushUrl }),
  };
}

/** Times of a crontab are dear to find, and the list is asked for all the time. */
const cronSeconds = new WeakMap<object, number>();

/** For HEARTBEAT the time between two pings; with a crontab that between the first two after the monitor was made. */
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
  return { ...place, ...(leftAtMs !== undefined && { left_at: utc(leftAtMs) }) };
}

const utc = (ms: number) => new Date(ms).toISOString();
