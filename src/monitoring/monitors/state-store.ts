import type { Logger } from 'pino';
import { z } from 'zod';
import { yieldToEventLoop } from '../../contracts/event-loop.ts';
import type { Journal, Store } from '../../store/store.ts';
import type { History } from '../history/history.ts';
import { isOfIncident } from '../history/incidents.ts';
import { MonitorState, StatusChange, type Step } from '../state/state.ts';

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

/** Changes kept of a monitor while the disk refuses them: more than the incidents that are kept of it. */
const MAX_CHANGES = 250;

/** The part of a monitor that checks and pings change. */
export interface Stateful {
  readonly id: string;
  state: MonitorState;
  /**
   * The state that others see: `state`, once it is durable, so that nobody learns of a change that a crash takes
   * back; or once it could not be stored, for a full disk must not hide an outage.
   */
  published: MonitorState;
  /** How many states it has had since it was made. */
  revision: number;
}

/** How a state is to be kept. */
export interface Settling {
  always?: boolean;
  orNothing?: boolean;
}

/** What is being stored of a monitor, or could not be. */
interface Unsettled {
  /** Changes that may not be part of their incidents yet, in order. */
  changes: StatusChange[];
  writing: number;
  /** When all writes have ended. */
  written: Promise<unknown>;
  storedRevision: number;
  publishedRevision: number;
}

/**
 * Gives the monitors the states that the journal knows, and goes on from there: a state goes into memory at once, then into
 * the journal with its change, then others see it and incidents are made.
 */
