import { describe, expect, test } from 'vitest';
import type { MaintenanceWindow } from '../../../src/contracts/monitoring-additions.ts';
import { isHeartbeat } from '../../../src/monitoring/checks/check-type.ts';
import type { WatchedMonitor } from '../../../src/monitoring/monitors/monitors.ts';
import { createFakeClock, type FakeClock } from '../../helpers/monitoring/fake-clock.ts';
import {
  createTargets,
  createWorld,
  down,
  up,
  type World,
} from '../../helpers/monitoring/watched-world.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const MINUTE_MS = 60_000;
const url = (name: string) => `http://${name}.example/`;

/** A window from `fromMs` to `toMs` after now. */
function windowIn(clock: FakeClock, fromMs: number, toMs: number): MaintenanceWindow {
  const utc = (ms: number) => new Date(clock.wallMs() + ms).toISOString();
  return { starts_at: utc(fromMs), ends_at: utc(toMs) };
}

async function setWindows(world: World, { id }: WatchedMonitor, windows: MaintenanceWindow[]) {
  await world.monitors.edit(id, () => ({ maintenance: windows }));
}

describe('a monitor that is paused', () => {
  test('is not checked, and a check under way counts for nothing', async () => {
    const world = await createWorld();
    const { clock, targets, watch } = world;
    targets.answer = () => down;
    const monitor = await world.site('shop', { confirm_down: 1 });
    await clock.advance(50);
    await watch.pause(monitor);
    await clock.advance(10 * MINUTE_MS);
    expect(targets.of(url('shop')).map(({ end }) => end)).toEqual(['broken off']);
    expect(monitor.state).toMatchObject({
      status: 'PAUSED',
      underlying: { status: 'PENDING' },
      lastCheckedMs: null,
    });
    expect(watch.isStale(monitor)).toBe(false);
    expect(await world.metrics()).toMatch(/askwatch_monitors\{status="PAUSED"\} 1\n/);
  });

  test('is checked once it is resumed, and keeps its rhythm', async () => {
    const world = await createWorld();
    const { clock, targets, watch } = world;
    const monitor = await world.site('shop');
    await clock.advance(5 * MINUTE_MS);
    const before = targets.sightings.length;
    const last = targets.sightings.at(-1)?.atMs ?? 0;
    await watch.pause(monitor);
    await watch.pause(monitor);
    await clock.advance(3 * MINUTE_MS);
    expect(targets.sightings).toHaveLength(before);
    await watch.resume(monitor);
    await watch.resume(monitor);
    expect(monitor.state).toMatchObject({ status: 'UP', changes: 2 });
    expect(targets.sightings).toHaveLength(before + 1);
    await clock.advance(3 * MINUTE_MS);
    const onRhythm = targets.sightings.slice(before + 1).map(({ atMs }) => atMs - last);
    expect(onRhythm.length).toBeGreaterThanOrEqual(2);
    for (const ms of onRhythm) expect(Math.round(ms) % MINUTE_MS).toBe(0);
  });

  test('a monitor resumed while its abandoned check ends is not checked twice at once', async () => {
    const world = await createWorld();
    const { clock, targets, watch } = world;
    const monitor = await world.site('shop');
    await clock.advance(50);
    await Promise.all([watch.pause(monitor), watch.resume(monitor)]);
    await clock.advance(2 * MINUTE_MS);
    const [first, second] = targets.sightings;
    expect(first?.end).toBe('broken off');
    expect(second?.end).toBe('answered');
    expect(monitor.state).toMatchObject({ status: 'UP', changes: 2 });
  });

  test('shows its status from before when it is resumed, until a new one is confirmed', async () => {
    const world = await createWorld();
    const { clock, targets, watch } = world;
    targets.answer = () => down;
    const monitor = await world.site('shop');
    await clock.advance(MINUTE_MS);
    const { sinceMs } = monitor.state;
    expect(monitor.state.status).toBe('DOWN');
    await watch.pause(monitor);
    await clock.advance(MINUTE_MS);
    await watch.resume(monitor);
    expect(monitor.state).toMatchObject({ status: 'DOWN', sinceMs });
    targets.answer = () => up;
    await clock.advance(2 * MINUTE_MS);
    expect(monitor.state).toMatchObject({ status: 'UP', changes: 4 });
  });

  test('or resumed in vain, because the store fails, is as before and watched as before', async () => {
    const world = await createWorld();
    const { clock, targets, watch, broken } = world;
    const monitor = await world.site('shop');
    await clock.advance(MINUTE_MS);
    broken.is = true;
    await expect(watch.pause(monitor)).rejects.toThrow('ENOSPC');
    expect(monitor.state.status).toBe('UP');
    const before = targets.sightings.length;
    await clock.advance(3 * MINUTE_MS);
    expect(targets.sightings.length).toBeGreaterThan(before + 1);
    broken.is = false;
    await watch.pause(monitor);
    broken.is = true;
    await expect(watch.resume(monitor)).rejects.toThrow('ENOSPC');
    expect(monitor.state.status).toBe('PAUSED');
    const paused = targets.sightings.filter(({ end }) => end === 'answered').length;
    await clock.advance(3 * MINUTE_MS);
    expect(targets.sightings.filter(({ end }) => end === 'answered')).toHaveLength(paused);
  });
});

