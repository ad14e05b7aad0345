import { type Client, DiscordAPIError, RESTJSONErrorCodes, Routes } from 'discord.js';
import type { Logger } from 'pino';
import type { Bot } from '../../bot/platform.ts';

/** Of a channel that was deleted, and of one in a server that Askwatch is not in. Source: Discord docs, "JSON Error Codes". */
const GONE: Array<number | string> = [
  RESTJSONErrorCodes.UnknownChannel,
  RESTJSONErrorCodes.MissingAccess,
];

/**
 * Forgets channels that were deleted, or whose server took Askwatch out, while nobody listened. Discord tells of all channels
 * of a server, also of those that Askwatch may not see, so it is asked of others only; one after another, since there may be
 * many direct conversations. Nothing is forgotten while a server is down. Never rejects. Source: Discord docs, "Channel
 * Visibility".
 */
export async function forgetGone(
  client: Client,
  {
    bot,
    isStopping,
    log,
  }: { bot: Pick<Bot, 'keptChannels' | 'forgetAll'>; isStopping: () => boolean; log: Logger },
): Promise<void> {
  if (client.guilds.cache.some(({ available }) => !available)) return;
  try {
    const gone: string[] = [];
    for (const channel of await bot.keptChannels('discord')) {
      if (isStopping()) return;
      const isKnown = client.channels.cache.has(channel);
      if (!isKnown && (await isGone(client, channel))) gone.push(channel);
    }
    if (gone.length === 0) return;
    log.warn({ channels: gone.length }, 'forgets channels that are gone since the last start');
    await bot.forgetAll({ platform: 'discord', channels: gone });
  } catch (error) {
    log.error(
      { err: error },
      'channels that are gone could not be forgotten; the next start tries again',
    );
  }
}

async function isGone({ rest }: Client, channel: string): Promise<boolean> {
  try {
    await rest.get(Routes.channel(channel));
    return false;
  } catch (error) {
    // What cannot be asked now is asked at the next start.
    return error instanceof DiscordAPIError && GONE.includes(error.code);
  }
}
