import { type Client, Events, RESTJSONErrorCodes, Routes } from 'discord.js';
import type { Logger } from 'pino';
import type { Bot } from '../../bot/platform.ts';
import type { Place } from '../../bot/shared/place.ts';
import { hasCode } from '../api/errors.ts';

export type Deletions = ReturnType<typeof listenForDeletions>;

interface Watched {
  ids: Set<string>;
  controller: AbortController;
  ended: Promise<void>;
}

/** Discord deletes at most this many at once. Source: Discord docs, "Bulk Delete Messages". */
const MAX_RECENT = 100;

/** A deletion: ids that answers may need, and the thread or channels whose data is deleted. */
interface Deleted {
  ids: string[];
  forget?: { place: Place; thread?: string } | { channels: string[] };
}

/**
 * Listens for deleted messages, threads and channels, and for servers that removed Askwatch: answers there end, and what was
 * kept for a thread or channel is forgotten. discord.js reports only what it has in its caches, which hold no messages, so
 * the events are read as they come.
 */
export function listenForDeletions(client: Client, { bot, log }: { bot: Bot; log: Logger }) {
  const watched = new Set<Watched>();
  /** A message can be deleted before its id is known here. */
  let recent: string[] = [];

  client.on(Events.Raw, (packet: { t?: unknown; d?: unknown }) => {
    // The event comes before discord.js forgets the server.
    const channelsOf = (server: string) => [
      ...(client.guilds.cache.get(server)?.channels.cache.keys() ?? []),
    ];
    const deleted = deletedBy(packet, channelsOf);
    if (!deleted) return;
    recent = [...recent, ...deleted.ids].slice(-MAX_RECENT);
    const hit = [...watched].filter(({ ids }) => deleted.ids.some((id) => ids.has(id)));
    for (const { controller } of hit) controller.abort();
    if (deleted.forget) forgetAfter(hit, deleted.forget);
  });

  /** An answer is stored when it ends, so the data is deleted after that. */
  function forgetAfter(hit: Watched[], what: NonNullable<Deleted['forget']>) {
    Promise.all(hit.map(({ ended }) => ended))
      .then(() =>
        'place' in what
          ? bot.forget(what.place, what.thread)
          : bot.forgetAll({ platform: 'discord', channels: what.channels }),
      )
      .catch((error: unknown) => {
        log.error(
          { err: error, ...what },
          'could not delete the data of a channel, thread or server that is gone',
        );
      });
  }

  return {
    /** For an answer that needs these messages, threads and channels. */
    watch(...first: string[]) {
      const controller = new AbortController();
      const ids = new Set(first);
      let end = () => {};
      const ended = new Promise<void>((resolve) => {
        end = resolve;
      });
      const one = { ids, controller, ended };
      watched.add(one);
      return {
        signal: controller.signal,
        add(id: string) {
          ids.add(id);
          if (recent.includes(id)) controller.abort();
        },
        remove(id: string) {
          ids.delete(id);
        },
        end() {
          watched.delete(one);
          end();
        },
      };
    },
  };
}

/**
 * Source: Discord docs, "Gateway Events": Message Delete, Message Delete Bulk, Thread Delete, Channel Delete, and Guild Delete,
 * which without `unavailable` says that the bot was taken out of the server. Pure.
 */
export function deletedBy(
  { t, d }: { t?: unknown; d?: unknown },
  channelsOf: (server: string) => string[],
): Deleted | undefined {
  const { id, ids, parent_id: parent, unavailable } = (d ?? {}) as Record<string, unknown>;
  if (t === 'MESSAGE_DELETE_BULK') return Array.isArray(ids) ? { ids: ids.map(String) } : undefined;
  if (typeof id !== 'string') return undefined;
  if (t === 'MESSAGE_DELETE') return { ids: [id] };
  if (t === 'GUILD_DELETE') {
    if (unavailable === true) return undefined;
    const channels = channelsOf(id);
    return { ids: channels, forget: { channels } };
  }
  if (t === 'CHANNEL_DELETE') {
    return { ids: [id], forget: { place: { platform: 'discord', channel: id } } };
  }
  if (t !== 'THREAD_DELETE' || typeof parent !== 'string') return undefined;
  return { ids: [id], forget: { place: { platform: 'discord', channel: parent }, thread: id } };
}

/**
 * Deletes the data of channels that disappeared while the program was not running. Discord announces all channels of servers,
 * even invisible ones, so only the others need requests, one after another because there may be many. Does nothing while a
 * server is down. Never rejects. Source: Discord docs, "Channel Visibility".
 */
export async function forgetGone(
  client: Client,
  bot: Bot,
  { isStopping, log }: { isStopping: () => boolean; log: Logger },
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
    log.warn(
      { channels: gone.length },
      'deleting the data of channels that are gone since the last start',
    );
    await bot.forgetAll({ platform: 'discord', channels: gone });
  } catch (error) {
    log.error(
      { err: error },
      'could not delete the data of channels that are gone; retrying at the next start',
    );
  }
}

async function isGone({ rest }: Client, channel: string): Promise<boolean> {
  try {
    await rest.get(Routes.channel(channel));
    return false;
  } catch (error) {
    // The second is what Discord says of a channel in a server that Askwatch is not in. What cannot be asked now is asked at
    // the next start. Source: Discord docs, "JSON Error Codes".
    return hasCode(error, RESTJSONErrorCodes.UnknownChannel, RESTJSONErrorCodes.MissingAccess);
  }
}
