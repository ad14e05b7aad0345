import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import type { Logger } from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Watching } from '../../../src/bot/incidents/watch-state.ts';
import { openWatchState } from '../../../src/bot/watch/watch-store.ts';
import { CorruptDocumentError } from '../../../src/store/errors.ts';
import { openLowdbStore } from '../../../src/store/lowdb/lowdb-store.ts';
import { openStateInJournals, type StateSizes } from '../../../src/store/lowdb/state.ts';
import type { Store } from '../../../src/store/store.ts';
import {
  change,
  group,
  ids,
  incident,
  known,
  member,
  NOTHING_WATCHED,
} from '../../helpers/bot/watch-changes.ts';
import { long } from '../../helpers/long.ts';
import { recordingLog } from '../../helpers/recording-log.ts';
import { temporaryFolder } from '../../helpers/temporary-folder.ts';

const RUNS = long ? 500 : 8;
const never = new Promise<never>(() => {});

/** What happens to a write: it is made and told so, refused before or after it is made, or never ends. */
type Fate = 'made' | 'refused' | 'made and refused' | 'killed' | 'made and killed';

/** Most writes go well. */
const FATES: readonly Fate[] = [
  ...Array.from({ length: 6 }, (): Fate => 'made'),
  ...(['refused', 'made and refused', 'killed', 'made and killed'] as const),
];

/** Small, so that an update has several parts and the journals take turns often. */
const SMALL: StateSizes = { compactAfterLength: 2_000, partLength: 400 };

/** A store that asks before each write what becomes of it. */
function fated(real: Store, fateOf: (what: string) => Fate, log: Logger): Store {
  async function meet(what: string, write: () => Promise<unknown>) {
    const fate = fateOf(what);
    const result = fate.startsWith('made') ? await write() : undefined;
    if (fate.endsWith('killed')) return await never;
    if (fate.endsWith('refused')) throw new Error('ENOSPC');
    return result;
  }
  const store: Store = {
    ...real,
    collection(declaration) {
      const inner = real.collection(declaration);
      return {
        ...inner,
        update: (id, change) =>
          meet(`update ${declaration.name}`, () => inner.update(id, change)) as ReturnType<
            typeof inner.update
          >,
      };
    },
    journal(declaration) {
      const inner = real.journal(declaration);
      return {
        ...inner,
        append: async (record) =>
          void (await meet(`append ${declaration.name}`, () => inner.append(record))),
        clear: async () => void (await meet(`clear ${declaration.name}`, () => inner.clear())),
      };
    },
    state: (declaration) =>
      openStateInJournals(declaration, { journal: store.journal, log, ...SMALL }),
  };
  return store;
}

async function open(folder: string, fateOf: (what: string) => Fate = () => 'made') {
  const { log, lines } = recordingLog();
  const store = await openLowdbStore({ folder, log });
  onTestFinished(() => store.close());
  const state = openWatchState(fated(store, fateOf, log));
  return { store, state, lines };
}

async function stored(folder: string): Promise<Watching | undefined> {
  const { store, state } = await open(folder);
  const current = (await state).current();
  await store.close();
  return current;
}

interface Life {
  /** Changes of one step are asked for in the same breath. */
  steps: Array<Array<(now: Watching) => Watching>>;
  /** Of each write in turn; those after are made. */
  fates: readonly Fate[];
}

/** What a start may find: what was acknowledged last, or what was tried after it. */
type Possible = Array<Watching | undefined>;

/** Runs until all is done or the kill comes, and gives the number of writes. */
async function live(folder: string, { steps, fates }: Life, possible: Possible): Promise<number> {
  let writes = 0;
  let killed = () => {};
  const death = new Promise<void>((resolve) => {
    killed = resolve;
  });
  let isDead = false;
  const { store, state: opening } = await open(folder, () => {
    const fate = isDead ? 'killed' : (fates[writes] ?? 'made');
    writes += 1;
    isDead ||= fate.endsWith('killed');
    if (isDead) killed();
    return fate;
  });

  async function run() {
    const state = await opening;
    expect(possible).toContainEqual(state.current());
    possible.splice(0, possible.length, state.current());
    for (const changes of steps) {
      const before = state.current();
      const tried: Watching[] = [];
      const outcomes = await Promise.allSettled(
        changes.map((make) =>
          state.update((now) => {
            const next = make(now ?? NOTHING_WATCHED);
            tried.push(next);
            possible.push(next);
            return next;
          }),
        ),
      );
      const last = tried.at(-1);
      if (outcomes.every((outcome) => outcome.status === 'fulfilled')) {
        expect(state.current()).toBe(last);
        // Without a write after it, one of which nobody knew is still what a start may find.
        if (last !== before) possible.splice(0, possible.length, last);
      } else expect(state.current()).toBe(before);
    }
  }
  const running = run();
  try {
    await Promise.race([running, death]);
  } finally {
    // The dead may still be reading.
    running.catch(() => {});
    await store.close();
  }
  return writes;
}

