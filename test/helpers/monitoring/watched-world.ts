import { onTestFinished } from 'vitest';
import { MonitorCreate, type MonitorCreateInput } from '../../../src/contracts/monitoring.ts';
import { createServer } from '../../../src/http/server.ts';
import type { Check } from '../../../src/monitoring/checks/check.ts';
import type { CheckResult } from '../../../src/monitoring/checks/check-result.ts';
import { Connectivity } from '../../../src/monitoring/connectivity/connectivity.ts';
import { openHistory } from '../../../src/monitoring/history/history.ts';
import {
  type Monitors,
  openMonitors,
  type WatchedMonitor,
} from '../../../src/monitoring/monitors/monitors.ts';
import { STATES } from '../../../src/monitoring/monitors/state-store.ts';
import { CheckRunner } from '../../../src/monitoring/scheduler/check-runner.ts';
import { guardedStore } from '../mortal-store.ts';
import { recordingLog } from '../recording-log.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { openTestStore } from '../test-store.ts';
import { createFakeClock, type FakeClock } from './fake-clock.ts';

/** One check of a target. */
export interface Sighting {
  target: string;
  atMs: number;
  /** Absent while it is under way; `broken off` ones count for nothing. */
  end?: 'answered' | 'broken off';
}

/** Targets that answer as told after a time of the clock; both outlive a restart of the service. */
export interface Targets {
  sightings: Sighting[];
  answer: (target: string) => CheckResult;
  takesMs: (target: string) => number;
  of(target: string): Sighting[];
}

export const up: CheckResult = { ok: true, outcome: 'ok', responseTimeMs: 5 };
export const down: CheckResult = {
  ok: false,
  outcome: 'status',
  reason: 'answered 500',
  responseTimeMs: 5,
};

export function createTargets(): Targets {
  const sightings: Sighting[] = [];
  return {
    sightings,
    answer: () => up,
    takesMs: () => 100,
    of: (target) => sightings.filter((sighting) => sighting.target === target),
  };
}

/** Everything between the API and the targets: real store, monitors, history, network judge, schedule; a fake clock. */
export interface World {
  monitors: Monitors;
  watch: CheckRunner;
  targets: Targets;
  clock: FakeClock;
  lines: Array<Record<string, unknown>>;
  /** Answer of the probe of our own network. */
  network: { isThere: boolean };
  /** Writes of monitors fail. */
  broken: { is: boolean };
  add(monitor: MonitorCreateInput): Promise<WatchedMonitor>;
  site(name: string, config?: object): Promise<WatchedMonitor>;
  metrics(): Promise<string>;
  /** Ends the service in order. */
  close(): Promise<void>;
  /** Ends it as `kill -9` does, but for writes that are under way: nothing is said to the watch. */
  kill(): Promise<void>;
}

/** Starts the world; `start: false` leaves the watch to the test. */
export async function createWorld(
  options: { folder?: string; clock?: FakeClock; targets?: Targets; start?: boolean } = {},
): Promise<World> {
  const folder = options.folder ?? (await temporaryFolder());
  const { clock = createFakeClock(), targets = createTargets() } = options;
  const { log, lines } = recordingLog();
  const real = await openTestStore({ folder, log });
  const broken = { is: false };
  const network = { isThere: true };
  let alive = true;
  // A process that was killed calls no timers.
  const own: FakeClock = {
    ...clock,
    after: (delayMs, call) => clock.after(delayMs, () => alive && call()),
  };
  const store = guardedStore(real, log, (name) => {
    if (broken.is && ['monitors', STATES].includes(name)) throw new Error('ENOSPC');
  });
  const check: Check = ({ target }, { signal }) =>
    new Promise((resolve, reject) => {
      const sighting: Sighting = { target, atMs: clock.monotonicMs() };
      targets.sightings.push(sighting);
      const cancel = own.after(targets.takesMs(target), () => {
        if (sighting.end) return;
        sighting.end = 'answered';
        resolve(targets.answer(target));
      });
      signal.addEventListener('abort', () => {
        if (sighting.end) return;
        cancel();
        sighting.end = 'broken off';
        reject(signal.reason);
      });
    });
  const history = await openHistory({ store, wallMs: clock.wallMs, log });
  const monitors = await openMonitors({ store, history, wallMs: clock.wallMs, log });
  const kit = await createServer({ log, version: '1.2.3' });
  const watch = new CheckRunner({
    monitors,
    leases: store.leases,
    history,
    connectivity: new Connectivity({
      probe: async () => network.isThere,
      nowMs: clock.wallMs,
      onLost: () => log.warn('network lost'),
      onBack: () => log.info('network back'),
    }),
    check,
    maxInFlight: 256,
    clock: own,
    metrics: kit.metrics,
    log,
  });
  let closed = false;
  async function end(inOrder: boolean) {
    if (closed) return;
    closed = true;
    alive = inOrder;
    if (inOrder) await watch.close();
    await monitors.close();
    // Writes what waits: a kill may lose it, and what is tested here must hold with it or without.
    await history.close();
    await real.close();
    await kit.close();
    for (const sighting of targets.sightings) sighting.end ??= 'broken off';
  }
  onTestFinished(() => end(true));
  if (options.start !== false) watch.start();

  async function add(monitor: MonitorCreateInput) {
    const { monitor: made } = await monitors.add(MonitorCreate.parse(monitor));
    return made;
  }
  return {
    monitors,
    watch,
    targets,
    clock,
    lines,
    network,
    broken,
    add,
    site: (name, config = {}) =>
      add({ name, check_type: 'HTTP', target: `http://${name}.example/`, config }),
    async metrics() {
      const answer = await kit.server.inject({ method: 'GET', url: '/metrics' });
      return answer.body;
    },
    close: () => end(true),
    kill: () => end(false),
  };
}
