import { z } from 'zod';
import { yieldToEventLoop } from '../../contracts/event-loop.ts';
import type { Journal, Store } from '../../store/store.ts';
import { MonitorState, StatusChange } from '../state/state.ts';

/** What must last of a monitor at one moment. */
const StateRecord = z.object({
  monitor: z.string(),
  /** Counts the states of the monitor: the highest is the one it has. */
  revision: z.int().positive(),
  state: MonitorState,
  /** Changes up to this state that may not be part of its incidents yet, in order. */
  changes: z.array(StatusChange).optional(),
});
export type StateRecord = z.infer<typeof StateRecord>;

const Batch = z.object({ atMs: z.int(), states: z.array(StateRecord) });
type Batch = z.infer<typeof Batch>;

/** States and changes in one write: far below what a record of a journal takes, even with the longest reasons. */
const BATCH_COUNT = 400;

/** States written from one compaction to the next, besides those of the compaction itself: some 10 MB. */
const COMPACT_AFTER_COUNT = 50_000;

/**
 * Opens `monitor-states-a` and `-b`, the states of all monitors: one fsync makes all those durable that came while the one
 * before ran. `known` has the highest revision of each monitor, with the changes of all of them. States are appended to one of them; when it has grown, the newest of all monitors,
 * from `snapshot`, go to the other one, and it is cleared. So a start reads some 10 MB however long the service ran.
 * A kill at any moment leaves both, and the highest revision is right whichever it is in.
 */
export async function openStateJournal(options: {
  store: Store;
  wallMs: () => number;
  snapshot: () => Iterable<StateRecord>;
  onCompactionFailed: (error: unknown) => void;
  compactAfterCount?: number;
}) {
  const { store, wallMs, snapshot, onCompactionFailed } = options;
  const { compactAfterCount = COMPACT_AFTER_COUNT } = options;
  const journals = ['monitor-states-a', 'monitor-states-b'].map((name) =>
    store.journal({ name, schema: Batch }),
  ) as [Journal<Batch>, Journal<Batch>];
  let [active, spare] = journals;
  const { known, count } = await readAll(journals);
  let appendedCount = count;
  let waiting = new Map<string, Waiting>();
  let writing: Promise<void> | undefined;
  let compacting: Promise<boolean> | undefined;
  let rewriting: Promise<void> | undefined;
  let isToRewrite = false;

  async function write(records: readonly StateRecord[]) {
    appendedCount += records.length;
    await active.append({ atMs: wallMs(), states: [...records] });
  }

  async function writeWaiting() {
    // What came with the same round of the loop is written together.
    await yieldToEventLoop();
    while (waiting.size > 0) {
      const all = [...waiting.values()];
      waiting = new Map();
      for (const batch of batchesOf(all, ({ record }) => record)) {
        const outcome = write(batch.map(({ record }) => record));
        for (const { resolve, reject } of batch.flatMap(({ waiters }) => waiters)) {
          void outcome.then(resolve, reject);
        }
        await outcome.catch(() => {});
      }
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
      // Taken now, it is as new as anything that went to the other journal.
      for (const batch of batchesOf([...snapshot()], (record) => record)) {
        await active.append({ atMs: wallMs(), states: batch });
      }
      await spare.clear();
      return true;
    } catch (error) {
      // Both stay, and the next compaction clears one of them.
      onCompactionFailed(error);
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
      // What was appended of a monitor before it went, and a compaction that began before.
      await Promise.all([writing, compacting]);
      // Twice, since a kill or a full disk may have left something in both.
      if ((await compactAlone()) && (await compactAlone())) continue;
      isToRewrite = true;
      return;
    }
  }

  return {
    known,
    journal: {
      /** Resolves once it is durable. A newer state of the same monitor that comes before it is written takes its place. */
      append(record: StateRecord): Promise<void> {
        return new Promise((resolve, reject) => {
          const before = waiting.get(record.monitor);
          waiting.set(record.monitor, {
            record: before ? newer(before.record, record) : record,
            waiters: [...(before?.waiters ?? []), { resolve, reject }],
          });
          writing ??= writeWaiting();
        });
      },
      /** Begins to rewrite all: then only what `snapshot` gives by now is in any file. What the disk refuses is tried again. */
      rewrite,
      /** Resolves when nothing is being written. */
      async idle(): Promise<void> {
        while (writing ?? compacting ?? rewriting) {
          await Promise.all([writing, compacting, rewriting]);
        }
      },
    },
  };
}

interface Waiting {
  record: StateRecord;
  waiters: Array<{ resolve: () => void; reject: (error: unknown) => void }>;
}

async function readAll(journals: readonly Journal<Batch>[]) {
  const known = new Map<string, StateRecord>();
  let count = 0;
  for (const journal of journals) {
    for await (const { states } of journal.read()) {
      count += states.length;
      for (const record of states) {
        const before = known.get(record.monitor);
        known.set(record.monitor, before ? newer(before, record) : record);
      }
    }
  }
  return { known, count };
}

/** Both together; changes that stand in both, by their number, once. */
function newer(before: StateRecord, record: StateRecord): StateRecord {
  const { monitor, revision, state } = before.revision > record.revision ? before : record;
  const changes = new Map(
    [...(before.changes ?? []), ...(record.changes ?? [])].map((change) => [change.number, change]),
  );
  const inOrder = [...changes.values()].sort((a, b) => a.number - b.number);
  return { monitor, revision, state, ...(inOrder.length > 0 && { changes: inOrder }) };
}

function* batchesOf<T>(all: readonly T[], recordOf: (item: T) => StateRecord): Generator<T[]> {
  let batch: T[] = [];
  let weight = 0;
  for (const item of all) {
    const own = 1 + (recordOf(item).changes?.length ?? 0);
    if (batch.length > 0 && weight + own > BATCH_COUNT) {
      yield batch;
      batch = [];
      weight = 0;
    }
    batch.push(item);
    weight += own;
  }
  if (batch.length > 0) yield batch;
}
