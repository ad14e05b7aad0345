import fc from 'fast-check';
import { expect, test } from 'vitest';
import { alertCard } from '../../../src/bot/alerts/alert-card.ts';
import { WAIT_MS } from '../../../src/bot/incidents/dependencies.ts';
import { isOpen } from '../../../src/bot/incidents/incidents.ts';
import { type Incident, incidentsIn, Watching } from '../../../src/bot/incidents/watch-state.ts';
import { applyReported } from '../../../src/bot/intake/apply-reported.ts';
import type { ReportedAlert } from '../../../src/bot/intake/reported-alert.ts';
import { applyPoll, batchesOf, finishingSteps } from '../../../src/bot/watch/apply-poll.ts';
import type { Monitor } from '../../../src/contracts/monitoring.ts';
import { counting } from '../../helpers/bot/stepped-watch.ts';
import { said } from '../../helpers/intake/reported-world.ts';
import { long } from '../../helpers/long.ts';

const START_MS = Date.parse('2026-11-27T12:00:00Z');
const SECOND = 1000;
const POLL_MS = 5 * SECOND;
const CHECK_MS = 10 * SECOND;

/** A monitor at its check. */
interface Watched {
  id: string;
  parents?: string[];
  /** Seconds since the change of its status. */
  course: ReadonlyArray<readonly [fromS: number, status: string]>;
  /** When it is checked in its rhythm, in seconds. */
  phaseS?: number;
  /** Defaults to 10 s. */
  everyS?: number;
}

/** Monitors that are checked every 10 s and polled every 5 s, through the rules alone. */
function watchedWorld(monitors: readonly Watched[], { batchSize = 500 } = {}) {
  let nowMs = START_MS;
  let made = 0;
  let watching: Watching | undefined;
  const opened: Array<{ incident: Incident; atMs: number }> = [];
  const states = new Map(
    monitors.map(({ id }) => [
      id,
      { status: 'UP', changedMs: START_MS, changes: 0, checkedMs: 0, parents: [] as string[] },
    ]),
  );
  for (const { id, parents = [] } of monitors) Object.assign(states.get(id) ?? {}, { parents });

  function check() {
    for (const { id, course, phaseS = 0, everyS = CHECK_MS / SECOND } of monitors) {
      const state = states.get(id);
      const sinceMs = nowMs - START_MS - phaseS * SECOND;
      if (!state || sinceMs < 0 || sinceMs % (everyS * SECOND) !== 0) continue;
      const status = course.findLast(([fromS]) => fromS * SECOND <= nowMs - START_MS)?.[1] ?? 'UP';
      state.checkedMs = nowMs;
      if (status === state.status) continue;
      Object.assign(state, { status, changedMs: nowMs, changes: state.changes + 1 });
    }
  }

  const list = (): Monitor[] =>
    monitors.map(({ id }) => {
      const state = states.get(id);
      if (!state) throw new Error(id);
      return {
        ...{ id, name: `Name of ${id}`, check_type: 'HTTP', target: `https://${id}.example` },
        ...{ status: state.status, interval_seconds: CHECK_MS / SECOND, response_time_ms: 0 },
        status_changed_at: new Date(state.changedMs).toISOString(),
        status_changes: state.changes,
        last_checked_at: state.checkedMs === 0 ? null : new Date(state.checkedMs).toISOString(),
        ...(state.parents.length > 0 && { depends_on: state.parents }),
      };
    });

  function poll() {
    const listed = list();
    const around = {
      ...{ nowMs, newId: () => `id-${++made}`, placesFor: () => ['slack:C1'], listed },
    };
    const before = new Set(incidentsIn(watching?.alerts ?? []).map(({ id }) => id));
    const batches = batchesOf(watching, listed, [], batchSize);
    for (const batch of batches) {
      const isBatched = batches.length > 1;
      const between = { ...batch, later: new Set<string>(), isBatched };
      watching = applyPoll(watching, batch.monitors, around, between).watching;
      // A kill leaves the stored state.
      if (watching && made % 3 === 0) {
        watching = Watching.parse(JSON.parse(JSON.stringify(watching)));
      }
    }
    if (watching && batches.length > 1) {
      const { held } = watching;
      const steps = finishingSteps(watching.alerts, listed, { ...around, held });
      for (const step of steps) watching = { ...watching, alerts: step(watching.alerts).alerts };
    }
    for (const incident of incidentsIn(watching?.alerts ?? [])) {
      if (!before.has(incident.id)) opened.push({ incident, atMs: nowMs });
    }
  }

  return {
    opened,
    statusOf: (id: string) => states.get(id)?.status,
    changedMsOf: (id: string) => states.get(id)?.changedMs,
    dependsOn(id: string, parents: string[]) {
      Object.assign(states.get(id) ?? {}, { parents });
    },
    held: () => (watching?.held ?? []).map(({ monitor }) => monitor.id),
    openIds: () =>
      incidentsIn(watching?.alerts ?? [])
        .filter(isOpen)
        .map((one) => one.monitorId),
    incidentOf: (id: string) =>
      incidentsIn(watching?.alerts ?? []).findLast(({ monitorId }) => monitorId === id),
    seconds: () => (nowMs - START_MS) / SECOND,
    /** Goes on to so many seconds since the start. */
    until(seconds: number, each = () => {}) {
      while (nowMs < START_MS + seconds * SECOND) {
        nowMs += SECOND;
        check();
        if ((nowMs - START_MS) % POLL_MS === 0) {
          poll();
          each();
        }
      }
    },
  };
}

