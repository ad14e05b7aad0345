import { isPaused, isUp, severityOf } from '../shared/status.ts';

export interface RankedMonitor {
  id: string;
  name: string;
  status: string;
  flapping?: boolean;
}

/** `unknown` are outages in words that the contract doesn't have. */
const RANK = {
  down: 0,
  unknown: 1,
  degraded: 2,
  pending: 3,
  flapping: 4,
  well: 5,
  silenced: 6,
  paused: 7,
};

/** The lower, the more urgent. */
export function urgencyOf({
  status,
  flapping,
}: Pick<RankedMonitor, 'status' | 'flapping'>): number {
  if (isPaused({ status })) return RANK.paused;
  const severity = severityOf(status);
  if (severity === 'down' && status !== 'DOWN') return RANK.unknown;
  return severity === 'well' && flapping ? RANK.flapping : RANK[severity];
}

/**
 * Sorts monitors for every list: DOWN first, then DEGRADED, PENDING, flapping, UP, MAINTENANCE and PAUSED; by name within, then by
 * id, so that equal names keep their order from poll to poll.
 */
export function sortByUrgency<T extends RankedMonitor>(monitors: readonly T[]): T[] {
  return monitors
    .map((monitor) => ({ monitor, rank: urgencyOf(monitor), name: monitor.name.toLowerCase() }))
    .sort(
      (a, b) =>
        a.rank - b.rank ||
        compareCodeUnits(a.name, b.name) ||
        compareCodeUnits(a.monitor.id, b.monitor.id),
    )
    .map(({ monitor }) => monitor);
}

/** Sums up the states of all monitors. `pending` means that none is up and at least one waits for its first check. */
export function overallOf(
  monitors: readonly RankedMonitor[],
): 'down' | 'degraded' | 'pending' | 'up' {
  const ranks = new Set(monitors.map(urgencyOf));
  if (ranks.has(RANK.down) || ranks.has(RANK.unknown)) return 'down';
  if (ranks.has(RANK.degraded) || ranks.has(RANK.flapping)) return 'degraded';
  return ranks.has(RANK.pending) && !monitors.some(isUp) ? 'pending' : 'up';
}

/** Sorting ten thousand names in the order of a language would take a tenth of a second. */
const compareCodeUnits = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);
