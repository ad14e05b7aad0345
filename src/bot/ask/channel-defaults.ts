import { z } from 'zod';
import type { Store } from '../../store/store.ts';
import type { Changes } from '../channels/channel-settings.ts';
import { changedSettings } from '../channels/channel-settings.ts';
import { type GonePlaces, type Place, placeKey } from '../shared/place.ts';

/** What models may use up there. */
const Budget = z.object({ tokens: z.int().positive(), per: z.enum(['day', 'month']) });
export type Budget = z.infer<typeof Budget>;

/** How questions in a channel are answered; what is left out is as the operator set it. */
const ChannelDefault = z.object({
  model: z.string().optional(),
  prompt: z.string().optional(),
  budget: Budget.optional(),
});
export type ChannelDefault = z.infer<typeof ChannelDefault>;

/** How questions in each channel are answered. */
export type ChannelDefaults = ReturnType<typeof createChannelDefaults>;

export function createChannelDefaults(store: Store) {
  const collection = store.collection<ChannelDefault>({
    name: 'channel-asking',
    schema: ChannelDefault,
    version: 1,
    whenCorrupt: 'forget',
  });
  return {
    of: async (place: Place): Promise<ChannelDefault> =>
      (await collection.get(placeKey(place))) ?? {},
    /** What is not named stays, `null` goes back to what the operator set. */
    async change(place: Place, change: Changes<ChannelDefault>) {
      await collection.update(placeKey(place), (current) => {
        const all = changedSettings(current, change);
        return Object.keys(all).length === 0 ? undefined : all;
      });
    },
    forgetPlaces: (gone: GonePlaces) => collection.eraseAll((place) => gone.has(place)),
    /** Places with a model or prompt of their own, in their one-word form. */
    places: async () => (await collection.list()).map(({ id }) => id),
  };
}
