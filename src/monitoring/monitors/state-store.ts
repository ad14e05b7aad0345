import type { Logger } from 'pino';
import { z } from 'zod';
import type { MonitorStatus } from '../../contracts/monitoring.ts';
import type { SharedValue, SharedValues, Store } from '../../store/store.ts';
import type { MonitorHistory } from '../history/history.ts';
import { isOfIncident } from '../history/incidents.ts';
import { MonitorState, StatusChange, type StatusStep } from '../state/state.ts';
import type { ChangeLog } from './change-log.ts';
import { awaitsFirstPing } from './heartbeat.ts';

export const STATES = 'monitor-states';

/** Durable part of a monitor. */
const StoredState = z.object({
  state: MonitorState,
  /** Changes up to this state that may not be part of its incidents yet, in order. */
  changes: z.array(StatusChange).optional(),
});
type StoredState = z.infer<typeof StoredState>;

/** The stored state of a monitor, and hours that the history hasn't stored yet. */
interface StoredValue {
  value: StoredState;
  extra: unknown;
}

/** Changes kept of a monitor while the disk refuses them: more than the incidents that are kept of it. */
const MAX_CHANGES = 250;

/** Transitions kept of a monitor while they can't be stored. */
const MAX_TRANSITIONS = 250;

/** States kept of monitors that another process has just created and that aren't known here yet. */
const MAX_EARLY = 10_000;

/** The part of a monitor that checks and pings change. */
export interface StatefulMonitor {
  readonly id: string;
  state: MonitorState;
  /**
   * Readers see this state. It is `state` once that is stored, so that a crash takes back nothing that was shown. A state that
   * can't be stored is shown too, because a full disk must not hide an outage.
   */
  published: MonitorState;
}

/** Computes a monitor's next state. It may run again on a state that another process has stored. Pure. */
export type StateTransition = (state: MonitorState) => StatusStep;

export interface SettleOptions {
  /** Stores the state even if only the time of the last check is new. */
  always?: boolean;
  /** If storing fails, the earlier state is restored, unless another transition came in the meantime. */
  orNothing?: boolean;
}

/**
 * Transitions of a monitor that aren't stored, numbered in order. Each is applied in memory first (`settle`), then written, then
 * published. A refused write leaves it pending, and the next write of the monitor includes it. The entry is dropped once everything
 * is stored and part of its incidents.
 */
interface PendingState {
  transitions: StateTransition[];
  /** Number of the last transition before these. */
  lastDropped: number;
  /** Status changes that may not be part of their incidents yet, in order. */
  changes: StatusChange[];
  /** At least one transition must be stored soon. */
  mustStore: boolean;
  writeCount: number;
  /** Resolves when all writes have ended. */
  written: Promise<unknown>;
  lastPublished: number;
  lastStored: number;
}

/** A result from before such a status no longer says anything about the target. */
const ENDS_RESULT: ReadonlySet<MonitorStatus> = new Set(['PAUSED', 'MAINTENANCE', 'PENDING']);

interface StatesOptions {
  store: Store;
  monitors: ReadonlyMap<string, StatefulMonitor>;
  history: Pick<MonitorHistory, 'addChanges' | 'cover' | 'openHours' | 'takeOpenHours'>;
  changeLog: Pick<ChangeLog, 'note' | 'setUnstored'>;
  onChangedElsewhere?: (id: string, before: MonitorState) => void;
  log: Logger;
}

export async function openStates(options: StatesOptions): Promise<MonitorStates> {
  const states = new MonitorStates(options);
  await states.load();
  return states;
}

/**
 * States of the monitors. A state from another process replaces the one here, and transitions that aren't stored yet are applied
 * to it again.
 */
export class MonitorStates {
  readonly #options: StatesOptions;
  readonly #pending = new Map<string, PendingState>();
  readonly #early = new Map<string, StoredValue>();
  readonly #repairs = new Set<Promise<void>>();
  #values!: SharedValues;

  constructor(options: StatesOptions) {
    this.#options = options;
  }

