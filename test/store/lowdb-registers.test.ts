import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { openLowdbStore } from '../../src/store/lowdb/lowdb-store.ts';
import { openLowdbRegisters } from '../../src/store/lowdb/registers.ts';
import type { Store } from '../../src/store/store.ts';
import { filesWith } from '../helpers/files-with.ts';
import { long } from '../helpers/long.ts';
import { recordingLog } from '../helpers/recording-log.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

const RUNS = long ? 500 : 6;
const never = new Promise<never>(() => {});

const Value = z.object({ count: z.int(), text: z.string().optional() });
type Value = z.infer<typeof Value>;

/** Journals of which each write is told first: it may throw, or never end, as when the process is killed. */
function watched(
  real: Store,
  onWrite: (what: string) => Promise<void> | undefined,
): Store['journal'] {
  return (declaration) => {
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
  };
}

async function open(folder: string, onWrite: (what: string) => Promise<void> | undefined) {
  const { log, lines } = recordingLog();
  const real = await openLowdbStore({ folder, log });
  /** The values as they are in memory; at first those that the store tells. */
  const memory = new Map<string, Value>();
  const registers = await openLowdbRegisters<Value>(
    {
      name: 'newest',
      schema: Value,
      newest(id) {
        const value = memory.get(id);
        return value && { value, ended() {} };
      },
      told: (id, { value }) => void memory.set(id, value),
    },
    { journal: watched(real, onWrite), compactAfterCount: 8, log },
  );
  const put = async (id: string, count: number) => {
    memory.set(id, { count });
    await registers.put(id);
  };
  return { real, memory, registers, put, known: new Map(memory), lines };
}

test('values that are put during a write are written together, of each thing the newest', async () => {
  const writes: string[] = [];
  const folder = await temporaryFolder();
  const first = await open(folder, (what) => void writes.push(what));
  await Promise.all(
    Array.from({ length: 300 }, (_, at) => first.put(`m${at % 3}`, 1 + Math.floor(at / 3))),
  );
  expect(writes).toEqual(['append newest-a']);
  await first.registers.idle();
  await first.real.close();
  const again = await open(folder, () => undefined);
  expect(again.known).toEqual(new Map(['m0', 'm1', 'm2'].map((id) => [id, { count: 100 }])));
  await again.real.close();
});

test('the files stay small however much is written', async () => {
  const writes: string[] = [];
  const folder = await temporaryFolder();
  const { put, registers, real } = await open(folder, (what) => void writes.push(what));
  for (let count = 1; count <= 100; count += 1) await put('a', count);
  await registers.idle();
  await real.close();
  expect(writes.filter((what) => what.startsWith('clear')).length).toBeGreaterThan(8);
  const again = await open(folder, () => undefined);
  expect(again.known.get('a')).toEqual({ count: 100 });
  await again.real.close();
  const bytes = await Promise.all(
    (await readdir(folder, { recursive: true }))
      .filter((name) => name.endsWith('.ndjson'))
      .map(async (name) => (await stat(join(folder, name))).size),
  );
  expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThan(20 * 400);
});

test('values larger than a record together are written in several', async () => {
  const folder = await temporaryFolder();
  const { memory, registers, real } = await open(folder, () => undefined);
  const ids = Array.from({ length: 40 }, (_, at) => `m${at}`);
  for (const id of ids) memory.set(id, { count: 1, text: 'x'.repeat(50_000) });
  await Promise.all(ids.map((id) => registers.put(id)));
  await registers.idle();
  await real.close();
  const again = await open(folder, () => undefined);
  expect([...again.known.keys()].sort()).toEqual([...ids].sort());
  await again.real.close();
});

