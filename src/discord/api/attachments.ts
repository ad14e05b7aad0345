import { download } from '../../bot/files/download.ts';
import { FileError, GONE, type SharedFile, sharedFile } from '../../bot/shared/shared-file.ts';
import type { ChannelApi } from './channel-api.ts';
import { isRefusal, reasonOf } from './errors.ts';

/** Files elsewhere don't belong to a message. Source: Discord docs, "Reference", "CDN Formatting". */
const HOSTS = new Set(['cdn.discordapp.com', 'media.discordapp.net']);

interface Attached {
  id: string;
  name: string;
  contentType: string | null;
  size: number;
  url: string;
}

/** A file in a message or next to a command. Discord sends a command's address only once. */
export const attachedFile = (
  { id, name, contentType, size, url }: Attached,
  message?: { id: string; channelId: string },
): SharedFile =>
  sharedFile({
    ...{ name, mediaType: contentType, bytes: size },
    ref: { id, url, channel: message?.channelId, message: message?.id },
  });

/**
 * Streams files from Discord's hosts, or from the host of another configured address. The address is signed for a day and needs
 * no token; after that the message is read again for a new one. Source: Discord docs, "Reference", "Signed Attachment CDN
 * URLs".
 */
export function createReadAttachment({ api, apiUrl }: { api: ChannelApi; apiUrl: string }) {
  const own = new URL(apiUrl);
  const isAllowed = (url: URL) =>
    (url.protocol === 'https:' && url.port === '' && HOSTS.has(url.hostname)) ||
    (own.hostname !== 'discord.com' && url.origin === own.origin);

  return async function* readAttachment(
    { ref: { id, url, channel, message } }: SharedFile,
    { signal }: { signal: AbortSignal },
  ): AsyncGenerator<Uint8Array> {
    if (url === undefined) throw new FileError(GONE, { isGone: true });
    try {
      yield* download(url, { isAllowed, signal });
      return;
    } catch (error) {
      const isOver = error instanceof FileError && error.isGone;
      if (!isOver || channel === undefined || message === undefined) throw error;
    }
    signal.throwIfAborted();
    yield* download(await addressNow({ id, channel, message }), { isAllowed, signal });
  };

  async function addressNow(of: { id: string | undefined; channel: string; message: string }) {
    try {
      const { attachments } = await api.message(of.channel, of.message);
      const found = attachments.find(({ id }) => id === of.id);
      if (found) return found.url;
    } catch (error) {
      if (!isRefusal(error)) {
        throw new FileError(`${reasonOf(error)} Ask again in a moment.`, { cause: error });
      }
    }
    throw new FileError(GONE, { isGone: true });
  }
}