const openedOf = (world: ReturnType<typeof watchedWorld>, id: string) =>
  world.opened.filter(({ incident }) => incident.monitorId === id);

const factsOf = (incident: Incident | undefined) =>
  (incident ? alertCard(incident, {}).parts : []).flatMap((part) =>
    part.kind === 'facts' ? part.facts.map(({ label, value }) => `${label}: ${value}`) : [],
  );

/** Statuses by the second, such as `60 DOWN, 120 UP`. */
const courseOf = (text: string): Watched['course'] =>
  [...text.matchAll(/(\d+) (\w+)/g)].map(([, fromS, status = '']) => [Number(fromS), status]);
const database = (text: string, phaseS = 0): Watched => ({
  ...{ id: 'db', course: courseOf(text), phaseS },
});
const shop = (text: string, phaseS = 0): Watched => ({
  ...{ id: 'shop', parents: ['db'], course: courseOf(text), phaseS },
});

test('a monitor whose parent is down has no incident, and the message of the parent names it', () => {
  const world = watchedWorld([database('60 DOWN, 120 UP'), shop('61 DOWN, 118 UP')]);
  world.until(110);
  expect(world.openIds()).toEqual(['db']);
  expect(world.held()).toEqual(['shop']);
  expect(factsOf(world.incidentOf('db'))).toContain('Dependents down: Name of shop');
  world.until(600);
  expect(world.opened.map(({ incident }) => incident.monitorId)).toEqual(['db']);
  expect(world.held()).toEqual([]);
});

test('a monitor whose parent is down has one with its real start once a check after the recovery finds it DOWN still', () => {
  const world = watchedWorld([database('60 DOWN, 121 UP', 1), shop('64 DOWN', 4)]);
  world.until(124, () => expect(openedOf(world, 'shop')).toEqual([]));
  world.until(300);
  const [only, ...others] = openedOf(world, 'shop');
  expect(others).toEqual([]);
  expect(only?.incident.startedAtMs).toBe(START_MS + 64 * SECOND);
  // The parent is seen to be up at 121, and the child is checked next at 124.
  expect(only?.atMs).toBe(START_MS + 125 * SECOND);
});

test('a monitor whose parent is down has none when its next check finds it UP, however soon the parent was', () => {
  const world = watchedWorld([database('60 DOWN, 121 UP', 1), shop('61 DOWN, 122 UP', 9)]);
  world.until(600);
  expect(world.opened.map(({ incident }) => incident.monitorId)).toEqual(['db']);
});

test('a monitor whose parent is down was DOWN before: its incident goes on and ends', () => {
  const world = watchedWorld([
    database('120 DOWN, 240 UP'),
    shop('30 DOWN, 180 UP, 200 DOWN, 230 UP'),
  ]);
  world.until(170);
  expect(world.openIds()).toEqual(['shop', 'db']);
  world.until(600);
  expect(openedOf(world, 'shop')).toHaveLength(1);
  expect(world.incidentOf('shop')?.endedAtMs).toBe(START_MS + 180 * SECOND);
});

test.each(['DEGRADED', 'MAINTENANCE', 'PAUSED'])(
  'a monitor whose parent is down is told of when the parent is %s',
  (status) => {
    const world = watchedWorld([database(`60 ${status}`), shop('70 DOWN')]);
    world.until(120);
    expect(openedOf(world, 'shop')).toHaveLength(1);
  },
);

test('a monitor whose parent is down is not told of as DEGRADED either', () => {
  const world = watchedWorld([database('60 DOWN'), shop('70 DEGRADED, 90 DOWN')]);
  world.until(300);
  expect(openedOf(world, 'shop')).toEqual([]);
});

