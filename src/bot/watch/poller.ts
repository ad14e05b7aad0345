import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { StatusError } from '../../clients/errors.ts';
import type { MonitoringClient } from '../../clients/monitoring.ts';
import { yieldToEventLoop } from '../../contracts/event-loop.ts';
import type { Monitor } from '../../contracts/monitoring.ts';
import { type Channels, placesNamedBy } from '../channels/channels.ts';
import { escalated } from '../incidents/escalations.ts';
import { createInvalidMonitorsLog, placeholdersFor } from '../incidents/invalid-monitors.ts';
import { askResponseTimes, newlyDown } from '../incidents/latency.ts';
import { askMissed, withMissedChanges } from '../incidents/missed-incidents.ts';
import {
  type FailedPolls,
  isMonitoringOutage,
  withMonitoringOutage,
} from '../incidents/monitoring-outage.ts';
import { createRequestQuota, type RequestQuota } from '../incidents/poll-quota.ts';
import { withoutExpiredSnoozes } from '../incidents/snoozes.ts';
import type { Watching, WatchState } from '../incidents/watch-state.ts';
import { backoffMs, type Clock } from '../shared/clock.ts';
import { type Place, placeKey } from '../shared/place.ts';
import { type ApplyContext, applyPoll, batchesOf, finishingSteps } from './apply-poll.ts';
import type { LastPoll } from './last-poll.ts';
import { createListReader } from './list-reader.ts';

/** Longest `Retry-After` that is respected. */
const MAX_WAIT_MS = 600_000;

/** If this fails, a later outage may seem to be noticed late. Polling continues. */
const NOT_KEPT = 'could not store when the monitors were last read';

interface WatchPollerOptions {
  monitoring: MonitoringClient;
  state: Pick<WatchState, 'current' | 'update'>;
  lastPoll: LastPoll;
  channels: Channels;
  alertPlaces: readonly Place[];
  pollMs: number;
  clock: Clock;
  random: () => number;
  onChange: () => void;
  log: Logger;
}

export const createPoller = (options: WatchPollerOptions) => new Poller(options);

/**
 * Polls the monitoring service and stores changes. A failed poll says nothing about any monitor. If none succeeds for a
 * while, channels get a message.
 */
class Poller {
  readonly #options: WatchPollerOptions;
  readonly #stopping = new AbortController();
  readonly #quota: RequestQuota;
  readonly #reader: ReturnType<typeof createListReader>;
  readonly #logInvalid: ReturnType<typeof createInvalidMonitorsLog>;
  #failed: FailedPolls | undefined;
  #running: Promise<void> | undefined;
  /** Channels named in the monitors file, as of the last poll. */
  #namedPlaces: readonly Place[] = [];

  constructor(options: WatchPollerOptions) {
    const { monitoring, clock, log } = options;
    this.#options = options;
    this.#quota = createRequestQuota(clock);
    this.#reader = createListReader({ monitoring, nowMs: clock.nowMs, log });
    this.#logInvalid = createInvalidMonitorsLog(log);
  }

  start(): void {
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await this.#reader.idle();
    await this.#attempt(NOT_KEPT, () => this.#options.lastPoll.end());
  }

