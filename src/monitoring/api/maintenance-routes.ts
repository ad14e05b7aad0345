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
import { isListed, orUnavailable, type RouteTools, takeNoBody, within } from './route-scope.ts';

/** Most windows of one answer, and those of one that says no number. */
const MAX_LISTED = 1_000;
const LISTED_COUNT = 500;

/** Monitors that are changed at one time. */
const TOGETHER_COUNT = 25;

/** Adds the routes that tell the maintenance windows of all monitors, and plan one for several. */
export function addMaintenanceRoutes(scope: HttpServer, tools: RouteTools): void {
  const { monitors, runner, clock } = tools;

  scope.post(within(AddedPath.planned), { schema: planSchema }, async ({ body }) => {
    const { window } = body;
    const fault = window ? checkWindow(window, 'window') : undefined;
    if (fault) throw invalidValue(fault.param, fault.message);
    if (window && comingSpan(window, clock.wallMs()) === undefined) {
      throw invalidValue('window', 'it is over already; give one that ends in the future');
    }
    const planned = await orUnavailable(
      plan(body, tools),
      'Not all of it could be stored. Send it again: what is set is not set twice.',
    );
    await runner.showMaintenance();
    return planned;
  });

  scope.register(async (bare: HttpServer) => {
    takeNoBody(bare);
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
          // Where no file is followed any more, it is from now on as all others are.
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

/** Windows that go on or begin within some days, the first ones first. */
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
    if (found.length > 5 * MAX_LISTED) found = first(found, limit);
    if (turn.isOver()) await turn.next();
  }
  return { windows: first(found, limit), total };
}

function first(windows: PlannedWindow[], count: number): PlannedWindow[] {
  // Times of one form, so their texts stand in the order of time.
  const keyOf = ({ starts_at, name, monitor }: PlannedWindow) => `${starts_at} ${name} ${monitor}`;
  return windows.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)).slice(0, count);
}

/** GET /maintenance. */
const listSchema = keyRoute({
  operationId: 'listPlannedMaintenance',
  summary: 'List the maintenance windows of all monitors that go on or begin soon',
  querystring: z.strictObject({
    days: queryNumber(z.int().min(1).max(31).default(7)).describe(
      'Those that begin within so many days.',
    ),
    limit: queryNumber(z.int().min(1).max(MAX_LISTED).default(LISTED_COUNT)).describe(
      'At most so many, those that begin first.',
    ),
  }),
  response: { 200: PlannedWindowList },
  components: { PlannedWindow, PlannedWindowList },
  answers: {
    200: 'In the order of their begins. A window that comes back stands there once, as it goes on or comes next. Monitors that are PAUSED have none here.',
    400: 'A query parameter is wrong (`param` names it), or there is a body.',
  },
});

/** POST /maintenance. */
const planSchema = keyRoute({
  operationId: 'planMaintenance',
  summary: 'Plan a maintenance window for several monitors, or take theirs away',
  description: `The window comes to those that each has, once however often it is sent; what is over is taken away. At most ${MAX_PLANNED} monitors at a time, and ${MAX_WINDOWS} windows of each.`,
  querystring: noQuery,
  body: MaintenancePlan,
  response: { 200: MaintenancePlanned },
  components: { MaintenancePlan, MaintenancePlanned },
  answers: {
    200: 'Which monitors are as it says now.',
    400: 'The body is no valid JSON, or a field is wrong (`param` names it). Nothing has changed.',
    403: READ_ONLY,
    503: 'Not all of it could be stored; what was is kept. The same once more completes it.',
  },
});
