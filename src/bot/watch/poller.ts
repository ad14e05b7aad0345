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
import { createRequestQuota } from '../incidents/poll-quota.ts';
import { withoutExpiredSnoozes } from '../incidents/snoozes.ts';
import type { WatchState } from '../incidents/watch-state.ts';
import { backoffMs, type Clock } from '../shared/clock.ts';
import { type Place, placeKey } from '../shared/place.ts';
import { type ApplyContext, applyPoll, batchesOf, finishingSteps } from './apply-poll.ts';
import type { LastPoll } from './last-poll.ts';
import { createListReader } from './list-reader.ts';

/** Longest wait the service may ask for; after it, it is asked again. */
const MAX_WAIT_MS = 600_000;

/** Without it an outage may later seem to be noticed late, which is no reason to stop polling. */
const NOT_KEPT = 'could not store when the monitors were last read';

/**
 * Polls the monitoring service again and again, and notes what changed. `onChange` is called when there may be something to
 * tell, with everything stored. A poll that failed says nothing about any monitor; when none succeeds for a while, people are
 * told that.
 */
export function createPoller(options: {
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
}) {
  const { monitoring, state, lastPoll, channels, alertPlaces } = options;
  const { pollMs, clock, random, onChange, log } = options;
  const stopping = new AbortController();
  const quota = createRequestQuota(clock);
  let failed: FailedPolls | undefined;
  let running: Promise<void> | undefined;
  /** Places that the file of monitors names, as last polled. */
  let named: readonly Place[] = [];
  const logInvalid = createInvalidMonitorsLog(log);
  const reader = createListReader({ monitoring, nowMs: clock.nowMs, log });

  async function run() {
    while (!stopping.signal.aborted) {
      await expireSnoozes();
      const waitMs = await poll();
      await clock.pause(waitMs, stopping.signal);
    }
  }

  /** Does what the next poll does again where it fails. */
  async function attempt(failure: string, act: () => Promise<void>) {
    try {
      await act();
    } catch (error) {
      log.error({ err: error }, failure);
    }
  }

  /** Takes snoozes that are over out of messages, whether or not the monitors can be seen. */
  const expireSnoozes = () =>
    attempt('could not store the end of a snooze', async () => {
      const before = state.current();
      await state.update((watching) => withoutExpiredSnoozes(watching, clock.nowMs()));
      if (state.current() !== before) onChange();
    });

  /** One poll; resolves to how long to wait until the next. */
  async function poll(): Promise<number> {
    try {
      const { listed, invalid } = await reader.read(stopping.signal);
      logInvalid(invalid);
      const unread = placeholdersFor(invalid, listed, state.current()?.known ?? []);
      await apply(unread.length === 0 ? listed : [...listed, ...unread]);
      if (failed) log.info({ failures: failed.count }, 'the monitors can be read again');
      failed = undefined;
    } catch (error) {
      if (stopping.signal.aborted) return 0;
      return await afterFailure(error);
    }
    onChange();
    // A tenth more or less by chance, so that several bots do not ask at the same moment.
    return pollMs * (0.9 + random() / 5);
  }

  async function afterFailure(error: unknown): Promise<number> {
    const { count = 0, sinceMs = clock.nowMs() } = failed ?? {};
    failed = { count: count + 1, sinceMs, error };
    if (count === 0) log.warn({ err: error }, 'could not read the monitors; retrying');
    if (isMonitoringOutage(failed, clock.nowMs(), pollMs)) await reportOutage(failed);
    await escalate();
    const askedMs = error instanceof StatusError ? (error.retryAfterMs ?? 0) : 0;
    return Math.max(Math.min(askedMs, MAX_WAIT_MS), backoffMs(failed.count, random));
  }

  const reportOutage = (polls: FailedPolls) =>
    attempt('could not store that the monitors cannot be read', async () => {
      const places = [...alertPlaces, ...(await channels.places()), ...named].map(placeKey);
      const around = { nowMs: clock.nowMs(), newId: randomUUID, places };
      await state.update((watching) => withMonitoringOutage(watching, polls, around));
      onChange();
    });

  /** What nobody acknowledges is told to others also while nothing can be seen. */
  const escalate = () =>
    attempt('could not store an escalation', async () => {
      const before = state.current();
      const around = { nowMs: clock.nowMs(), settingsOf: await channels.settings() };
      await state.update((watching) => {
        if (!watching) return watching;
        const alerts = escalated(watching.alerts, around);
        return alerts === watching.alerts ? watching : { ...watching, alerts };
      });
      if (state.current() !== before) onChange();
    });

  async function apply(monitors: readonly Monitor[]) {
    const listeners = await channels.subscribers();
    named = placesNamedBy(monitors);
    const nowMs = clock.nowMs();
    const unseenFromMs = lastPoll.gapBefore(nowMs);
    const asking = { monitoring, quota, signal: stopping.signal, log };
    // Both take from one quota, in this order.
    const [{ missed, later }, responseTimes] = await Promise.all([
      askMissed(withMissedChanges(state.current(), monitors), asking),
      askResponseTimes(newlyDown(state.current(), monitors), asking),
    ]);
    const around: ApplyContext = {
      nowMs,
      newId: randomUUID,
      placesFor: (monitor) => [...alertPlaces, ...listeners(monitor)].map(placeKey),
      settingsOf: await channels.settings(),
      listed: monitors,
      responseTimes,
      ...(unseenFromMs !== undefined && { unseenFromMs }),
    };
    let dropped = 0;
    // A crash between two batches loses nothing: what was in none that is stored is news to the next poll.
    const batches = batchesOf(state.current(), monitors, missed);
    const isBatched = batches.length > 1;
    await yieldToEventLoop();
    for (const batch of batches) {
      await state.update((watching) => {
        const seen = applyPoll(watching, batch.monitors, around, { ...batch, later, isBatched });
        dropped += seen.dropped;
        return seen.watching;
      });
      await yieldToEventLoop();
    }
    const { alerts = [], held } = state.current() ?? {};
    const finishing = { ...around, ...(held && { held }) };
    for (const finish of isBatched ? finishingSteps(alerts, monitors, finishing) : []) {
      await state.update((watching) => {
        if (!watching) return watching;
        const { alerts, dropped: more = 0 } = finish(watching.alerts);
        dropped += more;
        return alerts === watching.alerts ? watching : { ...watching, alerts };
      });
      await yieldToEventLoop();
    }
    if (dropped > 0)
      log.error({ dropped }, 'dropped the oldest undelivered alerts: too many are waiting');
    await attempt(NOT_KEPT, () => lastPoll.polled(nowMs));
  }

  return {
    start() {
      running ??= run();
    },
    async stop() {
      stopping.abort();
      await running;
      await reader.idle();
      await attempt(NOT_KEPT, lastPoll.end);
    },
  };
}