describe('maintenance', () => {
  test('begins and ends on time, and checks go on during it', async () => {
    const world = await createWorld();
    const { clock, targets } = world;
    const monitor = await world.site('shop');
    await setWindows(world, monitor, [windowIn(clock, 5 * MINUTE_MS, 10 * MINUTE_MS)]);
    await clock.advance(5 * MINUTE_MS - 10);
    expect(monitor.state.status).toBe('UP');
    await clock.advance(20);
    expect(monitor.state.status).toBe('MAINTENANCE');
    targets.answer = () => down;
    const before = targets.sightings.length;
    await clock.advance(3 * MINUTE_MS);
    expect(targets.sightings.length).toBeGreaterThanOrEqual(before + 3);
    expect(monitor.state).toMatchObject({
      status: 'MAINTENANCE',
      changes: 1,
      underlying: { status: 'DOWN' },
    });
    await clock.advance(2 * MINUTE_MS - 20);
    expect(monitor.state.status).toBe('MAINTENANCE');
    await clock.advance(20);
    expect(monitor.state).toMatchObject({ status: 'DOWN', changes: 2 });
  });

  test('covers results from the moment it begins, also when its timer is late', async () => {
    const world = await createWorld();
    const { clock, targets } = world;
    targets.answer = () => down;
    const monitor = await world.site('shop', { confirm_down: 1, interval_seconds: 3600 });
    await clock.advance(50);
    await setWindows(world, monitor, [windowIn(clock, 1_000, MINUTE_MS)]);
    await clock.advance(0);
    expect(targets.sightings.at(-1)?.end).toBeUndefined();
    // The check that follows the edit ends when the window has begun on the wall, and before its job has run.
    clock.jump(1_000);
    await clock.advance(200);
    expect(monitor.state).toMatchObject({ status: 'MAINTENANCE', underlying: { status: 'DOWN' } });
    expect(monitor.state.changes).toBe(1);
  });

  test('is over a ping that is missing, also when its timer is late', async () => {
    const world = await createWorld();
    const { clock, watch } = world;
    const monitor = await world.add({
      ...{ name: 'backup', check_type: 'HEARTBEAT', target: 'backup' },
      config: { period_seconds: 60, grace_seconds: 1 },
    });
    await watch.signal(monitor, { kind: 'ping' });
    await setWindows(world, monitor, [windowIn(clock, 61_500, 10 * MINUTE_MS)]);
    await clock.advance(60_000);
    expect(monitor.state.status).toBe('UP');
    // The wall is in the window when the ping is missed, and the job of the window is still to come.
    clock.jump(900);
    await clock.advance(1_100);
    expect(monitor.state).toMatchObject({ status: 'MAINTENANCE', underlying: { status: 'DOWN' } });
    expect(monitor.state.changes).toBe(1);
  });

  test('a window with a crontab covers each of its times', async () => {
    const clock = createFakeClock(Date.parse('2027-03-01T11:50:00.000Z'));
    const world = await createWorld({ clock });
    const monitor = await world.site('shop');
    await setWindows(world, monitor, [
      { cron: '0 * * * *', timezone: 'UTC', duration_minutes: 10 },
    ]);
    const seen: string[] = [];
    for (let count = 0; count < 12; count += 1) {
      seen.push(monitor.state.status === 'MAINTENANCE' ? 'M' : '-');
      await clock.advance(15 * MINUTE_MS);
    }
    expect(seen.join('')).toBe('-M---M---M--');
    await clock.advance(11 * MINUTE_MS);
    expect(monitor.state.status).toBe('MAINTENANCE');
    expect(monitor.state.changes).toBe(7);
  });

  test('gives way to a pause, and is judged anew when that ends', async () => {
    const world = await createWorld();
    const { clock, watch } = world;
    const monitor = await world.site('shop');
    await setWindows(world, monitor, [windowIn(clock, -1, 10 * MINUTE_MS)]);
    expect(monitor.state.status).toBe('MAINTENANCE');
    await watch.pause(monitor);
    await clock.advance(MINUTE_MS);
    expect(monitor.state.status).toBe('PAUSED');
    await watch.resume(monitor);
    expect(monitor.state).toMatchObject({ status: 'MAINTENANCE', changes: 3 });
    await watch.pause(monitor);
    await clock.advance(20 * MINUTE_MS);
    expect(monitor.state.status).toBe('PAUSED');
    // A window that begins meanwhile changes nothing either.
    await setWindows(world, monitor, [windowIn(clock, MINUTE_MS, 2 * MINUTE_MS)]);
    await clock.advance(90_000);
    expect(monitor.state.status).toBe('PAUSED');
    await clock.advance(MINUTE_MS);
    await watch.resume(monitor);
    expect(monitor.state).toMatchObject({ status: 'PENDING', changes: 5 });
  });
});

