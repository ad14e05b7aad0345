import { z } from 'zod';
import {
  CheckRecordList,
  GivenTime,
  Incident,
  IncidentList,
  RollupList,
  Uptime,
} from '../../contracts/monitoring-additions.ts';
import {
  keyRoute,
  limited,
  monitorParams,
  monitorRouteAnswers,
  queryNumber,
} from './route-schemas.ts';

/** Most results, and most incidents, of one answer. */
const MAX_ENTRIES = 100;

const limit = (fallback: number) =>
  queryNumber(z.int().min(1).max(MAX_ENTRIES).default(fallback)).describe('How many at most.');

/** A time in a query. A `+` that was not written as `%2B` comes as a space. */
const queryTime = z.preprocess(
  (text) => (typeof text === 'string' ? text.replace(/ (?=\d\d:\d\d$)/, '+') : text),
  GivenTime.optional(),
);
const to = queryTime.describe('The end, such as `2026-12-01T09:30:00Z`; now when left out.');

const readRoute = { ...keyRoute, params: monitorParams };
const readAnswers = {
  ...monitorRouteAnswers,
  400: 'A query parameter is wrong or unknown (`param` names it), or a body was sent.',
  503: 'The history could not be read.',
};

/** GET /monitors/:id/results. */
export const resultsSchema = {
  ...readRoute,
  operationId: 'listResults',
  summary: 'List the last checks a monitor, or the last signals of its job',
  querystring: z.strictObject({ limit: limit(50) }),
  response: { 200: CheckRecordList },
  components: { CheckRecordList },
  answers: limited({ ...readAnswers, 200: 'Newest first.' }),
};

/** GET /monitors/:id/incidents. */
export const incidentsSchema = {
  ...readRoute,
  operationId: 'listIncidents',
  summary: 'List the times in which a monitor was DOWN',
  querystring: z.strictObject({ limit: limit(50) }),
  response: { 200: IncidentList },
  components: { Incident, IncidentList },
  answers: limited({ ...readAnswers, 200: 'Newest first.' }),
};

/** GET /monitors/:id/rollups. */
export const rollupsSchema = {
  ...readRoute,
  operationId: 'listRollups',
  summary: 'Sum up what was seen of a monitor by minute, hour or day',
  querystring: z.strictObject({
    by: RollupList.shape.by.default('hour'),
    from: queryTime.describe(
      'The begin; when left out, 2 hours, 7 days or 90 days before the end: by minute, hour or day. Minutes are kept for 2 hours, hours for 90 days, days for 400 days.',
    ),
    to,
  }),
  response: { 200: RollupList },
  components: { RollupList },
  answers: limited({
    ...readAnswers,
    200: 'Oldest first; times in which nothing was seen have no row.',
  }),
};

/** GET /monitors/:id/uptime. */
export const uptimeSchema = {
  ...readRoute,
  operationId: 'getUptime',
  summary: 'Tell how much of a time a monitor was not DOWN',
  querystring: z.strictObject({
    from: queryTime.describe('The begin; 30 days before the end when left out.'),
    to,
  }),
  response: { 200: Uptime },
  components: { Uptime },
  answers: limited({ ...readAnswers, 200: 'The time, and how much of it was seen.' }),
};
