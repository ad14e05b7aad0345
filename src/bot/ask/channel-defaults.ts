import { z } from 'zod';
import type { Store } from '../../store/store.ts';
import type { SettingChanges } from '../channels/channel-settings.ts';
import { changedSettings } from '../channels/channel-settings.ts';
import { type GonePlaces, type Place, placeKey } from '../shared/place.ts';

const Budget = z.object({ tokens: z.int().positive(), per: z.enum(['day', 'month']) });
export type Budget = z.infer<typeof Budget>;

/** A channel's settings for questions; the operator's apply where one is absent. */
const ChannelDefault = z.object({
  model: z.string().optional(),
  prompt: z.string().optional(),
  budget: Budget.optional(),
});
export type ChannelDefault = z.infer<typeof ChannelDefault>;

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
    /** Absent fields stay; `null` returns to the operator's setting. */
    async change(place: Place, change: SettingChanges<ChannelDefault>) {
      await collection.update(placeKey(place), (current) => {
        const all = changedSettings(current, change);
        return Object.keys(all).length === 0 ? undefined : all;
      });
    },
    forgetPlaces: (gone: GonePlaces) => collection.eraseAll((place) => gone.has(place)),
    /** Keys of places with settings. */
    places: async () => (await collection.list()).map(({ id }) => id),
  };
}