test('windows are judged at once after a restart, and a paused monitor stays paused', async () => {
  const folder = await temporaryFolder();
  const first = await createWorld({ folder });
  const { clock } = first;
  const [paused, begun, over, taken] = [
    await first.site('paused'),
    await first.site('begun'),
    await first.site('over'),
    await first.site('taken'),
  ];
  await clock.advance(1_000);
  await first.watch.pause(paused);
  await setWindows(first, begun, [windowIn(clock, MINUTE_MS, 90 * MINUTE_MS)]);
  await setWindows(first, over, [windowIn(clock, -1, 30 * MINUTE_MS)]);
  await setWindows(first, taken, [windowIn(clock, -1, 90 * MINUTE_MS)]);
  await first.monitors.edit(taken.id, () => ({ maintenance: [] }));
  await first.kill();
  const later = createFakeClock(clock.wallMs() + 60 * MINUTE_MS);
  const targets = createTargets();
  const second = await createWorld({ folder, clock: later, targets });
  const statuses = Object.fromEntries(
    second.monitors.all().map(({ definition, state }) => [definition.name, state.status]),
  );
  expect(statuses).toEqual({
    paused: 'PAUSED',
    begun: 'MAINTENANCE',
    over: 'UP',
    taken: 'UP',
  });
  await later.advance(5 * MINUTE_MS);
  expect(targets.of(url('paused'))).toEqual([]);
  expect(targets.of(url('begun')).length).toBeGreaterThan(3);
  const again = second.monitors.get(paused.id);
  if (again) await second.watch.resume(again);
  expect(targets.of(url('paused'))).toHaveLength(1);
  await later.advance(30 * MINUTE_MS);
  expect(second.monitors.get(begun.id)?.state.status).toBe('UP');
});

