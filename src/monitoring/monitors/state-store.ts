import type { Logger } from 'pino';
import { z } from 'zod';
import type { MonitorStatus } from '../../contracts/monitoring.ts';
import type { SharedValue, SharedValues, Store } from '../../store/store.ts';
import type { MonitorHistory } from '../history/history.ts';
import { isOfIncident } from '../history/incidents.ts';
import { MonitorState, StatusChange, type StatusStep } from '../state/state.ts';
import type { ChangeLog } from './change-log.ts';
import { awaitsFirstPing } from './heartbeat.ts';

/** Name of the shared values. */
export const STATES = 'monitor-states';

/** Durable part of a monitor. */
const StoredState = z.object({
  state: MonitorState,
  /** Changes up to this state that may not be part of its incidents yet, in order. */
  changes: z.array(StatusChange).optional(),
});
type StoredState = z.infer<typeof StoredState>;

/** The stored state, and hours that the history hasn't stored yet. */
interface Stored {
  value: StoredState;
  extra: unknown;
}

/** Changes kept of a monitor while the disk refuses them: more than the incidents that are kept of it. */
const MAX_CHANGES = 250;

/** Steps kept of a monitor while they cannot be stored: to make more of them again would tell nothing else. */
const MAX_STEPS = 250;

/** States of monitors that are not known here yet: another process has just made them. */
const MAX_EARLY = 10_000;

/** The part of a monitor that checks and pings change. */
export interface Stateful {
  readonly id: string;
  state: MonitorState;
  /**
   * The state that others see: `state`, once it is durable, so that nobody learns of a change that a crash takes
   * back; or once it could not be stored, for a full disk must not hide an outage.
   */
  published: MonitorState;
}

/**
 * An event of a monitor, as a function from the old state to the new one. It may run again after another process has
 * stored a state. Pure.
 */
export type Happening = (state: MonitorState) => StatusStep;

/** How a state is to be kept. */
export interface Settling {
  always?: boolean;
  orNothing?: boolean;
}

/** A monitor's changes that are being stored, or couldn't be. */
interface Unsettled {
  /** Events since the stored state, in order. */
  happenings: Happening[];
  /** Number of events before those, so that each has a number. */
  past: number;
  /** Changes that may not be part of their incidents yet, in order. */
  changes: StatusChange[];
  /** At least one change must be durable. */
  mustLast: boolean;
  writing: number;
  /** When all writes have ended. */
  written: Promise<unknown>;
  /** Numbers of the last published and the last stored event. */
  published: number;
  stored: number;
}

/** A result from before such a status says nothing about the target any more. */
const ENDS_WORTH: ReadonlySet<MonitorStatus> = new Set(['PAUSED', 'MAINTENANCE', 'PENDING']);

/** Called after another process has changed the state of a monitor. */
export type OnOtherState = (id: string, before: MonitorState) => void;

/**
 * Gives the monitors the states that are stored, and goes on from there: a state goes into memory at once, then into the store
 * with its change, then others see it and incidents are made. What another process has stored takes the place of what this
 * one has, and what happened here meanwhile happens again to that.
 */
