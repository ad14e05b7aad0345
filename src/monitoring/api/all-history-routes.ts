import { z } from 'zod';
import { beginTurn } from '../../contracts/event-loop.ts';
import {
  AddedPath,
  DayList,
  MAX_DAYS,
  RecentIncident,
  RecentIncidentList,
} from '../../contracts/monitoring-additions.ts';
import type { HttpServer } from '../../http/server-types.ts';
import type { DayCounts } from '../history/days.ts';
import type { History } from '../history/history.ts';
import type { WatchedMonitor } from '../monitors/monitors.ts';
import { pageAfter } from './list-writer.ts';
import { orUnavailable } from './route-errors.ts';
import { keyRoute, keyRouteAnswers, limited, queryNumber } from './route-schemas.ts';
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

const readAnswers = {
  ...keyRouteAnswers,
  400: 'A query parameter is wrong or unknown (`param` names it), or a body was sent.',
  503: 'The history could not be read.',
};

/** GET /days. */
const daysSchema = {
  ...keyRoute,
  operationId: 'listDays',
  summary: 'Tell how the days of all monitors went',
  querystring: z.strictObject({
    days: queryNumber(z.int().min(1).max(MAX_DAYS).default(MAX_DAYS)).describe(
      'How many, today included.',
    ),
    after: z
      .string()
      .max(500)
      .optional()
      .describe('Only monitors whose id comes after this one: the `next` of the answer before.'),
  }),
  response: { 200: DayList },
  components: { DayList },
  answers: limited({
    ...readAnswers,
    200: 'Up to 500 monitors, by id. Of each the days since the first one that was seen; a monitor that is PAUSED is there too.',
  }),
};

/** GET /incidents. */
const recentIncidentsSchema = {
  ...keyRoute,
  operationId: 'listRecentIncidents',
  summary: 'List the last times in which any monitor was DOWN',
  querystring: z.strictObject({
    limit: queryNumber(z.int().min(1).max(100).default(50)).describe('How many at most.'),
  }),
  response: { 200: RecentIncidentList },
  components: { RecentIncident, RecentIncidentList },
  answers: limited({
    ...readAnswers,
    200: 'Newest first, of the 200 monitors whose status changed last.',
  }),
};

/** Monitors whose days are read at one time. */
const TOGETHER_COUNT = 4;

/** Writes the days of these monitors as JSON of the contract's `DayList`. One that is gone meanwhile has none. */
async function writeDays(
  asked: { ids: readonly string[]; days: number; next: string | null },
  history: Pick<History, 'days'>,
  nowMs: number,
): Promise<Buffer> {
  const { ids, days, next } = asked;
  const last = new Date(nowMs).toISOString().slice(0, 10);
  const monitors: string[] = [];
  const turn = beginTurn();
  for (let from = 0; from < ids.length; from += TOGETHER_COUNT) {
    const together = ids.slice(from, from + TOGETHER_COUNT);
    const counts = await Promise.all(
      together.map((id) => history.days(id, { count: days, nowMs })),
    );
    for (const [place, id] of together.entries()) monitors.push(rowOf(id, counts[place]));
    // What is remembered is there without waiting, so nobody else would have a turn.
    if (turn.isOver()) await turn.next();
  }
  const head = `{"last":${JSON.stringify(last)},"next":${JSON.stringify(next)}`;
  return Buffer.from(`${head},"monitors":[${monitors.join(',')}]}`);
}

/** Without the days before the first one that was seen. */
function rowOf(id: string, { upMs, downMs }: DayCounts = { upMs: [], downMs: [] }): string {
  const isSeen = (place: number) => upMs[place] !== 0 || downMs[place] !== 0;
  const found = upMs.findIndex((_, place) => isSeen(place));
  const first = found === -1 ? upMs.length : found;
  const listOf = (counts: readonly number[]) => `[${counts.slice(first).join(',')}]`;
  return `{"id":${JSON.stringify(id)},"up_ms":${listOf(upMs)},"down_ms":${listOf(downMs)}}`;
}
