import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import {
  Monitor,
  MonitorCreated,
  MonitoringPath,
  MonitorList,
  MonitorStatus,
  pushPath,
  TypedTags,
} from '../../contracts/monitoring.ts';
import {
  AddedPath,
  CURSOR_HEADER,
  IdempotencyHeader,
  MonitorChange,
} from '../../contracts/monitoring-additions.ts';
import type { HttpRequest, HttpServer } from '../../http/server-types.ts';
import type { CheckTypes } from '../checks/registry.ts';
import type { Mark } from '../monitors/change-log.ts';
import { checkDependencies } from '../monitors/dependencies.ts';
import type { WatchedMonitor } from '../monitors/monitors.ts';
import { type ListWriter, pageAfter } from './list-writer.ts';
import { createdMonitor, detailsOf } from './monitor-answers.ts';
import { changedDefinition, createdDefinition } from './monitor-change.ts';
import {
  changeAnswers,
  DECLARED,
  detailedRoute,
  keyRoute,
  monitorRoute,
  noQuery,
  queryNumber,
  READ_ONLY,
} from './route-schemas.ts';
import {
  failAsUnavailable,
  failAsUnchanged,
  findChangeableMonitor,
  findMonitor,
  isListed,
  noSuchMonitor,
  type RouteTools,
  refuseBodies,
  sendJson,
  within,
} from './route-scope.ts';

const MAX_LISTED = 10_000;

export function addMonitorRoutes(
  scope: HttpServer,
  tools: RouteTools & { write: ListWriter },
): void {
  addRoutesWithBody(scope, tools);
  scope.register(async (bare: HttpServer) => {
    refuseBodies(bare);
    addRoutesWithoutBody(bare, tools);
  });
}

function addRoutesWithBody(scope: HttpServer, tools: RouteTools): void {
  const { monitors, types, admit, addressFor, keyOf } = tools;
  /** One at a time, because two changes of dependencies could form a circle together. */
  let changing: Promise<unknown> = Promise.resolve();

  const route = { schema: createSchema(types.schema), preValidation: nameMissingSetting };
  scope.post(within(MonitoringPath.monitors), route, async (request, reply) => {
    const definition = createdDefinition(request.body);
    const key = request.headers[IdempotencyHeader.key];
    async function admitNew() {
      checkDependencies(definition.depends_on, monitors);
      await admit(definition);
    }
    // A repeat isn't admitted again, because it gets the first answer.
    const idempotency =
      key === undefined ? key : { apiKeyId: keyOf(request).id, key, admit: admitNew };
    if (idempotency === undefined) await admitNew();
    const { monitor, token, repeated } = await failAsUnavailable(
      monitors.add(definition, idempotency),
      'The monitor could not be stored and was not created. Try again.',
    );
    if (repeated) reply.header(IdempotencyHeader.replayed, 'true');
    reply.code(201);
    const pushUrl = token === undefined ? token : addressFor(request) + pushPath(token);
    return createdMonitor(monitor, definition, pushUrl);
  });

  scope.patch(within(AddedPath.monitor), { schema: changeSchema }, async (request) => {
    const { params, body } = request;
    const changed = () => change(tools, params.id, body);
    const work = body.depends_on?.length ? changing.then(changed) : changed();
    changing = Promise.allSettled([changing, work]);
    const monitor = await work;
    return await detailsOf(monitor, tools);
  });
}

function addRoutesWithoutBody(scope: HttpServer, tools: RouteTools & { write: ListWriter }): void {
  const { monitors, write } = tools;
  const { changeLog } = monitors;

  const marks = new WeakMap<object, Mark>();
  const list = {
    schema: listSchema,
    // Before this process catches up with others.
    async preValidation({ raw }: HttpRequest) {
      marks.set(raw, await changeLog.mark());
    },
  };
  scope.get(within(MonitoringPath.monitors), list, async ({ query, raw }, reply) => {
    const { status, tag, limit, after } = query;
    const withPaused = query.include_paused === 'true';
    const isTagged = ({ definition }: WatchedMonitor) =>
      !tag?.length || (definition.tags ?? []).some((one) => tag.includes(one));
    const isShown = (monitor: WatchedMonitor) =>
      isTagged(monitor) &&
      (status
        ? status.includes(monitor.published.status)
        : isListed(monitor.published, withPaused));
    const number = changeLog.number();
    const writeList = async () => {
      if (limit === undefined && after === undefined) return write.list(monitors.all(), isShown);
      const ids = monitors
        .all()
        .filter(isShown)
        .map(({ id }) => id);
      const page = pageAfter(ids, after ?? '', limit ?? ids.length);
      const shown = page.ids.flatMap((id) => monitors.get(id) ?? []);
      return write.list(shown, () => true, page.next);
    };
    const json = await writeList();
    const mark = marks.get(raw);
    if (mark) reply.header(CURSOR_HEADER, changeLog.cursor(number, mark));
    return sendJson(reply, json);
  });

  scope.get(within(AddedPath.monitor), { schema: showSchema }, async ({ params }) => {
    return await detailsOf(findMonitor(monitors, params.id), tools);
  });

  scope.delete(within(AddedPath.monitor), { schema: deleteSchema }, async ({ params }, reply) => {
    const { id } = await findChangeableMonitor(tools, params.id);
    const removed = await failAsUnchanged(monitors.remove(id));
    if (!removed) throw noSuchMonitor();
    return reply.code(204).send();
  });
}

/** Without settings, the error should name the one that the monitor's type requires, not all of them. */
async function nameMissingSetting({ body }: { body: unknown }): Promise<void> {
  const sent = body as { check_type?: unknown; config?: unknown } | null | undefined;
  if (typeof sent?.check_type === 'string' && sent.config === undefined) sent.config = {};
}