  /** Reads the stored states, and deletes the ones of removed monitors. Call it once, first. */
  async load(): Promise<void> {
    this.#values = await this.#options.store.sharedValues<StoredState>({
      name: STATES,
      schema: StoredState,
      current: (id) => this.#valueOf(id),
      onStored: (id, stored) => this.#adoptStored(id, stored),
    });
    for (const id of this.#early.keys()) this.#values.delete(id);
    this.#early.clear();
  }

  /**
   * Applies a transition. `saved` resolves when the state is stored, and is undefined if nothing must be stored. If storing fails
   * it rejects, and the next call stores the state.
   */
  settle(
    monitor: StatefulMonitor,
    transition: StateTransition,
    { always = false, orNothing = false }: SettleOptions,
  ): { step: StatusStep; saved: Promise<void> | undefined } {
    const { id, state: before, published } = monitor;
    const step = transition(before);
    const { state, change } = step;
    monitor.state = state;
    if (change) {
      const { from, to, reason } = change;
      this.#options.log.info({ monitor: id, from, to, reason }, 'status');
    }
    const pending = this.#pending.get(id) ?? nothingPending();
    this.#pending.set(id, pending);
    if (pending.transitions.push(transition) > MAX_TRANSITIONS) {
      pending.transitions.shift();
      pending.lastDropped += 1;
    }
    pending.mustStore ||= always || isNews(before, state);
    if (!pending.mustStore && pending.writeCount === 0) {
      this.#publish(monitor, state);
      this.#values.saveLater(id);
      return { step, saved: undefined };
    }
    if (change && isOfIncident(change)) {
      pending.changes = [...pending.changes, change].slice(-MAX_CHANGES);
    }
    const number = lastNumber(pending);
    const saving = this.#save(monitor, pending, before);
    const revert = { transition, number, state, before, published, change };
    const saved = orNothing ? this.#revertOnFailure(monitor, revert, pending, saving) : saving;
    return { step, saved };
  }

  /** Gives a new monitor from another process the state that this process has already read. */
  adopt(id: string): void {
    const stored = this.#early.get(id);
    this.#early.delete(id);
    if (stored) this.#adoptStored(id, stored);
  }

  /** Resolves when everything settled so far was written, or refused. */
  async written(id: string): Promise<void> {
    await this.#pending.get(id)?.written;
  }

  /** Resolves when all states that other processes have stored are known here; with `notes` the times of their last checks, too. */
  catchUp(options?: { notes?: boolean }): Promise<void> | undefined {
    return this.#values.catchUp(options);
  }

  /** Deletes everything about a removed monitor, also from the store. */
  forget(id: string): void {
    this.#pending.delete(id);
    this.#options.changeLog.setUnstored(id, false);
    this.#values.delete(id);
  }

  /** Resolves when nothing is being written. */
  async idle(): Promise<void> {
    await Promise.all(this.#repairs);
    await this.#values.idle();
  }

  #valueOf(id: string): SharedValue<StoredState> | undefined {
    const monitor = this.#options.monitors.get(id);
    if (monitor === undefined) return undefined;
    const { state } = monitor;
    const pending = this.#pending.get(id);
    const changes = pending?.changes.length ? pending.changes : undefined;
    const number = pending ? lastNumber(pending) : 0;
    return {
      value: { state, changes },
      extra: this.#options.history.openHours(id),
      onEnd: (isStored) => {
        if (pending) this.#endWrite(monitor, pending, { state, number, isStored });
      },
    };
  }

  /** Publishes the state of a write, also if it was refused. */
  #endWrite(
    monitor: StatefulMonitor,
    pending: PendingState,
    { state, number, isStored }: { state: MonitorState; number: number; isStored: boolean },
  ): void {
    const { id } = monitor;
    const { changeLog } = this.#options;
    if (number > pending.lastPublished) this.#publish(monitor, state);
    pending.lastPublished = Math.max(pending.lastPublished, number);
    if (!isStored) {
      if (pending.mustStore) changeLog.setUnstored(id, true);
      return;
    }
    if (number >= pending.lastPublished) changeLog.setUnstored(id, false);
    if (number <= pending.lastStored) return;
    pending.lastStored = number;
    pending.transitions.splice(0, number - pending.lastDropped);
    pending.lastDropped = number;
    this.#dropIfSettled(id, pending);
  }

  #publish(monitor: StatefulMonitor, state: MonitorState): void {
    const { published } = monitor;
    monitor.published = state;
    if (!isListedAlike(published, state)) this.#options.changeLog.note(monitor.id);
  }

  #adoptStored(id: string, stored: StoredValue): void {
    const { monitors, history, changeLog, onChangedElsewhere } = this.#options;
    const monitor = monitors.get(id);
    if (monitor === undefined) {
      if (this.#early.size < MAX_EARLY) this.#early.set(id, stored);
      return;
    }
    const { state, changes = [] } = stored.value;
    const before = monitor.state;
    const pending = this.#pending.get(id);
    // The hours of another process don't include the counts of this one.
    history.takeOpenHours(id, pending?.transitions.length ? undefined : stored.extra);
    const allChanges = [...changes];
    monitor.state = (pending?.transitions ?? []).reduce((now, transition) => {
      const step = transition(now);
      if (step.change && isOfIncident(step.change)) allChanges.push(step.change);
      return step.state;
    }, state);
    this.#publish(monitor, state);
    changeLog.setUnstored(id, false);
    if (pending) pending.changes = allChanges.slice(-MAX_CHANGES);
    else if (changes.length > 0) this.#repair(id, changes);
    onChangedElsewhere?.(id, before);
  }

  /** Adds changes to incidents that a crash may have kept out of them. */
  #repair(id: string, changes: StatusChange[]): void {
    const pending = { ...nothingPending(), changes };
    this.#pending.set(id, pending);
    const repaired = this.#write(id, pending, this.#addToIncidents(id, pending))
      .catch((error: unknown) => {
        this.#options.log.error(
          { err: error, monitor: id },
          'could not store an incident; retrying',
        );
      })
      .finally(() => this.#repairs.delete(repaired));
    this.#repairs.add(repaired);
  }

  async #addToIncidents(id: string, pending: PendingState): Promise<void> {
    const last = pending.changes.at(-1);
    if (!last) return;
    await this.#options.history.addChanges(id, [...pending.changes]);
    pending.changes = pending.changes.filter(({ number }) => number > last.number);
  }

  /** Stores a state, and then its changes in the history. */
  #save({ id, state }: StatefulMonitor, pending: PendingState, before: MonitorState) {
    const isEnd = state.status !== before.status && ENDS_RESULT.has(state.status);
    const save = async () => {
      await this.#values.save(id);
      await Promise.all([
        this.#addToIncidents(id, pending),
        isEnd ? this.#options.history.cover(id, state.sinceMs) : undefined,
      ]);
      pending.mustStore = pending.transitions.length > 0;
    };
    return this.#write(id, pending, save());
  }

  #write(id: string, pending: PendingState, work: Promise<void>): Promise<void> {
    pending.writeCount += 1;
    const writing = work.finally(() => {
      pending.writeCount -= 1;
      this.#dropIfSettled(id, pending);
    });
    pending.written = Promise.allSettled([pending.written, writing]);
    return writing;
  }

  async #revertOnFailure(
    monitor: StatefulMonitor,
    was: {
      transition: StateTransition;
      number: number;
      state: MonitorState;
      before: MonitorState;
      published: MonitorState;
      change: StatusChange | undefined;
    },
    pending: PendingState,
    saved: Promise<void>,
  ): Promise<void> {
    const { id } = monitor;
    try {
      await saved;
    } catch (error) {
      if (pending.lastStored >= was.number) {
        // Incidents and uptime follow with the next write, or at the next start.
        this.#options.log.error(
          { err: error, monitor: id },
          'stored a state, but could not store its history yet',
        );
        return;
      }
      if (monitor.state === was.state) {
        // No reader has seen the state, so its number is free again.
        monitor.state = was.before;
        this.#publish(monitor, was.published);
        pending.changes = pending.changes.filter((other) => other !== was.change);
        pending.transitions = pending.transitions.filter((other) => other !== was.transition);
        pending.lastDropped += 1;
        if (pending.transitions.length === 0) this.#options.changeLog.setUnstored(id, false);
      }
      throw error;
    }
  }

  #dropIfSettled(id: string, pending: PendingState): void {
    const { writeCount, transitions, changes } = pending;
    if (writeCount > 0 || transitions.length > 0 || changes.length > 0) return;
    if (this.#pending.get(id) === pending) this.#pending.delete(id);
  }
}

