import fc from 'fast-check';
import { expect, test } from 'vitest';
import { reportedId } from '../../../src/bot/incidents/watch-state.ts';
import { MAX_REPORTED } from '../../../src/bot/intake/apply-reported.ts';
import type { ReportedAlert } from '../../../src/bot/intake/reported-alert.ts';
import {
  firing,
  HOUR,
  MINUTE,
  PRODUCTION,
  reportedWorld,
  resolved,
  START,
  said,
} from '../../helpers/intake/reported-world.ts';
import { long } from '../../helpers/long.ts';

test('a reported alert is one incident with the details of its sender', () => {
  const world = reportedWorld();
  world.pass(MINUTE);
  const facts = [{ label: 'job', value: 'shop' }];
  const links = [{ label: 'Runbook', url: 'https://runbooks.example/1' }];
  world.hear(said('a', { summary: 'Many requests fail', facts, links, labels: { job: 'shop' } }));
  const [incident] = world.open();
  expect(incident).toMatchObject({
    ...{ intake: 'prod', name: 'Alert a', status: 'FIRING', checkType: 'ALERT' },
    ...{ target: 'Production', reason: 'Many requests fail', startedAtMs: START },
    reported: { place: 'slack:C1', facts, links, labels: { job: 'shop' } },
  });
  expect(incident?.deliveries.map(({ place }) => place)).toEqual(['slack:C1']);
  world.pass(5 * MINUTE);
  world.hear(said('a', { state: 'resolved', endedAtMs: START + 4 * MINUTE }));
  expect(world.open()).toEqual([]);
  expect(world.all()).toMatchObject([{ id: incident?.id, endedAtMs: START + 4 * MINUTE }]);
  expect(world.reported()).toMatchObject([{ status: 'RESOLVED', overStartMs: START }]);
});

test('a reported alert with a warning is a milder problem, and a new outage when it becomes critical', () => {
  const world = reportedWorld();
  world.hear(said('a', { severity: 'warning' }));
  expect(world.open()).toMatchObject([{ degraded: 'WARNING', status: 'WARNING' }]);
  world.pass(MINUTE);
  world.hear(said('a'));
  expect(world.open()).toMatchObject([{ status: 'FIRING', intake: 'prod' }]);
  expect(world.open()[0]?.degraded).toBeUndefined();
  expect(world.all()).toHaveLength(2);
});

test('a reported alert with the key of another intake’s alert is another alert', () => {
  const world = reportedWorld();
  const other = { id: 'other', name: 'Other', place: 'slack:C2' };
  world.take([
    { intake: PRODUCTION, alerts: [firing('a')], truncated: 0 },
    { intake: other, alerts: [firing('a')], truncated: 0 },
  ]);
  world.hear(resolved('a'));
  expect(world.open().map(({ intake, deliveries }) => [intake, deliveries[0]?.place])).toEqual([
    ['other', 'slack:C2'],
  ]);
});

test('a reported alert does not fire again by a delivery that is late or repeated', () => {
  const world = reportedWorld();
  world.hear(firing('a'));
  world.pass(MINUTE);
  world.hear(resolved('a'));
  const after = world.watching();
  for (const _ of [1, 2]) {
    world.pass(MINUTE);
    world.hear(firing('a'));
    world.hear(firing('a', START - MINUTE));
    world.hear(resolved('a'));
  }
  expect(world.watching()).toBe(after);
  world.hear(firing('a', START + 2 * MINUTE));
  expect(world.open()).toHaveLength(1);
});

test('a reported alert fires again if its sender repeats it an hour after its end', () => {
  const world = reportedWorld();
  world.hear(firing('a'));
  world.hear(resolved('a'));
  world.pass(HOUR);
  world.hear(firing('a'));
  expect(world.open()).toHaveLength(1);
  world.hear(resolved('a'));
  expect(world.open()).toEqual([]);
});

test('a reported alert whose end arrives first opens nothing', () => {
  const world = reportedWorld();
  world.hear(resolved('a'));
  world.hear(firing('a'));
  world.hear(said('b', { state: 'resolved' }));
  expect([world.all(), world.open()]).toEqual([[], []]);
  world.hear(firing('a', START + 1));
  expect(world.open()).toHaveLength(1);
});

test('a reported alert stays open when the end of an earlier firing arrives late', () => {
  const world = reportedWorld();
  world.pass(10 * MINUTE);
  world.hear(firing('a', START + 5 * MINUTE));
  world.hear(said('a', { state: 'resolved', endedAtMs: START + MINUTE }));
  expect(world.open()).toHaveLength(1);
  // An Alertmanager with two sources ends up with the earlier start.
  world.hear(said('a', { state: 'resolved', endedAtMs: START + 9 * MINUTE }));
  expect(world.open()).toEqual([]);
});

