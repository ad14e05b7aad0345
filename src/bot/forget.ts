import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Store } from '../store/store.ts';
import type { ChannelDefaults } from './ask/channel-defaults.ts';
import type { Conversations } from './ask/conversations.ts';
import type { ShownAnswers } from './ask/shown-answers.ts';
import type { UnfinishedAnswers } from './ask/unfinished-answers.ts';
import type { UsageLog } from './ask/usage-log.ts';
import type { Channels } from './channels/channels.ts';
import type { PersonPlaces } from './channels/person-places.ts';
import { hasPlace, withoutPlaces } from './incidents/places-in-state.ts';
import type { WatchState } from './incidents/watch-state.ts';
import type { Bot } from './platform.ts';
import { GoneChannels, type GonePlaces } from './shared/gone-places.ts';
import { type Place, parsePlace, placeKey } from './shared/place.ts';

/**
 * Forgets what was kept for a thread, or for channels: what was said, who said how much, which alerts they hear and were
 * told, their model and prompt. What is to be forgotten is noted first, so that a start after a kill goes on with it: that
 * has happened when this resolves.
 */
export async function openForget(
  store: Store,
  options: {
    conversations: Conversations;
    channels: Channels;
    channelDefaults: ChannelDefaults;
    usageLog: UsageLog;
    places: PersonPlaces;
    shownAnswers: ShownAnswers;
    unfinished: UnfinishedAnswers;
    state: WatchState;
    /** Those that hear every alert. */
    alertPlaces: readonly Place[];
    log: Logger;
  },
): Promise<Pick<Bot, 'forget' | 'forgetAll' | 'keptChannels'>> {
  const { conversations, channels, unfinished, state, alertPlaces, log } = options;
  const { channelDefaults, usageLog, places, shownAnswers } = options;
  const noted = store.collection<GoneChannels>({
    name: 'forgetting',
    schema: GoneChannels,
    version: 1,
    whenCorrupt: 'forget',
  });

  async function forgetNoted(id: string, gone: GonePlaces) {
    // What a start would take up again comes before what it would take it up from.
    for (const one of [
      unfinished,
      conversations,
      channelDefaults,
      usageLog,
      places,
      shownAnswers,
    ]) {
      await one.forgetPlaces(gone);
    }
    if (hasPlace(state.current(), gone)) {
      const alwaysAlerted = alertPlaces.map(placeKey);
      await state.erase((watching) => watching && withoutPlaces(watching, gone, alwaysAlerted));
    }
    for (const place of await channels.forgetPlaces(gone)) {
      log.warn({ place }, 'a channel that heard alerts is gone');
    }
    await noted.update(id, () => undefined);
  }

  async function forgetAll(gone: GoneChannels) {
    if (gone.channels.length === 0 && gone.prefix === undefined) return;
    const id = randomUUID();
    await noted.update(id, () => gone);
    await forgetNoted(id, placesOf(gone));
  }

  for (const { id, document } of await noted.list()) {
    await forgetNoted(id, placesOf(document)).catch((error: unknown) => {
      log.error({ err: error }, 'what is gone could not be forgotten; the next start tries again');
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
