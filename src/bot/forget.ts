import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Store } from '../store/store.ts';
import type { ChannelDefaults } from './ask/channel-defaults.ts';
import type { Conversations } from './ask/conversations.ts';
import type { UnfinishedAnswers } from './ask/unfinished-answers.ts';
import type { Channels } from './channels/channels.ts';
import type { Feedback } from './feedback/feedback.ts';
import { isOpen, newDelivery } from './incidents/incidents.ts';
import type { Alert, Watching, WatchState } from './incidents/watch-state.ts';
import type { Intakes } from './intake/intakes.ts';
import type { Bot } from './platform.ts';
import { GoneChannels, type GonePlaces, type Place, parsePlace, placeKey } from './shared/place.ts';

/**
 * Forgets what was kept for a thread, or for channels: what was said and how it was rated, who said how much, which alerts they hear and were
 * told, where alerts of other systems come in for them, their model and prompt. What is to be forgotten is noted first, so that a start after a kill goes on with it: that
 * has happened when this resolves.
 */
export async function openForget(
  store: Store,
  options: {
    conversations: Conversations;
    channels: Channels;
    channelDefaults: ChannelDefaults;
    unfinished: UnfinishedAnswers;
    /** What else keeps something of places. */
    others: ReadonlyArray<{ forgetPlaces(gone: GonePlaces): Promise<void> }>;
    feedback: Pick<Feedback, 'forgetThread' | 'places'>;
    intakes: Pick<Intakes, 'forgetPlaces' | 'places'>;
    state: WatchState;
    /** Those that hear every alert. */
    alertPlaces: readonly Place[];
    log: Logger;
  },
): Promise<Pick<Bot, 'forget' | 'forgetAll' | 'keptChannels'>> {
  const { conversations, channels, channelDefaults, unfinished, others, feedback } = options;
  const { intakes, state, alertPlaces, log } = options;
  const noted = store.collection<GoneChannels>({
    name: 'forgetting',
    schema: GoneChannels,
    version: 1,
    whenCorrupt: 'forget',
  });

  async function forgetNoted(id: string, gone: GonePlaces) {
    // What a start would take up again comes before what it would take it up from.
    for (const one of [unfinished, intakes, conversations, channelDefaults, ...others]) {
      await one.forgetPlaces(gone);
    }
    const alwaysAlerted = alertPlaces.map(placeKey);
    await state.erase((watching) => watching && withoutPlaces(watching, gone, alwaysAlerted));
    for (const place of await channels.forgetPlaces(gone)) {
      log.warn({ place }, 'a channel that received alerts is gone');
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
        ...(await feedback.places()),
        ...intakes.places(),
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
      await feedback.forgetThread({ place: placeKey(place), thread });
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
 * What is known without what these places were told or are about to be told, and without what others reported to them; the
 * same document where that is nothing. Those
 * that hear every alert, since the operator says so, are told anew of what goes on: they may be back before it is over. Pure.
 */
function withoutPlaces(watching: Watching, gone: GonePlaces, hearAll: readonly string[]): Watching {
  const { alerts, closed = [], reported = [], ...rest } = watching;
  const left = closed.filter(({ place }) => !gone.has(place));
  const stillReported = reported.filter(({ place }) => !gone.has(place));
  const isTold = alerts.some(
    (alert) => isOf(alert, gone) || alert.deliveries.some(({ place }) => gone.has(place)),
  );
  const isLess = left.length < closed.length || stillReported.length < reported.length;
  if (!isTold && !isLess) return watching;
  const returning = hearAll.filter((place) => gone.has(place));
  const others = alerts.flatMap((alert): Alert[] => {
    if (isOf(alert, gone)) return [];
    const kept = alert.deliveries.filter(({ place }) => !gone.has(place));
    const isToTell = alert.kind === 'incident' && isOpen(alert) && !alert.reported;
    const more = isToTell ? returning.map((place) => newDelivery(place, alert.id)) : [];
    const isSame = more.length === 0 && kept.length === alert.deliveries.length;
    return isSame ? [alert] : [{ ...alert, deliveries: [...kept, ...more] }];
  });
  return {
    ...{ ...rest, alerts: others, ...(left.length > 0 && { closed: left }) },
    ...(stillReported.length > 0 && { reported: stillReported }),
  };
}

/** Whether an alert is of one place alone, which is gone. */
function isOf(alert: Alert, gone: GonePlaces): boolean {
  if (alert.kind === 'group' || alert.kind === 'report') return gone.has(alert.place);
  return (
    alert.kind === 'incident' && alert.reported !== undefined && gone.has(alert.reported.place)
  );
}
