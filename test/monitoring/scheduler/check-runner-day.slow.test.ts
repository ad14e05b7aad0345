import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { HttpConfig } from '../../../src/contracts/monitoring.ts';
import type { WatchedMonitor } from '../../../src/monitoring/monitors/monitors.ts';
import { nextOnGrid, phaseOf } from '../../../src/monitoring/time/rhythm.ts';
import { long } from '../../helpers/long.ts';
import { createFakeClock } from '../../helpers/monitoring/fake-clock.ts';
import { createTargets, createWorld, down, up } from '../../helpers/monitoring/watched-world.ts';
import { createRandom } from '../../helpers/random.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const HOUR_MS = 3_600_000;
const LASTS_MS = (long ? 24 : 6) * HOUR_MS;
const MONITORS = long ? 200 : 16;
const LONGEST_LOOK_MS = 3_000;
/** At one moment. */
const MAX_ACTS = 6;
/** A second check comes 5 s after a failure, the last of a start after 30 s. */
const SLACK_MS = 36_000;

function createDice(seed: number) {
  const next = createRandom(seed);
  const below = (count: number) => Math.floor(next() * count);
  return { next, below };
}

const configOf = (intervalMs: number) => HttpConfig.parse({ interval_seconds: intervalMs / 1000 });

/** Guarantees of one monitor. */
interface Expected {
  monitor: WatchedMonitor;
  target: string;
  intervalMs: number;
  paused: boolean;
  /** Since when it has been watched with these settings, on the monotonic clock. */
  sinceMs: number;
  /** Starts of checks since then. */
  looks: number[];
}

