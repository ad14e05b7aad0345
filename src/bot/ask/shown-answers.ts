import { z } from 'zod';
import type { Store } from '../../store/store.ts';
import { type GonePlaces, type Place, placeKey } from '../shared/place.ts';

/** A conversation as the bot knows it. */
export interface ConversationAt {
  place: Place;
  /** Its key within the place. */
  thread: string;
}

/** Messages of one channel that belong to conversations whose key they do not tell, oldest first. */
const Shown = z.object({
  messages: z.array(z.object({ id: z.string(), channel: z.string(), thread: z.string() })),
});

/**
 * Which conversation a message shown outside of any thread belongs to. Without a thread nothing but this connects a button
 * under an answer, or a reply to one, to what was said before.
 */
export type ShownAnswers = ReturnType<typeof createShownAnswers>;

/** Kept for each channel; the oldest are forgotten first, and a reply to one of them begins a new conversation. */
const MAX_MESSAGES = 500;

/** In the store, one document a channel: only channels without threads need any. */
export function createShownAnswers(
  store: Store,
  { maxMessages = MAX_MESSAGES }: { maxMessages?: number } = {},
) {
  const collection = store.collection({
    name: 'shown-answers',
    schema: Shown,
    version: 1,
    whenCorrupt: 'forget',
  });
  return {
    /** The conversation of a message that is shown in a place; `undefined` for one that was not noted. */
    async of(shownIn: Place, message: string) {
      const shown = await collection.get(placeKey(shownIn));
      const found = shown?.messages.find(({ id }) => id === message);
      return (
        found && {
          place: { platform: shownIn.platform, channel: found.channel },
          thread: found.thread,
        }
      );
    },
    async add(shownIn: Place, message: string, { place, thread }: ConversationAt) {
      await collection.update(placeKey(shownIn), (current) => ({
        messages: [
          ...(current?.messages ?? []).filter(({ id }) => id !== message),
          { id: message, channel: place.channel, thread },
        ].slice(-maxMessages),
      }));
    },
    /** Forgets what was shown in places that are gone. */
    forgetPlaces: (gone: GonePlaces) => collection.eraseAll((place) => gone.has(place)),
  };
}
