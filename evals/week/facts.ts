import type { MonitorStatus } from '../../src/contracts/monitoring.ts';
import { MONITORS } from './plan.ts';
import {
  DAY_MS,
  MINUTE_MS,
  NOW_MS,
  type OpenSpan,
  type PlannedMonitor,
  periodAt,
  type Span,
  STOPS,
} from './planned-monitor.ts';

// Right answers about the recorded week, worked out from the plan alone: nothing here is how the service does it.

/** A time in which a monitor was DOWN. */
export interface PlannedIncident {
  monitor: PlannedMonitor;
  fromMs: number;
  /** Null while it's ongoing. */
  toMs: number | null;
  cause: string;
  outcome: string;
}

/** Milliseconds that a monitor was up and down in a span. */
export interface Seen {
  upMs: number;
  downMs: number;
  unseenMs: number;
  /** 0 to 1, of what was seen; null when nothing was. */
  uptime: number | null;
}

/** The last so many days, up to now. */
export const lastDays = (count: number): Span => ({
  fromMs: NOW_MS - count * DAY_MS,
  toMs: NOW_MS,
});

/** The monitor of a name. Throws when there is none. */
export function monitorNamed(name: string): PlannedMonitor {
  const monitor = MONITORS.find((one) => one.name === name);
  if (!monitor) throw new RangeError(`no monitor of the recorded week is called ${name}`);
  return monitor;
}

/** Every monitor of the week was checked long ago. */
type WeekStatus = Exclude<MonitorStatus, 'PENDING'>;

/** A monitor's status at a time, its start and reason. */
export function statusOf(
  monitor: PlannedMonitor,
  atMs = NOW_MS,
): { status: WeekStatus; sinceMs: number; reason: string | undefined } {
  const period = periodAt(monitor, atMs);
  if (period) return { status: period.status, sinceMs: period.fromMs, reason: period.reason };
  const ends = monitor.periods.map(({ toMs = atMs }) => toMs).filter((toMs) => toMs <= atMs);
  return { status: 'UP', sinceMs: Math.max(monitor.createdMs, ...ends), reason: undefined };
}

/** Current number of monitors by status. */
export function countsByStatus(): Record<WeekStatus, number> {
  const counts = { UP: 0, DOWN: 0, PAUSED: 0, MAINTENANCE: 0, DEGRADED: 0 };
  for (const monitor of MONITORS) counts[statusOf(monitor).status] += 1;
  return counts;
}

/** Monitors with this status now, the latest change first. */
export const withStatus = (status: MonitorStatus): PlannedMonitor[] =>
  MONITORS.filter((monitor) => statusOf(monitor).status === status).sort(
    (a, b) => statusOf(b).sinceMs - statusOf(a).sinceMs,
  );

/** All incidents of a monitor, the newest first. */
export const incidentsOf = (monitor: PlannedMonitor): PlannedIncident[] =>
  monitor.periods
    .filter(({ status }) => status === 'DOWN')
    .map(({ fromMs, toMs, reason = '', outcome = '' }) => {
      return { monitor, fromMs, toMs: toMs ?? null, cause: reason, outcome };
    })
    .reverse();

/** Incidents that overlap a time, the newest first. */
export const incidentsDuring = (
  { fromMs, toMs }: Span,
  monitors: readonly PlannedMonitor[] = MONITORS,
): PlannedIncident[] =>
  monitors
    .flatMap(incidentsOf)
    .filter((incident) => incident.fromMs < toMs && (incident.toMs ?? NOW_MS + 1) > fromMs)
    .sort((a, b) => b.fromMs - a.fromMs);

/** Incidents that went on at a moment, the newest first. */
export const incidentsAt = (atMs: number): PlannedIncident[] =>
  incidentsDuring({ fromMs: atMs, toMs: atMs + 1 });

/** The whole duration of an incident, including parts outside of the requested span. */
export const lengthOf = ({ fromMs, toMs }: PlannedIncident): number => (toMs ?? NOW_MS) - fromMs;

/** Incidents that overlap a span, the longest first; with `isOver` only ended ones. */
export const longestIncidents = (span: Span, { isOver = false } = {}): PlannedIncident[] =>
  incidentsDuring(span)
    .filter(({ toMs }) => !isOver || toMs !== null)
    .sort((a, b) => lengthOf(b) - lengthOf(a));

export function uptimeOf(monitor: PlannedMonitor, span: Span): Seen {
  const seen = seenSpans(monitor, span);
  const seenMs = sum(seen.map(({ fromMs, toMs }) => toMs - fromMs));
  const downs = monitor.periods.filter(({ status }) => status === 'DOWN');
  const downMs = sum(
    downs.flatMap(({ fromMs, toMs = NOW_MS }) => seen.map((one) => overlap(one, { fromMs, toMs }))),
  );
  return seenAs({ upMs: seenMs - downMs, downMs, unseenMs: span.toMs - span.fromMs - seenMs });
}

