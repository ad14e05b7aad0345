import { z } from 'zod';
import type { Store } from '../../store/store.ts';
import type { GonePlaces } from '../shared/gone-places.ts';
import { type Place, placeKey } from '../shared/place.ts';

/** How questions in a channel are answered; what is left out is as the operator set it. */
const ChannelDefault = z.object({
  model: z.string().optional(),
  prompt: z.string().optional(),
});
export type ChannelDefault = z.infer<typeof ChannelDefault>;

/** How questions in each channel are answered. */
export interface ChannelDefaults {
  of(place: Place): Promise<ChannelDefault>;
  /** What is not named stays, `null` goes back to what the operator set. */
  change(
    place: Place,
    change: { [Name in keyof ChannelDefault]?: NonNullable<ChannelDefault[Name]> | null },
  ): Promise<void>;
  forgetPlaces(gone: GonePlaces): Promise<void>;
  /** Places with a model or prompt of their own, in their one-word form. */
  places(): Promise<string[]>;
}

export function createChannelDefaults(store: Store): ChannelDefaults {
  const collection = store.collection<ChannelDefault>({
    name: 'channel-asking',
    schema: ChannelDefault,
    version: 1,
    whenCorrupt: 'forget',
  });
  return {
    of: async (place) => (await collection.get(placeKey(place))) ?? {},
    async change(place, change) {
      await collection.update(placeKey(place), (current) => {
        const all = Object.entries({ ...current, ...change }).filter(([, value]) => value !== null);
        return all.length === 0 ? undefined : Object.fromEntries(all);
      });
    },
    forgetPlaces: (gone) => collection.eraseAll((place) => gone.has(place)),
    places: async () => (await collection.list()).map(({ id }) => id),
  };
}
