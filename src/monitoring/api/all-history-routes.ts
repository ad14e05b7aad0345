import { AddedPath, type RecentIncident } from '../../contracts/monitoring-additions.ts';
import type { HttpServer } from '../../http/server-types.ts';
import type { History } from '../history/history.ts';
import type { WatchedMonitor } from '../monitors/monitors.ts';
import { daysSchema, recentIncidentsSchema } from './all-history-route-schemas.ts';
import { pageAfter } from './cursor.ts';
import { writeDays } from './day-writer.ts';
import { orUnavailable } from './route-errors.ts';
import { type RouteTools, sendWritten, takeNoBody, within } from './route-scope.ts';

/** Monitors whose days stand in one answer. */
const PAGE_COUNT = 500;

/** Monitors that are asked for their incidents: those that changed last. */
const ASKED_COUNT = 200;

/** Adds the routes that tell what was seen of all monitors. */
export function addAllHistoryRoutes(scope: HttpServer, tools: RouteTools): void {
  const { monitors, history, clock } = tools;
  takeNoBody(scope);

  scope.get(within(AddedPath.days), { schema: daysSchema }, async ({ query }, reply) => {
    const { days, after = '' } = query;
    const ids = monitors.all().map(({ id }) => id);
    const page = pageAfter(ids, after, PAGE_COUNT);
    const json = await readable(writeDays({ ...page, days }, history, clock.wallMs()));
    return sendWritten(reply, json);
  });

  scope.get(
    within(AddedPath.recentIncidents),
    { schema: recentIncidentsSchema },
    async ({ query }) => ({
      incidents: await readable(recentIncidents(monitors.all(), history, query.limit)),
    }),
  );
}

/** The newest incidents of the monitors that changed last: asking ten thousand would take seconds. */
async function recentIncidents(
  monitors: readonly WatchedMonitor[],
  history: History,
  limit: number,
): Promise<RecentIncident[]> {
  const changed = monitors
    .filter(({ published }) => published.changes > 0)
    .sort((a, b) => b.published.sinceMs - a.published.sinceMs)
    .slice(0, ASKED_COUNT);
  const found: RecentIncident[] = [];
  for (const { id, definition } of changed) {
    const incidents = await history.incidents(id, limit);
    found.push(...incidents.map((one) => ({ ...one, monitor: id, name: definition.name })));
  }
  // Times of one form, so their texts stand in the order of time.
  found.sort((a, b) => (a.started_at < b.started_at ? 1 : a.started_at > b.started_at ? -1 : 0));
  return found.slice(0, limit);
}

const readable = <T>(work: Promise<T>) =>
  orUnavailable(work, 'The history could not be read. Try again.');