test.each(long ? [1, 2, 3, 4, 5, 6, 7, 8] : [1])(
  `${LASTS_MS / HOUR_MS} hours of ${MONITORS} monitors that come, change, rest and go, with kills: every promise is kept (seed %i)`,
  async (seed) => {
    const random = createDice(seed);
    const folder = await temporaryFolder();
    const clock = createFakeClock();
    const targets = createTargets();
    const faults: string[] = [];
    const expected = new Map<string, Expected>();
    const byTarget = new Map<string, Expected>();
    const lastSighting = new Map<string, (typeof targets.sightings)[number]>();
    let made = 0;
    targets.answer = () => (random.next() < 0.02 ? down : up);
    targets.takesMs = (target) => {
      const sighting = targets.sightings.at(-1);
      const key = target.split('/v')[0] ?? '';
      const before = lastSighting.get(key);
      if (sighting) lastSighting.set(key, sighting);
      if (before && before.end === undefined) faults.push(`two checks at once: ${target}`);
      const known = byTarget.get(target);
      if (known === undefined)
        faults.push(`a check with old settings, or at a removed one: ${target}`);
      else if (known.paused) faults.push(`a check of a paused one: ${target}`);
      else known.looks.push(clock.monotonicMs());
      return 100 + random.below(LONGEST_LOOK_MS - 100);
    };
    let world = await createWorld({ folder, clock, targets });
    const wallOffsetMs = clock.wallMs() - clock.monotonicMs();

    function expectAnew(one: Expected) {
      one.sinceMs = clock.monotonicMs();
      one.looks = [];
    }

    /** Checked within two intervals; and once in its rhythm, at each time of it. */
    function judge({ monitor, target, intervalMs, paused, sinceMs, looks }: Expected) {
      if (paused) return;
      const nowMs = clock.monotonicMs();
      let lastMs = sinceMs;
      for (const atMs of [...looks, nowMs]) {
        if (atMs - lastMs > 2 * intervalMs + SLACK_MS) {
          const ago = [sinceMs, lastMs, atMs, nowMs].map((ms) => Math.round((nowMs - ms) / 1000));
          faults.push(
            `not checked: ${target}, every ${intervalMs / 1000} s; watched since, last, next, now, in s ago: ${ago}`,
          );
        }
        lastMs = atMs;
      }
      const phaseMs = phaseOf(monitor.id, intervalMs);
      let idealMs = nextOnGrid(sinceMs + wallOffsetMs + 1.6 * intervalMs, intervalMs, phaseMs);
      for (; idealMs - wallOffsetMs + LONGEST_LOOK_MS < nowMs; idealMs += intervalMs) {
        const atMs = idealMs - wallOffsetMs;
        const isMet = looks.some((ms) => ms >= atMs - 1 && ms <= atMs + LONGEST_LOOK_MS + 1);
        if (!isMet) faults.push(`off its rhythm: ${target}`);
      }
    }

    async function create() {
      const target = `http://m${made++}.example/v0`;
      const intervalMs = (15 + random.below(46)) * 60_000;
      const awaited = { target, intervalMs, paused: false, sinceMs: clock.monotonicMs() };
      const one = { ...awaited, looks: [] } as unknown as Expected;
      // It is checked as soon as it is stored.
      byTarget.set(target, one);
      const { monitor } = await world.monitors.add({
        name: target,
        check_type: 'HTTP',
        target,
        config: configOf(intervalMs),
      });
      one.monitor = monitor;
      expected.set(monitor.id, one);
    }

    async function edit(one: Expected) {
      const [base, version] = one.target.split('/v');
      const target = `${base}/v${Number(version) + 1}`;
      const intervalMs = (15 + random.below(46)) * 60_000;
      const config = configOf(intervalMs);
      const windowed = random.next() < 0.3;
      judge(one);
      // It is checked as soon as the edit is stored.
      expectAnew(one);
      byTarget.set(target, one);
      const utc = (ms: number) => new Date(clock.wallMs() + ms).toISOString();
      await world.monitors.edit(one.monitor.id, ({ definition }) => ({
        definition: { ...definition, target, config } as typeof definition,
        ...(windowed && {
          maintenance: [{ starts_at: utc(random.below(3_600_000)), ends_at: utc(7_200_000) }],
        }),
      }));
      byTarget.delete(one.target);
      Object.assign(one, { target, intervalMs });
    }

    async function pauseOrResume(one: Expected) {
      if (one.paused) {
        one.paused = false;
        expectAnew(one);
        await world.watch.resume(one.monitor);
      } else {
        judge(one);
        one.paused = true;
        await world.watch.pause(one.monitor);
      }
    }

    async function remove(one: Expected) {
      judge(one);
      byTarget.delete(one.target);
      expected.delete(one.monitor.id);
      await world.monitors.remove(one.monitor.id);
    }

    /** Several acts at once, each at a monitor of its own: chosen before the first of them removes one. */
    async function actTogether(count: number) {
      const there = [...expected.values()];
      const chosen = Array.from(
        { length: count },
        (_, index) => there[random.below(there.length / MAX_ACTS) * MAX_ACTS + index],
      );
      await Promise.all(chosen.map(act));
    }

    async function act(one: Expected | undefined) {
      const dice = random.next();
      if (one === undefined || dice < 0.2) await create();
      else if (dice < 0.4) await edit(one);
      else if (dice < 0.7) await pauseOrResume(one);
      else if (dice < 0.85) await remove(one);
      else if (!one.paused) void world.watch.checkNow(one.monitor).catch(() => {});
    }

    async function killAndStartAgain() {
      for (const one of expected.values()) judge(one);
      await world.kill();
      await clock.advance(random.below(20) * 60_000);
      world = await createWorld({ folder, clock, targets, start: false });
      expect(
        world.monitors
          .all()
          .map(({ id }) => id)
          .sort(),
      ).toEqual([...expected.keys()].sort());
      for (const monitor of world.monitors.all()) {
        const one = expected.get(monitor.id);
        expect(monitor.definition.target).toBe(one?.target);
        expect(monitor.state.status === 'PAUSED').toBe(one?.paused);
        if (one === undefined) continue;
        one.monitor = monitor;
        expectAnew(one);
      }
      world.watch.start();
    }

    await Promise.all(Array.from({ length: MONITORS }, create));
    let kills = 0;
    const startMs = clock.monotonicMs();
    const endMs = startMs + LASTS_MS;
    while (clock.monotonicMs() < endMs) {
      // In the middle of checks as well as between them.
      await clock.advance(random.next() < 0.5 ? random.below(3_000) : random.below(1_800_000));
      await actTogether(random.below(MAX_ACTS));
      // By chance, but in each third of the time once.
      const isDue = Math.floor((3 * (clock.monotonicMs() - startMs)) / LASTS_MS) > kills;
      if (random.next() < 0.03 || isDue) {
        await killAndStartAgain();
        kills += 1;
      }
      while (world.unwritten() > 500) await turn();
      expect(faults).toEqual([]);
    }
    for (const one of expected.values()) judge(one);
    expect(faults).toEqual([]);
    expect(kills).toBeGreaterThan(1);
    expect(targets.sightings.length).toBeGreaterThan((20 * MONITORS * LASTS_MS) / (24 * HOUR_MS));
    expect(world.lines.filter(({ level }) => Number(level) >= 50)).toEqual([]);
  },
);
