import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { Lease } from '../../store/store.ts';
import type { ChannelSettings } from '../channels/channel-settings.ts';
import type { Channels } from '../channels/channels.ts';
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
  afterPost,
  type DeliveryWork,
  findWork,
  heldForMs,
  MAX_WAIT_MS,
  nextFor,
  succeeded,
  withDelivery,
  withoutLine,
} from '../incidents/delivery.ts';
import { isEscalation } from '../incidents/escalations.ts';
import { fallbackInMs, unreachableSinceMs, withFallback } from '../incidents/fallback.ts';
import { GIVE_UP_MS, goesOn, isDelivered } from '../incidents/incidents.ts';
import {
  type Alert,
  type Delivery,
  type Incident,
  onlyIncidentOf,
  type Watching,
  type WatchState,
} from '../incidents/watch-state.ts';
import { type Card, type CardPart, factsPart } from '../shared/card.ts';
import { backoffMs, type Clock } from '../shared/clock.ts';
import type { DeliveryError } from '../shared/errors.ts';
import type { Messenger } from '../shared/messenger.ts';
import { type Place, parsePlace, placeKey } from '../shared/place.ts';
import { isDown } from '../shared/status.ts';
import { alertCard, lineCard } from './alert-card.ts';
import { alertData } from './alert-data.ts';

/** Bounded because the clock may be changed during the pause. */
const MAX_HELD_PAUSE_MS = 60_000;

/** A request of an earlier holder may arrive for so long after the lease was taken over. */
const LANDING_MS = 3_000;

/** Shorter than the program's own limit. A post that is cut off is found again by its id. */
const STOP_MS = 4_000;

interface SenderOptions {
  state: Pick<WatchState, 'current' | 'update'>;
  /** Channels that get notices about other channels. */
  alertPlaces: readonly Place[];
  settingsOf?: (place: string) => Promise<ChannelSettings>;
  /** The webhook of a place, if it is one that a channel registered. */
  webhookAt?: Channels['webhookAt'];
  /** Sends only while it is held. */
  lease?: Pick<Lease, 'fence' | 'isHeld'>;
  /** A clock that is never set. */
  steadyMs?: () => number;
  clock: Clock;
  random: () => number;
  log: Logger;
}

interface PlaceRequest {
  place: Place;
  postId: string;
  request: Request;
}

type ChangeDelivery = Parameters<typeof withDelivery>[2];
type StoreChange = (
  postId: string,
  change: (watching: Watching) => Watching | undefined,
) => Promise<void>;

export const createSender = (options: SenderOptions) => new DeliverySender(options);

/**
 * Brings every channel up to date with every alert, so that each channel receives each alert once. The states of a delivery
 * are listed at `Delivery`; the pure rules of `incidents/delivery.ts` choose the next step.
 *
 * An attempt is stored before the request, and its outcome afterwards. A post whose outcome wasn't stored is repeated under
 * the same `postId`, so that platforms find a message that exists. The fence of the lease is stored too (`triedBy`): after a
 * takeover a message is looked up at once, and only edits wait until an earlier one can no longer arrive.
 *
 * Each channel has its own loop, one request at a time, oldest alert first. A request shows the alert as it is at that
 * moment, so changes during an outage of the platform need no messages of their own. A closed channel is tried now and then.
 */
class DeliverySender {
  readonly #options: SenderOptions;
  readonly #fence: number | undefined;
  readonly #landedAtMs: number;
  readonly #stopping = new AbortController();
  readonly #serving = new Map<string, Promise<void>>();
  readonly #pauses = new Map<string, AbortController>();
  #platforms: readonly Messenger[] = [];

  constructor(options: SenderOptions) {
    this.#options = options;
    this.#fence = options.lease?.fence;
    this.#landedAtMs = this.#steadyMs() + LANDING_MS;
  }

  start(platforms: readonly Messenger[]): void {
    this.#platforms = platforms;
    this.wake();
  }

