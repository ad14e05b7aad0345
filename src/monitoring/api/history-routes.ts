import { z } from 'zod';
import {
  AddedPath,
  CheckRecordList,
  DayList,
  GivenTime,
  Incident,
  IncidentList,
  MAX_DAYS,
  MAX_MOMENTS,
  type MonitorParts,
  PartList,
  RecentIncident,
  RecentIncidentList,
  RollupList,
  Uptime,
} from '../../contracts/monitoring-additions.ts';
import { invalidValue } from '../../http/errors.ts';
import type { HttpServer } from '../../http/server-types.ts';
import type { DayCounts, Range, SeenPart } from '../history/history-queries.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../time/clock.ts';
import { incidentsOfAll, MAX_LISTED, readTogether } from './incidents-of-all.ts';
import { pageAfter } from './list-writer.ts';
import { keyRoute, monitorRoute, queryNumber } from './route-schemas.ts';
import {
  failAsUnavailable,
  findMonitor,
  type RouteTools,
  refuseBodies,
  sendJson,
  within,
} from './route-scope.ts';

/** Maximum of rows in one answer: a little more than the minutes of a day. */
const MAX_ROLLUPS = 1_500;

/** History is kept this long. */
const MAX_UPTIME_DAYS = 400;

/** `defaultMs` is the default range; minutes are kept no longer. */
const ROLLUPS: Record<RollupList['by'], { rowMs: number; defaultMs: number; coarser: string }> = {
  minute: { rowMs: MINUTE_MS, defaultMs: 2 * HOUR_MS, coarser: ', or use by=hour' },
  hour: { rowMs: HOUR_MS, defaultMs: 7 * DAY_MS, coarser: ', or use by=day' },
  day: { rowMs: DAY_MS, defaultMs: 90 * DAY_MS, coarser: '' },
};

const PAGE_COUNT = 500;

export function addHistoryRoutes(scope: HttpServer, tools: RouteTools): void {
  const { monitors, history, clock } = tools;
  refuseBodies(scope);

  scope.get(within(AddedPath.results), { schema: resultsSchema }, async ({ params, query }) => {
    const { id } = findMonitor(monitors, params.id);
    return { results: await readable(history.results(id, query.limit)) };
  });

  scope.get(within(AddedPath.incidents), { schema: incidentsSchema }, async ({ params, query }) => {
    const { id } = findMonitor(monitors, params.id);
    const range = incidentRange(query, clock.wallMs());
    const { incidents, complete } = await readable(history.incidentsDuring(id, range));
    return { incidents: incidents.slice(0, query.limit), complete };
  });

  scope.get(within(AddedPath.rollups), { schema: rollupsSchema }, async ({ params, query }) => {
    const { id } = findMonitor(monitors, params.id);
    const { by } = query;
    const range = rangeOf(query, ROLLUPS[by].defaultMs, clock.wallMs());
    refuseTooManyRows(by, range);
    return { by, rollups: await readable(history.rollups(id, { by, ...range })) };
  });

  scope.get(within(AddedPath.uptime), { schema: uptimeSchema }, async ({ params, query }) => {
    const { id } = findMonitor(monitors, params.id);
    const range = rangeOf(query, 30 * DAY_MS, clock.wallMs());
    if (range.toMs - range.fromMs > MAX_UPTIME_DAYS * DAY_MS) {
      throw invalidValue(
        'from',
        `ask for at most ${MAX_UPTIME_DAYS} days; older history is deleted`,
      );
    }
    const { upMs, downMs, unseenMs } = await readable(history.uptime(id, range));
    const seenMs = upMs + downMs;
    return {
      from: new Date(range.fromMs).toISOString(),
      to: new Date(range.toMs).toISOString(),
      uptime: seenMs === 0 ? null : upMs / seenMs,
      up_ms: upMs,
      down_ms: downMs,
      unseen_ms: unseenMs,
    };
  });

  scope.get(within(AddedPath.days), { schema: daysSchema }, async ({ query }, reply) => {
    const { days, after = '' } = query;
    const ids = monitors.all().map(({ id }) => id);
    const page = pageAfter(ids, after, PAGE_COUNT);
    const nowMs = clock.wallMs();
    const readDays = async (id: string) =>
      monitoredDays(id, await history.days(id, { count: days, nowMs }));
    return sendJson(reply, {
      last: new Date(nowMs).toISOString().slice(0, 10),
      next: page.next,
      monitors: await readable(readTogether(page.ids, readDays)),
    } satisfies DayList);
  });

  scope.get(within(AddedPath.parts), { schema: partsSchema }, async ({ query }, reply) => {
    const moments = momentsIn(query.at);
    const ids = monitors.all().map(({ id }) => id);
    const page = pageAfter(ids, query.after ?? '', PAGE_COUNT);
    const readParts = async (id: string) => {
      const parts = await history.parts(id, moments);
      const monitor = monitors.get(id);
      // It may have been removed in the meantime.
      return monitor ? [partsOf(id, monitor.createdAtMs, parts)] : [];
    };
    const rows = await readable(readTogether(page.ids, readParts));
    return sendJson(reply, { next: page.next, monitors: rows.flat() } satisfies PartList);
  });

  scope.get(
    within(AddedPath.recentIncidents),
    { schema: recentIncidentsSchema },
    async ({ query }) => {
      const { from, to, limit } = query;
      const range = incidentRange(query, clock.wallMs());
      const asked = { ...range, limit, isOfTime: from !== undefined || to !== undefined };
      return await readable(incidentsOfAll(monitors.all(), history, asked));
    },
  );
}

