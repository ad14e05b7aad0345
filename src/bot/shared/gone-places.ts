import { z } from 'zod';

/** Channels that are gone, by the platform's own ids: some, or all whose id begins so. */
export const GoneChannels = z.object({
  platform: z.string(),
  channels: z.array(z.string()),
  prefix: z.string().optional(),
});

export type GoneChannels = z.infer<typeof GoneChannels>;

/** Places that are gone, as those who keep something of places see them. */
export interface GonePlaces {
  /** Whether a place is one of them, by its one-word form. */
  has(place: string): boolean;
  /** In every text that names one of them, one of these stands. */
  readonly texts: readonly string[];
}