  /** Checks for due deliveries. Call it after each change of the state. */
  readonly wake = (): void => {
    const places = new Set(
      (this.#current()?.alerts ?? []).flatMap((alert) =>
        alert.deliveries
          .filter((delivery) => !isDelivered(alert, delivery))
          .map(({ place }) => place),
      ),
    );
    for (const place of places) {
      this.#pauses.get(place)?.abort();
      if (this.#stopping.signal.aborted || this.#serving.has(place)) continue;
      const serving = Promise.resolve().then(() => this.#serve(place));
      this.#serving.set(place, serving);
    }
  };

  /** Waits a bounded time for requests under way. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    const over = new AbortController();
    await Promise.race([
      Promise.allSettled(this.#serving.values()).finally(() => over.abort()),
      this.#options.clock.pause(STOP_MS, over.signal),
    ]);
  }

  async #serve(place: string): Promise<void> {
    const { clock, random, log } = this.#options;
    let storeFailures = 0;
    while (!this.#stopping.signal.aborted) {
      try {
        if (!(await this.#serveNext(place))) break;
        storeFailures = 0;
      } catch (error) {
        if (!this.#isHeld()) break;
        // Only the store throws here. A request whose outcome wasn't stored is repeated under the same id.
        storeFailures += 1;
        log.error(
          { err: error, place },
          'could not store the delivery state of an alert; retrying',
        );
        await clock.pause(backoffMs(storeFailures, random), this.#stopping.signal);
      }
    }
    // No await after the last look at the state, or a `wake` in between would be lost.
    this.#serving.delete(place);
  }

  /** Makes the next step or waits for it. Resolves to false if nothing is due in this place. */
  async #serveNext(place: string): Promise<boolean> {
    const { clock } = this.#options;
    const { signal } = this.#stopping;
    const unsettledMs = this.#unsettledForMs(place);
    if (unsettledMs > 0) {
      await clock.pause(unsettledMs, signal);
      return true;
    }
    const { quiet, fallback } = await this.#settingsOf(place);
    const quietMs = quiet && quietUntilMs(quiet, clock.nowMs());
    if (fallback && quietMs === undefined) await this.#sendToFallback(place, fallback.place);
    let work = nextFor(this.#current(), place, clock.nowMs(), quietMs);
    if (work && closedAt(this.#current(), place)) {
      await this.#keepMissed(place);
      work = nextFor(this.#current(), place, clock.nowMs(), quietMs);
    }
    if (!work) {
      const heldMs = heldForMs(this.#current(), place, clock.nowMs(), quietMs);
      if (heldMs === undefined) return false;
      await this.#pauseUntilWoken(place, Math.min(heldMs, MAX_HELD_PAUSE_MS));
      return true;
    }
    const waitMs = work.delivery.nextTryAtMs - clock.nowMs();
    // A longer wait was set before the clock was set back.
    if (waitMs > 0 && waitMs <= MAX_WAIT_MS) {
      // An alert that comes in the meantime doesn't wait for an investigation.
      if (!fallback && work.alert.kind !== 'investigation') await clock.pause(waitMs, signal);
      else {
        // 0 from the time on at which only news are to be sent there.
        const dueInMs = fallbackInMs(this.#current(), place, clock.nowMs()) || waitMs;
        await this.#pauseUntilWoken(place, Math.min(waitMs, dueInMs));
      }
      return true;
    }
    return await this.#deliver(work);
  }

  async #pauseUntilWoken(place: string, ms: number) {
    const news = new AbortController();
    this.#pauses.set(place, news);
    await this.#options.clock.pause(ms, AbortSignal.any([this.#stopping.signal, news.signal]));
    this.#pauses.delete(place);
  }

  /** Sends what waits for a place that can't be reached to its fallback, too. */
  async #sendToFallback(place: string, to: string) {
    const change = (watching: Watching) =>
      withFallback(watching, { place, to }, this.#alertContext());
    const before = this.#current();
    if (!before || change(before) === before) return;
    await this.#storeAsHolder('', change);
    this.#options.log.warn(
      { place, to },
      'a channel can’t be reached; its alerts are sent to its fallback',
    );
    this.wake();
  }

  /** The fact that a message is sent to a fallback, as long as it is true. */
  async #fallbackPart(place: string): Promise<CardPart[]> {
    const { from, insteadOf } = (await this.#options.webhookAt?.(place)) ?? {};
    const atMs = insteadOf && from && unreachableSinceMs(this.#current(), from);
    if (!atMs) return [];
    return [factsPart({ label: `${insteadOf} can’t be reached since`, value: { atMs } })];
  }

  /** Makes one step. Resolves to false if the place's platform isn't connected. */
  async #deliver(work: DeliveryWork): Promise<boolean> {
    const { alert, delivery } = work;
    const place = parsePlace(delivery.place);
    const platform = this.#platformOf(place);
    if (place && platform) {
      if (!delivery.posted) await this.#post(platform, place, work);
      else if (delivery.deliveredVersion !== alert.version) await this.#edit(platform, place, work);
      else await this.#announce(platform, place, work);
      return true;
    }
    if (this.#options.clock.nowMs() - alert.openedAtMs < GIVE_UP_MS) return false;
    const dead = `No connected platform serves ${delivery.place}.`;
    await this.#changeOrGiveUp(delivery.postId, (now) => ({ ...now, dead }), this.#storeAsHolder);
    return true;
  }

  async #post(platform: Messenger, place: Place, due: DeliveryWork) {
    const { channel } = place;
    const { postId } = due.delivery;
    let { attempted } = due.delivery;
    const settings = await this.#settingsOf(placeKey(place));
    const link = await this.#linkTo(due.alert);
    const first = await this.#fallbackPart(placeKey(place));
    const landsInMs = this.#landsInMs(due.delivery);
    const work = await this.#begin(
      due,
      attempted
        ? undefined
        : (now) => {
            attempted = now.attempted;
            return { ...now, attempted: true, ...(link !== undefined && { link }) };
          },
    );
    if (!work) return;
    const { alert, delivery } = work;
    const mention = mentionFor(alert, delivery, settings);
    this.#assertHeld();
    let posted: Awaited<ReturnType<Messenger['post']>>;
    try {
      const card = this.#cardOf(alert, { ...delivery, mention }, first);
      const under = alert.kind === 'investigation' ? alert.under : undefined;
      posted = await platform.post({ channel, card, id: postId, attempted, landsInMs, under });
    } catch (error) {
      const asBefore = (now: Delivery) => ({ ...now, attempted });
      return await this.#storeFailure({ place, postId, request: 'new' }, error, asBefore);
    }
    await this.#storeSuccess({ place, postId, request: 'new' }, (now, nowAlert) =>
      afterPost(now, {
        ...{ posted, attempted, mention, shown: alert, now: nowAlert },
        nowMs: this.#options.clock.nowMs(),
      }),
    );
  }

  async #linkTo(alert: Alert): Promise<string | undefined> {
    if (!isEscalation(alert)) return undefined;
    const { from, postId } = alert.escalation;
    const posted = findWork(this.#current(), postId)?.delivery.posted;
    const place = parsePlace(from);
    if (!posted || !place) return undefined;
    try {
      return await this.#platformOf(place)?.linkTo?.(place.channel, posted);
    } catch (error) {
      this.#options.log.debug({ err: error, place: from }, 'could not get the link to a message');
      return undefined;
    }
  }

  async #edit(platform: Messenger, place: Place, due: DeliveryWork) {
    // The alert may change again while this is stored, so the next step sends it.
    if (isFirstOpen(due)) {
      await this.#begin(due, (now) => ({ ...now, triedOpen: true }));
      return;
    }
    const first = await this.#fallbackPart(placeKey(place));
    const work = await this.#begin(due);
    if (!work?.delivery.posted || isFirstOpen(work)) return;
    const { alert, delivery } = work;
    const { postId, posted } = work.delivery;
    this.#assertHeld();
    try {
      await platform.update(place.channel, posted, this.#cardOf(alert, delivery, first));
    } catch (error) {
      return await this.#storeFailure({ place, postId, request: 'change' }, error);
    }
    await this.#storeSuccess({ place, postId, request: 'change' }, (now, nowAlert) => ({
      ...afterDelivery(now, { shown: alert, now: nowAlert }, this.#options.clock.nowMs()),
      // An investigation may have ended in the meantime.
      deliveredVersion: isDeepStrictEqual(now.likely, delivery.likely) ? alert.version : 0,
    }));
  }

