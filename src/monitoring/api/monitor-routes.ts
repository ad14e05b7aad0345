import { isDeepStrictEqual } from 'node:util';
import { MonitoringPath, pushPath } from '../../contracts/monitoring.ts';
import {
  AddedPath,
  IdempotencyHeader,
  type MonitorChange,
  type MonitorDetails,
} from '../../contracts/monitoring-additions.ts';
import { invalidValue } from '../../http/errors.ts';
import type { HttpServer } from '../../http/server-types.ts';
import { isHeartbeat } from '../checks/check-type.ts';
import { checkWindows } from '../monitors/maintenance.ts';
import type { WatchedMonitor } from '../monitors/monitors.ts';
import { createListWriter, pageAfter } from './list-writer.ts';
import { createdMonitor, monitorDetails } from './monitor-answers.ts';
import { changedDefinition, createdDefinition } from './monitor-change.ts';
import {
  changeSchema,
  checkSchema,
  createSchema,
  deleteSchema,
  listSchema,
  maintenanceSchema,
  pauseSchema,
  pushTokenSchema,
  resumeSchema,
  showSchema,
} from './monitor-route-schemas.ts';
import { isPaused, noSuchMonitor, notChecked, notPinged, orUnavailable } from './route-errors.ts';
import { monitorNamed, type RouteTools, sendWritten, takeNoBody, within } from './route-scope.ts';

const NOT_STORED = 'This could not be stored, and nothing has changed. Try again.';

/** Adds the routes that list, make, change and remove monitors. */
export function addMonitorRoutes(scope: HttpServer, tools: RouteTools): void {
  addRoutesWithBody(scope, tools);
  scope.register(async (bare: HttpServer) => {
    takeNoBody(bare);
    addRoutesWithoutBody(bare, tools);
  });
}

function addRoutesWithBody(scope: HttpServer, tools: RouteTools): void {
  const { monitors, types, admit, runner, addressFor, keyOf } = tools;

  const route = { schema: createSchema(types.schema), preValidation: nameMissingSetting };
  scope.post(within(MonitoringPath.monitors), route, async (request, reply) => {
    const definition = createdDefinition(request.body);
    const key = request.headers[IdempotencyHeader.key];
    // A repeat is not admitted again: its answer is that to the first.
    const idempotency =
      key === undefined
        ? key
        : { apiKeyId: keyOf(request).id, key, admit: () => admit(definition) };
    if (idempotency === undefined) await admit(definition);
    const { monitor, token, repeated } = await orUnavailable(
      monitors.add(definition, idempotency),
      'The monitor could not be stored and was not created. Try again.',
    );
    if (repeated) reply.header(IdempotencyHeader.replayed, 'true');
    else runner.added(monitor);
    reply.code(201);
    const pushUrl = token === undefined ? token : addressFor(request) + pushPath(token);
    return createdMonitor(monitor, definition, pushUrl);
  });

  scope.patch(within(AddedPath.monitor), { schema: changeSchema }, async (request) => {
    const monitor = await change(tools, request.params.id, request.body);
    runner.edited(monitor);
    return await detailsOf(monitor, tools);
  });

  scope.put(within(AddedPath.maintenance), { schema: maintenanceSchema }, async (request) => {
    const { id } = monitorNamed(monitors, request.params.id);
    const maintenance = request.body.windows;
    const fault = checkWindows(maintenance);
    if (fault) throw invalidValue(fault.param, fault.message);
    const monitor = await orUnavailable(
      monitors.edit(id, () => ({ maintenance })),
      NOT_STORED,
    );
    if (monitor === undefined) throw noSuchMonitor();
    runner.edited(monitor);
    return await detailsOf(monitor, tools);
  });
}