/** Changes the settings of a monitor. If another change comes during admission, admits the two together again. */
async function change(
  tools: RouteTools,
  id: string,
  wanted: MonitorChange,
): Promise<WatchedMonitor> {
  const { monitors, types, admit } = tools;
  let before = (await findChangeableMonitor(tools, id)).definition;
  for (;;) {
    const admitted = changedDefinition(types, before, wanted);
    checkDependencies(wanted.depends_on, monitors, id);
    await admit(admitted);
    let isAdmitted = false;
    const monitor = await failAsUnchanged(
      monitors.edit(id, (now) => {
        const definition = changedDefinition(types, now.definition, wanted);
        isAdmitted = isDeepStrictEqual(definition, admitted);
        before = now.definition;
        // Another change in the meantime may form a circle with it.
        checkDependencies(wanted.depends_on, monitors, id);
        return isAdmitted ? { definition } : {};
      }),
    );
    if (monitor === undefined) throw noSuchMonitor();
    if (isAdmitted) return monitor;
  }
}

/** Statuses separated by commas, in upper or lower case. */
const StatusFilter = z
  .string()
  .max(200)
  .transform((text, context): MonitorStatus[] =>
    text.split(',').flatMap((word) => {
      const status = MonitorStatus.safeParse(word.trim().toUpperCase());
      if (status.success) return [status.data];
      context.addIssue(
        `must be one or more of ${MonitorStatus.options.join(', ')}, separated by commas`,
      );
      return [];
    }),
  );

const listSchema = keyRoute({
  operationId: 'listMonitors',
  summary: 'List all active monitors with their live statuses',
  // Not strict: the contract has no query, and a client that sends one still gets the list.
  querystring: z.object({
    include_paused: z
      .enum(['true', 'false'])
      .default('false')
      .describe('Also list PAUSED monitors.'),
    status: StatusFilter.optional().describe(
      'Only monitors with one of these statuses, such as `DOWN,DEGRADED`.',
    ),
    tag: TypedTags.optional().describe(
      'Only monitors with at least one of these tags, such as `shop,eu`.',
    ),
    limit: queryNumber(z.int().min(1).max(MAX_LISTED))
      .optional()
      .describe(
        "Maximum number of monitors, sorted by ID. For the next page, send the answer's `next` as `after`.",
      ),
    after: z
      .string()
      .max(200)
      .optional()
      .describe('Only monitors whose ID comes after this one, sorted by ID.'),
  }),
  response: { 200: MonitorList },
  components: { Monitor, MonitorList },
  answers: {
    200: {
      description: 'The monitors, in the order in which they were created.',
      headers: {
        [CURSOR_HEADER]: {
          description:
            'Cursor for `GET /monitors/changes`: send it as `after` to get the changes since this list. If the list has pages, use the one of the first page.',
          schema: { type: 'string' },
        },
      },
    },
    400: 'A query parameter is wrong (`param` names it), or the request has a body.',
  },
});

const createSchema = (definition: CheckTypes['schema']) =>
  keyRoute({
    operationId: 'createMonitor',
    summary: 'Create a monitor',
    headers: z.object({
      [IdempotencyHeader.key]: z
        .string()
        .regex(/^[\x21-\x7e]{1,255}$/, 'must be 1 to 255 visible ASCII characters, sent only once')
        .optional()
        .describe(
          'A key of your choice for this create, such as a UUID. If you repeat the request with the same key and body within 24 hours, you get the first answer again and nothing is created.',
        ),
    }),
    querystring: noQuery,
    body: definition,
    response: { 201: MonitorCreated },
    components: { MonitorCreate: definition, MonitorCreated },
    answers: {
      201: {
        description:
          'The new monitor. A HEARTBEAT comes with its `push_url`, which is shown only here, and not in a repeat once the token was renewed.',
        headers: {
          [IdempotencyHeader.replayed]: {
            description: '`true` if this is the answer to an earlier request, otherwise absent.',
            schema: { type: 'string' },
          },
        },
      },
      400: "The body isn't valid JSON, a field or the idempotency key is wrong (`param` names it), the monitor depends on one that does not exist, or checks may not reach the target.",
      403: READ_ONLY,
      409: 'The service already holds the maximum number of monitors, or the idempotency key was used with another body before.',
      503: 'The monitor could not be stored and was not created.',
    },
  });

const showSchema = detailedRoute({
  operationId: 'getMonitor',
  summary: 'Show a monitor in detail',
  answers: {
    200: 'The monitor. Header values and target parameters that look like secrets are shown as `…`.',
    503: "The monitor's history could not be read.",
  },
});

const changeSchema = detailedRoute({
  operationId: 'changeMonitor',
  summary: 'Change a monitor',
  description:
    'Settings that you leave out stay as they are; `null` resets one to its default. Headers are one setting: all of them are replaced, and `…` keeps the stored value of a header, or of a secret in the target. If the target changes to another origin, send its secrets again: stored ones are not sent there. Changes take effect at once. `depends_on` and `tags` are replaced as a whole; `[]` removes all. An empty `runbook` removes it. A monitor that is removed is taken out of `depends_on`.',
  body: MonitorChange,
  components: { MonitorChange },
  answers: {
    409: DECLARED,
    200: 'The changed monitor.',
    400: "The body isn't valid JSON, a field is wrong (`param` names it), dependencies would form a circle, checks may not reach the target, or the target has another origin and its secrets were not sent again. Nothing has changed.",
    ...changeAnswers,
  },
});

const deleteSchema = monitorRoute({
  operationId: 'deleteMonitor',
  summary: 'Delete a monitor and its history',
  querystring: noQuery,
  answers: { 204: 'The monitor was deleted.', 409: DECLARED, ...changeAnswers },
});