  async #run() {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await this.#expireSnoozes();
      const waitMs = await this.#poll();
      await this.#options.clock.pause(waitMs, signal);
    }
  }

  /** Resolves to the wait until the next poll. */
  async #poll(): Promise<number> {
    const { state, pollMs, random, onChange, log } = this.#options;
    const { signal } = this.#stopping;
    try {
      const { listed, invalid } = await this.#reader.read(signal);
      this.#logInvalid(invalid);
      const unread = placeholdersFor(invalid, listed, state.current()?.known ?? []);
      await this.#apply(unread.length === 0 ? listed : [...listed, ...unread]);
      if (this.#failed) {
        log.info({ failures: this.#failed.count }, 'the monitors can be read again');
      }
      this.#failed = undefined;
    } catch (error) {
      return signal.aborted ? 0 : await this.#afterFailure(error);
    }
    onChange();
    // Jitter, so that several bots don't poll at the same moment.
    return pollMs * (0.9 + random() / 5);
  }

  async #afterFailure(error: unknown): Promise<number> {
    const { clock, pollMs, random, log } = this.#options;
    const { count = 0, sinceMs = clock.nowMs() } = this.#failed ?? {};
    const failed = { count: count + 1, sinceMs, error };
    this.#failed = failed;
    if (count === 0) log.warn({ err: error }, 'could not read the monitors; retrying');
    if (isMonitoringOutage(failed, clock.nowMs(), pollMs)) await this.#reportOutage(failed);
    await this.#escalate();
    const askedMs = error instanceof StatusError ? (error.retryAfterMs ?? 0) : 0;
    return Math.max(Math.min(askedMs, MAX_WAIT_MS), backoffMs(failed.count, random));
  }

  #reportOutage(polls: FailedPolls) {
    const { alertPlaces, channels } = this.#options;
    return this.#attempt('could not store that the monitors cannot be read', async () => {
      const subscribed = await channels.places();
      const places = [...alertPlaces, ...subscribed, ...this.#namedPlaces].map(placeKey);
      await this.#update((watching, nowMs) =>
        withMonitoringOutage(watching, polls, { nowMs, newId: randomUUID, places }),
      );
    });
  }

  #expireSnoozes() {
    return this.#attempt('could not store the end of a snooze', () =>
      this.#update(withoutExpiredSnoozes),
    );
  }

  /** Escalations don't need a working poll. */
  #escalate() {
    return this.#attempt('could not store an escalation', async () => {
      const settingsOf = await this.#options.channels.settings();
      await this.#update((watching, nowMs) => {
        if (!watching) return watching;
        const alerts = escalated(watching.alerts, { nowMs, settingsOf });
        return alerts === watching.alerts ? watching : { ...watching, alerts };
      });
    });
  }

  async #update(change: (watching: Watching | undefined, nowMs: number) => Watching | undefined) {
    const { state, clock, onChange } = this.#options;
    const before = state.current();
    await state.update((watching) => change(watching, clock.nowMs()));
    if (state.current() !== before) onChange();
  }

  /** The next poll repeats an action that failed. */
  async #attempt(failure: string, act: () => Promise<void>) {
    try {
      await act();
    } catch (error) {
      this.#options.log.error({ err: error }, failure);
    }
  }

  async #apply(monitors: readonly Monitor[]) {
    const { state, lastPoll, channels, alertPlaces, clock, log } = this.#options;
    const placesOf = await channels.subscribers();
    this.#namedPlaces = placesNamedBy(monitors);
    const nowMs = clock.nowMs();
    const unseenFromMs = lastPoll.gapBefore(nowMs);
    const { missed, later, responseTimes } = await this.#requestDetails(monitors);
    const around: ApplyContext = {
      nowMs,
      newId: randomUUID,
      placesFor: (monitor) => [...alertPlaces, ...placesOf(monitor)].map(placeKey),
      settingsOf: await channels.settings(),
      listed: monitors,
      responseTimes,
      unseenFromMs,
    };
    // A crash between two batches loses nothing: the next poll finds the rest.
    const batches = batchesOf(state.current(), monitors, missed);
    const isBatched = batches.length > 1;
    let dropped = 0;
    await yieldToEventLoop();
    for (const batch of batches) {
      await state.update((watching) => {
        const after = applyPoll(watching, batch.monitors, around, { ...batch, later, isBatched });
        dropped += after.dropped;
        return after.watching;
      });
      await yieldToEventLoop();
    }
    if (isBatched) dropped += await this.#finish(monitors, around);
    if (dropped > 0) {
      log.error({ dropped }, 'dropped the oldest undelivered alerts: too many are waiting');
    }
    await this.#attempt(NOT_KEPT, () => lastPoll.polled(nowMs));
  }

  /** Requests what the list doesn't show. Both requests share one quota, in this order. */
  async #requestDetails(monitors: readonly Monitor[]) {
    const { monitoring, state, log } = this.#options;
    const asking = { monitoring, quota: this.#quota, signal: this.#stopping.signal, log };
    const [{ missed, later }, responseTimes] = await Promise.all([
      askMissed(withMissedChanges(state.current(), monitors), asking),
      askResponseTimes(newlyDown(state.current(), monitors), asking),
    ]);
    return { missed, later, responseTimes };
  }

  /** Resolves to the number of alerts that were dropped. */
  async #finish(monitors: readonly Monitor[], around: ApplyContext): Promise<number> {
    const { state } = this.#options;
    const { alerts = [], held } = state.current() ?? {};
    let dropped = 0;
    for (const finish of finishingSteps(alerts, monitors, { ...around, held })) {
      await state.update((watching) => {
        if (!watching) return watching;
        const after = finish(watching.alerts);
        dropped += after.dropped ?? 0;
        return after.alerts === watching.alerts ? watching : { ...watching, alerts: after.alerts };
      });
      await yieldToEventLoop();
    }
    return dropped;
  }
}