export async function openStates(options: {
  store: Store;
  monitors: ReadonlyMap<string, Stateful>;
  history: Pick<History, 'addChanges' | 'cover'>;
  wallMs: () => number;
  log: Logger;
}) {
  const { store, monitors, history, wallMs, log } = options;
  const unsettled = new Map<string, Unsettled>();
  const { journal, known } = await openStateJournal({
    store,
    wallMs,
    snapshot,
    onCompactionFailed: (error) =>
      log.error({ err: error }, 'the journal of states cannot be made smaller; it is tried again'),
  });
  if ([...known.keys()].some((id) => !monitors.has(id))) journal.rewrite();
  const repairs: Promise<void>[] = [];
  for (const { monitor: id, state, revision, changes } of known.values()) {
    const monitor = monitors.get(id);
    if (monitor === undefined) continue;
    Object.assign(monitor, { state, published: state, revision });
    if (changes) repairs.push(repair(monitor, changes));
  }

  function* snapshot(): Generator<StateRecord> {
    for (const monitor of monitors.values()) {
      if (monitor.revision > 0) yield recordOf(monitor, unsettled.get(monitor.id));
    }
  }

  /** Puts changes into incidents that a crash may have kept out of them. */
  async function repair({ id, revision }: Stateful, changes: StatusChange[]) {
    const own = { ...nothingUnsettled(), changes, storedRevision: revision };
    unsettled.set(id, own);
    own.writing += 1;
    own.written = addToIncidents(id, own).catch((error: unknown) => {
      log.error({ err: error, monitor: id }, 'an incident cannot be stored; it is tried again');
    });
    await own.written;
    ended(id, own);
  }

  async function addToIncidents(id: string, own: Unsettled) {
    const { changes } = own;
    if (changes.length === 0) return;
    const last = changes.at(-1)?.number ?? 0;
    await history.addChanges(id, [...changes]);
    own.changes = own.changes.filter(({ number }) => number > last);
  }

  async function save(monitor: Stateful, own: Unsettled, change: StatusChange | undefined) {
    const { id, state, revision } = monitor;
    try {
      await journal.append(recordOf(monitor, own));
      own.storedRevision = Math.max(own.storedRevision, revision);
    } finally {
      if (revision > own.publishedRevision) monitor.published = state;
      own.publishedRevision = Math.max(own.publishedRevision, revision);
    }
    const covers = change?.to === 'PAUSED' || change?.to === 'MAINTENANCE';
    await Promise.all([
      addToIncidents(id, own),
      covers ? history.cover(id, change.atMs) : undefined,
    ]);
  }

  /** When a state could not be stored, memory is as before, unless something was found meanwhile. */
  async function orAsBefore(
    monitor: Stateful,
    was: { before: MonitorState; published: MonitorState; change: StatusChange | undefined },
    own: Unsettled,
    saved: Promise<void>,
  ): Promise<void> {
    const { id, state, revision } = monitor;
    const { before, published, change } = was;
    try {
      await saved;
    } catch (error) {
      if (own.storedRevision >= revision) {
        // It has happened: incidents and uptime follow with the next write, or at the next start.
        log.error({ err: error, monitor: id }, 'a state is stored, its history is not yet');
        return;
      }
      if (monitor.state === state) {
        // Nobody has seen it, so its number is free again.
        Object.assign(monitor, { state: before, published, revision: monitor.revision + 1 });
        own.changes = own.changes.filter((other) => other !== change);
      }
      throw error;
    }
  }

  function ended(id: string, own: Unsettled) {
    own.writing -= 1;
    const isStored = own.storedRevision === monitors.get(id)?.revision;
    if (own.writing > 0 || !isStored || own.changes.length > 0) return;
    if (unsettled.get(id) === own) unsettled.delete(id);
  }

  return {
    /**
     * Resolves when what must last is durable; `undefined` when nothing must. `always` stores the state even when only the
     * time of the last check is new. When storing fails it rejects, memory keeps what is true, and the next call stores it.
     * With `orNothing`, for what is not true unless it is stored, memory is then as before, unless something was found meanwhile.
     */
    settle(
      monitor: Stateful,
      { state, change }: Step,
      { always = false, orNothing = false }: Settling,
    ): Promise<void> | undefined {
      const { id, state: before, published } = monitor;
      monitor.state = state;
      monitor.revision += 1;
      if (change) log.info({ monitor: id, ...inLog(change) }, 'status');
      const known = unsettled.get(id);
      if (!always && !known && !isNews(before, state)) {
        monitor.published = state;
        return undefined;
      }
      const own = known ?? nothingUnsettled();
      unsettled.set(id, own);
      if (change && isOfIncident(change))
        own.changes = [...own.changes, change].slice(-MAX_CHANGES);
      own.writing += 1;
      const saved = save(monitor, own, change).finally(() => ended(id, own));
      own.written = Promise.allSettled([own.written, saved]);
      return orNothing ? orAsBefore(monitor, { before, published, change }, own, saved) : saved;
    },
    /** Resolves when what was settled until now has been written, or refused. */
    async written(id: string): Promise<void> {
      await unsettled.get(id)?.written;
    },
    /** Keeps nothing more of a monitor that is gone. */
    forget: (id: string) => void unsettled.delete(id),
    /** Begins to rewrite the journals, of which then none holds anything of monitors that are gone. */
    eraseGone: journal.rewrite,
    /** Resolves when nothing is being written. */
    async idle(): Promise<void> {
      await Promise.all(repairs);
      await journal.idle();
    },
  };
}

const nothingUnsettled = (): Unsettled => ({
  changes: [],
  writing: 0,
  written: Promise.resolve(),
  storedRevision: 0,
  publishedRevision: 0,
});

function recordOf({ id, state, revision }: Stateful, own: Unsettled | undefined): StateRecord {
  const changes = own?.changes ?? [];
  return { monitor: id, revision, state, ...(changes.length > 0 && { changes }) };
}

const inLog = ({ from, to, reason }: StatusChange) => ({ from, to, reason });

/** Whether a state differs in what must survive a restart; when it was last checked is written along, not alone. */
function isNews(before: MonitorState, after: MonitorState): boolean {
  return (
    before.status !== after.status ||
    before.changes !== after.changes ||
    before.failures !== after.failures ||
    before.successes !== after.successes ||
    before.blemishes !== after.blemishes ||
    before.beneath?.status !== after.beneath?.status ||
    before.flapping !== after.flapping ||
    before.runStartedMs !== after.runStartedMs ||
    before.problem?.outcome !== after.problem?.outcome
  );
}

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
