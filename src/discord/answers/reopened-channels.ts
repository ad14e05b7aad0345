import { type Client, Events } from 'discord.js';
import type { Logger } from 'pino';
import type { Bot } from '../../bot/platform.ts';
import type { MissingPermissions } from '../api/permissions.ts';

/** A channel or thread, or a server with all its channels. */
type Changed = { channel: string } | { guild: string };

/**
 * Listens for what may open a channel that was closed to alerts, and has the bot send what waits there: permissions of the
 * channel, of a role, or of Askwatch, a thread that is unlocked, and a server that Askwatch is in again. discord.js reports
 * no change of a thread that it has not cached, so the events are read as they come.
 */
export function listenForReopened(
  client: Client,
  options: { bot: Bot; missingPermissions: MissingPermissions; log: Logger },
): void {
  const { bot, missingPermissions, log } = options;

  function isMeant(id: string, changed: Changed): boolean {
    const channel = client.channels.cache.get(id);
    if (!('channel' in changed)) {
      return channel !== undefined && !channel.isDMBased() && channel.guildId === changed.guild;
    }
    const parent = channel?.isThread() ? channel.parentId : undefined;
    return [id, parent].includes(changed.channel);
  }

  client.on(Events.Raw, (packet: { t?: unknown; d?: unknown }) => {
    const changed = changedBy(packet, client.user?.id);
    if (!changed) return;
    // discord.js notes what the event says after this listener.
    queueMicrotask(() => {
      bot
        .retryClosed('discord', (id) => isMeant(id, changed) && !missingPermissions(id))
        .catch((error: unknown) => {
          log.warn(
            { err: error },
            'could not retry a channel that may be open again; retrying later',
          );
        });
    });
  });
}

/** Source: Discord docs, "Gateway Events": Channels, Threads, Guild Create, Guild Role Update, Guild Member Update. Pure. */
function changedBy(
  { t, d }: { t?: unknown; d?: unknown },
  botId: string | undefined,
): Changed | undefined {
  const { id, guild_id: guild, user } = (d ?? {}) as Record<string, unknown>;
  switch (t) {
    case 'CHANNEL_CREATE':
    case 'CHANNEL_UPDATE':
    case 'THREAD_CREATE':
    case 'THREAD_UPDATE':
      return typeof id === 'string' ? { channel: id } : undefined;
    case 'GUILD_CREATE':
      return typeof id === 'string' ? { guild: id } : undefined;
    case 'GUILD_MEMBER_UPDATE':
      if ((user as { id?: unknown } | undefined)?.id !== botId) return undefined;
      return typeof guild === 'string' ? { guild } : undefined;
    case 'GUILD_ROLE_UPDATE':
    case 'GUILD_ROLE_DELETE':
      return typeof guild === 'string' ? { guild } : undefined;
    default:
      return undefined;
  }
}
