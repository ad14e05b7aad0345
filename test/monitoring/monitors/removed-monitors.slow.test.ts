import { cp } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { MonitorCreate } from '../../../src/contracts/monitoring.ts';
import type { CheckResult } from '../../../src/monitoring/checks/check-result.ts';
import { openHistory } from '../../../src/monitoring/history/history.ts';
import { openMonitors, type WatchedMonitor } from '../../../src/monitoring/monitors/monitors.ts';
import { applyResult } from '../../../src/monitoring/state/state.ts';
import { eventually } from '../../helpers/eventually.ts';
import { long } from '../../helpers/long.ts';
import { mortalStore } from '../../helpers/mortal-store.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { filesWith, folderOfFiles, openTestStore } from '../../helpers/test-store.ts';

const MINUTE_MS = 60_000;
const NOON_MS = Date.UTC(2027, 0, 15, 12);

const siteOf = (name: string) =>
  MonitorCreate.parse({
    ...{ name, check_type: 'HTTP', target: `https://${name}.example/` },
    config: { headers: { Authorization: `Bearer of-${name}` } },
  });

/** The monitors on a folder; the store refuses every write after so many, as a dead process does. */
async function open(folder: string, { writes = Number.POSITIVE_INFINITY } = {}) {
  const { log } = recordingLog();
  const real = await openTestStore({ folder, log });
  const life = { writes: Number.POSITIVE_INFINITY };
  const store = mortalStore(real, life, log);
  let nowMs = NOON_MS;
  const wallMs = () => nowMs;
  const history = await openHistory({ store, wallMs, log });
  const monitors = await openMonitors({ store, history, wallMs, log });
  let closing: Promise<void> | undefined;
  async function closeAll() {
    await monitors.close().catch(() => {});
    await history.close().catch(() => {});
    await real.close();
  }
  const close = () => {
    closing ??= closeAll();
    return closing;
  };
  onTestFinished(close);
  life.writes = writes;
  return {
    ...{ monitors, history, life, close },
    /** Checks that fail and pass until there were two outages. */
    async watch(monitor: WatchedMonitor) {
      const { name } = monitor.definition;
      const passed: CheckResult = { ok: true, outcome: 'ok', responseTimeMs: 1 };
      const failed: CheckResult = {
        ...{ ok: false, outcome: 'status', responseTimeMs: 1 },
        reason: `${name} answered 500`,
      };
      for (const result of [failed, failed, passed, failed, failed]) {
        nowMs += MINUTE_MS;
        const step = applyResult(monitor.state, result, { toDown: 2, toUp: 1 }, nowMs);
        const seen = { found: 'DOWN', everyMs: MINUTE_MS, covered: false } as const;
        await Promise.all([
          monitors.settle(monitor.id, () => step)?.saved,
          history.add(monitor.id, nowMs, result, seen),
        ]);
      }
      await monitors.written(monitor.id);
    },
  };
}

/** A closed folder with two monitors that had outages; one was edited, so it has two versions. */
async function lived(): Promise<string> {
  const folder = await folderOfFiles();
  const { monitors, watch, close } = await open(folder);
  for (const name of ['gone', 'stays']) {
    const { monitor } = await monitors.add(siteOf(name));
    await watch(monitor);
    await monitors.renewToken(monitor.id);
  }
  await close();
  const files = await filesWith('gone', folder);
  const folders = new Set(files.map((name) => name.split('/')[0]));
  expect([...folders].sort()).toEqual([
    ...['monitor-incidents', 'monitor-results-12', 'monitor-states', 'monitors'],
  ]);
  expect(files.filter((name) => name.startsWith('monitors/'))).toHaveLength(2);
  return folder;
}

const named = ({ monitors }: Awaited<ReturnType<typeof open>>, name: string) =>
  monitors.all().find(({ definition }) => definition.name === name);

async function expectStays(opened: Awaited<ReturnType<typeof open>>) {
  const id = named(opened, 'stays')?.id ?? '';
  expect(opened.monitors.get(id)?.definition).toEqual(siteOf('stays'));
  expect(opened.monitors.get(id)?.state).toMatchObject({ status: 'DOWN', changes: 3 });
  expect(await opened.history.results(id, 10)).toHaveLength(5);
  expect(await opened.history.incidents(id, 10)).toHaveLength(2);
}

test('a monitor that is removed is soon in no file any more, and another is as it was', async () => {
  const folder = await lived();
  const opened = await open(folder);
  const id = named(opened, 'gone')?.id ?? '';
  expect(await opened.monitors.remove(id)).toBe(true);
  await eventually(async () => (await filesWith('gone', folder)).length === 0);
  await expectStays(opened);
  await opened.close();
  await expectStays(await open(folder));
});

test('a kill at any write of a removal leaves the monitor, or nothing that the next start does not remove', async () => {
  const before = await lived();
  let writes = 0;
  let removals = 0;
  // The last ones look for results, hour by hour.
  for (let isDone = false; !isDone; writes += writes < 12 || long ? 1 : 7) {
    const folder = await folderOfFiles();
    await cp(before, folder, { recursive: true });
    const first = await open(folder, { writes });
    const id = named(first, 'gone')?.id ?? '';
    const removed = await first.monitors.remove(id).catch(() => false);
    await first.close();
    isDone = first.life.writes >= 0;

    const second = await open(folder);
    const left = second.monitors.get(id);
    if (removed) expect(left, `killed after ${writes} writes`).toBeUndefined();
    if (!left) {
      removals += 1;
      const about = `nothing of it, killed after ${writes} writes`;
      const isGone = async () => (await filesWith('gone', folder)).length === 0;
      await eventually(isGone, { what: about });
    }
    await expectStays(second);
    await second.close();
  }
  expect(removals).toBeGreaterThan(8);
});

test('a secret that an edit replaced is in no file any more, encrypted or not', async () => {
  const folder = await lived();
  const { monitors } = await open(folder);
  const id = monitors.all().find(({ definition }) => definition.name === 'stays')?.id ?? '';
  await monitors.edit(id, () => ({ definition: siteOf('another') }));
  const files = await filesWith('sealed', folder);
  expect(files.filter((name) => name.startsWith('monitors/'))).toHaveLength(4);
  expect(
    (await filesWith('https://stays.example/', folder)).filter((name) =>
      name.startsWith('monitors/'),
    ),
  ).toEqual([]);
});
