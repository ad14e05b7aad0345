import { beginTurn } from '../../contracts/event-loop.ts';
import type { RecentIncident } from '../../contracts/monitoring-additions.ts';
import type { History } from '../history/history.ts';
import type { Range } from '../history/history-queries.ts';
import type { WatchedMonitor } from '../monitors/monitors.ts';

/** Most incidents of one answer. */
export const MAX_LISTED = 1_000;

/** Monitors that are asked for their incidents, without and with a time: those that changed last. */
const ASKED_COUNT = 200;
const ASKED_OF_TIME_COUNT = 2_000;

/** Monitors that are asked at one time. */
const TOGETHER_COUNT = 4;

/** Incidents that are kept until older ones are left out: sorting these takes some milliseconds. */
const SORTED_COUNT = 5 * MAX_LISTED;

/** The newest incidents of all monitors that overlap a range, which `isOfTime` or all time. Asking ten thousand would take seconds. */
export async function incidentsOfAll(
  monitors: readonly WatchedMonitor[],
  history: Pick<History, 'incidentsDuring'>,
  { limit, isOfTime, ...range }: Range & { limit: number; isOfTime: boolean },
): Promise<{ incidents: RecentIncident[]; total: number; complete: boolean }> {
  const changed = monitors
    .filter(({ published }) => mayOverlap(published, range.fromMs))
    .sort((a, b) => b.published.sinceMs - a.published.sinceMs);
  const asked = changed.slice(0, isOfTime ? ASKED_OF_TIME_COUNT : ASKED_COUNT);
  let complete = asked.length === changed.length;
  let total = 0;
  let found: RecentIncident[] = [];
  const turn = beginTurn();
  for (let from = 0; from < asked.length; from += TOGETHER_COUNT) {
    const together = asked.slice(from, from + TOGETHER_COUNT);
    const lists = await Promise.all(together.map(({ id }) => history.incidentsDuring(id, range)));
    for (const [place, { id, definition }] of together.entries()) {
      const list = lists[place];
      if (!list) continue;
      complete &&= list.complete;
      total += list.incidents.length;
      const { name } = definition;
      for (const one of list.incidents) found.push({ ...one, monitor: id, name });
    }
    if (found.length > SORTED_COUNT) found = newest(found, limit);
    // What is in the store's memory is there without waiting, so nobody else would have a turn.
    if (turn.isOver()) await turn.next();
  }
  return { incidents: newest(found, limit), total, complete };
}

/**
 * Whether a monitor can have had an incident since `fromMs`. `sinceMs` is that of its last change, so all its incidents had
 * ended before it, but for one that goes on.
 */
function mayOverlap({ changes, sinceMs, status }: WatchedMonitor['published'], fromMs: number) {
  return changes > 0 && (status === 'DOWN' || sinceMs >= fromMs);
}

function newest(incidents: RecentIncident[], count: number): RecentIncident[] {
  // Times of one form, so their texts stand in the order of time.
  return incidents
    .sort((a, b) => (a.started_at < b.started_at ? 1 : a.started_at > b.started_at ? -1 : 0))
    .slice(0, count);
}