test('a reported alert without times fires again when its sender says so', () => {
  const world = reportedWorld();
  const { startedAtMs: _, ...timeless } = said('a');
  for (const _ of [1, 2]) {
    world.hear(timeless);
    expect(world.open()).toHaveLength(1);
    world.hear({ ...timeless, state: 'resolved' });
    expect(world.open()).toEqual([]);
  }
});

test('a reported alert is updated now and then if its sender changes the words', () => {
  const world = reportedWorld();
  const cpu = (percent: number) => said('a', { summary: `CPU at ${percent} %` });
  world.hear(cpu(91));
  const before = world.watching();
  world.hear(cpu(91));
  expect(world.watching()).toBe(before);
  const versions: unknown[] = [];
  for (let minute = 1; minute <= 12; minute += 1) {
    world.pass(MINUTE);
    world.hear(cpu(91 + Math.min(minute, 7)));
    world.keepUp();
    versions.push([world.open()[0]?.version, world.open()[0]?.reason]);
  }
  expect(versions.slice(3)).toEqual([
    [1, 'CPU at 95 %'],
    [2, 'CPU at 96 %'],
    [2, 'CPU at 97 %'],
    ...Array(2).fill([2, 'CPU at 98 %']),
    [2, 'CPU at 98 %'],
    ...Array(3).fill([3, 'CPU at 98 %']),
  ]);
});

test('a reported alert takes an acknowledgement from its sender unless it has one', async () => {
  const world = reportedWorld();
  world.hear(firing('a'), said('a', { state: 'acknowledged' }));
  expect(world.open()[0]?.acknowledged?.by).toBe('Production');
  world.hear(firing('b'));
  const id = world.open()[1]?.id ?? '';
  await world.incidents.mark(id, 'acknowledged', (atMs) => ({ by: 'Amy', atMs }));
  world.hear(said('b', { state: 'acknowledged' }), said('c', { state: 'acknowledged' }));
  expect(world.open().map(({ acknowledged }) => acknowledged?.by)).toEqual(['Production', 'Amy']);
});

test('a reported alert says how many its sender left out, until it leaves out none', () => {
  const world = reportedWorld();
  const send = (truncated: number) =>
    world.take([{ intake: PRODUCTION, alerts: [firing('a')], truncated }]);
  send(12);
  expect(world.open()[0]?.reported?.truncated).toBe(12);
  send(0);
  expect(world.open()[0]?.reported?.truncated).toBeUndefined();
});

test('a reported alert flaps as a monitor does', () => {
  const world = reportedWorld();
  for (let time = 0; time < 5; time += 1) {
    world.hear(firing('a', world.nowMs()));
    world.pass(30_000);
    world.hear(resolved('a', world.nowMs() - 30_000));
    world.pass(30_000);
    world.keepUp();
  }
  // No earlier outage was posted, so one message has all.
  expect(world.titles()).toEqual(['FLAPPING: Alert a (10 changes in 4 min 30 s, now resolved)']);
  world.hear(firing('a', world.nowMs()));
  world.pass(10 * MINUTE);
  world.keepUp();
  expect(world.titles().at(-1)).toBe('FIRING: Alert a');
  expect(world.open()).toMatchObject([{ intake: 'prod', reported: { place: 'slack:C1' } }]);
  world.hear(resolved('a', world.nowMs() - 10 * MINUTE));
  world.pass(HOUR);
  world.keepUp();
  expect(world.open()).toEqual([]);
});

test('many reported alerts are at most two messages in a channel', () => {
  const world = reportedWorld();
  const keys = Array.from({ length: 600 }, (_, at) => `${at}`);
  world.hear(firing('first'));
  for (let from = 0; from < keys.length; from += 200) {
    world.hear(...keys.slice(from, from + 200).map((key) => firing(key)));
    world.pass(1_000);
  }
  expect(world.open()).toHaveLength(601);
  expect(world.titles()).toEqual(['FIRING: Alert first', '600 alerts are active']);
  for (let from = 0; from < keys.length; from += 200) {
    world.hear(...keys.slice(from, from + 200).map((key) => resolved(key)));
  }
  expect(world.titles()).toEqual([
    'FIRING: Alert first',
    expect.stringMatching(/^600 alerts resolved after /),
  ]);
});

