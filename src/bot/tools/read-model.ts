import { z } from 'zod';
import { MAX_PARENTS, type Monitor } from '../../contracts/monitoring.ts';
import type { Incident } from '../../contracts/monitoring-additions.ts';
import { tagsOf } from '../channels/monitor-filter.ts';
import { sortByUrgency } from '../incidents/monitor-order.ts';
import { isDown, isSilenced, isUp } from '../shared/status.ts';
import { shownTarget } from '../shared/target-link.ts';
import { shortened } from '../shared/text-format.ts';

/** A monitor with its live status, for models and other assistants. Unknown fields are absent. */
export const MonitorView = z.object({
  id: z.string(),
  name: z.string(),
  check_type: z.string(),
  target: z.string(),
  status: z.string(),
  created_at: z.string().optional(),
  /** The last change of the status. */
  since: z.string().optional(),
  /** Cause of a status other than UP. */
  reason: z.string().optional(),
  last_checked_at: z.string().optional(),
  /** Time of the last check. */
  response_time_ms: z.number().optional(),
  /** Only in a list in this order. */
  certificate_ends_at: z.string().optional(),
  flapping: z.boolean().optional(),
  /** A heartbeat without a ping so far. */
  waiting_for_first_ping: z.boolean().optional(),
  /** Not checked for longer than two intervals. */
  stale: z.boolean().optional(),
  /** Ids of monitors. */
  depends_on: z.array(z.string()).optional(),
  tags: z.array(z.string()).optional(),
});
export type MonitorView = z.infer<typeof MonitorView>;

const MAX_NAME = 200;
const MAX_REASON = 300;

export function monitorView(monitor: Monitor): MonitorView {
  const { status_reason: reason, depends_on = [] } = monitor;
  return {
    id: monitor.id,
    name: shortened(monitor.name, MAX_NAME),
    check_type: monitor.check_type,
    target: shortened(shownTarget(monitor.target), MAX_NAME),
    status: monitor.status,
    created_at: monitor.created_at,
    since: monitor.status_changed_at,
    reason: reason === undefined ? undefined : shortened(reason, MAX_REASON),
    last_checked_at: monitor.last_checked_at ?? undefined,
    response_time_ms: monitor.response_time_ms ?? undefined,
    flapping: monitor.flapping || undefined,
    waiting_for_first_ping: monitor.waiting_for_first_ping || undefined,
    stale: monitor.stale || undefined,
    depends_on: depends_on.length > 0 ? depends_on.slice(0, MAX_PARENTS) : undefined,
    tags: monitor.tags,
  };
}

/** Counts statuses, the most urgent first. Pure. */
export function countByStatus(monitors: readonly Monitor[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { status } of sortByUrgency(monitors)) {
    counts.set(status, (counts.get(status) ?? 0) + 1);
  }
  return counts;
}

/** Statuses that are named, in case a service has a status for every monitor. */
const MAX_STATUSES = 6;

/** `2 DOWN, 9 UP, 1 PAUSED`. Pure. */
export function countsInWords(counts: ReadonlyMap<string, number>): string {
  const words = [...counts].map(([status, count]) => `${count} ${shortened(status, 20)}`);
  const others = words.length > MAX_STATUSES ? ' and others' : '';
  return words.slice(0, MAX_STATUSES).join(', ') + others;
}

/** `3 of 4 up, 1 DOWN`: paused monitors and those in maintenance are not up, and named by their status. Pure. */
export function upInWords(monitors: readonly Monitor[]): string {
  const others = monitors.filter((one) => !isUp(one));
  const counts = others.length === 0 ? '' : `, ${countsInWords(countByStatus(others))}`;
  return `${monitors.length - others.length} of ${monitors.length} up${counts}`;
}

/** Monitors by tag, the tag with the most monitors DOWN first, then the one with the most that aren't up. Pure. */
export function groupsByTag(
  monitors: readonly Monitor[],
): Array<{ tag: string; monitors: Monitor[] }> {
  const groups = new Map(tagsOf(monitors).map((tag): [string, Monitor[]] => [tag, []]));
  for (const monitor of monitors)
    for (const tag of monitor.tags ?? []) groups.get(tag)?.push(monitor);
  const countOf = (all: readonly Monitor[], is: (one: Monitor) => boolean) => all.filter(is).length;
  const isTrouble = (one: Monitor) => !isUp(one) && !isSilenced(one);
  return [...groups]
    .map(([tag, members]) => ({ tag, monitors: members }))
    .sort(
      (a, b) =>
        countOf(b.monitors, isDown) - countOf(a.monitors, isDown) ||
        countOf(b.monitors, isTrouble) - countOf(a.monitors, isTrouble),
    );
}

/** When an incident began and how long it lasted by `untilMs`, such as now or the end of a report. Pure. */
export function incidentTimes(
  { started_at, ended_at }: Pick<Incident, 'started_at' | 'ended_at'>,
  untilMs: number,
) {
  const fromMs = Date.parse(started_at);
  const endedMs = ended_at === null ? Number.POSITIVE_INFINITY : Date.parse(ended_at);
  const toMs = Math.min(endedMs, untilMs);
  return { fromMs, toMs, lastedMs: Math.max(0, toMs - fromMs), isOngoing: endedMs > untilMs };
}