export function uptimeOfAll(span: Span, monitors: readonly PlannedMonitor[] = MONITORS): Seen {
  const all = monitors.map((monitor) => uptimeOf(monitor, span));
  return seenAs({
    upMs: sum(all.map(({ upMs }) => upMs)),
    downMs: sum(all.map(({ downMs }) => downMs)),
    unseenMs: sum(all.map(({ unseenMs }) => unseenMs)),
  });
}

/** The monitors that were DOWN in a time, the one that was for the longest first. */
export const worstMonitors = (span: Span): Array<Seen & { monitor: PlannedMonitor }> =>
  MONITORS.map((monitor) => ({ monitor, ...uptimeOf(monitor, span) }))
    .filter(({ downMs }) => downMs > 0)
    .sort((a, b) => b.downMs - a.downMs);

/** The monitors with incidents in a time, the one with the most of them first. */
export const mostIncidents = (span: Span): Array<{ monitor: PlannedMonitor; count: number }> =>
  MONITORS.map((monitor) => ({ monitor, count: incidentsDuring(span, [monitor]).length }))
    .filter(({ count }) => count > 0)
    .sort((a, b) => b.count - a.count);

/** Monitors with a response time in the last check, the slowest first. */
export const slowestNow = (): Array<PlannedMonitor & { responseTimeMs: number }> =>
  MONITORS.flatMap((monitor) => {
    const { responseTimeMs } = monitor;
    return responseTimeMs === null ? [] : [{ ...monitor, responseTimeMs }];
  }).sort((a, b) => b.responseTimeMs - a.responseTimeMs);

/** Mean response time over the time that the monitor was up; null if it never was. */
export function meanResponseTime(monitor: PlannedMonitor, span: Span): number | null {
  const { levels } = monitor;
  const parts = levels.map(({ fromMs, ms }, place) => {
    const untilMs = levels[place + 1]?.fromMs ?? NOW_MS;
    const part = {
      fromMs: Math.max(fromMs, span.fromMs),
      toMs: Math.min(untilMs, span.toMs),
    };
    return { ms, upMs: part.fromMs < part.toMs ? uptimeOf(monitor, part).upMs : 0 };
  });
  const upMs = sum(parts.map((part) => part.upMs));
  return upMs === 0 ? null : sum(parts.map((part) => part.ms * part.upMs)) / upMs;
}

/** The monitors, the one that was made last first. */
export const newestMonitors = (): PlannedMonitor[] =>
  [...MONITORS].sort((a, b) => b.createdMs - a.createdMs);

/** How the last so many days of a monitor went, in UTC, oldest first; the last one is today, so far as it has gone. */
export function daysOf(monitor: PlannedMonitor, count: number): Array<Seen & { day: string }> {
  const todayMs = Math.floor(NOW_MS / DAY_MS) * DAY_MS;
  return Array.from({ length: count }, (_, place) => {
    const fromMs = todayMs - (count - 1 - place) * DAY_MS;
    const day = new Date(fromMs).toISOString().slice(0, 10);
    return { day, ...uptimeOf(monitor, { fromMs, toMs: Math.min(fromMs + DAY_MS, NOW_MS) }) };
  });
}

/** The parts of a time in which a monitor was seen: it was there, not paused, not in maintenance, and the service ran. */
function seenSpans({ createdMs, periods }: PlannedMonitor, { fromMs, toMs }: Span): Span[] {
  const covers = periods.filter(({ status }) => status === 'PAUSED' || status === 'MAINTENANCE');
  const unseen = [...covers, ...STOPS];
  let seen = [{ fromMs: Math.max(fromMs, createdMs), toMs: Math.min(toMs, NOW_MS) }];
  for (const span of unseen) seen = seen.flatMap((one) => without(one, span));
  return seen.filter((one) => one.fromMs < one.toMs);
}

/** Subtracts one span from another. */
function without(span: Span, away: OpenSpan): Span[] {
  const { fromMs, toMs = Number.POSITIVE_INFINITY } = away;
  return [
    { fromMs: span.fromMs, toMs: Math.min(span.toMs, fromMs) },
    { fromMs: Math.max(span.fromMs, toMs), toMs: span.toMs },
  ].filter((part) => part.fromMs < part.toMs);
}

const overlap = (one: Span, other: Span): number =>
  Math.max(0, Math.min(one.toMs, other.toMs) - Math.max(one.fromMs, other.fromMs));

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);

function seenAs(seen: Omit<Seen, 'uptime'>): Seen {
  const seenMs = seen.upMs + seen.downMs;
  return { ...seen, uptime: seenMs === 0 ? null : seen.upMs / seenMs };
}

/** True after five status changes in the last 15 minutes. */
export function isFlapping(monitor: PlannedMonitor): boolean {
  const turns = incidentsOf(monitor).flatMap(({ fromMs, toMs }) => [fromMs, toMs ?? NOW_MS]);
  return turns.filter((atMs) => atMs >= NOW_MS - 15 * MINUTE_MS).length >= 5;
}
