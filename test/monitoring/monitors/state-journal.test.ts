import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  openStateJournal,
  type StateRecord,
} from '../../../src/monitoring/monitors/state-store.ts';
import { presumedUp, type StatusChange } from '../../../src/monitoring/state/state.ts';
import { openLowdbStore } from '../../../src/store/lowdb/lowdb-store.ts';
import type { Store } from '../../../src/store/store.ts';
import { long } from '../../helpers/long.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const START = Date.UTC(2027, 0, 15);
const RUNS = long ? 500 : 6;
const never = new Promise<never>(() => {});

const change = (number: number): StatusChange => {
  const [from, to] = number % 2 ? (['UP', 'DOWN'] as const) : (['DOWN', 'UP'] as const);
  return { atMs: START + number, sinceMs: START, from, to, number, reason: 'x'.repeat(300) };
};

/** A store of which each write is told first: it may throw, or never end, as when the process is killed. */
function watched(real: Store, onWrite: (what: string) => Promise<void> | undefined): Store {
  return {
    ...real,
    journal(declaration) {
      const journal = real.journal(declaration);
      return {
        ...journal,
        async append(record) {
          await onWrite(`append ${declaration.name}`);
          await journal.append(record);
        },
        async clear() {
          await onWrite(`clear ${declaration.name}`);
          await journal.clear();
        },
      };
    },
  };
}

async function open(folder: string, onWrite: (what: string) => Promise<void> | undefined) {
  const { log } = recordingLog();
  const real = await openLowdbStore({ folder, log });
  /** The newest of each monitor, as it is in memory. */
  const newest = new Map<string, StateRecord>();
  const failures: unknown[] = [];
  const { journal, known } = await openStateJournal({
    store: watched(real, onWrite),
    wallMs: () => START,
    snapshot: () => newest.values(),
    onCompactionFailed: (error) => failures.push(error),
    compactAfterCount: 8,
  });
  for (const [id, record] of known) newest.set(id, record);
  return { real, journal, known, newest, failures };
}

const record = (monitor: string, revision: number, changes: StatusChange[] = []): StateRecord => ({
  monitor,
  revision,
  state: { ...presumedUp(START), lastCheckedMs: START + revision },
  ...(changes.length > 0 && { changes }),
});

test('states that come during a write are written together, of each monitor the newest', async () => {
  const writes: string[] = [];
  const folder = await temporaryFolder();
  const first = await open(folder, (what) => void writes.push(what));
  const all = Array.from({ length: 300 }, (_, at) =>
    first.journal.append(record(`m${at % 3}`, 1 + Math.floor(at / 3), at === 7 ? [change(1)] : [])),
  );
  await Promise.all(all);
  expect(writes).toEqual(['append monitor-states-a']);
  await first.journal.idle();
  await first.real.close();
  const again = await open(folder, () => undefined);
  expect([...again.known.values()]).toEqual([
    record('m0', 100),
    // The change came with an earlier state of it.
    record('m1', 100, [change(1)]),
    record('m2', 100),
  ]);
  await again.real.close();
});

test('the files stay small however much is written', async () => {
  const writes: string[] = [];
  const folder = await temporaryFolder();
  const { journal, newest, real } = await open(folder, (what) => void writes.push(what));
  for (let revision = 1; revision <= 100; revision += 1) {
    newest.set('a', record('a', revision));
    await journal.append(record('a', revision));
  }
  await journal.idle();
  await real.close();
  expect(writes.filter((what) => what.startsWith('clear')).length).toBeGreaterThan(8);
  const again = await open(folder, () => undefined);
  expect(again.known.get('a')).toEqual(record('a', 100));
  await again.real.close();
  const bytes = await Promise.all(
    (await readdir(folder, { recursive: true }))
      .filter((name) => name.endsWith('.ndjson'))
      .map(async (name) => (await stat(join(folder, name))).size),
  );
  expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThan(20 * 400);
});

test('a compaction that fails loses nothing, and the next one makes it good', async () => {
  const folder = await temporaryFolder();
  let isFull = false;
  let clears = 0;
  const { journal, newest, real, failures } = await open(folder, (what) => {
    if (!what.startsWith('clear')) return undefined;
    if (isFull) throw new Error('EIO');
    clears += 1;
    return undefined;
  });
  for (let revision = 1; revision <= 40; revision += 1) {
    isFull = revision < 20;
    newest.set('a', record('a', revision));
    await journal.append(record('a', revision));
  }
  await journal.idle();
  await real.close();
  expect(failures.length).toBeGreaterThan(0);
  expect(clears).toBeGreaterThan(0);
  const again = await open(folder, () => undefined);
  expect(again.known.get('a')).toEqual(record('a', 40));
  await again.real.close();
});

