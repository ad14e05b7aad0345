import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MonitorCreate } from '../../../src/contracts/monitoring.ts';
import type { Incident } from '../../../src/contracts/monitoring-additions.ts';
import { incidentsOfAll } from '../../../src/monitoring/api/incidents-of-all.ts';
import { addChange } from '../../../src/monitoring/history/incidents.ts';
import type { WatchedMonitor } from '../../../src/monitoring/monitors/monitors.ts';
import {
  applyResult,
  coverStatus,
  createInitialState,
  type MonitorState,
  resetForNewTarget,
  type StatusStep,
  uncoverStatus,
} from '../../../src/monitoring/state/state.ts';
import { down, up } from '../../helpers/monitoring/watched-world.ts';

const START_MS = 1_800_000_000_000;
const ALL_TIME = { fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY };
const sinceStart = { fromMs: START_MS, toMs: Number.POSITIVE_INFINITY, isOfTime: true };

function watched(id: string, published: MonitorState): WatchedMonitor {
  const definition = MonitorCreate.parse({ name: id, check_type: 'HTTP', target: 'http://a.io/' });
  const rest = { createdAtMs: START_MS, maintenance: [], part: 0 };
  return { id, definition, ...rest, state: published, published };
}

/** Monitors that changed a second after one another, each with incidents that began in the seconds before. */
function manyMonitors(count: number, incidentsEach: number) {
  const monitors = Array.from({ length: count }, (_, at) =>
    watched(`mon_${at}`, {
      ...createInitialState(START_MS + at * 1_000),
      changes: 2 * incidentsEach,
    }),
  );
  const asked: string[] = [];
  const incidents = (monitor: string) =>
    Array.from({ length: incidentsEach }, (_, back): Incident => {
      const endedMs = START_MS + (Number(monitor.slice(4)) - back) * 1_000;
      return {
        ...{ id: `${monitor}:${back}`, change: 1, cause: 'it failed', outcome: 'failed' },
        started_at: new Date(endedMs - 1_000).toISOString(),
        ended_at: new Date(endedMs).toISOString(),
        ended_as: 'UP',
      };
    });
  const history = {
    async incidentsDuring(monitor: string) {
      asked.push(monitor);
      return { incidents: incidents(monitor), complete: true };
    },
  };
  return { monitors, history, asked };
}

test('incidents that began at the same moment come in one order, whichever monitor is read first', async () => {
  const { history } = manyMonitors(0, 1);
  const started_at = new Date(START_MS).toISOString();
  const sameStart = {
    async incidentsDuring(monitor: string) {
      const { incidents, complete } = await history.incidentsDuring(monitor);
      return { incidents: incidents.map((one) => ({ ...one, started_at })), complete };
    },
  };
  const read = async (...ids: string[]) => {
    const changed = { ...createInitialState(START_MS), changes: 2 };
    const monitors = ids.map((id) => watched(id, changed));
    const found = await incidentsOfAll(monitors, sameStart, { ...sinceStart, limit: 10 });
    return found.incidents.map(({ monitor }) => monitor);
  };
  expect(await read('mon_2', 'mon_1', 'mon_3')).toEqual(await read('mon_3', 'mon_2', 'mon_1'));
});

/** Events of a monitor; a change is confirmed at once, or after two results. */
const happenings: Array<(state: MonitorState, nowMs: number) => StatusStep> = [
  (state, nowMs) => applyResult(state, up, { toDown: 2, toUp: 1 }, nowMs),
  (state, nowMs) => applyResult(state, down, { toDown: 2, toUp: 2 }, nowMs),
  (state, nowMs) => applyResult(state, up, { toDown: 1, toUp: 2 }, nowMs),
  (state, nowMs) => applyResult(state, down, { toDown: 1, toUp: 1 }, nowMs),
  (state, nowMs) => coverStatus(state, 'PAUSED', nowMs),
  (state, nowMs) => coverStatus(state, 'MAINTENANCE', nowMs),
  uncoverStatus,
  resetForNewTarget,
];

test('no monitor with an incident of the time is left out, whatever happened to it', async () => {
  const steps = fc.array(fc.nat({ max: happenings.length - 1 }), { maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(steps, fc.nat({ max: 40 }), async (all, fromStep) => {
      let state = createInitialState(START_MS);
      let kept: ReturnType<typeof addChange>;
      for (const [at, which] of all.entries()) {
        const step = happenings[which]?.(state, START_MS + (at + 1) * 10_000);
        state = step?.state ?? state;
        if (step?.change) kept = addChange(kept, step.change);
      }
      const fromMs = START_MS + fromStep * 10_000 + 5_000;
      const overlapping = kept?.incidents.filter(({ endedMs }) => !endedMs || endedMs > fromMs);
      let isAsked = false;
      const history = {
        async incidentsDuring() {
          isAsked = true;
          return { incidents: [], complete: true };
        },
      };
      const asked = { ...sinceStart, fromMs, limit: 1 };
      await incidentsOfAll([watched('mon_0', state)], history, asked);
      if (overlapping?.length) expect(isAsked).toBe(true);
    }),
  );
});

test('monitors that have not changed since the begin are not asked, but for those that are DOWN', async () => {
  const before = START_MS - 1;
  const monitors = [
    watched('never', createInitialState(START_MS + 1)),
    watched('before', { ...createInitialState(before), changes: 2 }),
    watched('still-down', { ...createInitialState(before), changes: 1, status: 'DOWN' }),
    watched('since', { ...createInitialState(START_MS), changes: 2 }),
  ];
  const { history, asked } = manyMonitors(0, 0);
  await incidentsOfAll(monitors, history, { ...sinceStart, limit: 1 });
  expect(asked).toEqual(['since', 'still-down']);
});

test('the incidents of a time come from the 2,000 monitors that changed last, others from 200', async () => {
  const { monitors, history, asked } = manyMonitors(2_001, 1);
  const most = await incidentsOfAll(monitors, history, { ...sinceStart, limit: 1 });
  expect(most).toMatchObject({ total: 2_000, complete: false });
  expect(most.incidents).toMatchObject([{ monitor: 'mon_2000', name: 'mon_2000' }]);
  expect(asked).not.toContain('mon_0');
  const rest = await incidentsOfAll(monitors.slice(1), history, { ...sinceStart, limit: 1 });
  expect(rest).toMatchObject({ total: 2_000, complete: true });
  const allTime = { ...ALL_TIME, isOfTime: false, limit: 1 };
  expect(await incidentsOfAll(monitors, history, allTime)).toMatchObject({
    total: 200,
    complete: false,
  });
});

test('incidents are complete only when those of every monitor are', async () => {
  const { monitors } = manyMonitors(9, 1);
  const history = {
    incidentsDuring: async (id: string) => ({ incidents: [], complete: id !== 'mon_4' }),
  };
  const asked = { ...sinceStart, limit: 1 };
  expect((await incidentsOfAll(monitors, history, asked)).complete).toBe(false);
  const others = monitors.filter(({ id }) => id !== 'mon_4');
  expect((await incidentsOfAll(others, history, asked)).complete).toBe(true);
});