  async #announce(platform: Messenger, place: Place, due: DeliveryWork) {
    const { channel } = place;
    const { postId, line } = due.delivery;
    if (!line) return;
    const { id } = line;
    let { attempted } = line;
    // A line that replaced this one in the meantime stays.
    const ofLine =
      (change: (delivery: Delivery) => Delivery) =>
      (delivery: Delivery): Delivery =>
        delivery.line?.id === id ? change(delivery) : delivery;
    const trying = ofLine((now) => {
      attempted = now.line?.attempted ?? attempted;
      return { ...now, line: { ...line, attempted: true } };
    });
    const work = await this.#begin(due, attempted ? undefined : trying);
    if (work?.delivery.line?.id !== id || !work.delivery.posted) return;
    const { posted } = work.delivery;
    this.#assertHeld();
    try {
      const data = alertData(work.alert, this.#current()?.alerts);
      const card = { ...lineCard(work.alert, line), alert: data };
      await platform.announce({ channel, posted, card, mention: line.mention, id, attempted });
    } catch (error) {
      this.#options.log.warn({ err: error, channel }, 'could not post a line under an alert');
      if (isClosing(error)) {
        const step = { place, postId, request: 'new' as const };
        return await this.#storeClosed(step, error, ofLine(withoutLine));
      }
      const failed = ofLine((now) => afterLineFailure(now, error, this.#retryContext()));
      return await this.#storeOutcome(postId, (watching) =>
        withDelivery(watching, postId, ended(failed)),
      );
    }
    await this.#storeSuccess({ place, postId, request: 'new' }, ofLine(withoutLine));
  }

  /**
   * Stores that a request starts, if `change` or the lease asks for it. Resolves to the delivery as it is then. Nothing may
   * come between this and the request, because the lease is held at this moment.
   */
  async #begin(
    work: DeliveryWork,
    change?: (delivery: Delivery) => Delivery,
  ): Promise<DeliveryWork | undefined> {
    const { postId } = work.delivery;
    const fence = this.#fence;
    if (fence === undefined && !change) return work;
    await this.#options.state.update((watching) => {
      this.#assertHeld();
      const now = findWork(watching, postId)?.delivery;
      if (!now || this.#isUnsettled(now) || (now.triedBy === fence && !change)) return watching;
      return withDelivery(watching, postId, (delivery) => ({
        ...(change?.(delivery) ?? delivery),
        ...(fence !== undefined && { triedBy: fence }),
      }));
    });
    const begun = findWork(this.#current(), postId);
    return begun && !this.#isUnsettled(begun.delivery) ? begun : undefined;
  }