test('a monitor that is edited while it is checked counts nothing of the check with the old settings, and is checked with the new at once', async () => {
  const world = await createWorld();
  const { clock, targets, monitors } = world;
  targets.answer = (target) => (target === url('old') ? down : up);
  const monitor = await world.site('old', { confirm_down: 1 });
  await clock.advance(50);
  await monitors.edit(monitor.id, ({ definition }) => {
    if (definition.check_type !== 'HTTP') throw new TypeError('not this one');
    const config = { ...definition.config, interval_seconds: 20 };
    return { definition: { ...definition, target: url('new'), config } };
  });
  await clock.advance(5 * MINUTE_MS);
  expect(targets.of(url('old')).map(({ end }) => end)).toEqual(['broken off']);
  expect(monitor.state).toMatchObject({ status: 'UP', changes: 0, failures: 0 });
  const times = targets.of(url('new')).map(({ atMs }) => atMs);
  const gaps = times.slice(2).map((ms, index) => Math.round(ms - (times[index + 1] ?? 0)));
  expect(new Set(gaps)).toEqual(new Set([20_000]));
});

test('a monitor that is removed while it is checked leaves nothing', async () => {
  const world = await createWorld();
  const { clock, targets, monitors } = world;
  targets.answer = () => down;
  const [told, untold] = [await world.site('told'), await world.site('untold')];
  await setWindows(world, told, [windowIn(clock, MINUTE_MS, 2 * MINUTE_MS)]);
  await clock.advance(50);
  await monitors.remove(told.id);
  await monitors.remove(untold.id);
  await clock.advance(10 * MINUTE_MS);
  expect(targets.of(url('told')).every(({ end }) => end === 'broken off')).toBe(true);
  expect(targets.of(url('untold'))).toHaveLength(1);
  expect(untold.state.failures).toBe(0);
  expect(await world.metrics()).not.toContain('askwatch_checks_total{');
});

describe('a check that is asked for', () => {
  test('comes now, beside the rhythm, and is over when it counts', async () => {
    const world = await createWorld();
    const { clock, targets, watch } = world;
    const monitor = await world.site('shop', { confirm_down: 1 });
    await clock.advance(1_000);
    const firstMs = monitor.state.lastCheckedMs;
    targets.answer = () => down;
    const looked = watch.checkNow(monitor);
    const together = watch.checkNow(monitor);
    await clock.advance(200);
    await Promise.all([looked, together]);
    expect(monitor.state.status).toBe('DOWN');
    expect(monitor.state.lastCheckedMs).toBeGreaterThan(firstMs ?? 0);
    expect(targets.sightings).toHaveLength(2);
  });

  test('joins the check under way', async () => {
    const world = await createWorld();
    const { clock, targets, watch } = world;
    const monitor = await world.site('shop');
    await clock.advance(50);
    const looked = watch.checkNow(monitor);
    await clock.advance(100);
    await looked;
    expect(monitor.state.lastCheckedMs).not.toBeNull();
    await clock.advance(20_000);
    expect(targets.sightings).toHaveLength(1);
  });

  test('waits for the check with the new settings when there was an edit', async () => {
    const world = await createWorld();
    const { clock, targets, watch, monitors } = world;
    const monitor = await world.site('old', { confirm_down: 1 });
    targets.answer = (target) => (target === url('new') ? down : up);
    await clock.advance(50);
    const looked = watch.checkNow(monitor);
    await monitors.edit(monitor.id, ({ definition }) => ({
      definition: { ...definition, target: url('new') },
    }));
    await clock.advance(300);
    await looked;
    expect(monitor.state.status).toBe('DOWN');
  });

  test('fails with the reason: paused, removed, our own network gone, or the end', async () => {
    const world = await createWorld();
    const { clock, targets, watch, monitors, network } = world;
    const named = async (name: string) => {
      const monitor = await world.site(name, { interval_seconds: 10 });
      await clock.advance(50);
      return monitor;
    };
    const paused = await named('paused');
    const whenPaused = watch.checkNow(paused);
    await Promise.all([
      expect(whenPaused).rejects.toMatchObject({ status: 409 }),
      watch.pause(paused),
    ]);
    await expect(watch.checkNow(paused)).rejects.toMatchObject({ status: 409 });
    const removed = await named('removed');
    await Promise.all([
      expect(watch.checkNow(removed)).rejects.toMatchObject({ status: 404 }),
      monitors.remove(removed.id),
    ]);

    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) await named(name);
    await clock.advance(MINUTE_MS);
    network.isThere = false;
    targets.answer = () => ({ ...down, outcome: 'timeout' });
    await clock.advance(MINUTE_MS);
    const offline = monitors.all().filter(({ state }) => state.status !== 'PAUSED');
    const answers = offline.map((monitor) =>
      expect(watch.checkNow(monitor)).rejects.toMatchObject({ status: 503 }),
    );
    await clock.advance(20_000);
    await Promise.all(answers);
    const [one] = offline;
    if (one) {
      const whenClosed = expect(watch.checkNow(one)).rejects.toMatchObject({ status: 503 });
      await world.close();
      await whenClosed;
    }
  });
});