function addRoutesWithoutBody(scope: HttpServer, tools: RouteTools): void {
  const { monitors, runner, addressFor, clock } = tools;

  const writeList = createListWriter({ wallMs: clock.wallMs, isStale: runner.isStale });
  scope.get(within(MonitoringPath.monitors), { schema: listSchema }, async ({ query }, reply) => {
    const { status, limit, after } = query;
    const withPaused = query.include_paused === 'true';
    const isShown = ({ state, published }: WatchedMonitor) =>
      status ? status.includes(published.status) : withPaused || state.status !== 'PAUSED';
    if (limit === undefined && after === undefined) {
      return sendWritten(reply, await writeList(monitors.all(), isShown));
    }
    const ids = monitors
      .all()
      .filter(isShown)
      .map(({ id }) => id);
    const page = pageAfter(ids, after ?? '', limit ?? ids.length);
    const shown = page.ids.flatMap((id) => monitors.get(id) ?? []);
    return sendWritten(reply, await writeList(shown, () => true, page.next));
  });

  scope.get(within(AddedPath.monitor), { schema: showSchema }, async ({ params }) => {
    return await detailsOf(monitorNamed(monitors, params.id), tools);
  });

  scope.delete(within(AddedPath.monitor), { schema: deleteSchema }, async ({ params }, reply) => {
    const removed = await orUnavailable(monitors.remove(params.id), NOT_STORED);
    if (!removed) throw noSuchMonitor();
    runner.removed(params.id);
    return reply.code(204).send();
  });

  scope.post(within(AddedPath.pause), { schema: pauseSchema }, async ({ params }) => {
    const monitor = monitorNamed(monitors, params.id);
    await orUnavailable(runner.pause(monitor), NOT_STORED);
    return await detailsOf(monitor, tools);
  });

  scope.post(within(AddedPath.resume), { schema: resumeSchema }, async ({ params }) => {
    const monitor = monitorNamed(monitors, params.id);
    await orUnavailable(runner.resume(monitor), NOT_STORED);
    return await detailsOf(monitor, tools);
  });

  scope.post(within(AddedPath.pushToken), { schema: pushTokenSchema }, async (request) => {
    const { id, definition } = monitorNamed(monitors, request.params.id);
    if (!isHeartbeat(definition)) throw notPinged();
    const token = await orUnavailable(monitors.renewToken(id), NOT_STORED);
    if (token === undefined) throw noSuchMonitor();
    return { id, push_url: addressFor(request) + pushPath(token) };
  });

  scope.post(within(AddedPath.check), { schema: checkSchema }, async ({ params }) => {
    const monitor = monitorNamed(monitors, params.id);
    if (isHeartbeat(monitor.definition)) throw notChecked();
    if (monitor.state.status === 'PAUSED') throw isPaused(monitor.id);
    await orUnavailable(runner.checkNow(monitor), 'What was found could not be stored. Try again.');
    await monitors.written(monitor.id);
    return await detailsOf(monitor, tools);
  });
}

/** A monitor without settings may lack one that its type needs: that is what is to be named, not all of them. */
async function nameMissingSetting({ body }: { body: unknown }): Promise<void> {
  const sent = body as { check_type?: unknown; config?: unknown } | null | undefined;
  if (typeof sent?.check_type === 'string' && sent.config === undefined) sent.config = {};
}

/**
 * Changes the settings of a monitor. Admission takes a while, so a change of other settings can come in between: then
 * the two together are admitted again.
 */
async function change(
  { monitors, types, admit }: RouteTools,
  id: string,
  wanted: MonitorChange,
): Promise<WatchedMonitor> {
  let before = monitorNamed(monitors, id).definition;
  for (;;) {
    const admitted = changedDefinition(types, before, wanted);
    await admit(admitted);
    let isAdmitted = false;
    const monitor = await orUnavailable(
      monitors.edit(id, (now) => {
        const definition = changedDefinition(types, now.definition, wanted);
        isAdmitted = isDeepStrictEqual(definition, admitted);
        before = now.definition;
        return isAdmitted ? { definition } : {};
      }),
      NOT_STORED,
    );
    if (monitor === undefined) throw noSuchMonitor();
    if (isAdmitted) return monitor;
  }
}

async function detailsOf(
  monitor: WatchedMonitor,
  { history, runner, clock }: RouteTools,
): Promise<MonitorDetails> {
  const [lastIncident] = await orUnavailable(
    history.incidents(monitor.id, 1),
    'The history of the monitor could not be read. Try again.',
  );
  return monitorDetails(monitor, {
    wallMs: clock.wallMs(),
    stale: runner.isStale(monitor),
    lastIncident,
  });
}
