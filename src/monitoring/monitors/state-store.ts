import type { Logger } from 'pino';
import type { Store } from '../../store/store.ts';
import type { History } from '../history/history.ts';
import { isOfIncident } from '../history/incidents.ts';
import type { MonitorState, StatusChange, Step } from '../state/state.ts';
import { openStateJournal, type StateRecord } from './state-journal.ts';

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

  function ended(id: string, own: Unsettled) {
    own.writing -= 1;
    const isStored = own.storedRevision === monitors.get(id)?.revision;
    if (own.writing > 0 || !isStored || own.changes.length > 0) return;
    if (unsettled.get(id) === own) unsettled.delete(id);
  }

  return {
    /**
     * Resolves when what must last is durable; `always` stores the state even when only the time of the last check is new.
     * When storing fails it rejects, memory keeps what is true, and the next call stores it. With `orNothing`, for what is
     * not true unless it is stored, memory is then as before, unless something was found meanwhile.
     */
    async settle(
      monitor: Stateful,
      { state, change }: Step,
      { always = false, orNothing = false }: Settling,
    ): Promise<void> {
      const { id, state: before, published } = monitor;
      monitor.state = state;
      monitor.revision += 1;
      const { revision } = monitor;
      if (change) log.info({ monitor: id, ...inLog(change) }, 'status');
      const known = unsettled.get(id);
      if (!always && !known && !isNews(before, state)) {
        monitor.published = state;
        return;
      }
      const own = known ?? nothingUnsettled();
      unsettled.set(id, own);
      if (change && isOfIncident(change))
        own.changes = [...own.changes, change].slice(-MAX_CHANGES);
      own.writing += 1;
      const saved = save(monitor, own, change).finally(() => ended(id, own));
      own.written = Promise.allSettled([own.written, saved]);
      try {
        await saved;
      } catch (error) {
        if (orNothing && own.storedRevision >= revision) {
          // It has happened: incidents and uptime follow with the next write, or at the next start.
          log.error({ err: error, monitor: id }, 'a state is stored, its history is not yet');
          return;
        }
        if (orNothing && monitor.state === state) {
          // Nobody has seen it, so its number is free again.
          Object.assign(monitor, { state: before, published, revision: monitor.revision + 1 });
          own.changes = own.changes.filter((other) => other !== change);
        }
        throw error;
      }
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
