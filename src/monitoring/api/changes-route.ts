import { z } from 'zod';
import { ErrorCode } from '../../contracts/error.ts';
import { Monitor, MonitoringPath } from '../../contracts/monitoring.ts';
import { AddedPath, CURSOR_HEADER, MonitorChanges } from '../../contracts/monitoring-additions.ts';
import { HttpError } from '../../http/errors.ts';
import type { HttpServer } from '../../http/server-types.ts';
import { MAX_CHANGED } from '../monitors/change-log.ts';
import type { ListWriter } from './list-writer.ts';
import { keyRoute } from './route-schemas.ts';
import { isListed, type RouteTools, refuseBodies, sendJson, within } from './route-scope.ts';

/** Adds the route for the changes since a list, so that readers need not read the whole list again and again. */
export function addChangesRoute(
  scope: HttpServer,
  { monitors, runner, write }: RouteTools & { write: ListWriter },
): void {
  const { changeLog } = monitors;
  refuseBodies(scope);
  scope.get(within(AddedPath.changes), { schema }, async ({ query }, reply) => {
    const mark = await changeLog.mark();
    // Without notes: a check that finds nothing new isn't a change.
    await monitors.catchUp();
    await runner.showMaintenance();
    const changed = changeLog.since(query.after);
    if (changed === undefined) throw cursorUnknown();
    const withPaused = query.include_paused === 'true';
    const shown = (id: string) => {
      const monitor = monitors.get(id);
      return monitor && isListed(monitor.published, withPaused) ? monitor : undefined;
    };
    const cursor = () => changeLog.cursor(changed.number, mark);
    return sendJson(reply, await write.changes(changed.ids, shown, cursor));
  });
}

const cursorUnknown = () =>
  new HttpError(
    410,
    ErrorCode.unknownCursor,
    `This cursor is too old or from another service, or more than ${MAX_CHANGED} monitors have changed since. Read the whole list, GET ${MonitoringPath.monitors}, and continue with the cursor in its ${CURSOR_HEADER} header.`,
    { param: 'after' },
  );

const schema = keyRoute({
  operationId: 'listMonitorChanges',
  summary: 'List the monitors that changed since a cursor',
  description:
    'A monitor has changed if it is new, removed, or differs in any listed field other than `last_checked_at`, `response_time_ms`, `flapping` and `stale`. No change is left out, whichever process of the service answers; a change may be returned twice. `monitors` holds the changed monitors as the list would show them now.',
  querystring: z.strictObject({
    after: z
      .string()
      .min(1)
      .max(200)
      .describe(
        `The \`cursor\` of the previous answer, or the \`${CURSOR_HEADER}\` header of a list. If the list has pages, use the header of the first page.`,
      ),
    include_paused: z
      .enum(['true', 'false'])
      .default('false')
      .describe(
        'Use the same value as for the list. With `false`, a monitor that was paused is in `removed`.',
      ),
  }),
  response: { 200: MonitorChanges },
  components: { Monitor, MonitorChanges },
  answers: {
    200: `The changes, up to ${MAX_CHANGED} monitors, and the cursor for the next request.`,
    400: 'A query parameter is missing or wrong (`param` names it), or the request has a body.',
    410: `The cursor is too old or from another service, or more than ${MAX_CHANGED} monitors have changed (\`unknown_cursor\`). Read the whole list.`,
  },
});
