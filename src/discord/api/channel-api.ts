import { setTimeout as pause } from 'node:timers/promises';
import {
  type APIChannel,
  type APIMessage,
  type REST,
  RESTJSONErrorCodes,
  type RESTPatchAPIChannelMessageJSONBody,
  type RESTPostAPIChannelMessageJSONBody,
  Routes,
} from 'discord.js';
import type { Logger } from 'pino';
import { threadName } from '../render/text.ts';
import { hasCode, isRefusal, retryAfterMs } from './errors.ts';

const {
  CannotReplyWithoutPermissionToReadMessageHistory,
  InvalidActionOnArchivedThread,
  ThreadAlreadyCreatedForMessage,
} = RESTJSONErrorCodes;

const THREAD_TRIES = 3;
const THREAD_RETRY_WAIT_MS = 1_000;

/** A Discord id. Source: Discord docs, "Snowflakes". */
export const SNOWFLAKE = /^\d{17,20}$/;

/** Messages and replies ping nobody. */
const NO_MENTIONS = { parse: [], replied_user: false };

export interface Called {
  roles?: string[];
  users?: string[];
}

/** Calls for channels and threads that don't need discord.js's cache. */
export type ChannelApi = ReturnType<typeof createChannelApi>;

/**
 * The calls over discord.js's own REST client. They throw its `DiscordAPIError`, `HTTPError` and `RateLimitError`, or
 * what the network threw.
 */
export function createChannelApi(rest: REST, log: Logger) {
  const api = {
    /**
     * Posts a message; the same `nonce` (at most 25 characters) posts once, for as long as Discord remembers it. `called` is
     * the one role or person that a mention in it may ping.
     */
    async send(channel: string, message: NewMessage, { called }: { called?: Called } = {}) {
      const allowed_mentions = { ...NO_MENTIONS, ...called };
      const request = requestWith({ ...message, enforce_nonce: true, allowed_mentions });
      const post = () => rest.post(Routes.channelMessages(channel), request);
      return (await inOpenThread(rest, channel, post)) as APIMessage;
    },
    /** Posts a reply, or a plain message if the bot may not read earlier ones. */
    async reply(channel: string, to: string, message: NewMessage) {
      const message_reference = { message_id: to, fail_if_not_exists: false };
      try {
        return await api.send(channel, { ...message, message_reference });
      } catch (error) {
        if (!hasCode(error, CannotReplyWithoutPermissionToReadMessageHistory)) throw error;
        return await api.send(channel, message);
      }
    },
    async edit(
      channel: string,
      message: string,
      change: RESTPatchAPIChannelMessageJSONBody & { files?: TextFile[] },
    ) {
      // Without this field an edit gets Discord's default, which pings.
      const request = requestWith({ ...change, allowed_mentions: NO_MENTIONS });
      const patch = () => rest.patch(Routes.channelMessage(channel, message), request);
      return (await inOpenThread(rest, channel, patch)) as APIMessage;
    },
    async guildOf(channel: string) {
      const { guild_id } = (await rest.get(Routes.channel(channel))) as { guild_id?: string };
      return guild_id;
    },
    async delete(channel: string, message: string) {
      await rest.delete(Routes.channelMessage(channel, message));
    },
    async message(channel: string, message: string, signal?: AbortSignal) {
      const request = signal && { signal };
      return (await rest.get(Routes.channelMessage(channel, message), request)) as APIMessage;
    },
    /** The newest messages before one, newest first; none if the bot may not read them. */
    async page(
      channel: string,
      { before, limit, signal }: { before: string | undefined; limit: number; signal: AbortSignal },
    ) {
      const query = new URLSearchParams({ limit: String(limit), ...(before && { before }) });
      return (await rest.get(Routes.channelMessages(channel), { query, signal })) as APIMessage[];
    },
    async messageCount(thread: string, signal: AbortSignal) {
      const channel = (await rest.get(Routes.channel(thread), { signal })) as APIChannel;
      return 'message_count' in channel ? channel.message_count : undefined;
    },
    /** Newest first. */
    async recent(channel: string) {
      const query = new URLSearchParams({ limit: '100' });
      return (await rest.get(Routes.channelMessages(channel), { query })) as APIMessage[];
    },
    async parentOf(thread: string) {
      const channel = (await rest.get(Routes.channel(thread))) as APIChannel;
      return ('parent_id' in channel ? channel.parent_id : undefined) ?? undefined;
    },
    /** Lasts ten seconds, or until a message comes. */
    async typing(channel: string) {
      await rest.post(Routes.channelTyping(channel));
    },
    /**
     * Opens the thread under a message, or finds the one that is there, and gives its id; `undefined` when Discord does not
     * let the bot, as in a channel without threads or without the permission.
     */
    async openThread(channel: string, message: string, question: string) {
      for (let tries = 1; ; tries += 1) {
        try {
          const body = { name: threadName(question) };
          await rest.post(Routes.threads(channel, message), { body });
          return message;
        } catch (error) {
          if (hasCode(error, ThreadAlreadyCreatedForMessage)) return message;
          if (isRefusal(error) || tries === THREAD_TRIES) {
            log.info({ err: error, channel }, 'could not open a thread; answering in the channel');
            return undefined;
          }
          await pause(retryAfterMs(error) ?? THREAD_RETRY_WAIT_MS);
        }
      }
    },
  };
  return api;
}

export interface TextFile {
  name: string;
  text: string;
}

export interface Picture {
  name: string;
  data: Buffer;
  /** The text for screen readers. */
  description: string;
}

type NewMessage = Omit<RESTPostAPIChannelMessageJSONBody, 'nonce'> & {
  nonce: string;
  files?: TextFile[];
  picture?: Picture;
};

/**
 * The request for a message. Its files take the place of any that an earlier try put under the message. Source: Discord docs,
 * "Uploading Files".
 */
export function requestWith({
  files = [],
  picture,
  ...body
}: {
  files?: readonly TextFile[];
  picture?: Picture;
  [field: string]: unknown;
}) {
  if (picture) {
    const { name, data, description } = picture;
    return {
      body: { ...body, attachments: [{ id: '0', filename: name, description }] },
      files: [{ name, contentType: 'image/png', data }],
    };
  }
  if (files.length === 0) return { body };
  const contentType = 'text/markdown; charset=utf-8';
  return {
    body: { ...body, attachments: files.map(({ name }, at) => ({ id: `${at}`, filename: name })) },
    files: files.map(({ name, text }) => ({ name, contentType, data: Buffer.from(text) })),
  };
}

/**
 * Makes a call in a channel or thread. A thread that is archived, as each is after days of silence, takes no edits: it is
 * opened again and the call made once more. One that is locked, too, stays closed, and the refusal of the call is thrown.
 * Throws what the calls throw. Source: Discord docs, "Threads": opening takes Send Messages in Threads.
 */
async function inOpenThread<T>(rest: REST, channel: string, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!hasCode(error, InvalidActionOnArchivedThread)) throw error;
    await rest.patch(Routes.channel(channel), { body: { archived: false } }).catch((cause) => {
      // That the thread is closed says more than that it may not be opened; any other trouble may pass.
      throw isRefusal(cause) ? error : cause;
    });
    return await call();
  }
}
