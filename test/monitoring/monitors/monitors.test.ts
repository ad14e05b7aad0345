import { expect, test } from 'vitest';
import { MonitorCreate } from '../../../src/contracts/monitoring.ts';
import type { CheckResult } from '../../../src/monitoring/checks/check-result.ts';
import { openHistory } from '../../../src/monitoring/history/history.ts';
import { openMonitors } from '../../../src/monitoring/monitors/monitors.ts';
import { STATES } from '../../../src/monitoring/monitors/state-store.ts';
import {
  applyResult,
  coverStatus,
  type MonitorState,
  type StatusChange,
} from '../../../src/monitoring/state/state.ts';
import { guardedStore } from '../../helpers/mortal-store.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';
import { openTestStore } from '../../helpers/test-store.ts';

const HOUR_MS = 3_600_000;
const site = (name: string, target = 'http://192.0.2.1/') =>
  MonitorCreate.parse({ name, check_type: 'HTTP', target });
const job = (name: string) =>
  MonitorCreate.parse({ name, check_type: 'HEARTBEAT', target: 'backup' });
const failed: CheckResult = {
  ok: false,
  outcome: 'status',
  reason: 'answered 500',
  responseTimeMs: 1,
};
const passed: CheckResult = { ok: true, outcome: 'ok', responseTimeMs: 1 };
const found = (state: MonitorState, result: CheckResult, nowMs: number) =>
  applyResult(state, result, { toDown: 2, toUp: 1 }, nowMs);

/**
 * Monitors over a real store. Writes fail as `broken.is` says: `all`, or a collection, or `STATES`.
 * `again` restarts it; `changes` are the ones that became part of an incident.
 */
async function setUp(options: { limit?: number; folder?: string } = {}) {
  const { log } = recordingLog();
  const folder = options.folder ?? (await temporaryFolder());
  const real = await openTestStore({ folder, log });
  const broken: { is: string | undefined } = { is: undefined };
  const now = { ms: 1_800_000_000_000 };
  let writes = 0;
  const store = guardedStore(real, log, (name) => {
    if (name === 'monitors' || name === STATES) writes += 1;
    if (broken.is === 'all' || broken.is === name) throw new Error('ENOSPC: no space left');
  });
  const changes: StatusChange[] = [];
  const wallMs = () => now.ms;
  const history = await openHistory({ store, wallMs, log });
  const { limit } = options;
  const monitors = await openMonitors({
    store,
    history: {
      ...history,
      addChanges: async (id, all) => {
        await history.addChanges(id, all);
        changes.push(...all);
      },
    },
    wallMs,
    log,
    limit,
  });
  async function close() {
    await monitors.close();
    await history.close();
    await real.close();
  }
  async function again() {
    await close();
    const after = await setUp({ ...options, folder });
    after.now.ms = now.ms;
    return after;
  }
  return { monitors, history, broken, changes, writes: () => writes, now, folder, close, again };
}

test('refuses more monitors than its limit with a sentence, also when they come together', async () => {
  const { monitors, close } = await setUp({ limit: 3 });
  const answers = await Promise.allSettled(
    ['a', 'b', 'c', 'd', 'e'].map((name) => monitors.add(site(name))),
  );
  expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
  expect(monitors.count()).toBe(3);
  await expect(monitors.add(site('f'))).rejects.toMatchObject({
    status: 409,
    code: 'limit_reached',
    message: expect.stringContaining('3 monitors'),
  });
  await monitors.remove(monitors.all()[0]?.id ?? '');
  await monitors.add(site('f'));
  await close();
});

test('a monitor that could not be stored does not exist, and the next one does', async () => {
  const { monitors, broken, close } = await setUp({ limit: 1 });
  broken.is = 'all';
  await expect(monitors.add(site('a'))).rejects.toThrow('ENOSPC');
  expect(monitors.all()).toEqual([]);
  broken.is = undefined;
  await monitors.add(site('b'));
  expect(monitors.count()).toBe(1);
  await close();
});

test('a check result is written when it changes something, and not at every check', async () => {
  const { monitors, writes, close } = await setUp();
  const { monitor } = await monitors.add(site('a'));
  const settle = async (result: CheckResult, nowMs: number) => {
    const before = monitor.state;
    const step = found(before, result, nowMs);
    const written = writes();
    await monitors.settle(monitor.id, () => step)?.saved;
    return writes() - written;
  };
  expect(await settle(passed, 0)).toBe(1);
  expect(await settle(passed, 1)).toBe(0);
  expect(monitor.state.lastCheckedMs).toBe(1);
  expect(await settle(failed, 2)).toBe(1);
  expect(await settle(failed, 3)).toBe(1);
  expect(monitor.state.status).toBe('DOWN');
  expect(await settle(failed, 4)).toBe(0);
  expect(await settle(passed, 5)).toBe(1);
  expect(await settle(passed, 6)).toBe(0);
  await close();
});

