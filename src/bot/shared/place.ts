import { z } from 'zod';

/** A channel or direct conversation, by the platform's id. */
export interface Place {
  /** `slack`. */
  platform: string;
  channel: string;
}

/** `slack:C0123`, as in `ALERT_CHANNELS`. */
export const placeKey = (place: Place) => `${place.platform}:${place.channel}`;

const PLATFORM_NAME = /^[a-z][a-z\d-]*$/;

/** The place of a key; `undefined` if it is not a valid key. */
export function parsePlace(text: string): Place | undefined {
  const [name = '', ...rest] = text.split(':');
  const channel = rest.join(':');
  return PLATFORM_NAME.test(name) && channel !== '' ? { platform: name, channel } : undefined;
}

export const hasPlace = (places: readonly Place[], place: Place) =>
  places.some((one) => placeKey(one) === placeKey(place));

/** The settings of one place, or what all places share, such as monitors. */
export type RightOver = 'place' | 'shared';

/** `name` is for display only and may contain anything. */
export interface Person {
  id: string;
  name: string;
  /**
   * True if the platform lets them manage the place they are in, which in a direct conversation is everyone, or the whole
   * workspace or server. They can't if it is absent.
   */
  mayManage?: (over: RightOver) => Promise<boolean>;
  /** Name of the workspace or server for refusals, such as `this workspace`, and a hint. */
  community?: { name: string; hint?: string };
  /** Finds another channel of the same workspace or server by the platform's id, and whether they can manage it. */
  channelOf?: (id: string) => Promise<{ channel: string; mayManage: boolean } | undefined>;
  /** True if they are in a user group or have a role, by the platform's id. */
  isIn?: (group: string) => Promise<boolean>;
}

/** Deleted channels by the platform's ids, or by the prefix of their ids. */
export const GoneChannels = z.object({
  platform: z.string(),
  channels: z.array(z.string()),
  prefix: z.string().optional(),
});

export type GoneChannels = z.infer<typeof GoneChannels>;

/** Deleted places, for the stores that have data about them. */
export interface GonePlaces {
  /** `place` is a key. */
  has(place: string): boolean;
  /** Every text that names one of them contains one of these. */
  readonly texts: readonly string[];
}
