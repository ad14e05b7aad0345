import { z } from 'zod';
import type { Store } from '../../store/store.ts';
import { type GonePlaces, type Place, placeKey } from '../shared/place.ts';

export interface ConversationAt {
  place: Place;
  thread: string;
}

/** Messages of one channel with their conversations, oldest first. */
const Shown = z.object({
  messages: z.array(z.object({ id: z.string(), channel: z.string(), thread: z.string() })),
});

/** The conversations of messages outside of threads: only this connects a reply or a button to the turns before it. */
export type ShownAnswers = ReturnType<typeof createShownAnswers>;

/** Per channel, oldest deleted first. A reply to a deleted one begins a new conversation. */
const MAX_MESSAGES = 500;

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
    /** The conversation of a message; `undefined` if it isn't stored. */
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
    forgetPlaces: (gone: GonePlaces) => collection.eraseAll((place) => gone.has(place)),
  };
}
