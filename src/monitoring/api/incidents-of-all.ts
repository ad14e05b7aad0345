import { beginTurn } from '../../contracts/event-loop.ts';
import type { RecentIncident } from '../../contracts/monitoring-additions.ts';
import type { MonitorHistory } from '../history/history.ts';
import type { Range } from '../history/history-queries.ts';
import type { WatchedMonitor } from '../monitors/monitors.ts';

export const MAX_LISTED = 1_000;

/** The monitors that changed last are read: this many without a time range, and with one. Ten thousand would take seconds. */
const READ_COUNT = 200;
const READ_OF_TIME_COUNT = 2_000;

const TOGETHER_COUNT = 4;

/** Older incidents are dropped at this number, which takes some milliseconds to sort. */
const SORTED_COUNT = 5 * MAX_LISTED;

/** The newest incidents of all monitors in a range; not `isOfTime` if the range is all time. */
export async function incidentsOfAll(
  monitors: readonly WatchedMonitor[],
  history: Pick<MonitorHistory, 'incidentsDuring'>,
  { limit, isOfTime, ...range }: Range & { limit: number; isOfTime: boolean },
): Promise<{ incidents: RecentIncident[]; total: number; complete: boolean }> {
  const changed = monitors
    .filter(({ published }) => mayOverlap(published, range.fromMs))
    .sort((a, b) => b.published.sinceMs - a.published.sinceMs);
  const read = changed.slice(0, isOfTime ? READ_OF_TIME_COUNT : READ_COUNT);
  let complete = read.length === changed.length;
  let total = 0;
  let found: RecentIncident[] = [];
  await readTogether(read, async ({ id, definition: { name } }) => {
    const list = await history.incidentsDuring(id, range);
    complete &&= list.complete;
    total += list.incidents.length;
    for (const one of list.incidents) found.push({ ...one, monitor: id, name });
    if (found.length > SORTED_COUNT) found = newest(found, limit);
  });
  return { incidents: newest(found, limit), total, complete };
}

/** Reads something for many monitors, a few at a time. */
export async function readTogether<Item, T>(
  items: readonly Item[],
  read: (item: Item) => Promise<T>,
): Promise<T[]> {
  const results: T[] = [];
  const turn = beginTurn();
  for (let from = 0; from < items.length; from += TOGETHER_COUNT) {
    results.push(...(await Promise.all(items.slice(from, from + TOGETHER_COUNT).map(read))));
    // Cached values resolve without waiting, so other work would get no turn.
    if (turn.isOver()) await turn.next();
  }
  return results;
}

/** All incidents of a monitor ended before its last change, at `sinceMs`, except an ongoing one. */
function mayOverlap({ changes, sinceMs, status }: WatchedMonitor['published'], fromMs: number) {
  return changes > 0 && (status === 'DOWN' || sinceMs >= fromMs);
}

function newest(incidents: RecentIncident[], count: number): RecentIncident[] {
  // All times have the same format, so texts sort by time. The order of equal times doesn't depend on which was read first.
  const keyOf = (one: RecentIncident) => `${one.started_at} ${one.monitor}`;
  return incidents.sort((a, b) => (keyOf(a) < keyOf(b) ? 1 : -1)).slice(0, count);
}
