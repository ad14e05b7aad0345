import { z } from 'zod';
import {
  DayList,
  MAX_DAYS,
  RecentIncident,
  RecentIncidentList,
} from '../../contracts/monitoring-additions.ts';
import { keyRoute, keyRouteAnswers, limited, queryNumber } from './route-schemas.ts';

const readAnswers = {
  ...keyRouteAnswers,
  400: 'A query parameter is wrong or unknown (`param` names it), or a body was sent.',
  503: 'The history could not be read.',
};

/** GET /days. */
export const daysSchema = {
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
export const recentIncidentsSchema = {
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