test('alerts that start and end within one update get no messages', () => {
  const world = reportedWorld();
  const keys = Array.from({ length: 100 }, (_, at) => `${at}`);
  world.hear(...keys.map((key) => firing(key)), ...keys.map((key) => resolved(key)));
  expect(world.titles()).toEqual([expect.stringMatching(/^100 alerts resolved after /)]);
  expect(world.open()).toEqual([]);
});

test('alerts beyond the limit are left out, and the oldest that are over are forgotten first', () => {
  const world = reportedWorld();
  const some = (count: number, of = 'a') =>
    Array.from({ length: count }, (_, at) => firing(`${of} ${at}`));
  world.hear(firing('first'));
  /** Adds active alerts of an intake, as many deliveries would. */
  const seed = (intake: string, count: number) => {
    const [one] = world.reported();
    const before = world.watching();
    if (!one || !before) throw new Error('Nothing is reported.');
    const more = Array.from({ length: count }, (_, at) => ({
      ...{ ...one, key: `${at}`, id: reportedId(intake, `${at}`), intake },
    }));
    world.set({ ...before, reported: [...world.reported(), ...more] });
  };
  seed(PRODUCTION.id, MAX_REPORTED.ofIntake - 10);
  expect(world.hear(...some(9)).leftOut).toBe(0);
  expect(world.hear(...some(3, 'b')).leftOut).toBe(3);
  expect(world.hear(resolved('a 5'), resolved('a 6'), ...some(3, 'b')).leftOut).toBe(1);
  expect(world.reported()).toHaveLength(MAX_REPORTED.ofIntake);
  expect(world.reported().filter(({ status }) => status !== 'FIRING')).toEqual([]);
  // Each may have as many as it leaves for others, so the next one always finds room.
  for (const [id, room] of [
    ['other', 5_000],
    ['third', 2_500],
  ] as const) {
    seed(id, room - 2);
    const intake = { id, name: id, place: 'slack:C2' };
    expect(world.take([{ intake, alerts: some(5), truncated: 0 }]).leftOut).toBe(3);
  }
});

test('very many active alerts keep few of their words', () => {
  const world = reportedWorld();
  const facts = Array.from({ length: 40 }, (_, at) => ({
    label: `${at}`,
    value: 'x'.repeat(300),
  }));
  const labels = { job: 'x'.repeat(5_000) };
  world.hear(said('few', { facts, labels }));
  expect(world.open()[0]?.reported).toMatchObject({ factsLeftOut: 27, labels });
  const many = Array.from({ length: 2_500 }, (_, at) => said(`${at}`, { facts, labels }));
  world.hear(...many);
  const kept = world.open().at(-1)?.reported;
  expect(kept).toMatchObject({ factsLeftOut: 39 });
  expect(kept?.labels).toBeUndefined();
});

/** Reports of an honest sender, in any order, late, lost or repeated. */
const histories = fc.array(
  fc.record({
    key: fc.constantFrom('a', 'b', 'c'),
    state: fc.constantFrom('firing' as const, 'resolved' as const, 'acknowledged' as const),
    start: fc.nat({ max: 5 }),
    severity: fc.constantFrom('critical' as const, 'warning' as const),
    waits: fc.constantFrom(0, 1_000, MINUTE, 20 * MINUTE),
    timed: fc.boolean(),
  }),
  { maxLength: 25 },
);

test('a reported alert has one open incident exactly while it fires, in any order of reports', () => {
  const runs = long ? 2_000 : 60;
  fc.assert(
    fc.property(histories, fc.integer({ min: 1, max: 5 }), (history, count) => {
      const world = reportedWorld();
      for (let from = 0; from < history.length; from += count) {
        const part = history.slice(from, from + count);
        world.hear(
          ...part.map(({ key, state, start, severity, timed }): ReportedAlert => {
            const { startedAtMs: _, ...rest } = said(key, { state, severity });
            return timed ? { ...rest, startedAtMs: START + start * MINUTE } : rest;
          }),
        );
        const firingNow = world
          .reported()
          .filter(({ status }) => status === 'FIRING' || status === 'WARNING')
          .map(({ id }) => id);
        // A flapping alert stays one incident while it is up.
        const open = world
          .open()
          .filter(({ flapping, status }) => !flapping || status !== 'RESOLVED');
        expect(open.map(({ monitorId }) => monitorId).sort()).toEqual(firingNow.sort());
        for (const one of open) expect(one.intake).toBe('prod');
        world.pass(part.reduce((sum, { waits }) => sum + waits, 0));
        world.keepUp();
      }
    }),
    { numRuns: runs },
  );
});
