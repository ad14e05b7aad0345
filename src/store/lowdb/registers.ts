import { setImmediate } from 'node:timers/promises';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { Journal, Registers, RegistersDeclaration, Store } from '../store.ts';

/** A value as it is kept. The word for a thing is older than other uses of it: what is stored is read by its name. */
const StoredValue = z.looseObject({ monitor: z.string(), revision: z.int().positive() });
export type StoredValue = z.infer<typeof StoredValue>;

/** Values that were written together. */
export const Batch = z.object({ atMs: z.int(), states: z.array(StoredValue) });
export type Batch = z.infer<typeof Batch>;

/** Characters of values in one record: far below what a record of a journal takes. */
export const BATCH_LENGTH = 256 * 1024;

/** Values written from one compaction to the next, besides those of the compaction itself: some 10 MB. */
const COMPACT_AFTER_COUNT = 50_000;

/** The two journals of registers. */
export const journalsOf = (name: string) => [`${name}-a`, `${name}-b`] as const;

interface Waiter {
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** A value that is being written. */
interface Sent {
  stored: StoredValue;
  length: number;
  ended: (isStored: boolean) => void;
  waiters: Waiter[];
}

/**
 * Opens `<name>-a` and `<name>-b`: one fsync makes all those values durable that came while the one before ran. They are
 * appended to one of the two; when it has grown, the newest of all things go to the other one, and it is cleared. So a start
 * reads some 10 MB however long the program ran. A kill at any moment leaves both, and the highest revision is right
 * whichever it is in. What is only noted is not written: no other process reads it, and a start does without it.
 */
export async function openLowdbRegisters<T>(
  declaration: RegistersDeclaration<T>,
  options: { journal: Store['journal']; compactAfterCount?: number; log: Logger },
): Promise<Registers> {
  const { name, newest, told } = declaration;
  const { compactAfterCount = COMPACT_AFTER_COUNT, log } = options;
  const journals = journalsOf(name).map((each) =>
    options.journal({ name: each, schema: Batch }),
  ) as [Journal<Batch>, Journal<Batch>];
  let [active, spare] = journals;
  const revisions = new Map<string, number>();
  let waiting = new Map<string, Waiter[]>();
  let appendedCount = 0;
  let writing: Promise<void> | undefined;
  let compacting: Promise<boolean> | undefined;
  let rewriting: Promise<void> | undefined;
  let isToRewrite = false;

  async function readAll() {
    const found = new Map<string, StoredValue>();
    for (const journal of journals) {
      for await (const { states } of journal.read()) {
        appendedCount += states.length;
        for (const stored of states) {
          const before = found.get(stored.monitor);
          if (!before || stored.revision >= before.revision) found.set(stored.monitor, stored);
        }
      }
    }
    let unreadable = 0;
    for (const { monitor: id, revision, ...fields } of found.values()) {
      const value = declaration.schema.safeParse(fields);
      if (!value.success) unreadable += 1;
      else told(id, { value: value.data, extra: undefined });
      revisions.set(id, revision);
    }
    if (unreadable > 0) log.error({ values: unreadable }, `stored values of '${name}' are damaged`);
  }

  /** The value of a thing as it is now, ready to be written. */
  function take(id: string, revision: number, waiters: Waiter[] = []): Sent | undefined {
    const now = newest(id);
    if (!now) return undefined;
    const stored = { ...now.value, monitor: id, revision };
    return { stored, length: JSON.stringify(stored).length, ended: now.ended, waiters };
  }

  async function append(batch: readonly Sent[]) {
    appendedCount += batch.length;
    await active.append({ atMs: Date.now(), states: batch.map(({ stored }) => stored) });
  }

  async function write(batch: readonly Sent[]) {
    try {
      await append(batch);
      end(batch, true);
      for (const { resolve } of batch.flatMap(({ waiters }) => waiters)) resolve();
    } catch (error) {
      end(batch, false);
      for (const { reject } of batch.flatMap(({ waiters }) => waiters)) reject(error);
    }
  }

  async function writeWaiting() {
    // What came with the same round of the loop is written together.
    await setImmediate();
    await setImmediate();
    while (waiting.size > 0) {
      const all = [...waiting];
      waiting = new Map();
      const sent: Sent[] = [];
      for (const [id, waiters] of all) {
        const revision = (revisions.get(id) ?? 0) + 1;
        const one = take(id, revision, waiters);
        if (!one) {
          // It is gone meanwhile, and with it what was to last.
          for (const { resolve } of waiters) resolve();
          continue;
        }
        revisions.set(id, revision);
        sent.push(one);
      }
      for (const batch of batchesOf(sent)) await write(batch);
      if (appendedCount >= compactAfterCount) void compactAlone();
    }
    writing = undefined;
    if (isToRewrite) rewrite();
  }

  function compactAlone(): Promise<boolean> {
    compacting ??= compact().finally(() => {
      compacting = undefined;
    });
    return compacting;
  }

  /** Whether it could be done. */
  async function compact(): Promise<boolean> {
    [active, spare] = [spare, active];
    appendedCount = 0;
    try {
      // Taken now, they are as new as anything that went to the other journal.
      const all = [...revisions].flatMap(([id, revision]) => take(id, revision) ?? []);
      for (const batch of batchesOf(all)) await append(batch);
      await spare.clear();
      return true;
    } catch (error) {
      // Both stay, and the next compaction clears one of them.
      log.error({ err: error }, `could not compact the journal '${name}'; retrying`);
      return false;
    }
  }

  function rewrite() {
    isToRewrite = true;
    rewriting ??= rewriteAll().finally(() => {
      rewriting = undefined;
    });
  }

  async function rewriteAll() {
    while (isToRewrite) {
      isToRewrite = false;
      // What was appended of a thing before it went, and a compaction that began before.
      await Promise.all([writing, compacting]);
      // Twice, since a kill or a full disk may have left something in both.
      if ((await compactAlone()) && (await compactAlone())) continue;
      isToRewrite = true;
      return;
    }
  }

  await readAll();
  return {
    put(id) {
      return new Promise((resolve, reject) => {
        waiting.set(id, [...(waiting.get(id) ?? []), { resolve, reject }]);
        writing ??= writeWaiting();
      });
    },
    note: (id) => newest(id)?.ended(true),
    // Nobody else writes.
    catchUp: () => undefined,
    // Rewritten, the journals hold only what `newest` knows.
    remove(id) {
      revisions.delete(id);
      rewrite();
    },
    async idle() {
      while (writing ?? compacting ?? rewriting) {
        await Promise.all([writing, compacting, rewriting]);
      }
    },
  };
}

function end(batch: readonly Sent[], isStored: boolean) {
  for (const { ended } of batch) ended(isStored);
}

function* batchesOf(all: readonly Sent[]): Generator<Sent[]> {
  let batch: Sent[] = [];
  let length = 0;
  for (const each of all) {
    if (batch.length > 0 && length + each.length > BATCH_LENGTH) {
      yield batch;
      batch = [];
      length = 0;
    }
    batch.push(each);
    length += each.length;
  }
  if (batch.length > 0) yield batch;
}