test('a check result that could not be stored is kept and stored with the next check, changes in order and once', async () => {
  const { monitors, broken, changes, again } = await setUp();
  const { monitor } = await monitors.add(site('a'));
  const settle = (result: CheckResult, nowMs: number) =>
    monitors.settle(monitor.id, (state) => found(state, result, nowMs))?.saved;
  await settle(failed, 2);
  broken.is = STATES;
  await expect(settle(failed, 3)).rejects.toThrow('ENOSPC');
  await expect(settle(passed, 4)).rejects.toThrow('ENOSPC');
  expect(monitor.state).toMatchObject({ status: 'UP', changes: 2 });
  broken.is = undefined;
  await settle(passed, 5);
  expect(changes.map(({ number, to }) => `${number} ${to}`)).toEqual(['1 DOWN', '2 UP']);
  const after = await again();
  expect(after.monitors.get(monitor.id)?.state).toMatchObject({
    status: 'UP',
    changes: 2,
    sinceMs: 4,
  });
  await after.close();
});

test('a check result that could not become part of an incident is one after the next start', async () => {
  const { monitors, broken, changes, again } = await setUp();
  const { monitor } = await monitors.add(site('a'));
  const settle = (result: CheckResult, nowMs: number) =>
    monitors.settle(monitor.id, (state) => found(state, result, nowMs))?.saved;
  await settle(failed, 2);
  broken.is = 'monitor-incidents';
  await expect(settle(failed, 3)).rejects.toThrow('ENOSPC');
  await expect(settle(passed, 4)).rejects.toThrow('ENOSPC');
  expect(changes).toEqual([]);
  const after = await again();
  await after.monitors.written(monitor.id);
  expect(after.changes.map(({ number, to }) => `${number} ${to}`)).toEqual(['1 DOWN', '2 UP']);
  const incidents = [
    { id: `${monitor.id}:1`, started_at: new Date(2).toISOString(), ended_as: 'UP' },
  ];
  expect(await after.history.incidents(monitor.id, 10)).toMatchObject(incidents);
  const last = await after.again();
  expect(await last.history.incidents(monitor.id, 10)).toMatchObject(incidents);
  await last.close();
});

test('a check result becomes part of an incident with the next check, when it could not before', async () => {
  const { monitors, history, broken, close } = await setUp();
  const { monitor } = await monitors.add(site('a'));
  const settle = (result: CheckResult, nowMs: number) =>
    monitors.settle(monitor.id, (state) => found(state, result, nowMs))?.saved;
  await settle(failed, 2);
  broken.is = 'monitor-incidents';
  await expect(settle(failed, 3)).rejects.toThrow('ENOSPC');
  expect(monitor.published.status).toBe('DOWN');
  broken.is = undefined;
  await settle(failed, 4);
  expect(await history.incidents(monitor.id, 10)).toMatchObject([{ ended_at: null }]);
  await close();
});

test('an edit is stored with what is found meanwhile, and leaves the rest', async () => {
  const { monitors, again } = await setUp();
  const { monitor } = await monitors.add(site('a'));
  const window = { starts_at: '2027-01-01T00:00:00.000Z', ends_at: '2027-01-01T01:00:00.000Z' };
  await Promise.all([
    monitors.edit(monitor.id, ({ definition }) => ({
      definition: { ...definition, name: 'b' },
    })),
    monitors.settle(monitor.id, (state) => found(state, failed, 7))?.saved,
    monitors.edit(monitor.id, () => ({ maintenance: [window] })),
  ]);
  expect(monitor.definition.name).toBe('b');
  expect(monitor.maintenance).toEqual([window]);
  expect(monitor.state.failures).toBe(1);
  const after = await again();
  expect(after.monitors.get(monitor.id)).toEqual(monitor);
  await after.close();
});

test.each([
  ['DOWN', { status: 'PENDING', changes: 2, failures: 0, lastCheckedMs: null }],
  ['PAUSED', { status: 'PAUSED', changes: 2, underlying: { status: 'PENDING' } }],
] as const)(
  'of the target starts a %s monitor anew and goes on counting',
  async (status, wanted) => {
    const { monitors, changes, now, again } = await setUp();
    const { monitor } = await monitors.add(site('a'));
    for (const ms of [1, 2])
      await monitors.settle(monitor.id, (state) => found(state, failed, ms))?.saved;
    if (status === 'PAUSED') {
      await monitors.settle(monitor.id, (state) => coverStatus(state, status, 3))?.saved;
    }
    expect(monitor.state.status).toBe(status);
    now.ms += 10;
    // Another setting is no new target.
    await monitors.edit(monitor.id, () => ({ definition: site('other') }));
    expect(monitor.state.status).toBe(status);
    expect(monitor.state.lastCheckedMs).toBe(2);
    await monitors.edit(monitor.id, () => ({ definition: site('a', 'http://192.0.2.2/') }));
    expect(monitor.state).toMatchObject(wanted);
    expect(monitor.state.problem).toBeUndefined();
    expect(changes.map(({ number }) => number)).toEqual([1, 2]);
    const after = await again();
    expect(after.monitors.get(monitor.id)?.state).toEqual(monitor.state);
    await after.close();
  },
);

