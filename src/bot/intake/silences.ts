import type { Logger } from 'pino';
import type { AlertmanagerClient } from '../../clients/alertmanager.ts';
import { CallError, ContractError, StatusError } from '../../clients/errors.ts';
import { withShown } from '../incidents/incident-service.ts';
import {
  type Alert,
  type Incident,
  incidentsIn,
  mapChanged,
  type Silence,
  type SilenceEnd,
  type WatchState,
} from '../incidents/watch-state.ts';
import { backoffMs, type Clock } from '../shared/clock.ts';
import { shortened } from '../shared/text-format.ts';

/** Most requests to Alertmanagers at a time. */
const PARALLEL_REQUESTS = 4;

/** Attempts before Askwatch gives up on an Alertmanager that doesn't answer. */
const MAX_ATTEMPTS = 3;

/** Bounded because the clock may be changed during the pause. */
const MAX_PAUSE_MS = 5_000;

const NO_ADDRESS = 'ALERTMANAGER_URL no longer lists its address';
const NO_LABELS = 'not all of its labels are known';

/** The silence for a snooze of this incident. `undefined` if its intake has no Alertmanager. Pure. */
export function silenceFor(
  { reported }: Incident,
  { hasAddress }: { hasAddress: boolean },
): Silence | undefined {
  if (!hasAddress) return undefined;
  return reported?.labels ? { status: 'wanted' } : { status: 'refused', why: NO_LABELS };
}

/** One change to make in an Alertmanager: create the silence of a snooze, or end it. */
interface SilenceTask {
  incident: Incident;
  does: 'create' | 'end';
}

interface SilencerOptions {
  state: Pick<WatchState, 'current' | 'update'>;
  /** The Alertmanager of an incident's intake. */
  clientFor: (incident: Incident) => AlertmanagerClient | undefined;
  clock: Clock;
  random: () => number;
  /** Called after a new state of a silence is stored. */
  onChange: () => void;
  log: Logger;
}

/**
 * Brings Alertmanagers in line with snoozes. The states of a silence are listed at `Silence` and `SilenceEnd`. A request is
 * stored before it is sent. After a crash or a lost answer, the silence is found by its comment, so it's never created twice.
 */
export class Silencer {
  readonly #options: SilencerOptions;
  readonly #stopping = new AbortController();
  #woken = new AbortController();
  #running: Promise<void> | undefined;
  /** Unanswered attempts by task. */
  readonly #attempts = new Map<string, number>();

