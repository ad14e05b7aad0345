import { z } from 'zod';
import { beginTurn } from '../../contracts/event-loop.ts';
import {
  AddedPath,
  MAX_PLANNED,
  MAX_WINDOWS,
  MaintenancePlan,
  MaintenancePlanned,
  PlannedWindow,
  PlannedWindowList,
} from '../../contracts/monitoring-additions.ts';
import { invalidValue } from '../../http/errors.ts';
import type { HttpServer } from '../../http/server-types.ts';
import { checkWindow, comingSpan, comingWindows, withWindow } from '../monitors/maintenance.ts';
import type { WatchedMonitor } from '../monitors/monitors.ts';
import { DAY_MS } from '../time/clock.ts';
import { keyRoute, noQuery, queryNumber, READ_ONLY } from './route-schemas.ts';
import {
  failAsUnavailable,
  isListed,
  type RouteTools,
  refuseBodies,
  within,
} from './route-scope.ts';

/** Maximum and default number of windows in one answer. */
const MAX_LISTED = 1_000;
const LISTED_COUNT = 500;

const TOGETHER_COUNT = 25;

export function addMaintenanceRoutes(scope: HttpServer, tools: RouteTools): void {
  const { monitors, runner, clock } = tools;

  scope.post(within(AddedPath.planned), { schema: planSchema }, async ({ body }) => {
    const { window } = body;
    const fault = window ? checkWindow(window, 'window') : undefined;
    if (fault) throw invalidValue(fault.param, fault.message);
    if (window && comingSpan(window, clock.wallMs()) === undefined) {
      throw invalidValue(
        'window',
        'this window has already ended; send one that ends in the future',
      );
    }
    const planned = await failAsUnavailable(
      plan(body, tools),
      'Only a part could be stored. Send the request again; nothing is set twice.',
    );
    await runner.showMaintenance();
    return planned;
  });

  scope.register(async (bare: HttpServer) => {
    refuseBodies(bare);
    bare.get(within(AddedPath.planned), { schema: listSchema }, async ({ query }) => {
      const nowMs = clock.wallMs();
      const shown = monitors.all().filter(({ published }) => isListed(published, false));
      return await plannedWindows(shown, { nowMs, ...query });
    });
  });
}

async function plan(
  { monitors: ids, window }: MaintenancePlan,
  { monitors, clock, followsFile }: RouteTools,
): Promise<MaintenancePlanned> {
  const planned: MaintenancePlanned = { planned: [], full: [], declared: [], missing: [] };
  const all = [...new Set(ids)];
  for (let from = 0; from < all.length; from += TOGETHER_COUNT) {
    const together = all.slice(from, from + TOGETHER_COUNT);
    const became = await Promise.all(
      together.map(async (id): Promise<keyof MaintenancePlanned> => {
        let isFull = false;
        let isDeclared = false;
        const monitor = await monitors.edit(id, ({ maintenance, managedBy }) => {
          isDeclared = managedBy !== undefined && followsFile;
          if (isDeclared) return {};
          const windows = window ? withWindow(maintenance, window, clock.wallMs()) : [];
          isFull = windows === undefined;
          // No file is followed any more.
          const released = managedBy && { managedBy: null };
          return windows ? { maintenance: windows, ...released } : {};
        });
        if (!monitor) return 'missing';
        if (isDeclared) return 'declared';
        return isFull ? 'full' : 'planned';
      }),
    );
    for (const [place, id] of together.entries()) planned[became[place] ?? 'missing'].push(id);
  }
  return planned;
}

/** Windows that are active or begin within some days, the earliest first. */
async function plannedWindows(
  monitors: readonly WatchedMonitor[],
  { nowMs, days, limit }: { nowMs: number; days: number; limit: number },
): Promise<PlannedWindowList> {
  let found: PlannedWindow[] = [];
  let total = 0;
  const untilTime = new Date(nowMs + days * DAY_MS).toISOString();
  const turn = beginTurn();
  for (const { id, definition, maintenance } of monitors) {
    for (const window of comingWindows(maintenance, nowMs)) {
      if (window.starts_at > untilTime) continue;
      total += 1;
      found.push({ monitor: id, name: definition.name, ...window });
    }
    if (found.length > 5 * MAX_LISTED) found = sortAndCut(found, limit);
    if (turn.isOver()) await turn.next();
  }
  return { windows: sortAndCut(found, limit), total };
}

function sortAndCut(windows: PlannedWindow[], count: number): PlannedWindow[] {
  // All times have the same format, so texts sort by time.
  const keyOf = ({ starts_at, name, monitor }: PlannedWindow) => `${starts_at} ${name} ${monitor}`;
  return windows.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)).slice(0, count);
}

const listSchema = keyRoute({
  operationId: 'listPlannedMaintenance',
  summary: 'List active and upcoming maintenance windows of all monitors',
  querystring: z.strictObject({
    days: queryNumber(z.int().min(1).max(31).default(7)).describe(
      'Only windows that begin within this number of days.',
    ),
    limit: queryNumber(z.int().min(1).max(MAX_LISTED).default(LISTED_COUNT)).describe(
      'Maximum number of windows, the earliest first.',
    ),
  }),
  response: { 200: PlannedWindowList },
  components: { PlannedWindow, PlannedWindowList },
  answers: {
    200: 'Sorted by start. A recurring window is listed once, with its active or next occurrence. Windows of PAUSED monitors are left out.',
    400: 'A query parameter is wrong (`param` names it), or the request has a body.',
  },
});

const planSchema = keyRoute({
  operationId: 'planMaintenance',
  summary: 'Schedule a maintenance window for several monitors, or remove theirs',
  description: `The window is added to the existing ones, only once even if it is sent again; windows that have ended are removed. At most ${MAX_PLANNED} monitors per request, and ${MAX_WINDOWS} windows per monitor.`,
  querystring: noQuery,
  body: MaintenancePlan,
  response: { 200: MaintenancePlanned },
  components: { MaintenancePlan, MaintenancePlanned },
  answers: {
    200: 'Which monitors now have the window, and which do not.',
    400: "The body isn't valid JSON, or a field is wrong (`param` names it). Nothing has changed.",
    403: READ_ONLY,
    503: 'Only a part could be stored, and is kept. Send the same request again to complete it.',
  },
});
