import { expect, test } from 'vitest';
import { MonitorCreate, MonitorList } from '../../../src/contracts/monitoring.ts';
import { createListWriter } from '../../../src/monitoring/api/list-writer.ts';
import { listedMonitor } from '../../../src/monitoring/api/monitor-answers.ts';
import type { WatchedMonitor } from '../../../src/monitoring/monitors/monitors.ts';
import { neverChecked, next } from '../../../src/monitoring/state/state.ts';
import { down, up } from '../../helpers/monitoring/watched-world.ts';

const START_MS = 1_800_000_000_000;
const HOUR_MS = 3_600_000;
const shown = () => true;

function site(name: string): WatchedMonitor {
  const definition = MonitorCreate.parse({ name, check_type: 'HTTP', target: 'http://a.example/' });
  const state = neverChecked(START_MS);
  return {
    id: `mon_${name}`,
    definition,
    createdAtMs: START_MS,
    maintenance: [],
    state,
    published: state,
    part: 0,
  };
}

/** A check that counts at once. */
function look(monitor: WatchedMonitor, result: typeof up, nowMs: number) {
  monitor.state = next(monitor.state, result, { toDown: 1, toUp: 1 }, nowMs).state;
  monitor.published = monitor.state;
}

/** A writer, its clock, and who is stale. */
function setUp() {
  const now = { ms: START_MS };
  const stale = new Set<WatchedMonitor>();
  const isStale = (monitor: WatchedMonitor) => stale.has(monitor);
  const { list: write } = createListWriter({ wallMs: () => now.ms, isStale });
  return {
    now,
    stale,
    write: async (monitors: WatchedMonitor[], isShown: (monitor: WatchedMonitor) => boolean) =>
      MonitorList.parse(JSON.parse(String(await write(monitors, isShown)))),
    asItIs: (monitors: WatchedMonitor[]) => ({
      count: monitors.length,
      monitors: monitors.map((one) => listedMonitor(one, { wallMs: now.ms, stale: isStale(one) })),
    }),
  };
}

test('the list is that of now, whatever has changed since it was written before', async () => {
  const { now, stale, write, asItIs } = setUp();
  const monitors = ['a', 'b', 'c — ж 🛒'].map(site);
  const [changed = site('none')] = monitors;
  const changes: Array<() => void> = [
    () => {},
    () => look(changed, down, now.ms),
    () => look(changed, up, now.ms),
    () => void stale.add(changed),
    () => void stale.delete(changed),
    () => {
      changed.definition = { ...changed.definition, name: 'Other' };
    },
    () => {
      for (let flips = 0; flips < 6; flips += 1) look(changed, flips % 2 ? up : down, now.ms);
    },
    // Nothing but the time has changed, and it flaps no longer.
    () => {
      now.ms += HOUR_MS;
    },
  ];
  const seen = new Set<string>();
  for (const change of changes) {
    change();
    const list = await write(monitors, shown);
    expect(list).toEqual(asItIs(monitors));
    seen.add(JSON.stringify(list.monitors[0]));
  }
  // What is stale, once it is not, is as before; all else made a difference.
  expect(seen.size).toBe(changes.length - 1);
});

test('monitors that are not shown are neither written nor counted, and an empty list is written too', async () => {
  const { write, asItIs } = setUp();
  const monitors = ['a', 'b', 'c'].map(site);
  expect(await write([], shown)).toEqual({ count: 0, monitors: [] });
  expect(await write(monitors, () => false)).toEqual({ count: 0, monitors: [] });
  for (const hidden of monitors) {
    const rest = monitors.filter((one) => one !== hidden);
    expect(await write(monitors, (one) => one !== hidden)).toEqual(asItIs(rest));
  }
});

test('other work comes in between while a long list is written, and none of it is lost', async () => {
  const { write } = setUp();
  const monitors = Array.from({ length: 10_000 }, (_, number) => site(String(number)));
  let turns = 0;
  let isWritten = false;
  function turn() {
    turns += 1;
    if (!isWritten) setImmediate(turn);
  }
  setImmediate(turn);
  const list = await write(monitors, shown);
  isWritten = true;
  expect(turns).toBeGreaterThan(1);
  expect(list.monitors.map(({ id }) => id)).toEqual(monitors.map(({ id }) => id));
});
