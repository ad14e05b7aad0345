import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createEditPace, type EditKind } from '../../../src/slack/api/edit-pace.ts';
import { createSharedPaces } from '../../../src/slack/api/shared-pace.ts';
import { createMemoryWindows } from '../../../src/store/memory-windows.ts';
import type { Windows, WindowsDeclaration } from '../../../src/store/windows.ts';
import { createSlackClock } from '../../fakes/slack/clock.ts';
import { createTiers } from '../../fakes/slack/tiers.ts';

const EDIT_MS = 1_300;
const log = pino({ level: 'silent' });

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Windows that several processes share: each answer is some milliseconds on its way. */
function shareWindows() {
  const opened = new Map<string, Windows>();
  let isAway = false;
  const store = {
    windows(declaration: WindowsDeclaration): Windows {
      const windows = opened.get(declaration.name) ?? createMemoryWindows(declaration);
      opened.set(declaration.name, windows);
      return {
        ...windows,
        async take(who, limit) {
          await pause(2);
          if (isAway) throw new Error('The store is away.');
          return await windows.take(who, limit);
        },
      };
    },
  };
  const setAway = (away: boolean) => {
    isAway = away;
  };
  return { store, setAway };
}

/** Processes in one workspace, whose edits Slack counts together. */
function startProcesses(count: number) {
  const { store, setAway } = shareWindows();
  const tiers = createTiers(createSlackClock());
  const edits: { process: number; kind: EditKind; atMs: number }[] = [];
  const start = (process: number) => {
    // Each has a store of its own.
    const shared = createSharedPaces({ ...store }, { teamId: () => 'T1', editMs: EDIT_MS, log });
    const pace = createEditPace({
      editMs: EDIT_MS,
      shared: (kind) => shared.takeEdit('chat.update', kind),
    });
    const edit = (kind: EditKind) => {
      const refused = tiers.retryAfterSeconds({ method: 'chat.update', channel: 'C1' });
      expect(refused).toBeUndefined();
      edits.push({ process, kind, atMs: performance.now() });
    };
    return {
      pace,
      shared,
      edit,
      /** Answers that are written all the time. */
      async write() {
        for (;;) {
          await pace.turn('more');
          edit('more');
        }
      },
    };
  };
  return { edits, setAway, processes: Array.from({ length: count }, (_, at) => start(at)) };
}

test('three processes that write all the time never edit too often for Slack, evenly, and each its share', async () => {
  const { edits, processes } = startProcesses(3);
  for (const { write } of processes) void write();
  await pass(300_000);
  const most = 300_000 / EDIT_MS;
  expect(edits.length).toBeGreaterThan(0.9 * most);
  for (const process of [0, 1, 2]) {
    const own = edits.filter((each) => each.process === process).length;
    expect(own).toBeGreaterThan(0.15 * most);
  }
  // Nobody stands still for long while others write.
  const gaps = edits.slice(1).map(({ atMs }, at) => atMs - (edits[at]?.atMs ?? 0));
  expect(Math.max(...gaps)).toBeLessThan(5 * EDIT_MS);
});

test('one that writes alone has nearly all of it', async () => {
  const { edits, processes } = startProcesses(3);
  void processes[1]?.write();
  await pass(300_000);
  expect(edits.length).toBeGreaterThan((0.93 * 300_000) / EDIT_MS);
});

test('ends and alerts of one find room while the others write', async () => {
  const { edits, processes } = startProcesses(3);
  const [first, ...others] = processes;
  for (const { write } of others) void write();
  await pass(120_000);
  const fromMs = performance.now();
  await Promise.all([
    pass(10 * EDIT_MS),
    ...[1, 2, 3].map(async () => {
      await first?.pace.turn('end');
      first?.edit('end');
    }),
  ]);
  const ends = edits.filter(({ kind }) => kind === 'end');
  expect(ends).toHaveLength(3);
  expect(Math.max(...ends.map(({ atMs }) => atMs - fromMs))).toBeLessThan(4 * EDIT_MS);
  expect(await Promise.all([first?.pace.takeShared('alert'), pass(10)])).toEqual([
    undefined,
    expect.anything(),
  ]);
});

test('additions to streams are within what Slack takes, whichever process makes them', async () => {
  const { processes } = startProcesses(3);
  const tiers = createTiers(createSlackClock());
  let appended = 0;
  for (const { shared } of processes) {
    void (async () => {
      for (;;) {
        const fullMs = await shared.takeAppend();
        if (fullMs !== undefined) {
          await pause(fullMs);
          continue;
        }
        const call = { method: 'chat.appendStream', channel: 'D1' };
        expect(tiers.retryAfterSeconds(call)).toBeUndefined();
        appended += 1;
      }
    })();
  }
  await pass(300_000);
  expect(appended).toBeGreaterThan(5 * 70);
});

test('while the store is away ends go on, and what is being written waits', async () => {
  const { edits, setAway, processes } = startProcesses(1);
  setAway(true);
  void processes[0]?.write();
  void processes[0]?.pace.turn('end').then(() => processes[0]?.edit('end'));
  await pass(60_000);
  expect(edits.map(({ kind }) => kind)).toEqual(['end']);
  setAway(false);
  await pass(10_000);
  expect(edits.length).toBeGreaterThan(4);
});
