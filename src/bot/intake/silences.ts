import type { Logger } from 'pino';
import type { AlertmanagerClient } from '../../clients/alertmanager.ts';
import { CallError, ContractError, StatusError } from '../../clients/errors.ts';
import { withShown } from '../incidents/incident-service.ts';
import {
  type Incident,
  incidentsIn,
  mapChanged,
  type Silence,
  type WatchState,
} from '../incidents/watch-state.ts';
import { backoffMs, type Clock } from '../shared/clock.ts';
import { shortened } from '../shared/text-format.ts';

/** Silences that are made or ended at one time. */
const TOGETHER_COUNT = 4;

/** How often an Alertmanager that gives no answer is asked. */
const TRIES = 3;

/** The clock may be set meanwhile. */
const MAX_PAUSE_MS = 5_000;

const NO_ADDRESS = 'ALERTMANAGER_URL no longer lists its address';
const NO_LABELS = 'not all of its labels are known';

/**
 * The silence that goes with a snooze of this incident: one that is wanted, or none that could be; `undefined` where none is
 * made. `hasAddress` is whether there is one for its intake. Pure.
 */
export function silenceFor(
  { reported }: Incident,
  { hasAddress }: { hasAddress: boolean },
): Silence | undefined {
  if (!hasAddress) return undefined;
  return reported?.labels ? { status: 'wanted' } : { status: 'refused', why: NO_LABELS };
}

/**
 * Makes the silences that snoozes want, and ends those that are wanted no more. That one is asked for is stored before, and what
 * came of it after; when a crash or a lost answer came in between, it is looked for by its comment before it is asked for again.
 * One process at a time does it.
 */