  /** Stores the outcome of a request, unless a later holder of the lease has taken the delivery over. */
  readonly #storeOutcome: StoreChange = async (postId, change) => {
    await this.#options.state.update((watching) => {
      const now = findWork(watching, postId)?.delivery;
      const isTakenOver = this.#fence !== undefined && now && now.triedBy !== this.#fence;
      return watching && !isTakenOver ? change(watching) : watching;
    });
  };

  readonly #storeAsHolder: StoreChange = async (_postId, change) => {
    await this.#options.state.update((watching) => {
      this.#assertHeld();
      return watching && change(watching);
    });
  };

  /** A closed place that accepts a request is open again. */
  async #storeSuccess({ place, postId, request }: PlaceRequest, change: ChangeDelivery) {
    const key = placeKey(place);
    const wasClosed = closedAt(this.#current(), key) !== undefined;
    await this.#storeOutcome(postId, (watching) => {
      const delivered = withDelivery(watching, postId, ended(change));
      return delivered && withTaken(delivered, { place: key, request }, this.#alertContext());
    });
    if (!wasClosed || closedAt(this.#current(), key)) return;
    this.#options.log.info({ place: key }, 'a channel accepts alerts again');
    this.wake();
  }

  /** Gives up alerts of a closed place that nobody would need when it opens. */
  async #keepMissed(place: string) {
    const before = this.#current();
    await this.#storeAsHolder('', (watching) => withMissed(watching, place, this.#alertContext()));
    const after = this.#current();
    if (!before || !after || before === after || closedAt(after, place)) return;
    const dropped = waitingAt(before, place) - waitingAt(after, place);
    this.#options.log.error(
      { place, dropped },
      `gave up on alerts for a channel. ${adviceFor(place)}`,
    );
  }

  /** A refused request counts as not sent, see `asBefore`. */
  async #storeClosed(
    { place, postId, request }: PlaceRequest,
    error: DeliveryError,
    asBefore: (delivery: Delivery) => Delivery,
  ) {
    const key = placeKey(place);
    const why = error.message;
    const isKnown = closedAt(this.#current(), key) !== undefined;
    await this.#storeOutcome(postId, (watching) => {
      const refused = ended((delivery) => asBefore(succeeded(delivery)));
      const kept = withDelivery(watching, postId, refused);
      const closed = kept && withRefusal(kept, { place: key, request }, this.#retryContext());
      return closed && !isKnown ? this.#withNoticeElsewhere(closed, postId, why) : closed;
    });
    if (isKnown) return;
    this.#options.log.error(
      { place: key, why },
      `a channel refuses alerts, so they wait. ${adviceFor(key)}`,
    );
    this.wake();
  }

  async #storeFailure(
    step: PlaceRequest,
    error: unknown,
    asBefore: (delivery: Delivery) => Delivery = (delivery) => delivery,
  ) {
    if (isClosing(error)) return await this.#storeClosed(step, error, asBefore);
    const { postId } = step;
    const work = findWork(this.#current(), postId);
    if (!work) return;
    const { place, failures } = work.delivery;
    if (failures === 0) {
      this.#options.log.warn({ err: error, place }, 'could not post or change an alert');
    }
    await this.#changeOrGiveUp(postId, (delivery) =>
      afterFailure(delivery, error, this.#retryContext()),
    );
  }

  /** If the change gives the delivery up, a notice in another channel is stored with it. */
  async #changeOrGiveUp(
    postId: string,
    change: (delivery: Delivery) => Delivery,
    store: StoreChange = this.#storeOutcome,
  ) {
    await store(postId, (watching) => {
      const changed = withDelivery(watching, postId, ended(change));
      const why = findWork(changed, postId)?.delivery.dead;
      return changed && why !== undefined
        ? this.#withNoticeElsewhere(changed, postId, why)
        : changed;
    });
    const delivery = findWork(this.#current(), postId)?.delivery;
    if (delivery?.dead === undefined) return;
    const { place, dead: why } = delivery;
    this.#options.log.error({ place, why }, `gave up on an alert. ${adviceFor(place)}`);
    this.wake();
  }

  /** Adds a notice in another alert channel, if there is one, that this message doesn't reach its channel. */
  #withNoticeElsewhere(watching: Watching, postId: string, why: string): Watching {
    const { alert, delivery } = findWork(watching, postId) ?? {};
    if (!alert || !delivery || alert.kind === 'notice' || alert.kind === 'investigation') {
      return watching;
    }
    const { alertPlaces, clock } = this.#options;
    const { place } = delivery;
    const elsewhere = alertPlaces
      .filter((one) => this.#platformOf(one))
      .map(placeKey)
      .find((key) => key !== place && !closedAt(watching, key));
    if (elsewhere === undefined) return watching;
    return withNotice(watching, { place, why, elsewhere, nowMs: clock.nowMs() });
  }

  #current() {
    return this.#options.state.current();
  }

  #cardOf(alert: Alert, delivery: Delivery, first: CardPart[]): Card {
    const alerts = this.#current()?.alerts;
    const card = cardOf(alert, delivery, onlyIncidentOf(alert, alerts));
    return { ...card, parts: [...first, ...card.parts], alert: alertData(alert, alerts) };
  }

  async #settingsOf(place: string): Promise<ChannelSettings> {
    return (await this.#options.settingsOf?.(place)) ?? {};
  }

  #platformOf(place: Place | undefined) {
    return this.#platforms.find(({ name }) => name === place?.platform);
  }

  #alertContext() {
    return { nowMs: this.#options.clock.nowMs(), newId: randomUUID };
  }

  #retryContext() {
    const { clock, random } = this.#options;
    return { nowMs: clock.nowMs(), random };
  }

  #steadyMs() {
    return (this.#options.steadyMs ?? (() => performance.now()))();
  }

  #isHeld() {
    return this.#options.lease?.isHeld() ?? true;
  }

  #assertHeld() {
    if (!this.#isHeld()) throw new Error('Another process may be sending the alerts by now.');
  }

  /** Milliseconds in which a request of an earlier holder may still arrive. */
  #landsInMs({ triedBy }: Delivery): number {
    if (triedBy === undefined || triedBy === this.#fence) return 0;
    return Math.max(0, this.#landedAtMs - this.#steadyMs());
  }

  /** An edit can't be looked up like a post, and an earlier one that arrives late would undo it. */
  #isUnsettled(delivery: Delivery): boolean {
    return delivery.posted !== undefined && this.#landsInMs(delivery) > 0;
  }

  #unsettledForMs(place: string): number {
    const leftMs = this.#landedAtMs - this.#steadyMs();
    if (leftMs <= 0) return 0;
    const isUnsettled = (this.#current()?.alerts ?? []).some(({ deliveries }) =>
      deliveries.some((delivery) => delivery.place === place && this.#isUnsettled(delivery)),
    );
    return isUnsettled ? Math.max(1, leftMs) : 0;
  }
}

