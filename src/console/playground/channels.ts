import { z } from 'zod';
import type { Collection } from '../../bot/platform.ts';
import { HttpError } from '../../http/errors.ts';
import { FIRST_CHANNEL } from '../shared/first-channel.ts';
import type { EventStreams } from './event-streams.ts';

const ChannelBook = z.object({ channels: z.array(z.string()) });
export type ChannelBook = z.infer<typeof ChannelBook>;

/** The names of all channels: one document, because their number is limited. */
export const channelsCollection = {
  name: 'console-channels',
  schema: ChannelBook,
  version: 1,
  whenCorrupt: 'forget' as const,
};

const DOCUMENT = 'channels';

const MAX_CHANNELS = 50;

/** Slack allows the same characters. Every name fits in an address. */
const CHANNEL_NAME = /^[\p{Ll}\p{Lo}\p{M}\p{N}_-]{1,40}$/u;

export const isChannelName = (name: string) => CHANNEL_NAME.test(name);

/** The stored channels, for a process without a playground. */
export const storedChannels = async (collection: Collection<ChannelBook> | undefined) =>
  (await collection?.get(DOCUMENT))?.channels ?? [FIRST_CHANNEL];

export type ConsoleChannels = Awaited<ReturnType<typeof openChannels>>;

/** Reads the channels, and creates the missing ones of `named`. Every tab gets an event for a new channel. */
export async function openChannels(
  collection: Collection<ChannelBook>,
  { named, streams }: { named: readonly string[]; streams: EventStreams },
) {
  let channels = [FIRST_CHANNEL];

  async function add(wanted: readonly string[]) {
    const book = await collection.update(DOCUMENT, (current) => {
      const all = new Set([FIRST_CHANNEL, ...(current?.channels ?? []), ...wanted]);
      const withRoom = [...all].slice(0, MAX_CHANNELS);
      return withRoom.length === current?.channels.length ? current : { channels: withRoom };
    });
    channels = book?.channels ?? channels;
  }
  await add(named.filter(isChannelName));

  return {
    list: () => [...channels],
    has: (channel: string) => channels.includes(channel),
    /** Resolves to the channel's name, also if it exists already. Throws `HttpError`. */
    async create(typedName: string) {
      const channel = channelName(typedName);
      if (channels.includes(channel)) return channel;
      await add([channel]);
      if (!channels.includes(channel)) throw full();
      streams.send({ kind: 'channel', channel });
      return channel;
    },
  };
}

/** Lowercases the name and puts hyphens for spaces. Throws `HttpError`. */
function channelName(typedName: string): string {
  const trimmed = typedName.normalize('NFC').trim();
  const name = trimmed.replace(/^#/, '').toLowerCase().replace(/\s+/g, '-');
  if (isChannelName(name)) return name;
  throw new HttpError(
    422,
    'invalid_value',
    'Channel names use 1–40 lowercase letters, digits, hyphens or underscores, such as ops-europe.',
    { param: 'name' },
  );
}

const full = () =>
  new HttpError(
    422,
    'too_many_channels',
    `There are already ${MAX_CHANNELS} channels. Use one of them.`,
  );
