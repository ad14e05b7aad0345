import { z } from 'zod';

/** A channel (or direct conversation) of a platform, by the platform's own id. */
export interface Place {
  /** The platform's name, such as `slack`. */
  platform: string;
  channel: string;
}

/** The one-word form of a place, as in `ALERT_CHANNELS`: `slack:C0123`. */
export const placeKey = (place: Place) => `${place.platform}:${place.channel}`;

/** How platforms are named; which there are is up to whoever puts the program together. */
const PLATFORM_NAME = /^[a-z][a-z\d-]*$/;

/** A place from its one-word form; `undefined` when it is none. */
export function parsePlace(text: string): Place | undefined {
  const [name = '', ...rest] = text.split(':');
  const channel = rest.join(':');
  return PLATFORM_NAME.test(name) && channel !== '' ? { platform: name, channel } : undefined;
}

/**
 * What a right is over: the place where it is asked for, such as how it is alerted and answered, or what all places share,
 * such as the monitors.
 */
export type RightOver = 'place' | 'shared';

/** Who said it. `name` is for showing only; it can hold anything. */
export interface Person {
  id: string;
  name: string;
  /**
   * Whether the platform lets them manage the place they speak in, or what all places share. A direct conversation is
   * everybody's who is in it; what is shared is for those who manage the workspace or server, wherever they say so. Absent
   * where that is not known: then they may not.
   */
  mayManage?: (over: RightOver) => Promise<boolean>;
  /** What those manage who may manage what all places share, such as `this workspace`, and what else may help. */
  community?: { name: string; hint?: string };
  /**
   * Another channel of the same workspace or server, by the platform's own id: as the bot names it, and whether the platform
   * lets them manage it. `undefined` where there is no such; absent where that is not known.
   */
  channelOf?: (id: string) => Promise<{ channel: string; mayManage: boolean } | undefined>;
  /** Whether they are in a user group or have a role, by the platform's own id. Absent where that is not known. */
  isIn?: (group: string) => Promise<boolean>;
}

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