export function createSilencer(options: {
  state: Pick<WatchState, 'current' | 'update'>;
  /** Where silences for an incident are made. */
  clientFor: (incident: Incident) => AlertmanagerClient | undefined;
  clock: Clock;
  random: () => number;
  /** Called when there is something to show, with everything stored. */
  onChange: () => void;
  log: Logger;
}) {
  const { state, clientFor, clock, random, onChange, log } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  let woken = new AbortController();
  let running: Promise<void> | undefined;
  /** Of those that got no answer, how often they were asked for. */
  const tried = new Map<string, number>();

  async function run() {
    let failures = 0;
    while (!signal.aborted) {
      woken = new AbortController();
      const work = workIn(state.current()?.alerts ?? [], clock.nowMs());
      const waiting = work.values();
      const results: boolean[] = [];
      const doNext = async () => {
        for (const one of waiting) {
          if (signal.aborted) return;
          results.push(await done(one));
        }
      };
      await Promise.all(Array.from({ length: TOGETHER_COUNT }, doNext));
      const isLeft = results.includes(false);
      failures = isLeft ? failures + 1 : 0;
      if (isLeft) await clock.pause(backoffMs(failures, random), signal);
      // What was wanted meanwhile has woken this.
      else await clock.pause(MAX_PAUSE_MS, AbortSignal.any([signal, woken.signal]));
    }
  }

  /** Does what there is to do for one incident; false when that is to be tried again. */
  async function done({ incident, does }: Work): Promise<boolean> {
    const key = `${does} ${incident.id}`;
    try {
      await (does === 'make' ? make(incident) : end(incident));
      tried.delete(key);
      return true;
    } catch (error) {
      if (signal.aborted) return true;
      if (!(error instanceof CallError || error instanceof ContractError)) {
        log.error({ err: error }, 'could not store a silence');
        return false;
      }
      const tries = (tried.get(key) ?? 0) + 1;
      tried.set(key, tries);
      const isRefused = error instanceof StatusError && error.status < 500;
      if (!isRefused && tries < TRIES) return false;
      tried.delete(key);
      log.warn(
        { err: error, incident: incident.id },
        'Alertmanager did not create or end a silence',
      );
      return await stored(incident, failed(does, error, isRefused));
    }
  }

  async function make(incident: Incident) {
    const { snoozed, reported } = incident;
    if (!snoozed?.silence || !reported?.labels) return;
    const client = clientFor(incident);
    if (!client) return await settle(incident, made({ status: 'refused', why: NO_ADDRESS }));
    const isAgain = snoozed.silence.status === 'asked';
    // Whoever ended the snooze meanwhile wants none.
    if (!isAgain && !(await settle(incident, made({ status: 'asked' })))) return;
    const wanted = {
      ...{ labels: reported.labels, untilMs: snoozed.untilMs },
      by: snoozed.by,
      comment: commentOf(incident, snoozed.untilMs),
    };
    const [found] = isAgain ? await client.silencesOf(wanted, signal) : [];
    const id = found ?? (await client.silence(wanted, signal));
    await settle(incident, made({ status: 'made', id }));
  }

  async function end(incident: Incident) {
    const { silenceEnd, reported } = incident;
    if (!silenceEnd) return;
    const { id, untilMs } = silenceEnd;
    const client = clientFor(incident);
    if (!client) {
      return await settle(incident, { does: 'end', status: 'refused', why: NO_ADDRESS });
    }
    const wanted = { labels: reported?.labels ?? {}, comment: commentOf(incident, untilMs) };
    const ids = id === undefined ? await client.silencesOf(wanted, signal) : [id];
    for (const one of ids) await client.expire(one, signal);
    await settle(incident, { does: 'end', status: 'ended' });
  }

  async function stored(...of: Parameters<typeof settle>): Promise<boolean> {
    try {
      await settle(...of);
      return true;
    } catch (error) {
      log.error({ err: error }, 'could not store the state of a silence');
      return false;
    }
  }

  /** Stores what came of it; false when it is no longer wanted. */
  async function settle(of: Incident, outcome: Outcome): Promise<boolean> {
    let isWanted = false;
    await state.update((watching) => {
      isWanted = false;
      if (!watching) return watching;
      const alerts = mapChanged(watching.alerts, (alert) => {
        if (alert.kind !== 'incident' || alert.id !== of.id) return alert;
        const after =
          outcome.does === 'make'
            ? withMade(alert, of, outcome.silence)
            : withEnded(alert, of, outcome);
        isWanted = after !== undefined;
        return after ?? alert;
      });
      return withShown(watching, alerts, clock.nowMs());
    });
    onChange();
    return isWanted;
  }

  return {
    start() {
      running ??= run();
    },
    /** Something may be wanted. */
    wake() {
      woken.abort();
    },
    /** Resolves when nothing is asked for any more; what was, is looked for by whoever goes on. */
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

interface Work {
  incident: Incident;
  does: 'make' | 'end';
}

type Outcome =
  | { does: 'make'; silence: Silence }
  | { does: 'end'; status: 'ended' | 'refused'; why?: string };

const made = (silence: Silence): Outcome => ({ does: 'make', silence });

/** What there is to do; of one incident what was wanted first. */
function workIn(alerts: Parameters<typeof incidentsIn>[0], nowMs: number): Work[] {
  return incidentsIn(alerts).flatMap((incident): Work[] => {
    const { snoozed, silenceEnd } = incident;
    if (silenceEnd?.status === 'wanted') {
      // It ends by itself.
      return silenceEnd.untilMs > nowMs ? [{ incident, does: 'end' }] : [];
    }
    const status = snoozed?.silence?.status;
    const isWanted = status === 'wanted' || status === 'asked';
    return isWanted && snoozed && snoozed.untilMs > nowMs ? [{ incident, does: 'make' }] : [];
  });
}

/** An incident with what came of the silence that it wanted, unless its snooze was ended meanwhile. */
function withMade(
  now: Incident,
  { snoozed: before }: Incident,
  silence: Silence,
): Incident | undefined {
  const { snoozed } = now;
  if (snoozed?.silence && snoozed.untilMs === before?.untilMs) {
    // That it is asked for shows nothing new.
    const version = now.version + (silence.status === 'asked' ? 0 : 1);
    return { ...now, version, snoozed: { ...snoozed, silence } };
  }
  // Its end looks for what was made by then.
  return undefined;
}

/** An incident with what came of the end of its silence. */
function withEnded(
  now: Incident,
  { silenceEnd: before }: Incident,
  { status, why }: Extract<Outcome, { does: 'end' }>,
): Incident | undefined {
  const { silenceEnd } = now;
  if (!silenceEnd || silenceEnd.untilMs !== before?.untilMs) return undefined;
  const after = { ...silenceEnd, status, ...(why !== undefined && { why }) };
  return { ...now, version: now.version + 1, silenceEnd: after };
}

/** By which a silence is found again: nobody else writes the same. */
const commentOf = ({ id }: Incident, untilMs: number) =>
  `Snoozed in Askwatch until ${new Date(untilMs).toISOString()} (${id} ${untilMs})`;

/** Without an answer it may have been made. */
function failed(does: Work['does'], { message }: Error, isRefused: boolean): Outcome {
  const why = shortened(message, 200);
  if (does === 'end') return { does, status: 'refused', why };
  return made({ status: isRefused ? 'refused' : 'unknown', why });
}
