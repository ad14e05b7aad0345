import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { conversationKey } from '../ask/conversations.ts';
import { quietUntilMs } from '../channels/quiet-hours.ts';
import type { BotCore, BotParts } from '../commands/open-features.ts';
import { goesOn, newDelivery } from '../incidents/incidents.ts';
import type { Alert, Delivery, Investigation } from '../incidents/watch-state.ts';
import { CommandError } from '../shared/errors.ts';
import { type Place, placeKey } from '../shared/place.ts';
import { shortened } from '../shared/text-format.ts';
import { again, details, notNow } from './buttons.ts';
import { type DueInvestigation, dueInvestigation, investigationsIn } from './due.ts';
import { brokenCard, startedCard, stoppedCard } from './investigation-card.ts';
import { budgetOf, requireBudget, runInvestigation } from './run-investigation.ts';

/** Time between two looks at the alerts. */
const LOOK_MS = 1_000;

/** Shortest time between two starts by itself: Slack allows 50 edits a minute in all, and each investigation needs some. */
const START_MS = 4_000;

/** Shortest time between two edits of a message that grows. */
const SHOW_MS = 3_000;

/** Investigations at a time, in all channels. */
const MAX_RUNNING = 3;

const BUSY = `${MAX_RUNNING} investigations are already running. Try again in a minute.`;
const RESTARTED = 'Askwatch restarted during this investigation.';

/**
 * Starts investigations when they are due, and keeps their state. Each is stored before anything is posted, so a kill leaves
 * one message, which the next start ends with a note.
 */
export class Investigator {
  readonly #core: BotCore;
  readonly #stopping = new AbortController();
  readonly #runs = new Map<string, { stop: AbortController; ended: Promise<void> }>();
  #bot: BotParts | undefined;
  #looking: Promise<void> | undefined;

  constructor(core: BotCore) {
    this.#core = core;
  }

  start(bot: BotParts): void {
    this.#bot = bot;
    this.#looking ??= this.#look();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all([this.#looking, ...[...this.#runs.values()].map(({ ended }) => ended)]);
  }