test('no check counts while our own network is gone, and all monitors are stale', async () => {
  const world = await createWorld();
  const { clock, targets, watch, network } = world;
  const monitors = await Promise.all(
    Array.from({ length: 20 }, (_, index) => world.site(`site-${index}`, { interval_seconds: 10 })),
  );
  await clock.advance(2 * MINUTE_MS);
  network.isThere = false;
  targets.answer = () => ({ ...down, outcome: 'timeout', reason: 'no answer' });
  await clock.advance(5 * MINUTE_MS);
  // The first few failures counted before the network was known to be gone; they are taken back.
  const nothing = { status: 'UP', changes: 0, failures: 0 };
  for (const { state } of monitors) expect(state).toMatchObject(nothing);
  expect(monitors.every((monitor) => watch.isStale(monitor))).toBe(true);
  const metrics = await world.metrics();
  expect(metrics).toMatch(/askwatch_own_network_lost 1\n/);
  expect(metrics).toMatch(/askwatch_monitors_stale 20\n/);
  expect(metrics).toMatch(/askwatch_checks_total\{type="HTTP",outcome="unknown"\} \d\d/);
  network.isThere = true;
  targets.answer = () => up;
  await clock.advance(2 * MINUTE_MS);
  expect(monitors.some((monitor) => watch.isStale(monitor))).toBe(false);
  expect(await world.metrics()).toMatch(/askwatch_own_network_lost 0\n/);
});

test('a monitor is stale when two intervals and its timeout have gone by, and not after a start', async () => {
  const folder = await temporaryFolder();
  const world = await createWorld({ folder });
  const { clock, targets, watch } = world;
  const monitor = await world.site('shop', { interval_seconds: 60, timeout_seconds: 10 });
  await clock.advance(MINUTE_MS);
  targets.takesMs = () => Number.MAX_SAFE_INTEGER;
  // One that was under way ends.
  await clock.advance(1_000);
  const lastMs = monitor.state.lastCheckedMs ?? 0;
  await clock.advance(lastMs + 130_000 - clock.wallMs());
  expect(watch.isStale(monitor)).toBe(false);
  await clock.advance(1);
  expect(watch.isStale(monitor)).toBe(true);
  await world.close();
  const later = createFakeClock(clock.wallMs() + 60 * MINUTE_MS);
  const second = await createWorld({ folder, clock: later });
  const [again] = second.monitors.all();
  expect(again && second.watch.isStale(again)).toBe(false);
});

