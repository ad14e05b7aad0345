import { z } from 'zod';
import type { Collection } from '../../bot/platform.ts';
import { HttpError } from '../../http/errors.ts';
import type { EventStreams } from './event-streams.ts';

const ChannelBook = z.object({ channels: z.array(z.string()) });
export type ChannelBook = z.infer<typeof ChannelBook>;

/** Where the console keeps the names of its channels: one document, since there is a limit to them all. */
export const channelsCollection = {
  name: 'console-channels',
  schema: ChannelBook,
  version: 1,
  whenCorrupt: 'forget' as const,
};

const DOCUMENT = 'channels';

/** The channel that is always there. */
const FIRST_CHANNEL = 'general';

const MAX_CHANNELS = 50;

/** Small letters, digits, hyphens and underscores, as in Slack, so that every name can stand in an address. */
const CHANNEL_NAME = /^[\p{Ll}\p{Lo}\p{M}\p{N}_-]{1,40}$/u;

/** Whether a channel can be called so. */
export const isChannelName = (name: string) => CHANNEL_NAME.test(name);

/** The channels as they are stored, for a process that has no playground. */
export const storedChannels = async (collection: Collection<ChannelBook> | undefined) =>
  (await collection?.get(DOCUMENT))?.channels ?? [FIRST_CHANNEL];

/** The channels of the console. */
export type ConsoleChannels = Awaited<ReturnType<typeof openChannels>>;

/** Reads the channels; those in `named` are made where they are missing. Every tab is told of a new one. */
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
    /** In the order in which they were made. */
    list: () => [...channels],
    has: (channel: string) => channels.includes(channel),
    /** Makes a channel, and resolves to its name; one that is there already is left as it is. Throws `HttpError`. */
    async create(given: string) {
      const channel = channelName(given);
      if (channels.includes(channel)) return channel;
      await add([channel]);
      if (!channels.includes(channel)) throw full();
      streams.send({ kind: 'channel', channel });
      return channel;
    },
  };
}

/** The name as a channel has it: small, with hyphens for spaces. Throws `HttpError`. */
function channelName(given: string): string {
  const name = given.normalize('NFC').trim().replace(/^#/, '').toLowerCase().replace(/\s+/g, '-');
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