test('a monitor whose parent is down is told of at once when it depends on it no more', () => {
  const world = watchedWorld([database('60 DOWN'), shop('70 DOWN')]);
  world.until(120);
  world.dependsOn('shop', []);
  world.until(125);
  expect(openedOf(world, 'shop')).toHaveLength(1);
});

test('a monitor that is down a little before its parent waits until the parent has been checked, and has no incident when that is down too', () => {
  const world = watchedWorld([database('60 DOWN', 8), shop('61 DOWN', 1)]);
  world.until(300);
  expect(world.opened.map(({ incident }) => incident.monitorId)).toEqual(['db']);
});

test('a monitor that is down a little before its parent is told of when the parent is well, and never waits longer than it is said', () => {
  const world = watchedWorld([database('', 8), shop('61 DOWN', 1)]);
  world.until(300);
  const [only] = openedOf(world, 'shop');
  expect(only?.incident.startedAtMs).toBe(START_MS + 61 * SECOND);
  expect((only?.atMs ?? 0) - START_MS).toBeLessThanOrEqual(65 * SECOND + WAIT_MS);
});

test('a monitor that is down a little before its parent does not wait longer for a parent that is not checked meanwhile', () => {
  const slow: Watched = { id: 'db', course: [], phaseS: 1, everyS: 600 };
  const world = watchedWorld([slow, shop('61 DOWN', 1)]);
  // Seen at 65 for the first time.
  world.until(90);
  expect(openedOf(world, 'shop')).toEqual([]);
  world.until(95);
  expect(openedOf(world, 'shop')).toHaveLength(1);
});

test('a monitor that is down a little before its parent is told of too when it is over before that', () => {
  const world = watchedWorld([database('', 8), shop('61 DOWN, 70 UP', 1)]);
  world.until(300);
  expect(openedOf(world, 'shop')).toHaveLength(1);
  expect(world.incidentOf('shop')).toMatchObject({
    startedAtMs: START_MS + 61 * SECOND,
    endedAtMs: START_MS + 71 * SECOND,
  });
});

test('Monitors behind a chain of parents are told of by the one that is down by itself', () => {
  const world = watchedWorld([
    database('60 DOWN'),
    { id: 'api', parents: ['db'], course: [[60, 'DOWN']] },
    { id: 'web', parents: ['api'], course: [[60, 'DOWN']] },
    { id: 'app', parents: ['web', 'api'], course: [[60, 'DOWN']] },
    { id: 'ads', parents: ['app'], course: [[60, 'DOWN']] },
  ]);
  world.until(120);
  expect(world.openIds()).toEqual(['db']);
  expect(factsOf(world.incidentOf('db'))).toContain(
    'Dependents down: Name of api, Name of web, Name of app, and 1 more',
  );
});

test('An alert of another system holds back what depends on it while it fires, and names it', () => {
  const intake = { id: 'int_1', name: 'Prometheus', place: 'slack:C1' };
  const nowMs = START_MS;
  const alert = said('k1', { name: 'Disk full', startedAtMs: nowMs });
  const around = (atMs: number) => ({
    nowMs: atMs,
    newId: () => `id-${atMs}`,
    placesFor: () => [],
  });
  const report = (watching: Watching, one: ReportedAlert, atMs: number) =>
    applyReported(watching, [{ intake, alerts: [one], truncated: 0 }], around(atMs)).watching ??
    watching;
  const shop = (status: string, checkedMs: number): Monitor =>
    counting('shop', 1, {
      ...{ name: 'Shop', status, depends_on: ['alert:int_1/Disk full'] },
      status_changed_at: new Date(nowMs).toISOString(),
      last_checked_at: new Date(checkedMs).toISOString(),
    });
  const poll = (watching: Watching | undefined, monitor: Monitor, atMs: number) =>
    applyPoll(watching, [monitor], around(atMs)).watching;
  const opened = (watching: Watching | undefined) =>
    incidentsIn(watching?.alerts ?? []).map(({ name }) => name);

  for (const severity of ['critical', 'warning'] as const) {
    let watching = poll(undefined, shop('UP', nowMs), nowMs);
    watching = report(watching, { ...alert, severity }, nowMs);
    watching = poll(watching, shop('DOWN', nowMs), nowMs + SECOND);
    const isHeld = severity === 'critical';
    expect(opened(watching)).toEqual(isHeld ? ['Disk full'] : ['Disk full', 'Shop']);
    if (!isHeld) continue;
    expect(factsOf(incidentsIn(watching.alerts)[0])).toContain('Dependents down: Shop');
    const over = { ...alert, state: 'resolved' as const, endedAtMs: nowMs + 5 * SECOND };
    watching = report(watching, over, nowMs + 6 * SECOND);
    watching = poll(watching, shop('DOWN', nowMs), nowMs + 7 * SECOND);
    expect(opened(watching)).toEqual(['Disk full']);
    watching = poll(watching, shop('DOWN', nowMs + 60 * SECOND), nowMs + 61 * SECOND);
    expect(opened(watching)).toEqual(['Disk full', 'Shop']);
  }
});