describe('the stored state of the watch', () => {
  test('is read as it was acknowledged after kills, full disks and writes of unknown outcome', async () => {
    const lives = fc.array(
      fc.record({
        steps: fc.array(fc.array(change, { minLength: 1, maxLength: 3 }), { maxLength: 12 }),
        fates: fc.array(fc.constantFrom(...FATES), { maxLength: 40 }),
      }),
      { minLength: 2, maxLength: 6 },
    );
    await fc.assert(
      fc.asyncProperty(lives, async (all) => {
        const folder = await temporaryFolder();
        const possible: Possible = [undefined];
        for (const life of all) await live(folder, life, possible);
        expect(possible).toContainEqual(await stored(folder));
      }),
      { numRuns: RUNS },
    );
  });

  test('is whole after a kill at any write of updates with many parts and of the journals taking turns', async () => {
    const many = (from: number) => Array.from({ length: 12 }, (_, at) => `m${from + at}`);
    const steps = Array.from({ length: 8 }, (_, at) => [
      (now: Watching): Watching => ({
        ...now,
        known: [...now.known, ...many(12 * at).map((one) => known(one))].slice(-40),
        alerts: [
          ...now.alerts.slice(-3),
          incident(`i${at}`),
          group(
            `g${at}`,
            many(12 * at).map((one) => member(one)),
          ),
        ],
      }),
    ]);
    let writes = 1;
    let turns = 0;
    for (let killAt = 0; killAt < writes; killAt += long ? 1 : 19) {
      for (const fate of ['killed', 'made and killed'] as const) {
        const folder = await temporaryFolder();
        const possible: Possible = [undefined];
        const fates: Fate[] = [...Array.from({ length: killAt }, (): Fate => 'made'), fate];
        await live(folder, { steps, fates }, possible);
        const made = await live(folder, { steps, fates: [] }, possible);
        writes = Math.max(writes, made);
        turns += 1;
        expect(possible).toContainEqual(await stored(folder));
      }
    }
    expect(turns).toBeGreaterThan(5);
    expect(writes).toBeGreaterThan(3 * steps.length);
  });

  test('is not changed by an update that could not be written, whose caller gets the error', async () => {
    let fate: Fate = 'made';
    const { state: opening } = await open(await temporaryFolder(), () => fate);
    const state = await opening;
    await state.update(() => ({ ...NOTHING_WATCHED, known: [known('a')] }));
    const before = state.current();
    fate = 'refused';
    const seen: unknown[] = [];
    const outcomes = await Promise.allSettled([
      state.update((now) => now),
      state.update(() => ({ ...NOTHING_WATCHED, known: [known('b')] })),
      state.update((now) => {
        seen.push(now?.known);
        throw new Error('no');
      }),
      state.update((now) => now && { ...now, shortLooks: 1 }),
    ]);
    expect(
      outcomes.map((one) => (one.status === 'rejected' ? one.reason.message : 'done')),
    ).toEqual(['done', 'ENOSPC', 'no', 'ENOSPC']);
    // Each is given what the one before it made.
    expect(seen).toEqual([[known('b')]]);
    expect(state.current()).toBe(before);
    fate = 'made';
    await state.update((now) => now && { ...now, shortLooks: 2 });
    expect(state.current()).toEqual({ ...NOTHING_WATCHED, known: [known('a')], shortLooks: 2 });
  });

  test('cannot be altered in place, removed, or be what a later start could not read', async () => {
    const { state: opening } = await open(await temporaryFolder());
    const state = await opening;
    await state.update(() => ({ ...NOTHING_WATCHED, alerts: [incident('a')] }));
    const alter = () => {
      const [alert] = state.current()?.alerts ?? [];
      if (alert?.deliveries[0]) alert.deliveries[0].told = 7;
    };
    expect(alter).toThrow(TypeError);
    await expect(state.update(() => undefined)).rejects.toThrow('not removed');
    const bad = { ...NOTHING_WATCHED, alerts: [{ ...incident('a'), version: Number.NaN }] };
    await expect(state.update(() => bad)).rejects.toThrow('version');
    expect(state.current()).toEqual({ ...NOTHING_WATCHED, alerts: [incident('a')] });
  });

  test('costs what an update changes, not what there is', async () => {
    const folder = await temporaryFolder();
    const { log } = recordingLog();
    const store = await openLowdbStore({ folder, log });
    onTestFinished(() => store.close());
    const state = await openWatchState(store);
    const all = Array.from({ length: long ? 5_000 : 500 }, (_, at) => `m${at}`);
    await state.update(() => ({
      ...NOTHING_WATCHED,
      known: all.map((one) => known(one)),
      alerts: [
        ...all.map((one) => incident(one)),
        group(
          'g',
          all.map((one) => member(one)),
        ),
      ],
    }));
    const before = await bytesIn(folder);
    await state.update(
      (now) =>
        now && {
          ...now,
          alerts: now.alerts.map((alert) =>
            alert.kind === 'group'
              ? {
                  ...alert,
                  members: [...alert.members.slice(0, -1), member(all.at(-1) ?? '', 'UP')],
                }
              : alert,
          ),
        },
    );
    expect((await bytesIn(folder)) - before).toBeLessThan(1_500);
  });

  test('takes no more room however often it is changed', async () => {
    const folder = await temporaryFolder();
    const { state: opening, store } = await open(folder);
    const state = await opening;
    const times = long ? 200 : 60;
    for (let version = 1; version <= times; version += 1) {
      await state.update(() => ({ ...NOTHING_WATCHED, alerts: [incident('a', version)] }));
    }
    expect(await bytesIn(folder)).toBeLessThan(6_000);
    await store.close();
    expect(await stored(folder)).toEqual({ ...NOTHING_WATCHED, alerts: [incident('a', times)] });
  });
});