const readable = <T>(work: Promise<T>) =>
  failAsUnavailable(work, 'The history could not be read. Try again.');

/** The requested time, which ends now at the latest. Throws a 400. */
function rangeOf(
  { from, to }: { from?: string; to?: string },
  defaultMs: number,
  nowMs: number,
): Range {
  const toMs = to === undefined ? nowMs : Math.min(Date.parse(to), nowMs);
  const fromMs = from === undefined ? toMs - defaultMs : Date.parse(from);
  if (fromMs >= toMs) throw invalidValue('from', "must be before 'to' and in the past");
  return { fromMs, toMs };
}

/** All time by default. A range up to now has no end, so that it includes an incident that begins this very moment. */
function incidentRange(query: Parameters<typeof rangeOf>[0], nowMs: number): Range {
  const range = rangeOf(query, Number.POSITIVE_INFINITY, nowMs);
  return range.toMs < nowMs ? range : { ...range, toMs: Number.POSITIVE_INFINITY };
}

function momentsIn(text: string): number[] {
  const texts = text.split(',');
  if (texts.length < 2 || texts.length > MAX_MOMENTS) {
    throw invalidValue('at', `must be 2 to ${MAX_MOMENTS} times, separated by commas`);
  }
  const moments = texts.map((one) => {
    const { data, error } = GivenTime.safeParse(one);
    if (error) throw invalidValue('at', error.issues[0]?.message ?? 'must be times');
    return Date.parse(data);
  });
  if (moments.some((atMs, at) => atMs <= (moments[at - 1] ?? -1))) {
    throw invalidValue('at', 'each time must be after the one before it');
  }
  const [firstMs = 0] = moments;
  if ((moments.at(-1) ?? 0) - firstMs > MAX_UPTIME_DAYS * DAY_MS) {
    throw invalidValue('at', `ask for at most ${MAX_UPTIME_DAYS} days; older history is deleted`);
  }
  return moments;
}

function refuseTooManyRows(by: RollupList['by'], { fromMs, toMs }: Range): void {
  const { rowMs, coarser } = ROLLUPS[by];
  const rows = Math.ceil(toMs / rowMs) - Math.floor(fromMs / rowMs);
  if (rows <= MAX_ROLLUPS) return;
  throw invalidValue(
    'from',
    `by ${by}, this is ${rows} rows, and an answer holds at most ${MAX_ROLLUPS}; ask for a shorter time${coarser}`,
  );
}

const MAX_ENTRIES = 100;

const limitUpTo = (max: number) =>
  queryNumber(z.int().min(1).max(max).default(50)).describe('Maximum number of entries.');

const limit = limitUpTo(MAX_ENTRIES);

/** A `+` that isn't encoded as `%2B` arrives as a space. */
const queryTime = z.preprocess(
  (text) => (typeof text === 'string' ? text.replace(/ (?=\d\d:\d\d$)/, '+') : text),
  GivenTime.optional(),
);

const to = queryTime.describe('End, such as `2026-12-01T09:30:00Z`. Default: now.');

const incidentTime = {
  from: queryTime.describe(
    'Start: only incidents that had not ended by then, including ongoing ones. Default: no limit.',
  ),
  to: queryTime.describe('End: only incidents that began before it. Default: now.'),
};

const readAnswers = {
  400: 'A query parameter is wrong or unknown (`param` names it), or the request has a body.',
  503: 'The history could not be read.',
};