export async function openStates(options: {
  store: Store;
  monitors: ReadonlyMap<string, Stateful>;
  history: Pick<MonitorHistory, 'addChanges' | 'cover' | 'openHours' | 'takeOpenHours'>;
  changeLog: Pick<ChangeLog, 'note' | 'setUnstored'>;
  onOther?: OnOtherState;
  log: Logger;
}) {
  const { store, monitors, history, changeLog, onOther = () => {}, log } = options;
  const unsettled = new Map<string, Unsettled>();
  const early = new Map<string, Stored>();
  const repairs = new Set<Promise<void>>();
  const values: SharedValues = await store.sharedValues<StoredState>({
    name: STATES,
    schema: StoredState,
    current,
    onStored,
  });
  for (const id of early.keys()) values.delete(id);
  early.clear();

  /** The state to be stored, and what follows once it is. */
  function current(id: string): SharedValue<StoredState> | undefined {
    const monitor = monitors.get(id);
    if (monitor === undefined) return undefined;
    const own = unsettled.get(id);
    const { state } = monitor;
    const changes = own?.changes ?? [];
    const upTo = own ? own.past + own.happenings.length : 0;
    return {
      value: { state, ...(changes.length > 0 && { changes }) },
      extra: history.openHours(id),
      onEnd(isStored) {
        if (!own) return;
        // When it was refused, too.
        if (upTo > own.published) publish(monitor, state);
        own.published = Math.max(own.published, upTo);
        if (!isStored) {
          if (own.mustLast) changeLog.setUnstored(id, true);
          return;
        }
        if (upTo >= own.published) changeLog.setUnstored(id, false);
        if (upTo <= own.stored) return;
        own.stored = upTo;
        own.happenings.splice(0, upTo - own.past);
        own.past = upTo;
        dropWhenSettled(id, own);
      },
    };
  }

  function publish(monitor: Stateful, state: MonitorState) {
    const { published } = monitor;
    monitor.published = state;
    if (!isListedAlike(published, state)) changeLog.note(monitor.id);
  }

  /** The state of a monitor that the store has, and another process gave it. */
  function onStored(id: string, stored: Stored) {
    const monitor = monitors.get(id);
    if (monitor === undefined) {
      if (early.size < MAX_EARLY) early.set(id, stored);
      return;
    }
    const { state, changes = [] } = stored.value;
    const before = monitor.state;
    const own = unsettled.get(id);
    // Counts of this process aren't in the hours of another one.
    history.takeOpenHours(id, own?.happenings.length ? undefined : stored.extra);
    let now = state;
    const all = [...changes];
    for (const happening of own?.happenings ?? []) {
      const step = happening(now);
      now = step.state;
      if (step.change && isOfIncident(step.change)) all.push(step.change);
    }
    monitor.state = now;
    publish(monitor, state);
    changeLog.setUnstored(id, false);
    if (own) own.changes = all.slice(-MAX_CHANGES);
    else if (changes.length > 0) repair(id, changes);
    onOther(id, before);
  }

  /** Puts changes into incidents that a crash may have kept out of them. */
  function repair(id: string, changes: StatusChange[]) {
    const own = { ...nothingUnsettled(), changes };
    unsettled.set(id, own);
    own.writing += 1;
    const repaired = addToIncidents(id, own)
      .catch((error: unknown) => {
        log.error({ err: error, monitor: id }, 'could not store an incident; retrying');
      })
      .finally(() => {
        repairs.delete(repaired);
        ended(id, own);
      });
    own.written = repaired;
    repairs.add(repaired);
  }

  async function addToIncidents(id: string, own: Unsettled) {
    const { changes } = own;
    if (changes.length === 0) return;
    const last = changes.at(-1)?.number ?? 0;
    await history.addChanges(id, [...changes]);
    own.changes = own.changes.filter(({ number }) => number > last);
  }

  /** `endedMs` is when the result before has become worth nothing, if it has. */
  async function save({ id }: Stateful, own: Unsettled, endedMs: number | undefined) {
    await values.save(id);
    await Promise.all([
      addToIncidents(id, own),
      endedMs === undefined ? undefined : history.cover(id, endedMs),
    ]);
  }

  /** When a state could not be stored, memory is as before, unless something was found meanwhile. */
  async function orAsBefore(
    monitor: Stateful,
    was: {
      happening: Happening;
      number: number;
      state: MonitorState;
      before: MonitorState;
      published: MonitorState;
      change: StatusChange | undefined;
    },
    own: Unsettled,
    saved: Promise<void>,
  ): Promise<void> {
    const { happening, number, state, before, published, change } = was;
    try {
      await saved;
    } catch (error) {
      if (own.stored >= number) {
        // It has happened: incidents and uptime follow with the next write, or at the next start.
        log.error(
          { err: error, monitor: monitor.id },
          'stored a state, but could not store its history yet',
        );
        return;
      }
      if (monitor.state === state) {
        // No reader has seen the state, so its number is free again.
        monitor.state = before;
        publish(monitor, published);
        own.changes = own.changes.filter((other) => other !== change);
        own.happenings = own.happenings.filter((other) => other !== happening);
        own.past += 1;
        if (own.happenings.length === 0) changeLog.setUnstored(monitor.id, false);
      }
      throw error;
    }
  }

  function ended(id: string, own: Unsettled) {
    own.writing -= 1;
    dropWhenSettled(id, own);
  }

  function dropWhenSettled(id: string, own: Unsettled) {
    if (own.writing > 0 || own.happenings.length > 0 || own.changes.length > 0) return;
    if (unsettled.get(id) === own) unsettled.delete(id);
  }

  return {
    /**
     * Takes over what happened to a monitor. `saved` resolves when what must last of it is durable; it is absent when nothing
     * must. `always` stores the state even when only the time of the last check is new. When storing fails it rejects, memory
     * keeps what is true, and the next call stores it. With `orNothing`, for what is not true unless it is stored, memory is
     * then as before, unless something was found meanwhile.
     */
    settle(
      monitor: Stateful,
      happening: Happening,
      { always = false, orNothing = false }: Settling,
    ): { step: StatusStep; saved: Promise<void> | undefined } {
      const { id, state: before, published } = monitor;
      const step = happening(before);
      const { state, change } = step;
      monitor.state = state;
      if (change) log.info({ monitor: id, ...inLog(change) }, 'status');
      const own = unsettled.get(id) ?? nothingUnsettled();
      unsettled.set(id, own);
      if (own.happenings.push(happening) > MAX_STEPS) {
        own.happenings.shift();
        own.past += 1;
      }
      own.mustLast ||= always || isNews(before, state);
      if (!own.mustLast && own.writing === 0) {
        publish(monitor, state);
        values.saveLater(id);
        return { step, saved: undefined };
      }
      if (change && isOfIncident(change))
        own.changes = [...own.changes, change].slice(-MAX_CHANGES);
      own.writing += 1;
      const number = own.past + own.happenings.length;
      const hasEnded = state.status !== before.status && ENDS_WORTH.has(state.status);
      const saving = save(monitor, own, hasEnded ? state.sinceMs : undefined)
        .then(() => {
          own.mustLast = own.happenings.length > 0;
        })
        .finally(() => ended(id, own));
      own.written = Promise.allSettled([own.written, saving]);
      const was = { happening, number, state, before, published, change };
      return { step, saved: orNothing ? orAsBefore(monitor, was, own, saving) : saving };
    },
    /** Gives a monitor that another process has made the state that it has had since. */
    adopt(id: string): void {
      const stored = early.get(id);
      early.delete(id);
      if (stored) onStored(id, stored);
    },
    /** Resolves when what was settled until now has been written, or refused. */
    async written(id: string): Promise<void> {
      await unsettled.get(id)?.written;
    },
    /** Resolves when all that other processes have stored is known here; with `notes` when they last checked, too. */
    catchUp: values.catchUp,
    /** Drops everything about a deleted monitor, also from the store. */
    forget(id: string): void {
      unsettled.delete(id);
      changeLog.setUnstored(id, false);
      values.delete(id);
    },
    /** Resolves when nothing is being written. */
    async idle(): Promise<void> {
      await Promise.all(repairs);
      await values.idle();
    },
  };
}

const nothingUnsettled = (): Unsettled => ({
  happenings: [],
  past: 0,
  changes: [],
  mustLast: false,
  writing: 0,
  written: Promise.resolve(),
  published: 0,
  stored: 0,
});

const inLog = ({ from, to, reason }: StatusChange) => ({ from, to, reason });

/**
 * Compares two states as they are listed, without the values that every check changes and that end by time alone: the
 * time of the last check, its duration, staleness and flapping.
 */
function isListedAlike(one: MonitorState, other: MonitorState): boolean {
  return (
    one.status === other.status &&
    one.sinceMs === other.sinceMs &&
    one.changes === other.changes &&
    one.problem?.reason === other.problem?.reason &&
    isAwaited(one) === isAwaited(other)
  );
}

/** A job that has said nothing yet; of other checks nothing is awaited. */
const isAwaited = (state: MonitorState) =>
  state.awaitedFromMs !== undefined && awaitsFirstPing(state);

/**
 * True if a difference must survive a restart. Everything that is listed must, because others have seen it. The time of
 * the last check is stored along with other changes only.
 */
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