describe('a damaged state', () => {
  /** Five updates of one record each, in a file. */
  async function written() {
    const folder = await temporaryFolder();
    const { log } = recordingLog();
    const store = await openLowdbStore({ folder, log });
    const state = await openWatchState(store);
    for (const one of ids) {
      await state.update((now = NOTHING_WATCHED) => ({
        ...now,
        known: [...now.known, known(one)],
      }));
    }
    await store.close();
    const [name = ''] = await readdir(join(folder, 'watching-a'));
    const path = join(folder, 'watching-a', name);
    const text = await readFile(path, 'utf8');
    return { folder, path, lines: text.split('\n').slice(0, -1) };
  }

  const refusal = async (folder: string) => {
    const { state, store } = await open(folder);
    const error = await state.then(
      () => undefined,
      (reason: unknown) => reason,
    );
    await store.close();
    return error;
  };

  test('is refused with a sentence that says what to do, whichever record cannot be read', async () => {
    const { folder, path, lines } = await written();
    expect(lines).toHaveLength(5);
    for (const at of lines.keys()) {
      const damaged = lines.with(at, lines[at]?.replace('UP', 'VP') ?? '');
      await writeFile(path, `${damaged.join('\n')}\n`);
      const error = await refusal(folder);
      expect(error).toBeInstanceOf(CorruptDocumentError);
      expect((error as Error).message).toMatch(/watching-a.* backup, or remove/);
      // Nothing was put in its place.
      expect(await readFile(path, 'utf8')).toBe(`${damaged.join('\n')}\n`);
    }
  });

  test('is refused when a record is missing that later ones stand on', async () => {
    const { folder, path, lines } = await written();
    for (const at of [0, 1, 3]) {
      await writeFile(path, `${lines.filter((_, other) => other !== at).join('\n')}\n`);
      const error = await refusal(folder);
      expect(error).toBeInstanceOf(CorruptDocumentError);
      expect((error as Error).message).toMatch(/has a gap.* backup, or remove/);
    }
  });

  test('goes back to the last good one when the last record was torn before it was acknowledged', async () => {
    const { folder, path, lines } = await written();
    const last = lines.at(-1) ?? '';
    await writeFile(path, `${lines.slice(0, -1).join('\n')}\n${last.slice(0, last.length / 2)}`);
    expect((await stored(folder))?.known).toEqual(ids.slice(0, -1).map((one) => known(one)));
  });
});

async function bytesIn(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true });
  const sizes = names
    .filter((name) => name.endsWith('.ndjson'))
    .map(async (name) => (await stat(join(folder, name))).size);
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
