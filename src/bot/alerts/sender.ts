import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { ChannelSettings } from '../channels/channel-settings.ts';
import { quietUntilMs } from '../channels/quiet-hours.ts';
import {
  adviceFor,
  closedAt,
  isClosing,
  type Request,
  waitingAt,
  withMissed,
  withNotice,
  withRefusal,
  withTaken,
} from '../incidents/closed-places.ts';
import {
  afterDelivery,
  afterFailure,
  afterLineFailure,
  findWork,
  heldForMs,
  MAX_WAIT_MS,
  nextFor,
  succeeded,
  type Work,
  withDelivery,
  withoutLine,
  withShownOpen,
} from '../incidents/delivery.ts';
import { GIVE_UP_MS, goesOn, isDelivered } from '../incidents/incidents.ts';
import type { Alert, Delivery, Watching, WatchState } from '../incidents/watch-state.ts';
import type { Card } from '../shared/card.ts';
import { backoffMs, type Clock } from '../shared/clock.ts';
import type { DeliveryError } from '../shared/errors.ts';
import type { Messenger } from '../shared/messenger.ts';
import { type Place, parsePlace, placeKey } from '../shared/place.ts';
import { isDown } from '../shared/status.ts';
import { alertCard, lineCard } from './alert-card.ts';

/** Longest wait for what is held back: the clock may be set meanwhile. */
const MAX_HELD_PAUSE_MS = 60_000;

/** Less than the time in which the whole program stops; a post that is cut off is found again by its id. */
const STOP_MS = 4_000;

/**
 * Brings every place to the present truth of every alert, so that each channel sees each one once. How far a channel was
 * brought is kept in the watch's state, beside
 * what it is to be told (`Delivery`): before the first try to post, that one was attempted is stored; after a success, the
 * message and the version that it shows (`deliveredVersion`). What was sent but not stored is sent again under the same
 * `postId`, by which platforms find a message that is there already. What is to be done next is decided by the pure rules of
 * `incidents/delivery.ts`.
 *
 * Each place is served by itself, one message at a time, oldest alert first: what is sent is the state of the alert at that
 * moment, so a change during a platform's outage needs no message of its own. A place that is closed is tried with one of
 * them now and then, and gets what it missed and still goes on once it is open.
 */