const resultsSchema = monitorRoute({
  operationId: 'listResults',
  summary: "List a monitor's last checks, or the last signals of its job",
  querystring: z.strictObject({ limit }),
  response: { 200: CheckRecordList },
  components: { CheckRecordList },
  answers: { ...readAnswers, 200: 'Newest first.' },
});

const incidentsSchema = monitorRoute({
  operationId: 'listIncidents',
  summary: "List a monitor's incidents (times when it was DOWN)",
  querystring: z.strictObject({ limit, ...incidentTime }),
  response: { 200: IncidentList },
  components: { Incident, IncidentList },
  answers: {
    ...readAnswers,
    200: 'Newest first. Only the newest 100 are kept; `complete` is false if there may have been more.',
  },
});

const rollupsSchema = monitorRoute({
  operationId: 'listRollups',
  summary: "Summarize a monitor's checks by minute, hour or day",
  querystring: z.strictObject({
    by: RollupList.shape.by.default('hour').describe('The time that each row covers.'),
    from: queryTime.describe(
      'Start. Default: 2 hours before the end by minute, 7 days by hour, 90 days by day. Minutes are kept for 2 hours, hours for 90 days, days for 400 days.',
    ),
    to,
  }),
  response: { 200: RollupList },
  components: { RollupList },
  answers: {
    ...readAnswers,
    200: 'Oldest first. Times without checks have no row.',
  },
});

const uptimeSchema = monitorRoute({
  operationId: 'getUptime',
  summary: "Show a monitor's uptime over a time range",
  querystring: z.strictObject({
    from: queryTime.describe('Start. Default: 30 days before the end.'),
    to,
  }),
  response: { 200: Uptime },
  components: { Uptime },
  answers: {
    ...readAnswers,
    200: 'The uptime, and how much of the time was monitored.',
  },
});

const after = z
  .string()
  .max(500)
  .optional()
  .describe('Only monitors whose ID comes after this one: the `next` of the previous answer.');

const daysSchema = keyRoute({
  operationId: 'listDays',
  summary: 'Show the uptime of all monitors by day',
  querystring: z.strictObject({
    days: queryNumber(z.int().min(1).max(MAX_DAYS).default(MAX_DAYS)).describe(
      'Number of days, including today.',
    ),
    after,
  }),
  response: { 200: DayList },
  components: { DayList },
  answers: {
    ...readAnswers,
    200: 'Up to 500 monitors, sorted by ID, including PAUSED ones. Each has its days since it was first monitored.',
  },
});

const partsSchema = keyRoute({
  operationId: 'listParts',
  summary: 'Show the uptime of all monitors over consecutive time ranges',
  querystring: z.strictObject({
    at: z
      .string()
      .max(MAX_MOMENTS * 40)
      .describe(
        `Where the ranges begin and end: 2 to ${MAX_MOMENTS} times with Z, in ascending order, separated by commas.`,
      ),
    after,
  }),
  response: { 200: PartList },
  components: { PartList },
  answers: {
    ...readAnswers,
    200: 'Up to 500 monitors, sorted by ID, each with one number per range. Future time counts as not monitored.',
  },
});

const recentIncidentsSchema = keyRoute({
  operationId: 'listRecentIncidents',
  summary: 'List the latest incidents of all monitors',
  querystring: z.strictObject({ limit: limitUpTo(MAX_LISTED), ...incidentTime }),
  response: { 200: RecentIncidentList },
  components: { RecentIncident, RecentIncidentList },
  answers: {
    ...readAnswers,
    200: 'Newest first, from the 200 monitors whose status changed last; with `from` or `to`, from up to 2,000. `total` also counts incidents beyond the limit. `complete` is false if there may be more: from other monitors, or older than the newest 100 of a monitor, which are kept.',
  },
});

/** Leaves out the days before the first one that was monitored. */
function monitoredDays(id: string, { upMs, downMs }: DayCounts): DayList['monitors'][number] {
  const found = upMs.findIndex((up, place) => up !== 0 || downMs[place] !== 0);
  const first = found === -1 ? upMs.length : found;
  return { id, up_ms: upMs.slice(first), down_ms: downMs.slice(first) };
}

function partsOf(id: string, createdAtMs: number, parts: readonly SeenPart[]): MonitorParts {
  const mean = ({ passed, sumMs }: SeenPart) =>
    passed === 0 ? 0 : Math.round((sumMs / passed) * 10) / 10;
  return {
    id,
    created_at: new Date(createdAtMs).toISOString(),
    up_ms: parts.map(({ upMs }) => upMs),
    down_ms: parts.map(({ downMs }) => downMs),
    passed: parts.map(({ passed }) => passed),
    mean_ms: parts.map(mean),
  };
}