test('a machine that slept abandons the checks under way and checks everything again', async () => {
  const world = await createWorld();
  const { clock, targets } = world;
  const monitors = await Promise.all(
    ['a', 'b', 'c'].map((name) => world.site(name, { confirm_down: 1 })),
  );
  await clock.advance(5 * MINUTE_MS);
  targets.takesMs = () => 70_000;
  await clock.advance(MINUTE_MS);
  const open = targets.sightings.filter(({ end }) => end === undefined);
  expect(open).toHaveLength(3);
  // Results of the aborted checks don't count; new checks pass.
  targets.answer = (target) => {
    const sighting = targets.of(target).at(-1);
    return sighting && open.includes(sighting) ? { ...down, outcome: 'timeout' } : up;
  };
  targets.takesMs = () => 100;
  clock.jump(3_600_000);
  await clock.advance(2 * MINUTE_MS);
  expect(open.map(({ end }) => end).sort()).toEqual(['answered', 'broken off', 'broken off']);
  for (const { state } of monitors) {
    expect(state).toMatchObject({ status: 'UP', changes: 0 });
    expect(state.lastCheckedMs).toBeGreaterThan(clock.wallMs() - MINUTE_MS);
  }
  expect(await world.metrics()).toMatch(/askwatch_sleeps_total 1\n/);
  expect(world.lines.some(({ msg }) => String(msg).includes('slept for 3600 s'))).toBe(true);
});

describe('a heartbeat', () => {
  const job = (world: World) =>
    world.add({
      name: 'Backup',
      check_type: 'HEARTBEAT',
      target: 'backup',
      config: { period_seconds: 600, grace_seconds: 60 },
    });

  test('a paused heartbeat is not missed, and gets a grace period when it is resumed', async () => {
    const world = await createWorld();
    const { clock, watch } = world;
    const monitor = await job(world);
    await watch.signal(monitor, { kind: 'ping' });
    await watch.pause(monitor);
    await clock.advance(60 * MINUTE_MS);
    expect(monitor.state.status).toBe('PAUSED');
    await watch.resume(monitor);
    expect(watch.isStale(monitor)).toBe(true);
    await clock.advance(59_000);
    expect(monitor.state.status).toBe('UP');
    await clock.advance(2_000);
    expect(monitor.state.status).toBe('DOWN');
    expect(watch.isStale(monitor)).toBe(false);
  });

  test('a heartbeat with a shorter period is not missed at once, and a longer period holds at once', async () => {
    const world = await createWorld();
    const { clock, watch, monitors } = world;
    const monitor = await job(world);
    const setPeriod = async (seconds: number) => {
      await monitors.edit(monitor.id, ({ definition }) => {
        if (!isHeartbeat(definition)) throw new TypeError('not this one');
        const config = { ...definition.config, period_seconds: seconds };
        return { definition: { ...definition, target: 'other word', config } };
      });
    };
    await watch.signal(monitor, { kind: 'ping' });
    await setPeriod(3600);
    await clock.advance(30 * MINUTE_MS);
    expect(monitor.state).toMatchObject({ status: 'UP', changes: 0 });
    expect(monitor.state.lastCheckedMs).not.toBeNull();
    await setPeriod(60);
    await clock.advance(59_000);
    expect(monitor.state.status).toBe('UP');
    await clock.advance(2_000);
    expect(monitor.state.status).toBe('DOWN');
  });

  test('gets a grace period after the machine slept, and may be out of date until then, pinged or not', async () => {
    const world = await createWorld();
    const { clock, watch } = world;
    const [pinged, silent] = [await job(world), await job(world)];
    await world.site('shop', { interval_seconds: 5 });
    await watch.signal(pinged, { kind: 'ping' });
    await clock.advance(5 * MINUTE_MS);
    clock.jump(60 * MINUTE_MS);
    await clock.advance(30_000);
    expect([pinged, silent].map(({ state }) => state.status)).toEqual(['UP', 'PENDING']);
    for (const monitor of [pinged, silent]) expect(watch.isStale(monitor)).toBe(true);
    await clock.advance(40_000);
    for (const { state } of [pinged, silent]) expect(state.status).toBe('DOWN');
  });
});