const ended =
  (change: ChangeDelivery): ChangeDelivery =>
  (delivery, alert) => {
    const { triedBy: _, ...rest } = change(delivery, alert);
    return rest;
  };

/** The edit shows for the first time that the alert is ongoing. */
const isFirstOpen = ({ alert, delivery }: DeliveryWork) =>
  goesOn(alert) && !delivery.shownOpen && !delivery.triedOpen;

function cardOf(alert: Alert, delivery: Delivery, incident: Incident | undefined): Card {
  const { mention, link: url } = delivery;
  return {
    ...alertCard(alert, { ...delivery, incident }),
    ...(url !== undefined && { link: { label: 'Open original message', url } }),
    ...(mention !== undefined && { mention }),
    ...(goesOn(alert) && { goesOn: true }),
  };
}

/** The mention of a new message. None for old news, or if it replaces a message that had one. Pure. */
export function mentionFor(
  alert: Alert,
  { reposted }: Delivery,
  { mention }: ChannelSettings,
): string | undefined {
  if (reposted || !goesOn(alert) || !isUrgent(alert)) return undefined;
  return isEscalation(alert) ? alert.escalation.mention : mention?.id;
}

function isUrgent(alert: Alert): boolean {
  if (alert.kind === 'incident') return isDown(alert);
  if (alert.kind !== 'group') return true;
  return alert.members.some((member) => member.endedAtMs === undefined && isDown(member));
}
