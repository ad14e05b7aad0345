import { z } from 'zod';
import { Monitor, MonitorCreated, MonitorList, MonitorStatus } from '../../contracts/monitoring.ts';
import {
  IdempotencyHeader,
  MaintenanceChange,
  MonitorChange,
  MonitorDetails,
  RenewedPushToken,
} from '../../contracts/monitoring-additions.ts';
import type { CheckTypes } from '../checks/registry.ts';
import { MAX_MONITORS } from '../monitors/monitors.ts';
import {
  bodyAnswers,
  keyRoute,
  keyRouteAnswers,
  limited,
  monitorParams,
  monitorRouteAnswers,
  noQuery,
  queryNumber,
} from './route-schemas.ts';

/** Statuses with commas between them, in any case. */
const StatusFilter = z
  .string()
  .max(200)
  .transform((text, context): MonitorStatus[] =>
    text.split(',').flatMap((word) => {
      const status = MonitorStatus.safeParse(word.trim().toUpperCase());
      if (status.success) return [status.data];
      context.addIssue(`write one or more of ${MonitorStatus.options.join(', ')}, with commas`);
      return [];
    }),
  );

const NOT_STORED = 'It could not be stored: nothing has changed.';

/** GET /monitors. */
export const listSchema = {
  ...keyRoute,
  operationId: 'listMonitors',
  summary: 'List all active monitors with their live statuses',
  // Not strict: the contract has no query, and a client that sends one all the same gets its list.
  querystring: z.object({
    include_paused: z
      .enum(['true', 'false'])
      .default('false')
      .describe('Also those that are PAUSED.'),
    status: StatusFilter.optional().describe(
      'Only those with one of these statuses, such as `DOWN,DEGRADED`.',
    ),
    limit: queryNumber(z.int().min(1).max(MAX_MONITORS))
      .optional()
      .describe('At most so many, in the order of their ids; `next` is what to ask for `after`.'),
    after: z
      .string()
      .max(200)
      .optional()
      .describe('Only those whose id comes after this one, in the order of their ids.'),
  }),
  response: { 200: MonitorList },
  components: { Monitor, MonitorList },
  answers: limited({
    ...keyRouteAnswers,
    200: 'The monitors, in the order they were made.',
    400: 'A query parameter is wrong (`param` names it), or there is a body.',
  }),
};

/** POST /monitors. */
export const createSchema = (definition: CheckTypes['schema']) => ({
  ...keyRoute,
  operationId: 'createMonitor',
  summary: 'Create a monitor',
  headers: z.object({
    [IdempotencyHeader.key]: z
      .string()
      .regex(/^[\x21-\x7e]{1,255}$/, 'write 1 to 255 visible ASCII characters, and send it once')
      .optional()
      .describe(
        'Any word for this create, such as a UUID. A repeat with the same key and body within 24 hours has the answer of the first and creates nothing.',
      ),
  }),
  querystring: noQuery,
  body: definition,
  response: { 201: MonitorCreated },
  components: { MonitorCreate: definition, MonitorCreated },
  answers: limited({
    ...keyRouteAnswers,
    ...bodyAnswers,
    201: {
      description:
        'The new monitor; of a HEARTBEAT with its `push_url`, shown only here, and not in a repeat once the token was renewed.',
      headers: {
        [IdempotencyHeader.replayed]: {
          description: '`true` when this is the answer to an earlier request; else absent.',
          schema: { type: 'string' },
        },
      },
    },
    400: 'The body is no valid JSON, a field or the idempotency key is wrong (`param` names it), or checks may not reach the target.',
    409: 'There are as many monitors as the service takes, or the idempotency key came with another body before.',
    503: 'The monitor could not be stored, and was not created.',
  }),
});

/** What the routes of one monitor that answer with all of it have in common. */
const detailed = {
  ...keyRoute,
  params: monitorParams,
  querystring: noQuery,
  response: { 200: MonitorDetails },
  components: { MonitorDetails },
};