  constructor(options: SilencerOptions) {
    this.#options = options;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Checks for new work. */
  wake(): void {
    this.#woken.abort();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run() {
    const { state, clock, random } = this.#options;
    const { signal } = this.#stopping;
    let failures = 0;
    while (!signal.aborted) {
      this.#woken = new AbortController();
      const tasks = tasksIn(state.current()?.alerts ?? [], clock.nowMs()).values();
      let isDone = true;
      const work = async () => {
        for (const task of tasks) {
          if (signal.aborted) return;
          if (!(await this.#perform(task))) isDone = false;
        }
      };
      await Promise.all(Array.from({ length: PARALLEL_REQUESTS }, work));
      failures = isDone ? 0 : failures + 1;
      if (!isDone) await clock.pause(backoffMs(failures, random), signal);
      else await clock.pause(MAX_PAUSE_MS, AbortSignal.any([signal, this.#woken.signal]));
    }
  }

  /** Resolves to false if the task must be tried again. */
  async #perform(task: SilenceTask): Promise<boolean> {
    const { incident, does } = task;
    const { log } = this.#options;
    const key = `${does} ${incident.id}`;
    try {
      await (does === 'create' ? this.#create(incident) : this.#end(incident));
      this.#attempts.delete(key);
      return true;
    } catch (error) {
      if (this.#stopping.signal.aborted) return true;
      if (!(error instanceof CallError || error instanceof ContractError)) {
        log.error({ err: error }, 'could not store a silence');
        return false;
      }
      const attempts = (this.#attempts.get(key) ?? 0) + 1;
      this.#attempts.set(key, attempts);
      const isRefused = error instanceof StatusError && error.status < 500;
      if (!isRefused && attempts < MAX_ATTEMPTS) return false;
      this.#attempts.delete(key);
      log.warn(
        { err: error, incident: incident.id },
        'Alertmanager did not create or end a silence',
      );
      return await this.#giveUp(task, shortened(error.message, 200), isRefused);
    }
  }

  async #giveUp({ incident, does }: SilenceTask, why: string, isRefused: boolean) {
    try {
      // Without an answer the silence may exist.
      const status = isRefused ? 'refused' : 'unknown';
      if (does === 'create') await this.#storeSilence(incident, { status, why });
      else await this.#storeEnd(incident, { status: 'refused', why });
      return true;
    } catch (error) {
      this.#options.log.error({ err: error }, 'could not store the state of a silence');
      return false;
    }
  }

  async #create(incident: Incident) {
    const { snoozed, reported } = incident;
    if (!snoozed?.silence || !reported?.labels) return;
    const client = this.#options.clientFor(incident);
    if (!client) {
      await this.#storeSilence(incident, { status: 'refused', why: NO_ADDRESS });
      return;
    }
    const wasRequested = snoozed.silence.status === 'requested';
    if (!wasRequested && !(await this.#storeSilence(incident, { status: 'requested' }))) return;
    const { signal } = this.#stopping;
    const wanted = {
      labels: reported.labels,
      untilMs: snoozed.untilMs,
      by: snoozed.by,
      comment: commentOf(incident, snoozed.untilMs),
    };
    const [existing] = wasRequested ? await client.silencesOf(wanted, signal) : [];
    const id = existing ?? (await client.silence(wanted, signal));
    await this.#storeSilence(incident, { status: 'created', id });
  }

  async #end(incident: Incident) {
    const { silenceEnd, reported } = incident;
    if (!silenceEnd) return;
    const client = this.#options.clientFor(incident);
    if (!client) return await this.#storeEnd(incident, { status: 'refused', why: NO_ADDRESS });
    const { signal } = this.#stopping;
    const { id, untilMs } = silenceEnd;
    const wanted = { labels: reported?.labels ?? {}, comment: commentOf(incident, untilMs) };
    const ids = id === undefined ? await client.silencesOf(wanted, signal) : [id];
    for (const one of ids) await client.expire(one, signal);
    await this.#storeEnd(incident, { status: 'ended' });
  }

  /** Resolves to false if the snooze was ended in the meantime. Its end then finds what was created. */
  async #storeSilence({ id, snoozed: before }: Incident, silence: Silence): Promise<boolean> {
    return await this.#store(id, (incident) => {
      const { snoozed } = incident;
      if (!snoozed?.silence || snoozed.untilMs !== before?.untilMs) return incident;
      // A request shows nothing new to people.
      const version = incident.version + (silence.status === 'requested' ? 0 : 1);
      return { ...incident, version, snoozed: { ...snoozed, silence } };
    });
  }

  async #storeEnd(
    { id, silenceEnd: before }: Incident,
    end: Pick<SilenceEnd, 'status' | 'why'>,
  ): Promise<void> {
    await this.#store(id, (incident) => {
      const { silenceEnd, version } = incident;
      if (!silenceEnd || silenceEnd.untilMs !== before?.untilMs) return incident;
      return { ...incident, version: version + 1, silenceEnd: { ...silenceEnd, ...end } };
    });
  }

  async #store(id: string, change: (incident: Incident) => Incident): Promise<boolean> {
    const { state, clock, onChange } = this.#options;
    let isChanged = false;
    await state.update((watching) => {
      if (!watching) return watching;
      const alerts = mapChanged(watching.alerts, (alert) =>
        alert.kind === 'incident' && alert.id === id ? change(alert) : alert,
      );
      isChanged = alerts !== watching.alerts;
      return withShown(watching, alerts, clock.nowMs());
    });
    onChange();
    return isChanged;
  }
}

/** An incident has one task at most. Ending an earlier silence comes before creating another. */
function tasksIn(alerts: readonly Alert[], nowMs: number): SilenceTask[] {
  return incidentsIn(alerts).flatMap((incident): SilenceTask[] => {
    const { snoozed, silenceEnd } = incident;
    if (silenceEnd?.status === 'wanted') {
      return silenceEnd.untilMs > nowMs ? [{ incident, does: 'end' }] : [];
    }
    const status = snoozed?.silence?.status;
    const isOpen = status === 'wanted' || status === 'requested';
    return isOpen && snoozed && snoozed.untilMs > nowMs ? [{ incident, does: 'create' }] : [];
  });
}

/** Unique, so that Askwatch finds its own silence again. */
const commentOf = ({ id }: Incident, untilMs: number) =>
  `Snoozed in Askwatch until ${new Date(untilMs).toISOString()} (${id} ${untilMs})`;