test('a compaction that fails loses nothing, and the next one makes it good', async () => {
  const folder = await temporaryFolder();
  let isFull = false;
  let clears = 0;
  const { put, registers, real, lines } = await open(folder, (what) => {
    if (!what.startsWith('clear')) return undefined;
    if (isFull) throw new Error('EIO');
    clears += 1;
    return undefined;
  });
  for (let count = 1; count <= 40; count += 1) {
    isFull = count < 20;
    await put('a', count);
  }
  await registers.idle();
  await real.close();
  expect(lines.some(({ msg }) => String(msg).includes('could not compact'))).toBe(true);
  expect(clears).toBeGreaterThan(0);
  const again = await open(folder, () => undefined);
  expect(again.known.get('a')).toEqual({ count: 40 });
  await again.real.close();
});

test('a thing that is removed leaves both journals, where a kill left some in each', async () => {
  const folder = await temporaryFolder();
  const { log } = recordingLog();
  const Batch = z.object({ atMs: z.int(), states: z.array(z.unknown()) });
  const stored = (monitor: string) => ({ monitor, revision: 1, count: 1 });
  for (const name of ['newest-a', 'newest-b']) {
    const store = await openLowdbStore({ folder, log });
    const states = [stored('gone'), stored('stays')];
    await store.journal({ name, schema: Batch }).append({ atMs: Date.now(), states });
    await store.close();
  }
  expect(await filesWith('gone', folder)).toHaveLength(2);
  const { memory, registers, real } = await open(folder, () => undefined);
  memory.delete('gone');
  registers.remove('gone');
  await registers.idle();
  expect(await filesWith('gone', folder)).toEqual([]);
  expect(await filesWith('stays', folder)).toHaveLength(1);
  await real.close();
});

interface Life {
  steps: Array<{ thing: number; isAwaited: boolean; fails: boolean }>;
  /** At which write it is killed, 0 for never, and whether that one is still made. */
  killAt: number;
  isMade: boolean;
}

/** The highest count of each thing that was acknowledged. */
type Acknowledged = Map<string, number>;

/** Runs until all is written or the kill comes; checks at its start that all that was acknowledged is known. */
async function live(folder: string, { steps, killAt, isMade }: Life, acknowledged: Acknowledged) {
  let writes = 0;
  let isRefused = false;
  let killed = () => {};
  const death = new Promise<void>((resolve) => {
    killed = resolve;
  });
  const { real, memory, registers, known, put } = await open(folder, (what) => {
    writes += 1;
    if (isRefused && what.startsWith('append')) throw new Error('ENOSPC');
    if (writes < killAt || killAt === 0) return undefined;
    killed();
    return writes === killAt && isMade ? undefined : never;
  });
  for (const [id, count] of acknowledged) {
    expect(known.get(id)?.count ?? 0).toBeGreaterThanOrEqual(count);
  }

  async function write({ thing, fails }: Life['steps'][number]) {
    const id = `m${thing}`;
    const count = (memory.get(id)?.count ?? 0) + 1;
    isRefused = fails;
    try {
      await put(id, count);
    } catch (error) {
      expect((error as Error).message).toBe('ENOSPC');
      return;
    }
    acknowledged.set(id, Math.max(acknowledged.get(id) ?? 0, count));
  }

  async function writeAll() {
    const pending: Promise<void>[] = [];
    for (const step of steps) {
      const written = write(step);
      pending.push(written);
      if (step.isAwaited) await written;
    }
    await Promise.all(pending);
    await registers.idle();
  }

  await Promise.race([writeAll(), death]);
  await real.close();
  return writes;
}

test('acknowledged values are known at the next start after a kill at any write', async () => {
  const steps = Array.from({ length: 16 }, (_, at) => ({
    // One that is written once has to come through every compaction.
    thing: at < 4 ? at : at % 3,
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
  // Each value, and the compactions.
  expect(writes).toBeGreaterThan(steps.length);
});

const step = fc.record({
  thing: fc.nat({ max: 3 }),
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

test('acknowledged values are known at every start after repeated kills and refused writes', async () => {
  await fc.assert(
    fc.asyncProperty(lives, async (all) => {
      const folder = await temporaryFolder();
      const acknowledged: Acknowledged = new Map();
      for (const life of all) await live(folder, life, acknowledged);
    }),
    { numRuns: RUNS },
  );
});
