import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Lease } from '../../store/store.ts';
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
import { isEscalation } from '../incidents/escalations.ts';
import { GIVE_UP_MS, goesOn, isDelivered } from '../incidents/incidents.ts';
import {
  type Alert,
  type Delivery,
  type Incident,
  onlyIncidentOf,
  type Watching,
  type WatchState,
} from '../incidents/watch-state.ts';
import type { Card } from '../shared/card.ts';
import { backoffMs, type Clock } from '../shared/clock.ts';
import type { DeliveryError } from '../shared/errors.ts';
import type { Messenger } from '../shared/messenger.ts';
import { type Place, parsePlace, placeKey } from '../shared/place.ts';
import { isDown } from '../shared/status.ts';
import { alertCard, lineCard } from './alert-card.ts';

/** Longest wait for what is held back: the clock may be set meanwhile. */
const MAX_HELD_PAUSE_MS = 60_000;

/** A request that an earlier holder of the lease began may arrive for so long after the lease was taken over. */
const LANDING_MS = 3_000;

/** Less than the time in which the whole program stops; a post that is cut off is found again by its id. */
const STOP_MS = 4_000;

/**
 * Brings every place to the present truth of every alert, so that each channel sees each one once. How far a channel was
 * brought is kept in the watch's state, beside
 * what it is to be told (`Delivery`): before the first try to post, that one was attempted is stored; after a success, the
 * message and the version that it shows (`deliveredVersion`). What was sent but not stored is sent again under the same
 * `postId`, by which platforms find a message that is there already. Each request is stored before it is sent, with the fence of
 * the lease (`triedBy`), until its outcome is stored: after a takeover a message is looked up at once, and only changes wait
 * until an earlier one can no longer arrive. What is to be done next is decided by the pure rules of
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
  /** Taken just now by this process, which may send while it is held. Nobody else ever sends when left out. */
  lease?: Pick<Lease, 'fence' | 'isHeld'> | undefined;
  /** Milliseconds by a clock that cannot be set. */
  steadyMs?: () => number;
  clock: Clock;
  random: () => number;
  log: Logger;
}) {
  const { state, alertPlaces, settingsOf = nothingSet, lease, clock, random, log } = options;
  const { steadyMs = () => performance.now() } = options;
  /** By which later holders of the lease know what was begun under this one. */
  const fence = lease?.fence;
  const landedAtMs = steadyMs() + LANDING_MS;
  const stopping = new AbortController();
  const serving = new Map<string, Promise<void>>();
  const pauses = new Map<string, AbortController>();
  let platforms: readonly Messenger[] = [];

  const platformOf = (place: Place | undefined) =>
    platforms.find(({ name }) => name === place?.platform);

  const isHeld = () => lease?.isHeld() ?? true;

  function assertHeld() {
    if (!isHeld()) throw new Error('Another process may be sending the alerts by now.');
  }

  /** Milliseconds in which a request that an earlier holder began for a delivery may still arrive. */
  const landsInMs = ({ triedBy }: Delivery) =>
    triedBy === undefined || triedBy === fence ? 0 : Math.max(0, landedAtMs - steadyMs());

  /** A message can be looked up, but a change cannot: an earlier one that arrives after a later one would undo it. */
  const isUnderWay = (delivery: Delivery) =>
    delivery.posted !== undefined && landsInMs(delivery) > 0;

  /**
   * Stores that a request is begun, where that is to be known to others or `make` says more; gives what it is about by then.
   * Nothing may come between that and the request: it is held at that moment.
   */
  async function begin(work: Work, make = unchanged): Promise<Work | undefined> {
    const { postId } = work.delivery;
    if (fence === undefined && make === unchanged) return work;
    await state.update((watching) => {
      assertHeld();
      const now = findWork(watching, postId)?.delivery;
      if (!now || isUnderWay(now) || (now.triedBy === fence && make === unchanged)) return watching;
      return withDelivery(watching, postId, (delivery) => ({
        ...make(delivery),
        ...(fence !== undefined && { triedBy: fence }),
      }));
    });
    const begun = findWork(state.current(), postId);
    return begun && !isUnderWay(begun.delivery) ? begun : undefined;
  }

  /** Stores what became of a request, unless a later holder of the lease has taken it up since. */
  const end = (postId: string, make: (watching: Watching) => Watching | undefined) =>
    state.update((watching) => {
      const now = findWork(watching, postId)?.delivery;
      const isOther = fence !== undefined && now !== undefined && now.triedBy !== fence;
      return watching && !isOther ? make(watching) : watching;
    });

  /** Stores what no request came before. */
  const asHolder: typeof end = (_postId, make) =>
    state.update((watching) => {
      assertHeld();
      return watching && make(watching);
    });

  /** What a delivery is when a request of it has ended. */
  const endedWith =
    (make: Parameters<typeof withDelivery>[2]): typeof make =>
    (delivery, alert) => {
      const { triedBy: _, ...ended } = make(delivery, alert);
      return ended;
    };

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
        const unsettledMs = unsettledForMs(key);
        if (unsettledMs > 0) {
          await clock.pause(unsettledMs, stopping.signal);
          continue;
        }
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
        if (!isHeld()) break;
        // Only the store throws here. What was sent but not noted is sent again under the same id.
        storeFailures += 1;
        log.error(
          { err: error, place: key },
          'could not store the delivery state of an alert; retrying',
        );
        await clock.pause(backoffMs(storeFailures, random), stopping.signal);
      }
    }
    // In the same breath as the last reading of the state, so that a `wake` in between is not lost.
    serving.delete(key);
  }

  /** How long a place waits, since a change that an earlier holder began there may still arrive. */
  function unsettledForMs(key: string): number {
    if (steadyMs() >= landedAtMs) return 0;
    const isLeft = (state.current()?.alerts ?? []).some(({ deliveries }) =>
      deliveries.some((delivery) => delivery.place === key && isUnderWay(delivery)),
    );
    return isLeft ? Math.max(1, landedAtMs - steadyMs()) : 0;
  }

  /** Makes one step towards the truth; false when nobody can be told through this platform now. */
  async function deliver({ alert, delivery }: Work): Promise<boolean> {
    const place = parsePlace(delivery.place);
    const platform = platformOf(place);
    if (place && platform) {
      const work = { alert, delivery };
      if (!delivery.posted) await post(platform, place, work);
      else if (delivery.told !== alert.version) await update(platform, place, work);
      else await announce(platform, place, work);
      return true;
    }
    if (clock.nowMs() - alert.openedAtMs < GIVE_UP_MS) return false;
    const dead = `No connected platform serves ${delivery.place}.`;
    await changeOrGiveUp(delivery.postId, (now) => ({ ...now, dead }), asHolder);
    return true;
  }

  async function post(platform: Messenger, place: Place, due: Work) {
    const { channel } = place;
    const { postId } = due.delivery;
    let { attempted } = due.delivery;
    const settings = await settingsOf(placeKey(place));
    const link = await linkTo(due.alert);
    const trying = (now: Delivery) => {
      attempted = now.attempted;
      return { ...now, attempted: true, ...(link !== undefined && { link }) };
    };
    const earlierLandsInMs = landsInMs(due.delivery);
    const work = await begin(due, attempted ? unchanged : trying);
    if (!work) return;
    const { alert, delivery } = work;
    const mention = mentionFor(alert, delivery, settings);
    assertHeld();
    let taken: Awaited<ReturnType<Messenger['post']>>;
    try {
      const card = shownCard(alert, { ...delivery, mention });
      taken = await platform.post({
        ...{ channel, card, id: postId },
        ...{ attempted, landsInMs: earlierLandsInMs },
      });
    } catch (error) {
      await recordFailure({ place, postId, request: 'new' }, error, (now) => ({
        ...now,
        attempted,
      }));
      return;
    }
    const { goesOn: showsOpen, ...posted } = taken;
    const nowMs = clock.nowMs();
    // A message that an earlier try may have made shows what was true then; it is brought up to date next. A report never changes.
    const isSurelyShown = !attempted || alert.kind === 'report';
    const found = (now: Delivery) =>
      showsOpen ? withShownOpen(succeeded(now), nowMs) : succeeded(now);
    await recordDelivered({ place, postId, request: 'new' }, (now, nowAlert) => ({
      ...(attempted ? found(now) : afterDelivery(now, { shown: alert, now: nowAlert }, nowMs)),
      posted,
      // The first try may have posted it, and its answer was lost.
      postedAtMs: now.failingSinceMs ?? nowMs,
      mention,
      told: isSurelyShown && nowAlert.id === alert.id ? alert.version : 0,
    }));
  }

  const shownCard = (alert: Alert, delivery: Delivery) =>
    cardOf(alert, delivery, onlyIncidentOf(alert, state.current()?.alerts));

  /** Where the message stands that nobody acknowledged; without it the rest is told. */
  async function linkTo(alert: Alert): Promise<string | undefined> {
    if (!isEscalation(alert)) return undefined;
    const { from, postId } = alert.escalation;
    const posted = findWork(state.current(), postId)?.delivery.posted;
    const place = parsePlace(from);
    if (!posted || !place) return undefined;
    try {
      return await platformOf(place)?.linkTo?.(place.channel, posted);
    } catch (error) {
      log.debug({ err: error, place: from }, 'could not get the link to a message');
      return undefined;
    }
  }

  async function update(platform: Messenger, place: Place, due: Work) {
    // What is to be shown may be another once that is stored.
    if (isFirstOpen(due)) return void (await begin(due, (now) => ({ ...now, triedOpen: true })));
    const work = await begin(due);
    if (!work?.delivery.posted || isFirstOpen(work)) return;
    const { alert, delivery } = work;
    const { postId, posted } = work.delivery;
    assertHeld();
    try {
      await platform.update(place.channel, posted, shownCard(alert, delivery));
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
  async function announce(platform: Messenger, place: Place, due: Work) {
    const { channel } = place;
    const { postId, line } = due.delivery;
    if (!line) return;
    const { id } = line;
    let { attempted } = line;
    const trying = lineOf(id, (now) => {
      attempted = now.line?.attempted ?? attempted;
      return { ...now, line: { ...line, attempted: true } };
    });
    const work = await begin(due, attempted ? unchanged : trying);
    if (work?.delivery.line?.id !== id || !work.delivery.posted) return;
    const { posted } = work.delivery;
    assertHeld();
    try {
      const { mention } = line;
      const card = lineCard(work.alert, line);
      await platform.announce({ channel, posted, card, mention, id, attempted });
    } catch (error) {
      log.warn({ err: error, channel }, 'could not post a line under an alert');
      if (isClosing(error)) {
        await recordClosed({ place, postId, request: 'new' }, error, lineOf(id, withoutLine));
        return;
      }
      const around = { nowMs: clock.nowMs(), random };
      const failed = endedWith(lineOf(id, (now) => afterLineFailure(now, error, around)));
      await end(postId, (watching) => withDelivery(watching, postId, failed));
      return;
    }
    await recordDelivered({ place, postId, request: 'new' }, lineOf(id, withoutLine));
  }

  /** A line that took the place of the one that was being said is left alone. */
  const lineOf = (id: string, make: (delivery: Delivery) => Delivery) => (delivery: Delivery) =>
    delivery.line?.id === id ? make(delivery) : delivery;

  /** Stores what a place took; if it was closed, it is open now. */
  async function recordDelivered(
    { place, postId, request }: DeliveryStep,
    make: Parameters<typeof withDelivery>[2],
  ) {
    const key = placeKey(place);
    const wasClosed = closedAt(state.current(), key) !== undefined;
    await end(postId, (watching) => {
      const delivered = withDelivery(watching, postId, endedWith(make));
      return delivered && withTaken(delivered, { place: key, request }, around());
    });
    if (!wasClosed || closedAt(state.current(), key)) return;
    log.info({ place: key }, 'a channel accepts alerts again');
    wake();
  }

  const around = () => ({ nowMs: clock.nowMs(), newId: randomUUID });

  /** Keeps of what waits for a closed place what is still to be told there. */
  async function keepMissed(key: string) {
    const before = state.current();
    await asHolder('', (watching) => withMissed(watching, key, around()));
    const after = state.current();
    if (!before || !after || before === after || closedAt(after, key)) return;
    const dropped = waitingAt(before, key) - waitingAt(after, key);
    log.error({ place: key, dropped }, `gave up on alerts for a channel. ${adviceFor(key)}`);
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
    await end(postId, (watching) => {
      const over = endedWith((delivery) => untried(succeeded(delivery)));
      const kept = withDelivery(watching, postId, over);
      const closed = kept && withRefusal(kept, { place: key, request }, now);
      return closed && !isKnown ? withNoticeElsewhere(closed, postId, error.message) : closed;
    });
    if (isKnown) return;
    const why = error.message;
    log.error({ place: key, why }, `a channel refuses alerts, so they wait. ${adviceFor(key)}`);
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
    if (failures === 0) log.warn({ err: error, place }, 'could not post or change an alert');
    await changeOrGiveUp(postId, (delivery) => afterFailure(delivery, error, next));
  }

  /** Stores a change that may give the place up, together with the notice of that in another place, if there is one. */
  async function changeOrGiveUp(
    postId: string,
    make: (delivery: Delivery) => Delivery,
    store = end,
  ) {
    await store(postId, (watching) => {
      const changed = withDelivery(watching, postId, endedWith(make));
      const why = findWork(changed, postId)?.delivery.dead;
      return changed && why !== undefined ? withNoticeElsewhere(changed, postId, why) : changed;
    });
    const given = findWork(state.current(), postId)?.delivery;
    if (given?.dead === undefined) return;
    const { place, dead: why } = given;
    log.error({ place, why }, `gave up on an alert. ${adviceFor(place)}`);
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

const unchanged = (delivery: Delivery): Delivery => delivery;

/** Its message is about to show for the first time that it goes on. */
const isFirstOpen = ({ alert, delivery }: Work) =>
  goesOn(alert) && !delivery.shownOpen && !delivery.triedOpen;

const nothingSet = async (): Promise<ChannelSettings> => ({});

/** What a place is to see, with the mention that its message was posted with. */
function cardOf(alert: Alert, delivery: Delivery, incident: Incident | undefined): Card {
  const { mention, link: url } = delivery;
  return {
    ...alertCard(alert, { ...delivery, incident }),
    ...(url !== undefined && { link: { label: 'Open original message', url } }),
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
  if (reposted || !goesOn(alert) || !isUrgent(alert)) return undefined;
  return isEscalation(alert) ? alert.escalation.mention : mention?.id;
}

/** What went down and is something else by now needs nobody at once. */
function isUrgent(alert: Alert): boolean {
  if (alert.kind === 'incident') return isDown(alert);
  if (alert.kind !== 'group') return true;
  return alert.members.some((member) => member.endedAtMs === undefined && isDown(member));
}