interface Life {
  steps: Array<{ monitor: number; hasChange: boolean; isAwaited: boolean; fails: boolean }>;
  /** At which write it is killed, 0 for never, and whether that one is still made. */
  killAt: number;
  isMade: boolean;
}

/** What was acknowledged of each monitor: the highest revision, and changes by their number. */
type Acknowledged = Map<string, { revision: number; changes: Set<number> }>;

/** Runs until all is written or the kill comes; checks at its start that all that was acknowledged is known. */
async function live(folder: string, { steps, killAt, isMade }: Life, acknowledged: Acknowledged) {
  let writes = 0;
  let isRefused = false;
  let killed = () => {};
  const death = new Promise<void>((resolve) => {
    killed = resolve;
  });
  const { real, journal, known, newest } = await open(folder, (what) => {
    writes += 1;
    if (isRefused && what.startsWith('append')) throw new Error('ENOSPC');
    if (writes < killAt || killAt === 0) return undefined;
    killed();
    return writes === killAt && isMade ? undefined : never;
  });
  for (const [id, { revision, changes }] of acknowledged) {
    const found = known.get(id);
    expect(found?.revision ?? 0).toBeGreaterThanOrEqual(revision);
    expect(found?.state.lastCheckedMs).toBe(START + (found?.revision ?? 0));
    const numbers = (found?.changes ?? []).map(({ number }) => number);
    expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
    expect(numbers).toEqual(expect.arrayContaining([...changes]));
  }

  async function write({ monitor, hasChange, fails }: Life['steps'][number]) {
    const id = `m${monitor}`;
    const before = newest.get(id);
    const revision = (before?.revision ?? 0) + 1;
    // As when nothing can be put into incidents: each record carries all changes.
    const changes = [...(before?.changes ?? []), ...(hasChange ? [change(revision)] : [])];
    const next = record(id, revision, changes);
    newest.set(id, next);
    isRefused = fails;
    try {
      await journal.append(next);
    } catch (error) {
      expect((error as Error).message).toBe('ENOSPC');
      return;
    }
    const all = acknowledged.get(id) ?? { revision: 0, changes: new Set() };
    acknowledged.set(id, all);
    all.revision = Math.max(all.revision, revision);
    for (const { number } of changes) all.changes.add(number);
  }

  async function writeAll() {
    const pending: Promise<void>[] = [];
    for (const step of steps) {
      const written = write(step);
      pending.push(written);
      if (step.isAwaited) await written;
    }
    await Promise.all(pending);
    await journal.idle();
  }

  await Promise.race([writeAll(), death]);
  await real.close();
  return writes;
}

test('acknowledged states are known at the next start after a kill at any write', async () => {
  const steps = Array.from({ length: 16 }, (_, at) => ({
    // One that is written once has to come through every compaction.
    monitor: at < 4 ? at : at % 3,
    hasChange: at % 5 === 0,
    isAwaited: true,
    fails: false,
  }));
  let writes = 1;
  for (let killAt = 1; killAt <= writes; killAt += 1) {
    for (const isMade of long ? [true, false] : [killAt % 2 === 0]) {
      const folder = await temporaryFolder();
      const acknowledged: Acknowledged = new Map();
      const made = await live(folder, { steps, killAt, isMade }, acknowledged);
      writes = Math.max(writes, made + 1);
      await live(folder, { steps: [], killAt: 0, isMade }, acknowledged);
    }
  }
  // Each state, and the compactions.
  expect(writes).toBeGreaterThan(steps.length);
});

const step = fc.record({
  monitor: fc.nat({ max: 3 }),
  hasChange: fc.boolean(),
  isAwaited: fc.boolean(),
  fails: fc.constantFrom(false, false, false, true),
});
const lives = fc.array(
  fc.record({
    steps: fc.array(step, { minLength: 1, maxLength: 40 }),
    killAt: fc.nat({ max: 25 }),
    isMade: fc.boolean(),
  }),
  { minLength: 2, maxLength: 5 },
);

test('acknowledged states are known at every start after repeated kills and refused writes', async () => {
  await fc.assert(
    fc.asyncProperty(lives, async (all) => {
      const folder = await temporaryFolder();
      const acknowledged: Acknowledged = new Map();
      for (const life of all) await live(folder, life, acknowledged);
    }),
    { numRuns: RUNS },
  );
});