  /** Starts an investigation again, because a person asks. Throws a `CommandError` if it can't. */
  async again(id: string, place: Place): Promise<void> {
    this.#get(id, place);
    if (this.#runs.size >= MAX_RUNNING) throw new CommandError(BUSY);
    await requireBudget(place, await budgetOf(place, this.#core), this.#core);
    await this.#restart(id, (now) => {
      if (now.state === 'running') throw new CommandError('This investigation is running already.');
      return now;
    });
  }

  /** Turns an investigation off for its incident. Throws a `CommandError` if it is off. */
  async turnOff(id: string, place: Place, by: string): Promise<void> {
    this.#get(id, place);
    await this.#change(id, (now) => {
      if (now.state === 'off') throw new CommandError('This investigation is off already.');
      const left = now.actions.filter(({ command }) => command !== notNow(id).command);
      const actions = now.state === 'running' ? [again(id)] : left;
      return { ...now, state: 'off', card: stoppedCard(now, shortened(by, 80)), actions };
    });
    this.#runs.get(id)?.stop.abort();
  }

  /** The report in its thread's memory; `undefined` if that was forgotten. */
  async reportOf(id: string, place: Place): Promise<string | undefined> {
    const { under } = this.#get(id, place);
    const key = conversationKey(place, under.thread);
    const turns = await this.#core.conversations.turns(key);
    return turns.find((turn) => turn.id === id)?.answer;
  }

  async #look(): Promise<void> {
    const { clock, log } = this.#core;
    const { signal } = this.#stopping;
    let hasEndedOld = false;
    while (!signal.aborted) {
      let hasBegun = false;
      try {
        if (!hasEndedOld) await this.#endInterrupted();
        hasEndedOld = true;
        hasBegun = await this.#beginDue();
      } catch (error) {
        log.error({ err: error }, 'could not look for incidents to investigate; retrying');
      }
      await clock.pause(hasBegun ? START_MS : LOOK_MS, signal);
    }
  }

  /** Ends the investigations that an earlier process began. */
  async #endInterrupted(): Promise<void> {
    const running = investigationsIn(this.#core.state.current()?.alerts ?? []).filter(
      ({ state }) => state === 'running',
    );
    for (const { id } of running) {
      await this.#change(id, (now) => ({
        ...now,
        state: 'done',
        card: brokenCard(RESTARTED, []),
        actions: [again(id), notNow(id)],
      }));
    }
  }

  /** Begins one investigation. Resolves to false if none is due, or enough are running. */
  async #beginDue(): Promise<boolean> {
    const { channels, state, clock } = this.#core;
    const watching = state.current();
    // The store is only read while an incident is ongoing.
    if (!watching?.alerts.some(goesOn)) return false;
    for (const { place, investigate: setting, quiet } of await channels.investigating()) {
      if (this.#runs.size >= MAX_RUNNING) return false;
      // With thousands of incidents, each channel takes some milliseconds.
      await nextTurn();
      const nowMs = clock.nowMs();
      if (quiet && quietUntilMs(quiet, nowMs) !== undefined) continue;
      const due = dueInvestigation(watching, { ...setting, place: placeKey(place), nowMs });
      if (!due) continue;
      await this.#begin(place, due);
      return true;
    }
    return false;
  }

  /** Stores an investigation of the alert, or starts its earlier one again. */
  async #begin(place: Place, { alert, under, monitorIds }: DueInvestigation): Promise<void> {
    const key = placeKey(place);
    const all = investigationsIn(this.#core.state.current()?.alerts ?? []);
    const before = all.find((one) => one.of === alert.id && one.place === key);
    if (before) return await this.#restart(before.id, (now) => ({ ...now, monitorIds }));
    const id = randomUUID();
    const nowMs = this.#core.clock.nowMs();
    const begun: Investigation = {
      kind: 'investigation',
      id,
      version: 1,
      openedAtMs: nowMs,
      deliveries: [newDelivery(key, id)],
      place: key,
      of: alert.id,
      under,
      monitorIds,
      state: 'running',
      startedAtMs: nowMs,
      card: startedCard(),
      actions: [notNow(id)],
    };
    await this.#core.state.update(
      (watching) => watching && { ...watching, alerts: [...watching.alerts, begun] },
    );
    this.#core.onChange();
    this.#run(begun);
  }

  async #restart(id: string, change: (now: Investigation) => Investigation): Promise<void> {
    const startedAtMs = this.#core.clock.nowMs();
    await this.#change(id, (now) => ({
      ...change(now),
      state: 'running',
      startedAtMs,
      card: startedCard(),
      actions: [notNow(id)],
    }));
    const begun = this.#find(id);
    if (begun) this.#run(begun);
  }

  #run(begun: Investigation): void {
    const stop = new AbortController();
    const signal = AbortSignal.any([this.#stopping.signal, stop.signal]);
    const ended = this.#complete(begun, signal)
      .catch((error: unknown) => {
        this.#core.log.error({ err: error }, 'could not store the result of an investigation');
      })
      .finally(() => {
        if (this.#runs.get(begun.id)?.stop === stop) this.#runs.delete(begun.id);
      });
    this.#runs.set(begun.id, { stop, ended });
  }

  /** Investigates, and stores the result or the reason why there is none. */
  async #complete(begun: Investigation, signal: AbortSignal): Promise<void> {
    const { id } = begun;
    let shownAtMs = performance.now();
    const outcome = await runInvestigation(begun, {
      core: this.#core,
      bot: this.#parts(),
      signal,
      onSteps: (steps) => {
        if (performance.now() - shownAtMs < SHOW_MS) return;
        shownAtMs = performance.now();
        const show = this.#changeRun(begun, (now) => ({ ...now, card: startedCard(steps) }));
        show.catch((error: unknown) => {
          this.#core.log.warn({ err: error }, 'could not show the progress of an investigation');
        });
      },
    });
    // After a press, or at the next start, the message says why it ended.
    if (signal.aborted) return;
    const { card, likely, isRemembered } = outcome;
    const buttons = isRemembered
      ? [...this.#parts().buttonsUnder(id, { isPrivate: false }), details(id)]
      : [];
    const actions = [...buttons, again(id), notNow(id)];
    await this.#changeRun(begun, (now) => ({ ...now, state: 'done', card, actions }), likely);
  }

  /** Changes an investigation, unless it has ended or begun again since. */
  async #changeRun(
    { id, startedAtMs }: Investigation,
    change: (now: Investigation) => Investigation,
    likely?: Delivery['likely'],
  ): Promise<void> {
    const isSame = (now: Investigation) =>
      now.state === 'running' && now.startedAtMs === startedAtMs;
    await this.#change(id, (now) => (isSame(now) ? change(now) : now), likely);
  }

  /** Stores a change and shows it. `likely` is shown on the alert. */
  async #change(
    id: string,
    change: (now: Investigation) => Investigation,
    likely?: Delivery['likely'],
  ): Promise<void> {
    await this.#core.state.update((watching) => {
      const before = investigationsIn(watching?.alerts ?? []).find((one) => one.id === id);
      if (!watching || !before) return watching;
      const now = change(before);
      if (now === before) return watching;
      const alerts = watching.alerts.map((alert) => {
        if (alert === before) return { ...now, version: before.version + 1 };
        return likely && alert.id === before.of ? withLikely(alert, before.place, likely) : alert;
      });
      return { ...watching, alerts };
    });
    this.#core.onChange();
  }

  #find(id: string): Investigation | undefined {
    const all = investigationsIn(this.#core.state.current()?.alerts ?? []);
    return all.find((one) => one.id === id);
  }

  /** Only its own channel may see or change it. */
  #get(id: string, place: Place): Investigation {
    const found = this.#find(id);
    if (found?.place === placeKey(place)) return found;
    throw new CommandError('This investigation is too old. Askwatch no longer has its data.');
  }

  #parts(): BotParts {
    if (!this.#bot) throw new Error('The bot has not started.');
    return this.#bot;
  }
}

/** The alert's message in a place is edited, so that it shows the likely cause. */
function withLikely(alert: Alert, place: string, likely: Delivery['likely']): Alert {
  const deliveries = alert.deliveries.map((delivery) =>
    delivery.place === place && delivery.posted
      ? { ...delivery, likely, deliveredVersion: 0 }
      : delivery,
  );
  return { ...alert, deliveries };
}