const nothingPending = (): PendingState => ({
  transitions: [],
  lastDropped: 0,
  changes: [],
  mustStore: false,
  writeCount: 0,
  written: Promise.resolve(),
  lastPublished: 0,
  lastStored: 0,
});

const lastNumber = ({ lastDropped, transitions }: PendingState) => lastDropped + transitions.length;

/** Compares two states as they are listed, except for values that every check changes or that end by time alone. */
function isListedAlike(one: MonitorState, other: MonitorState): boolean {
  return (
    one.status === other.status &&
    one.sinceMs === other.sinceMs &&
    one.changes === other.changes &&
    one.problem?.reason === other.problem?.reason &&
    isAwaited(one) === isAwaited(other)
  );
}

/** The first ping of a job is awaited. */
const isAwaited = (state: MonitorState) =>
  state.awaitedFromMs !== undefined && awaitsFirstPing(state);

/** The difference must survive a restart. The time of the last check is only stored along with other changes. */
function isNews(before: MonitorState, after: MonitorState): boolean {
  return (
    !isListedAlike(before, after) ||
    before.failures !== after.failures ||
    before.successes !== after.successes ||
    before.degradations !== after.degradations ||
    before.underlying?.status !== after.underlying?.status ||
    before.flapping !== after.flapping ||
    before.runStartedMs !== after.runStartedMs ||
    before.problem?.outcome !== after.problem?.outcome
  );
}