test('an edit of the target is made although its new state cannot be stored yet', async () => {
  const { monitors, broken, again } = await setUp();
  const { monitor } = await monitors.add(site('a'));
  for (const ms of [1, 2])
    await monitors.settle(monitor.id, (state) => found(state, failed, ms))?.saved;
  broken.is = STATES;
  await monitors.edit(monitor.id, () => ({ definition: site('a', 'http://192.0.2.2/') }));
  expect(monitor.state).toMatchObject({ status: 'PENDING', changes: 2 });
  broken.is = undefined;
  await monitors.settle(monitor.id, (state) => found(state, passed, 3))?.saved;
  const after = await again();
  expect(after.monitors.get(monitor.id)).toEqual(monitor);
  await after.close();
});

test('a removed monitor is gone with its token and history, and what still comes of it is not written', async () => {
  const { monitors, history, changes, again } = await setUp();
  const { monitor, token = '' } = await monitors.add(job('a'));
  const { monitor: kept } = await monitors.add(site('kept'));
  expect(monitors.byToken(token)).toBe(monitor);
  await history.add(monitor.id, 5, passed, { found: 'UP', everyMs: 1000, covered: false });
  const removal = monitors.remove(monitor.id);
  // From the first moment on, and whatever comes in any order.
  expect(monitors.get(monitor.id)).toBeUndefined();
  expect(monitors.byToken(token)).toBeUndefined();
  expect(monitors.all()).toEqual([kept]);
  expect(monitors.count()).toBe(1);
  const late = found(found(monitor.state, failed, 1).state, failed, 2);
  await monitors.settle(monitor.id, () => late, { always: true })?.saved;
  expect(await removal).toBe(true);
  await monitors.settle(monitor.id, () => late, { always: true })?.saved;
  expect(await monitors.edit(monitor.id, () => ({ maintenance: [] }))).toBeUndefined();
  expect(changes).toEqual([]);
  expect(await history.results(monitor.id, 10)).toEqual([]);
  const after = await again();
  expect(after.monitors.all().map(({ id }) => id)).toEqual([kept.id]);
  expect(after.monitors.byToken(token)).toBeUndefined();
  await after.close();
});

test('a removed monitor does not come back by a write that was waiting', async () => {
  const { monitors, again } = await setUp();
  const { monitor } = await monitors.add(site('a'));
  const writes = [
    monitors.settle(monitor.id, (state) => found(state, failed, 1))?.saved,
    monitors.edit(monitor.id, () => ({ maintenance: [] })),
    monitors.remove(monitor.id),
    monitors.edit(monitor.id, () => ({ maintenance: [] })),
  ];
  await Promise.all(writes);
  const after = await again();
  expect(after.monitors.all()).toEqual([]);
  await after.close();
});

const by = (key: string, apiKeyId = 'key_1') => ({ apiKeyId, key });

test('a repeated create after a crash between the two writes makes that monitor and no second', async () => {
  const { monitors, broken, again } = await setUp();
  broken.is = 'monitors';
  const first = monitors.add(job('a'), by('one'));
  await expect(first).rejects.toThrow('ENOSPC');
  const after = await again();
  expect(after.monitors.count()).toBe(0);
  const answers = await Promise.all([
    after.monitors.add(job('a'), by('one')),
    after.monitors.add(job('a'), by('one')),
  ]);
  expect(after.monitors.count()).toBe(1);
  expect(answers.map(({ repeated }) => repeated).sort()).toEqual([false, true]);
  await expect(after.monitors.add(job('b'), by('one'))).rejects.toMatchObject({ status: 409 });
  const last = await after.again();
  expect(last.monitors.byToken(answers[0]?.token ?? '')?.id).toBe(answers[1]?.monitor.id);
  await last.close();
});

test('a repeated create waits for a first one that fails, and then makes it', async () => {
  const { monitors, broken, close } = await setUp();
  broken.is = 'monitors';
  const first = monitors.add(site('a'), by('one'));
  const second = monitors.add(site('a'), by('one'));
  const error = await first.catch((reason: unknown) => {
    broken.is = undefined;
    return reason;
  });
  expect(error).toMatchObject({ message: expect.stringContaining('ENOSPC') });
  expect(await second).toMatchObject({ repeated: false });
  expect(monitors.count()).toBe(1);
  await close();
});