export function createSender(options: {
  state: Pick<WatchState, 'current' | 'update'>;
  alertPlaces: readonly Place[];
  /** How a place is told; nothing is set when left out. */
  settingsOf?: (place: string) => Promise<ChannelSettings>;
  clock: Clock;
  random: () => number;
  log: Logger;
}) {
  const { state, alertPlaces, settingsOf = nothingSet, clock, random, log } = options;
  const stopping = new AbortController();
  const serving = new Map<string, Promise<void>>();
  const pauses = new Map<string, AbortController>();
  let platforms: readonly Messenger[] = [];

  const platformOf = (place: Place | undefined) =>
    platforms.find(({ name }) => name === place?.platform);

  const change = (postId: string, make: Parameters<typeof withDelivery>[2]) =>
    state.update((watching) => withDelivery(watching, postId, make));

  function wake() {
    const keys = new Set(
      (state.current()?.alerts ?? []).flatMap((alert) =>
        alert.deliveries
          .filter((delivery) => !isDelivered(alert, delivery))
          .map(({ place }) => place),
      ),
    );
    for (const key of keys) {
      pauses.get(key)?.abort();
      if (stopping.signal.aborted || serving.has(key)) continue;
      serving.set(
        key,
        Promise.resolve().then(() => serve(key)),
      );
    }
  }

  /** Waits for what is held back, no longer than until there may be something that is not. */
  async function pauseUntilWoken(key: string, ms: number) {
    const news = new AbortController();
    pauses.set(key, news);
    await clock.pause(ms, AbortSignal.any([stopping.signal, news.signal]));
    pauses.delete(key);
  }

  async function serve(key: string): Promise<void> {
    let storeFailures = 0;
    while (!stopping.signal.aborted) {
      try {
        const { quiet } = await settingsOf(key);
        const quietMs = quiet && quietUntilMs(quiet, clock.nowMs());
        let work = nextFor(state.current(), key, clock.nowMs(), quietMs);
        if (work && closedAt(state.current(), key)) {
          await keepMissed(key);
          work = nextFor(state.current(), key, clock.nowMs(), quietMs);
        }
        if (!work) {
          const heldMs = heldForMs(state.current(), key, clock.nowMs(), quietMs);
          if (heldMs === undefined) break;
          await pauseUntilWoken(key, Math.min(heldMs, MAX_HELD_PAUSE_MS));
          continue;
        }
        const waitMs = work.delivery.nextTryAtMs - clock.nowMs();
        // A longer wait than was ever set means that the clock was set back.
        if (waitMs > 0 && waitMs <= MAX_WAIT_MS) {
          await clock.pause(waitMs, stopping.signal);
          continue;
        }
        if (!(await deliver(work))) break;
        storeFailures = 0;
      } catch (error) {
        // Only the store throws here. What was sent but not noted is sent again under the same id.
        storeFailures += 1;
        log.error({ err: error, place: key }, 'how far an alert is told could not be stored');
        await clock.pause(backoffMs(storeFailures, random), stopping.signal);
      }
    }
    // In the same breath as the last reading of the state, so that a `wake` in between is not lost.
    serving.delete(key);
  }

  /** Makes one step towards the truth; false when nobody can be told through this platform now. */
  async function deliver({ alert, delivery }: Work): Promise<boolean> {
    const place = parsePlace(delivery.place);
    const platform = platformOf(place);
    if (place && platform) {
      if (!delivery.posted) await post(platform, place, delivery);
      else if (delivery.told !== alert.version) await update(platform, place, { alert, delivery });
      else await announce(platform, place, delivery.postId);
      return true;
    }
    if (clock.nowMs() - alert.openedAtMs < GIVE_UP_MS) return false;
    const dead = `No platform serves ${delivery.place}.`;
    await changeOrGiveUp(delivery.postId, (now) => ({ ...now, dead }));
    return true;
  }

  async function post(platform: Messenger, place: Place, { postId, attempted }: Delivery) {
    const { channel } = place;
    if (!attempted) await change(postId, (delivery) => ({ ...delivery, attempted: true }));
    const settings = await settingsOf(placeKey(place));
    const work = findWork(state.current(), postId);
    if (!work) return;
    const { alert, delivery } = work;
    const mention = mentionFor(alert, delivery, settings);
    let taken: Awaited<ReturnType<Messenger['post']>>;
    try {
      const card = cardOf(alert, { ...delivery, mention });
      taken = await platform.post({ channel, card, id: postId, attempted });
    } catch (error) {
      await recordFailure({ place, postId, request: 'new' }, error, (now) => ({
        ...now,
        attempted,
      }));
      return;
    }
    const { goesOn: showsOpen, ...posted } = taken;
    const nowMs = clock.nowMs();
    // A message that an earlier try may have made shows what was true then; it is brought up to date next.
    const found = (now: Delivery) =>
      showsOpen ? withShownOpen(succeeded(now), nowMs) : succeeded(now);
    await recordDelivered({ place, postId, request: 'new' }, (now, nowAlert) => ({
      ...(attempted ? found(now) : afterDelivery(now, { shown: alert, now: nowAlert }, nowMs)),
      posted,
      mention,
      told: !attempted && nowAlert.id === alert.id ? alert.version : 0,
    }));
  }

  async function update(platform: Messenger, place: Place, { alert, delivery }: Work) {
    const { postId, posted, shownOpen, triedOpen } = delivery;
    if (!posted) return;
    if (goesOn(alert) && !shownOpen && !triedOpen) {
      await change(postId, (now) => ({ ...now, triedOpen: true }));
      // What is to be shown may be another by now.
      return;
    }
    try {
      await platform.update(place.channel, posted, cardOf(alert, delivery));
    } catch (error) {
      await recordFailure({ place, postId, request: 'change' }, error);
      return;
    }
    await recordDelivered({ place, postId, request: 'change' }, (now, nowAlert) => ({
      ...afterDelivery(now, { shown: alert, now: nowAlert }, clock.nowMs()),
      told: alert.version,
    }));
  }

  /** Says the line that is due under a message that shows what it says. */
  async function announce(platform: Messenger, place: Place, postId: string) {
    const { channel } = place;
    const { alert, delivery } = findWork(state.current(), postId) ?? {};
    const { line, posted } = delivery ?? {};
    if (!alert || !line || !posted) return;
    const { id, attempted } = line;
    if (!attempted) {
      await changeLine(postId, id, (now) => ({ ...now, line: { ...line, attempted: true } }));
    }
    try {
      await platform.announce({ channel, posted, card: lineCard(alert, line), id, attempted });
    } catch (error) {
      log.warn({ err: error, channel }, 'a line under an alert was not taken');
      if (isClosing(error)) {
        await recordClosed({ place, postId, request: 'new' }, error, lineOf(id, withoutLine));
        return;
      }
      const around = { nowMs: clock.nowMs(), random };
      await changeLine(postId, id, (now) => afterLineFailure(now, error, around));
      return;
    }
    await recordDelivered({ place, postId, request: 'new' }, lineOf(id, withoutLine));
  }

  /** A line that took the place of the one that was being said is left alone. */
  const lineOf = (id: string, make: (delivery: Delivery) => Delivery) => (delivery: Delivery) =>
    delivery.line?.id === id ? make(delivery) : delivery;
  const changeLine = (postId: string, id: string, make: (delivery: Delivery) => Delivery) =>
    change(postId, lineOf(id, make));

  /** Stores what a place took; if it was closed, it is open now. */
  async function recordDelivered(
    { place, postId, request }: DeliveryStep,
    make: Parameters<typeof change>[1],
  ) {
    const key = placeKey(place);
    const wasClosed = closedAt(state.current(), key) !== undefined;
    await state.update((watching) => {
      const delivered = withDelivery(watching, postId, make);
      return delivered && withTaken(delivered, { place: key, request }, around());
    });
    if (!wasClosed || closedAt(state.current(), key)) return;
    log.info({ place: key }, 'a channel that was closed to alerts is open again');
    wake();
  }

  const around = () => ({ nowMs: clock.nowMs(), newId: randomUUID });

  /** Keeps of what waits for a closed place what is still to be told there. */
  async function keepMissed(key: string) {
    const before = state.current();
    await state.update((watching) => watching && withMissed(watching, key, around()));
    const after = state.current();
    if (!before || !after || before === after || closedAt(after, key)) return;
    const dropped = waitingAt(before, key) - waitingAt(after, key);
    log.error({ place: key, dropped }, `alerts were given up; ${adviceFor(key)}`);
  }

  /** Stores that a place is closed. What it refused is as if it had never been tried. */
  async function recordClosed(
    { place, postId, request }: DeliveryStep,
    error: DeliveryError,
    untried: (delivery: Delivery) => Delivery,
  ) {
    const key = placeKey(place);
    const isKnown = closedAt(state.current(), key) !== undefined;
    const now = { nowMs: clock.nowMs(), random };
    await state.update((watching) => {
      const kept = withDelivery(watching, postId, (delivery) => untried(succeeded(delivery)));
      const closed = kept && withRefusal(kept, { place: key, request }, now);
      return closed && !isKnown ? withNoticeElsewhere(closed, postId, error.message) : closed;
    });
    if (isKnown) return;
    const why = error.message;
    log.error({ place: key, why }, `a channel is closed to alerts, which wait; ${adviceFor(key)}`);
    wake();
  }

  async function recordFailure(
    asked: DeliveryStep,
    error: unknown,
    untried: (delivery: Delivery) => Delivery = (delivery) => delivery,
  ) {
    if (isClosing(error)) return await recordClosed(asked, error, untried);
    const { postId } = asked;
    const work = findWork(state.current(), postId);
    if (!work) return;
    const { place, failures } = work.delivery;
    const next = { nowMs: clock.nowMs(), random };
    if (failures === 0) log.warn({ err: error, place }, 'an alert was not taken');
    await changeOrGiveUp(postId, (delivery) => afterFailure(delivery, error, next));
  }

  /** Stores a change that may give the place up, together with the notice of that in another place, if there is one. */
  async function changeOrGiveUp(postId: string, make: (delivery: Delivery) => Delivery) {
    await state.update((watching) => {
      const changed = withDelivery(watching, postId, make);
      const why = findWork(changed, postId)?.delivery.dead;
      return changed && why !== undefined ? withNoticeElsewhere(changed, postId, why) : changed;
    });
    const given = findWork(state.current(), postId)?.delivery;
    if (given?.dead === undefined) return;
    const { place, dead: why } = given;
    log.error({ place, why }, `an alert was given up; ${adviceFor(place)}`);
    wake();
  }

  /** The document with a notice in another alert channel, if there is one, that this message does not reach its place. */
  function withNoticeElsewhere(watching: Watching, postId: string, why: string) {
    const { alert, delivery } = findWork(watching, postId) ?? {};
    if (!alert || !delivery || alert.kind === 'notice') return watching;
    const { place } = delivery;
    const tellers = alertPlaces.filter((one) => platformOf(one)).map(placeKey);
    const teller = tellers.find((key) => key !== place && !closedAt(watching, key));
    if (teller === undefined) return watching;
    return withNotice(watching, { place, why, teller, nowMs: clock.nowMs() });
  }

  return {
    /** From here on it may send, through these platforms. */
    start(started: readonly Messenger[]) {
      platforms = started;
      wake();
    },
    /** Looks for what is to be told; call it when there may be something new. */
    wake,
    /** Takes up nothing more and waits, for a bounded time, for what is being sent. */
    async stop() {
      stopping.abort();
      const over = new AbortController();
      await Promise.race([
        Promise.allSettled(serving.values()).finally(() => over.abort()),
        clock.pause(STOP_MS, over.signal),
      ]);
    },
  };
}

/** One step that a place was asked for. */
interface DeliveryStep {
  place: Place;
  postId: string;
  request: Request;
}

const nothingSet = async (): Promise<ChannelSettings> => ({});

/** What a place is to see, with the mention that its message was posted with. */
function cardOf(alert: Alert, delivery: Delivery): Card {
  const { mention } = delivery;
  return {
    ...alertCard(alert, delivery),
    ...(mention !== undefined && { mention }),
    ...(goesOn(alert) && { goesOn: true }),
  };
}

/** Whom the post of an alert calls: nobody when it is old news, or takes the place of a post that called. Pure. */
export function mentionFor(
  alert: Alert,
  { reposted }: Delivery,
  { mention }: ChannelSettings,
): string | undefined {
  return !reposted && goesOn(alert) && isUrgent(alert) ? mention?.id : undefined;
}

/** What went down and is something else by now needs nobody at once. */
function isUrgent(alert: Alert): boolean {
  if (alert.kind === 'incident') return isDown(alert);
  if (alert.kind !== 'group') return true;
  return alert.members.some((member) => member.endedAtMs === undefined && isDown(member));
}