/** GET /monitors/:id. */
export const showSchema = {
  ...detailed,
  operationId: 'getMonitor',
  summary: 'Show everything known of a monitor',
  answers: limited({
    ...monitorRouteAnswers,
    200: 'The monitor. Values of headers, and of parameters in the target, that check like secrets are shown as `…`.',
    503: 'Its history could not be read.',
  }),
};

/** PATCH /monitors/:id. */
export const changeSchema = {
  ...detailed,
  operationId: 'changeMonitor',
  summary: 'Change a monitor',
  description:
    'Settings that are not named stay; `null` takes one back to its default. Headers are one setting: all are replaced, and `…` keeps the stored value of one, as it does in the target. A target of another origin takes no stored secret along: they are to be given anew. The new settings hold from now on.',
  body: MonitorChange,
  components: { MonitorDetails, MonitorChange },
  answers: limited({
    ...monitorRouteAnswers,
    ...bodyAnswers,
    200: 'The monitor as it is now.',
    400: 'The body is no valid JSON, a field is wrong (`param` names it), checks may not reach the target, or it is of another origin and stored secrets are not given anew. Nothing has changed.',
    503: NOT_STORED,
  }),
};

/** DELETE /monitors/:id. */
export const deleteSchema = {
  ...keyRoute,
  operationId: 'deleteMonitor',
  summary: 'Delete a monitor and its history',
  params: monitorParams,
  querystring: noQuery,
  answers: limited({ ...monitorRouteAnswers, 204: 'It is gone.', 503: NOT_STORED }),
};

/** POST /monitors/:id/pause. */
export const pauseSchema = {
  ...detailed,
  operationId: 'pauseMonitor',
  summary: 'Pause a monitor: it is not checked, and nobody is alerted',
  answers: limited({ ...monitorRouteAnswers, 200: 'The monitor, PAUSED.', 503: NOT_STORED }),
};

/** POST /monitors/:id/resume. */
export const resumeSchema = {
  ...detailed,
  operationId: 'resumeMonitor',
  summary: 'Resume a monitor that is paused',
  answers: limited({
    ...monitorRouteAnswers,
    200: 'The monitor, with the status it had before until it is checked.',
    503: NOT_STORED,
  }),
};

/** POST /monitors/:id/check. */
export const checkSchema = {
  ...detailed,
  operationId: 'checkMonitor',
  summary: 'Check a monitor now',
  answers: limited({
    ...monitorRouteAnswers,
    200: 'The monitor after the check. One check alone may not change its status: see `confirm_down`.',
    409: 'It is paused, or a HEARTBEAT.',
    503: 'Nothing was learned of the target: the network of the service itself is gone, or it is being stopped.',
  }),
};

/** POST /monitors/:id/push-token. */
export const pushTokenSchema = {
  ...keyRoute,
  operationId: 'renewPushToken',
  summary: 'Make a new push URL for a heartbeat',
  description:
    'For a token that is lost or known to others. The one before stops working at once; the history and the status stay.',
  params: monitorParams,
  querystring: noQuery,
  response: { 200: RenewedPushToken },
  components: { RenewedPushToken },
  answers: limited({
    ...monitorRouteAnswers,
    200: 'The new `push_url`, shown only here.',
    409: 'It is no HEARTBEAT.',
    503: NOT_STORED,
  }),
};

/** PUT /monitors/:id/maintenance. */
export const maintenanceSchema = {
  ...detailed,
  operationId: 'setMaintenance',
  summary: 'Set the maintenance windows of a monitor, in place of those it has',
  body: MaintenanceChange,
  components: { MonitorDetails, MaintenanceChange },
  answers: limited({
    ...monitorRouteAnswers,
    ...bodyAnswers,
    200: 'The monitor with its windows.',
    400: 'The body is no valid JSON, or a field is wrong (`param` names it). Nothing has changed.',
    503: NOT_STORED,
  }),
};
