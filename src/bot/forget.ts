import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Store } from '../store/store.ts';
import type { ChannelDefaults } from './ask/channel-defaults.ts';
import type { Conversations } from './ask/conversations.ts';
import type { UnfinishedAnswers } from './ask/unfinished-answers.ts';
import type { Channels } from './channels/channels.ts';
import type { OpenFeature } from './commands/open-features.ts';
import { isOpen, newDelivery } from './incidents/incidents.ts';
import type { Alert, Watching, WatchState } from './incidents/watch-state.ts';
import type { Bot } from './platform.ts';
import { GoneChannels, type GonePlaces, type Place, parsePlace, placeKey } from './shared/place.ts';

/**
 * Deletes the data of a thread or of channels: conversations, ratings, usage, subscriptions, alerts, intakes, model and prompt.
 * Channels to be deleted are stored first, so that the next start continues after a kill.
 */
export async function openForget(
  store: Store,
  options: {
    conversations: Conversations;
    channels: Channels;
    channelDefaults: ChannelDefaults;
    unfinished: UnfinishedAnswers;
    /** Further stores with data of places. */
    others: ReadonlyArray<{ forgetPlaces(gone: GonePlaces): Promise<void> }>;
    features: ReadonlyArray<Pick<OpenFeature, 'forgetPlaces' | 'forgetThread' | 'places'>>;
    state: WatchState;
    /** Channels that receive every alert. */
    alertPlaces: readonly Place[];
    log: Logger;
  },
): Promise<Pick<Bot, 'forget' | 'forgetAll' | 'keptChannels'>> {
  const { conversations, channels, channelDefaults, unfinished, others } = options;
  const { features, state, alertPlaces, log } = options;
  const pending = store.collection<GoneChannels>({
    name: 'forgetting',
    schema: GoneChannels,
    version: 1,
    whenCorrupt: 'forget',
  });

  async function forgetPending(id: string, gone: GonePlaces) {
    // A start creates data from answers and conversations, so they are deleted first.
    for (const one of [unfinished, conversations, channelDefaults, ...others, ...features]) {
      await one.forgetPlaces?.(gone);
    }
    const alwaysAlerted = alertPlaces.map(placeKey);
    await state.erase((watching) => watching && withoutPlaces(watching, gone, alwaysAlerted));
    for (const place of await channels.forgetPlaces(gone)) {
      log.warn({ place }, 'a channel that received alerts is gone');
    }
    await pending.update(id, () => undefined);
  }

  async function forgetAll(gone: GoneChannels) {
    if (gone.channels.length === 0 && gone.prefix === undefined) return;
    const id = randomUUID();
    await pending.update(id, () => gone);
    await forgetPending(id, placesOf(gone));
  }

  for (const { id, document } of await pending.list()) {
    await forgetPending(id, placesOf(document)).catch((error: unknown) => {
      log.error(
        { err: error },
        'could not delete the data of channels that are gone; retrying at the next start',
      );
    });
  }

  return {
    forgetAll,
    async keptChannels(platform) {
      const deliveries = state.current()?.alerts.flatMap(({ deliveries }) => deliveries) ?? [];
      const subscribed = (await channels.places()).map(placeKey);
      const all = [
        ...subscribed,
        ...(await channelDefaults.places()),
        ...(await conversations.places()),
        ...(await Promise.all(features.map((one) => one.places?.() ?? []))).flat(),
      ];
      const kept = new Set([...all, ...deliveries.map(({ place }) => place)]);
      const places = [...kept].flatMap((key) => parsePlace(key) ?? []);
      return places.filter((one) => one.platform === platform).map(({ channel }) => channel);
    },
    async forget(place, thread) {
      if (thread === undefined) {
        await forgetAll({ platform: place.platform, channels: [place.channel] });
        return;
      }
      await unfinished.forgetThread(place, thread);
      await conversations.remove(place, thread);
      for (const one of features) await one.forgetThread?.({ place: placeKey(place), thread });
    },
  };
}

function placesOf({ platform, channels, prefix }: GoneChannels): GonePlaces {
  const keys = new Set(channels.map((channel) => placeKey({ platform, channel })));
  const beginning = prefix === undefined ? undefined : placeKey({ platform, channel: prefix });
  return {
    has: (place) => keys.has(place) || (beginning !== undefined && place.startsWith(beginning)),
    texts: [...keys, ...(beginning === undefined ? [] : [beginning])],
  };
}

/**
 * The watch state without deliveries to these places and without alerts reported to them; unchanged if there are none. Places
 * that receive every alert get a new delivery of each ongoing incident, because they may come back before it is over. Pure.
 */
function withoutPlaces(
  watching: Watching,
  gone: GonePlaces,
  alwaysAlerted: readonly string[],
): Watching {
  const { alerts, closed = [], reported = [] } = watching;
  const isGone = ({ place }: { place: string }) => gone.has(place);
  const hasData =
    closed.some(isGone) ||
    reported.some(isGone) ||
    alerts.some((alert) => isOnlyFor(alert, gone) || alert.deliveries.some(isGone));
  if (!hasData) return watching;
  const returning = alwaysAlerted.filter((place) => gone.has(place));
  const stillClosed = closed.filter((one) => !isGone(one));
  const stillReported = reported.filter((one) => !isGone(one));
  return {
    ...watching,
    alerts: alerts.flatMap((alert) => withoutDeliveries(alert, gone, returning)),
    closed: stillClosed.length > 0 ? stillClosed : undefined,
    reported: stillReported.length > 0 ? stillReported : undefined,
  };
}

function withoutDeliveries(alert: Alert, gone: GonePlaces, returning: readonly string[]): Alert[] {
  if (isOnlyFor(alert, gone)) return [];
  const kept = alert.deliveries.filter(({ place }) => !gone.has(place));
  const isOngoing = alert.kind === 'incident' && isOpen(alert) && !alert.reported;
  const again = isOngoing ? returning.map((place) => newDelivery(place, alert.id)) : [];
  if (again.length === 0 && kept.length === alert.deliveries.length) return [alert];
  return [{ ...alert, deliveries: [...kept, ...again] }];
}

/** True for an alert of one place, if that is gone. */
function isOnlyFor(alert: Alert, gone: GonePlaces): boolean {
  if ('place' in alert) return gone.has(alert.place);
  return (
    alert.kind === 'incident' && alert.reported !== undefined && gone.has(alert.reported.place)
  );
}