test('a repeated create does not bring back a monitor that was removed', async () => {
  const { monitors, again } = await setUp();
  const { monitor } = await monitors.add(site('a'), by('one'));
  await monitors.remove(monitor.id);
  const refusal = {
    status: 409,
    message: expect.stringMatching(/since been removed.*send a new key/),
  };
  await expect(monitors.add(site('a'), by('one'))).rejects.toMatchObject(refusal);
  const after = await again();
  await expect(after.monitors.add(site('a'), by('one'))).rejects.toMatchObject(refusal);
  expect(after.monitors.count()).toBe(0);
  await after.close();
});

test('a repeated create finds its monitor when the removal did not come about', async () => {
  const { monitors, broken, close } = await setUp();
  const { monitor } = await monitors.add(site('a'), by('one'));
  broken.is = 'monitors';
  await expect(monitors.remove(monitor.id)).rejects.toThrow('ENOSPC');
  broken.is = undefined;
  expect(await monitors.add(site('a'), by('one'))).toMatchObject({ monitor, repeated: true });
  await close();
});

test('a repeated create is a repeat for 24 hours, and no longer, whether it was pruned or not', async () => {
  const { monitors, now, again } = await setUp();
  await monitors.add(site('a'), by('one'));
  await monitors.add(site('a'), by('two'));
  now.ms += 24 * HOUR_MS - 1;
  await monitors.prune(now.ms);
  expect((await monitors.add(site('a'), by('one'))).repeated).toBe(true);
  now.ms += 1;
  expect((await monitors.add(site('b'), by('one'))).repeated).toBe(false);
  await monitors.prune(now.ms);
  const after = await again();
  expect((await after.monitors.add(site('b'), by('one'))).repeated).toBe(true);
  expect((await after.monitors.add(site('b'), by('two'))).repeated).toBe(false);
  expect(after.monitors.count()).toBe(4);
  await after.close();
});

test('a pause that could not be stored has no effect, and its change number is free again', async () => {
  const { monitors, broken, again } = await setUp();
  const { monitor } = await monitors.add(site('a'));
  for (const ms of [1, 2])
    await monitors.settle(monitor.id, (state) => found(state, failed, ms))?.saved;
  const before = { ...monitor };
  broken.is = STATES;
  const pause = monitors.settle(monitor.id, (state) => coverStatus(state, 'PAUSED', 3), {
    orNothing: true,
  });
  await expect(pause?.saved).rejects.toThrow('ENOSPC');
  expect(monitor).toEqual(before);
  broken.is = undefined;
  await monitors.settle(monitor.id, (state) => found(state, passed, 4))?.saved;
  const after = await again();
  expect(after.monitors.get(monitor.id)?.state).toMatchObject({ status: 'UP', changes: 2 });
  expect(await after.history.incidents(monitor.id, 10)).toMatchObject([
    { change: 1, ended_as: 'UP' },
  ]);
  await after.close();
});

test('a pause that is stored holds, though its incident cannot be stored yet', async () => {
  const { monitors, broken, again } = await setUp();
  const { monitor } = await monitors.add(site('a'));
  for (const ms of [1, 2])
    await monitors.settle(monitor.id, (state) => found(state, failed, ms))?.saved;
  broken.is = 'monitor-incidents';
  await monitors.settle(monitor.id, (state) => coverStatus(state, 'PAUSED', 3), { orNothing: true })
    ?.saved;
  expect(monitor.state.status).toBe('PAUSED');
  const after = await again();
  expect(after.monitors.get(monitor.id)?.state.status).toBe('PAUSED');
  expect(await after.history.incidents(monitor.id, 10)).toMatchObject([{ ended_as: 'PAUSED' }]);
  await after.close();
});

test('listeners receive a change when it is durable, and one that cannot be stored all the same', async () => {
  const { monitors, broken, changes, close } = await setUp();
  const { monitor } = await monitors.add(site('a'));
  await monitors.settle(monitor.id, (state) => found(state, failed, 1))?.saved;
  const storing = monitors.settle(monitor.id, (state) => found(state, failed, 2))?.saved;
  expect(monitor.state.status).toBe('DOWN');
  expect(monitor.published.status).toBe('PENDING');
  await monitors.written(monitor.id);
  expect(changes).toHaveLength(1);
  expect(monitor.published).toBe(monitor.state);
  await storing;

  broken.is = 'all';
  const refused = monitors.settle(monitor.id, (state) => found(state, passed, 3))?.saved;
  await expect(refused).rejects.toThrow();
  expect(monitor.published.status).toBe('UP');
  broken.is = undefined;
  await close();
});
