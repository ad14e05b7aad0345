import { ErrorCode } from '../../contracts/error.ts';
import { pushPath } from '../../contracts/monitoring.ts';
import {
  AddedPath,
  addedPath,
  MaintenanceChange,
  RenewedPushToken,
} from '../../contracts/monitoring-additions.ts';
import { HttpError, invalidValue } from '../../http/errors.ts';
import type { HttpServer } from '../../http/server-types.ts';
import { isHeartbeat } from '../checks/check-type.ts';
import { checkWindows } from '../monitors/maintenance.ts';
import { detailsOf } from './monitor-answers.ts';
import {
  changeAnswers,
  DECLARED,
  detailedRoute,
  monitorRoute,
  noQuery,
  READ_ONLY,
} from './route-schemas.ts';
import {
  failAsUnavailable,
  failAsUnchanged,
  findChangeableMonitor,
  findMonitor,
  noSuchMonitor,
  type RouteTools,
  refuseBodies,
  within,
} from './route-scope.ts';

export function addMonitorActions(scope: HttpServer, tools: RouteTools): void {
  const { monitors, runner } = tools;

  scope.put(within(AddedPath.maintenance), { schema: maintenanceSchema }, async (request) => {
    const { id } = await findChangeableMonitor(tools, request.params.id);
    const maintenance = request.body.windows;
    const fault = checkWindows(maintenance);
    if (fault) throw invalidValue(fault.param, fault.message);
    const monitor = await failAsUnchanged(monitors.edit(id, () => ({ maintenance })));
    if (monitor === undefined) throw noSuchMonitor();
    await runner.showMaintenance();
    return await detailsOf(monitor, tools);
  });

  scope.register(async (bare: HttpServer) => {
    refuseBodies(bare);
    addActionsWithoutBody(bare, tools);
  });
}

function addActionsWithoutBody(scope: HttpServer, tools: RouteTools): void {
  const { monitors, runner, addressFor } = tools;

  scope.post(within(AddedPath.pause), { schema: pauseSchema }, async ({ params }) => {
    const monitor = await findChangeableMonitor(tools, params.id);
    await failAsUnchanged(runner.pause(monitor));
    return await detailsOf(monitor, tools);
  });

  scope.post(within(AddedPath.resume), { schema: resumeSchema }, async ({ params }) => {
    const monitor = await findChangeableMonitor(tools, params.id);
    await failAsUnchanged(runner.resume(monitor));
    return await detailsOf(monitor, tools);
  });

  scope.post(within(AddedPath.pushToken), { schema: pushTokenSchema }, async (request) => {
    const { id, definition } = findMonitor(monitors, request.params.id);
    if (!isHeartbeat(definition)) {
      throw conflict(
        'Only a HEARTBEAT monitor has a push token. To watch a job, create a monitor of that type.',
      );
    }
    const token = await failAsUnchanged(monitors.renewToken(id));
    if (token === undefined) throw noSuchMonitor();
    return { id, push_url: addressFor(request) + pushPath(token) };
  });

  scope.post(within(AddedPath.check), { schema: checkSchema }, async ({ params }) => {
    const monitor = findMonitor(monitors, params.id);
    if (isHeartbeat(monitor.definition)) {
      throw conflict(
        'A HEARTBEAT monitor is never checked: it waits for its job. To test it, send a ping to its push URL.',
      );
    }
    if (monitor.state.status === 'PAUSED') {
      throw conflict(
        `This monitor is paused. Resume it first, with POST ${addedPath('resume', params)}.`,
      );
    }
    await failAsUnavailable(
      runner.checkNow(monitor),
      'The result of the check could not be stored. Try again.',
    );
    await monitors.written(monitor.id);
    return await detailsOf(monitor, tools);
  });
}

const conflict = (sentence: string) => new HttpError(409, ErrorCode.conflict, sentence);

const pauseSchema = detailedRoute({
  operationId: 'pauseMonitor',
  summary: 'Pause a monitor: no checks, no alerts',
  answers: { 200: 'The monitor, now PAUSED.', 409: DECLARED, ...changeAnswers },
});

const resumeSchema = detailedRoute({
  operationId: 'resumeMonitor',
  summary: 'Resume a paused monitor',
  answers: {
    200: 'The monitor, with its previous status until the next check.',
    409: DECLARED,
    ...changeAnswers,
  },
});

const checkSchema = detailedRoute({
  operationId: 'checkMonitor',
  summary: 'Check a monitor now',
  answers: {
    200: 'The monitor after the check. A single check may not change its status: see `confirm_down`.',
    403: READ_ONLY,
    409: 'The monitor is paused, or is a HEARTBEAT.',
    503: "The target could not be checked: the service's own network is down, or the service is stopping.",
  },
});

const pushTokenSchema = monitorRoute({
  operationId: 'renewPushToken',
  summary: 'Create a new push URL for a heartbeat',
  description:
    'Use it if the token was lost or leaked. The old one stops working at once; history and status are kept.',
  querystring: noQuery,
  response: { 200: RenewedPushToken },
  components: { RenewedPushToken },
  answers: {
    200: 'The new `push_url`, shown only once.',
    409: "The monitor isn't a HEARTBEAT.",
    ...changeAnswers,
  },
});

const maintenanceSchema = detailedRoute({
  operationId: 'setMaintenance',
  summary: "Replace a monitor's maintenance windows",
  body: MaintenanceChange,
  components: { MaintenanceChange },
  answers: {
    200: 'The monitor with its windows.',
    409: DECLARED,
    400: "The body isn't valid JSON, or a field is wrong (`param` names it). Nothing has changed.",
    ...changeAnswers,
  },
});