test('every monitor of a dependency cycle gets its alert', () => {
  const world = watchedWorld([
    { id: 'a', parents: ['b'], course: [[60, 'DOWN']] },
    { id: 'b', parents: ['c'], course: [[60, 'DOWN']] },
    { id: 'c', parents: ['a', 'c'], course: [[60, 'DOWN']] },
  ]);
  world.until(180);
  expect(world.openIds().sort()).toEqual(['a', 'b', 'c']);
});

test('The message of a parent says at most every 15 s anew who is behind it', () => {
  const children = Array.from(
    { length: 40 },
    (_, at): Watched => ({
      ...{ id: `c${at}`, parents: ['db'], course: [[60 + at * 2, 'DOWN']] },
      phaseS: at % 10,
    }),
  );
  const world = watchedWorld([database('60 DOWN'), ...children]);
  world.until(200);
  const { version = 0 } = world.incidentOf('db') ?? {};
  expect(version).toBeGreaterThan(4);
  expect(version).toBeLessThan(2 + 140 / 15);
  expect(factsOf(world.incidentOf('db')).join()).toContain(', and 37 more');
});

/** At most two outages: a third one within a quarter of an hour would flap. */
const course = fc
  .array(fc.integer({ min: 10, max: 110 }), { minLength: 0, maxLength: 4 })
  .map((lengths) => {
    let atS = 20;
    return lengths.map((length, at) => {
      atS += length;
      return [atS, at % 2 === 0 ? 'DOWN' : 'UP'] as const;
    });
  });
const watched = (id: string, parents: string[]) =>
  fc
    .record({ course, phaseS: fc.integer({ min: 0, max: 9 }) })
    .map((own) => ({ id, parents, ...own }));

test('No outage that outlasts those of its parents is lost, none is told twice, and none opens while a parent is down', () => {
  let heldBack = 0;
  let afterwards = 0;
  fc.assert(
    fc.property(
      fc.tuple(
        watched('db', []),
        watched('api', ['db']),
        watched('web', ['db', 'api']),
        watched('app', []),
      ),
      fc.constantFrom(1, 2, 500),
      (monitors, batchSize) => {
        const world = watchedWorld(monitors, { batchSize });
        const outages = new Map<string, { id: string; startedAtMs: number; isCovered: boolean }>();
        const parentsOf = (id: string) => monitors.find((one) => one.id === id)?.parents ?? [];
        let told = 0;
        world.until(700, () => {
          for (const { id } of monitors) {
            if (world.statusOf(id) !== 'DOWN') continue;
            const startedAtMs = world.changedMsOf(id) ?? 0;
            const key = `${id} ${startedAtMs}`;
            const known = outages.get(key) ?? { id, startedAtMs, isCovered: false };
            const isCovered = parentsOf(id).some((parent) => world.statusOf(parent) === 'DOWN');
            outages.set(key, { ...known, isCovered: known.isCovered || isCovered });
          }
          for (const { incident, atMs } of world.opened.slice(told)) {
            const isBehind = parentsOf(incident.monitorId).some(
              (parent) => world.statusOf(parent) === 'DOWN',
            );
            // It waited and recovered before a parent was found to be down, so it gets an alert with its end.
            if (incident.endedAtMs === undefined) expect(isBehind).toBe(false);
            if (atMs - incident.startedAtMs > WAIT_MS + POLL_MS + CHECK_MS) afterwards += 1;
          }
          told = world.opened.length;
          heldBack += world.held().length;
        });
        const tellings = world.opened.map(
          ({ incident }) => `${incident.monitorId} ${incident.startedAtMs}`,
        );
        expect(new Set(tellings).size).toBe(tellings.length);
        for (const [key, { id, startedAtMs, isCovered }] of outages) {
          const isOn = world.statusOf(id) === 'DOWN' && world.changedMsOf(id) === startedAtMs;
          const isAlone = parentsOf(id).every((parent) => world.statusOf(parent) !== 'DOWN');
          if (!isCovered || (isOn && isAlone)) expect(tellings).toContain(key);
        }
      },
    ),
    { numRuns: long ? 2_000 : 50 },
  );
  expect(heldBack).toBeGreaterThan(0);
  expect(afterwards).toBeGreaterThan(0);
});
