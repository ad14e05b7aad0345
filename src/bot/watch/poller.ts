import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { StatusError } from '../../clients/errors.ts';
import type { InvalidMonitor, MonitoringClient } from '../../clients/monitoring.ts';
import { yieldToEventLoop } from '../../contracts/event-loop.ts';
import type { Monitor } from '../../contracts/monitoring.ts';
import type { Channels } from '../channels/channels.ts';
import { createOddRowsLog, standIns } from '../incidents/invalid-monitors.ts';
import { askResponseTimes, newlyDown } from '../incidents/latency.ts';
import { askMissed, changedBetween } from '../incidents/missed-incidents.ts';
import { blinded, type FailedLooks, isBlind } from '../incidents/monitoring-outage.ts';
import { createAskBudget } from '../incidents/poll-quota.ts';
import { withoutOverSnoozes } from '../incidents/snoozes.ts';
import type { WatchState } from '../incidents/watch-state.ts';
import { backoffMs, type Clock } from '../shared/clock.ts';
import { type Place, placeKey } from '../shared/place.ts';
import { type Around, finishes, look } from './apply-poll.ts';
import { slicesOf } from './batches.ts';
import type { LastLook } from './last-poll.ts';

/** Looks at the monitors again and again, and notes what changed. */
export interface Watch {
  start(): void;
  stop(): Promise<void>;
}

/** Longest wait the service may ask for; after it, it is asked again. */
const MAX_WAIT_MS = 600_000;

/**
 * A watch over the monitoring service. `onNews` is called when there may be something to tell, with everything stored. A
 * look that failed says nothing about any monitor; when none succeeds for a while, people are told that.
 */
export function createWatch(options: {
  monitoring: MonitoringClient;
  state: WatchState;
  lastLook: LastLook;
  channels: Channels;
  alertPlaces: readonly Place[];
  pollMs: number;
  clock: Clock;
  random: () => number;
  onNews: () => void;
  log: Logger;
}): Watch {
  const { monitoring, state, lastLook, channels, alertPlaces } = options;
  const { pollMs, clock, random, onNews, log } = options;
  const stopping = new AbortController();
  const budget = createAskBudget(clock);
  let failed: FailedLooks | undefined;
  let running: Promise<void> | undefined;
  const tellOdd = createOddRowsLog(log);

  async function run() {
    while (!stopping.signal.aborted) {
      await endSnoozes();
      const waitMs = await lookOnce();
      await clock.pause(waitMs, stopping.signal);
    }
  }

  /** Takes snoozes that are over out of messages, whether or not the monitors can be seen. */
  async function endSnoozes() {
    try {
      const before = state.current();
      await state.update((watching) => withoutOverSnoozes(watching, clock.nowMs()));
      if (state.current() !== before) onNews();
    } catch (error) {
      // The next look tries again.
      log.error({ err: error }, 'that a snooze is over could not be stored');
    }
  }

  /** One look; resolves to how long to wait until the next. */
  async function lookOnce(): Promise<number> {
    try {
      const odd: InvalidMonitor[] = [];
      const onInvalid = (row: InvalidMonitor) => odd.push(row);
      const listed = await monitoring.list({ signal: stopping.signal, onInvalid });
      tellOdd(odd);
      await note([...listed, ...standIns(odd, listed, state.current()?.known ?? [])]);
      if (failed) log.info({ failures: failed.count }, 'monitors can be seen again');
      failed = undefined;
    } catch (error) {
      if (stopping.signal.aborted) return 0;
      return await afterFailure(error);
    }
    onNews();
    // A tenth more or less by chance, so that several bots do not ask at the same moment.
    return pollMs * (0.9 + random() / 5);
  }

  async function afterFailure(error: unknown): Promise<number> {
    const { count = 0, sinceMs = clock.nowMs() } = failed ?? {};
    failed = { count: count + 1, sinceMs, error };
    if (count === 0) log.warn({ err: error }, 'monitors cannot be seen; trying again');
    if (isBlind(failed, clock.nowMs(), pollMs)) await tellBlind(failed);
    const askedMs = error instanceof StatusError ? (error.retryAfterMs ?? 0) : 0;
    return Math.max(Math.min(askedMs, MAX_WAIT_MS), backoffMs(failed.count, random));
  }

  async function tellBlind(looks: FailedLooks) {
    try {
      const places = [...alertPlaces, ...(await channels.places())].map(placeKey);
      const around = { nowMs: clock.nowMs(), newId: randomUUID, places };
      await state.update((watching) => blinded(watching, looks, around));
      onNews();
    } catch (error) {
      // The next look that fails tries again.
      log.error({ err: error }, 'that monitors cannot be seen could not be noted');
    }
  }

  async function note(monitors: readonly Monitor[]) {
    const listeners = await channels.listeners();
    const nowMs = clock.nowMs();
    const unseenFromMs = lastLook.gapBefore(nowMs);
    const asking = { monitoring, budget, signal: stopping.signal, log };
    // Both take from one budget, in this order.
    const [{ missed, later }, responseTimes] = await Promise.all([
      askMissed(changedBetween(state.current(), monitors), asking),
      askResponseTimes(newlyDown(state.current(), monitors), asking),
    ]);
    const around: Around = {
      nowMs,
      newId: randomUUID,
      placesFor: (monitor) => [...alertPlaces, ...listeners(monitor)].map(placeKey),
      settingsOf: await channels.settings(),
      responseTimes,
      ...(unseenFromMs !== undefined && { unseenFromMs }),
    };
    let dropped = 0;
    // A crash between two slices loses nothing: what was in none that is stored is news to the next look.
    const slices = slicesOf(state.current(), monitors, missed);
    const isSliced = slices.length > 1;
    await yieldToEventLoop();
    for (const slice of slices) {
      await state.update((watching) => {
        const seen = look(watching, slice.monitors, around, { ...slice, later, isSliced });
        dropped += seen.dropped;
        return seen.watching;
      });
      await yieldToEventLoop();
    }
    const topics = state.current()?.topics ?? [];
    for (const finish of isSliced ? finishes(topics, monitors, around) : []) {
      await state.update((watching) => {
        if (!watching) return watching;
        const { topics, dropped: more = 0 } = finish(watching.topics);
        dropped += more;
        return topics === watching.topics ? watching : { ...watching, topics };
      });
      await yieldToEventLoop();
    }
    if (dropped > 0) log.error({ dropped }, 'the oldest untold alerts were dropped: too many wait');
    await keepLastLook(() => lastLook.looked(nowMs));
  }

  /** Without it an outage may later seem to be noticed late, which is no reason to stop looking. */
  async function keepLastLook(keep: () => Promise<void>) {
    try {
      await keep();
    } catch (error) {
      log.error({ err: error }, 'when the monitors were last seen could not be stored');
    }
  }

  return {
    start() {
      running ??= run();
    },
    async stop() {
      stopping.abort();
      await running;
      await keepLastLook(lastLook.end);
    },
  };
}
