import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { Logger } from 'pino';
import { StatusError } from '../clients/errors.ts';
import type { MonitoringClient } from '../clients/monitoring.ts';
import type { Monitor } from '../contracts/monitoring.ts';
import { createAskBudget } from './ask-budget.ts';
import { askMissed, changedBetween, type Missed } from './between-looks.ts';
import { blinded, type FailedLooks, isBlind } from './blindness.ts';
import type { ChannelSettings } from './channel-settings.ts';
import type { Channels } from './channels.ts';
import { backoffMs, type Clock } from './clock.ts';
import { decide } from './decide.ts';
import { diff } from './diff.ts';
import { recentDowns } from './flapping.ts';
import { grouped, refreshed } from './groups.ts';
import { isOpen, prune, type Surroundings } from './incidents.ts';
import type { LastLook } from './last-look.ts';
import { askResponseTimes, newlyDown } from './latency.ts';
import { type Place, placeKey } from './platform.ts';
import { gathered } from './quiet-digest.ts';
import { quietUntilMs, quietWords } from './quiet-hours.ts';
import { reminded } from './reminders.ts';
import { concernedBy, slicesOf } from './slices.ts';
import type { Incident, Topic, Watching, WatchState } from './watch-state.ts';

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

  async function run() {
    while (!stopping.signal.aborted) {
      const waitMs = await lookOnce();
      await clock.pause(waitMs, stopping.signal);
    }
  }

  /** One look; resolves to how long to wait until the next. */
  async function lookOnce(): Promise<number> {
    try {
      const monitors = await monitoring.list({ signal: stopping.signal });
      await note(monitors);
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
    for (const slice of slicesOf(state.current(), monitors, missed)) {
      await state.update((watching) => {
        const seen = look(watching, slice.monitors, around, { ...slice, later });
        dropped += seen.dropped;
        return seen.watching;
      });
      await setImmediate();
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

/** What a look needs from outside. */
interface Around extends Surroundings {
  /** How places are told; nothing is set when left out. */
  settingsOf?: (place: string) => ChannelSettings;
}

/** What the service told besides its list. */
interface Between {
  missed: readonly Missed[];
  /** Those of which the rest is asked for after the next look. */
  later: ReadonlySet<string>;
  /** The list is a part of what the look found. */
  isPart?: boolean;
}

const NOTHING_MISSED: Between = { missed: [], later: new Set() };

/** What is known and to be told after a look; the same document when nothing is different. Pure. */
export function look(
  watching: Watching | undefined,
  monitors: readonly Monitor[],
  given: Around,
  between: Between = NOTHING_MISSED,
): { watching: Watching; dropped: number } {
  const around = watching?.learnt ? given : { ...given, unseenFromMs: 0 };
  const { sight, changes } = diff(watching, monitors, between.later, between.isPart);
  const all = watching?.topics ?? [];
  const { concerned: known, withOthers } = between.isPart
    ? concernedBy(monitors, all)
    : { concerned: all, withOthers: undefined };
  const recent = recentDowns(watching?.downs, around.nowMs);
  const decided = decide(known, { monitors, changes }, { ...around, recent }, between);
  const before = new Set(known.map(({ id }) => id));
  const isNew = (topic: Topic): topic is Incident => isOpen(topic) && !before.has(topic.id);
  const opened = new Set(decided.filter(isNew).map(({ id }) => id));
  const told = arranged(decided, opened, around);
  // What became of all is looked through once, with the whole list.
  const { topics, dropped } = withOthers
    ? { topics: withOthers(told), dropped: 0 }
    : prune(broughtUp(told, monitors, around));
  const downs = recent.kept();
  const isSame =
    topics === watching?.topics &&
    downs === watching.downs &&
    sight.known === watching.known &&
    sight.learnt === watching.learnt &&
    sight.shortLooks === watching.shortLooks;
  const seen = { ...sight, topics, ...(downs && { downs }) };
  return { watching: isSame ? watching : seen, dropped };
}

/** The topics as their places are to be told of them: what is quiet there, and what began together. */
function arranged(topics: Topic[], opened: ReadonlySet<string>, around: Around): Topic[] {
  const kept = gathered(topics, { ...around, quietOf: quietNow(around) });
  const isOpened = (topic: Topic): topic is Incident =>
    topic.kind === 'incident' && opened.has(topic.id);
  const others = kept.filter((topic) => !isOpened(topic));
  return opened.size === 0 ? kept : grouped(others, kept.filter(isOpened), around);
}

/** The topics with what became of them: of what began together, and of what goes on for long. */
function broughtUp(topics: Topic[], monitors: readonly Monitor[], around: Around): Topic[] {
  const { nowMs, settingsOf } = around;
  const quietOf = quietNow(around);
  return reminded(refreshed(topics, nowMs), {
    nowMs,
    remindMsOf: (place) => (quietOf(place) ? undefined : settingsOf?.(place).remindMs),
    isSeen: seenIn(monitors),
  });
}

/** A function that tells the quiet hours of places where it is quiet now; each is asked once. */
function quietNow({ nowMs, settingsOf }: Around): (place: string) => string | undefined {
  const known = new Map<string, string | undefined>();
  return (place) => {
    if (known.has(place)) return known.get(place);
    const quiet = settingsOf?.(place).quiet;
    const isQuiet = quiet && quietUntilMs(quiet, nowMs) !== undefined;
    known.set(place, isQuiet ? quietWords(quiet) : undefined);
    return known.get(place);
  };
}

/** A function that tells whether a monitor is in the list. Most looks never ask. */
function seenIn(monitors: readonly Monitor[]): (id: string) => boolean {
  let ids: Set<string> | undefined;
  return (id) => {
    ids ??= new Set(monitors.map((monitor) => monitor.id));
    return ids.has(id);
  };
}
