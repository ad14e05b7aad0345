import { type APIEmbed, type APIMessage, MessageType } from 'discord.js';
import { DeliveryError } from '../../bot/shared/errors.ts';
import {
  type Around,
  fileLine,
  type ReadLimits,
  type ReadMessages,
  readableText,
  type WrittenMessage,
} from '../../bot/shared/people-messages.ts';
import { attachedFile } from '../api/attachments.ts';
import type { ChannelApi } from '../api/channel-api.ts';
import { isRefusal, reasonOf } from '../api/errors.ts';
import type { MissingPermissions } from '../api/permissions.ts';

/** Source: Discord docs, "Get Channel Messages". */
const PAGE_SIZE = 100;

/** Files and embeds of a message that are read. */
const MAX_PARTS = 10;

/** Messages of people and apps, without joins and pins. */
const SAID = new Set([
  MessageType.Default,
  MessageType.Reply,
  MessageType.ChatInputCommand,
  MessageType.ContextMenuCommand,
]);

/** Source: Discord docs, "Message Content Intent": what a message holds is empty without it, also over REST. */
const CONTENT_HIDDEN =
  'Discord hides messages between people from Askwatch because Message Content Intent is off. Turn it on at discord.com/developers/applications → your application → Bot, set DISCORD_MESSAGE_CONTENT=true, and restart Askwatch.';

/**
 * Reads what people wrote around a question: in its thread, or from the message that it replies to back. Throws a
 * `DeliveryError` that says what to do.
 */
export function createReadAround(options: {
  api: ChannelApi;
  botId: () => string;
  missingPermissions: MissingPermissions;
}) {
  const { api, botId, missingPermissions } = options;

  /** The newest messages of a thread, newest first, with the message above the thread. */
  async function inThread(thread: string, question: string | undefined, limits: ReadLimits) {
    const found: APIMessage[] = [];
    let before = question;
    for (;;) {
      const page = await api.page(thread, { before, limit: PAGE_SIZE, signal: limits.signal });
      found.push(...page);
      if (page.length < PAGE_SIZE) {
        const began = found.find(({ type }) => type === MessageType.ThreadStarterMessage);
        if (began?.referenced_message) found.push(began.referenced_message);
        return { found, older: 0 };
      }
      if (found.length >= limits.limit) {
        const all = (await api.messageCount(thread, limits.signal)) ?? 0;
        return { found, older: Math.max(1, all - found.length) };
      }
      before = page.at(-1)?.id;
    }
  }

  /** A message, the one it replies to, and so on. */
  async function chain(channel: string, from: string, { limit, signal }: ReadLimits) {
    const found: APIMessage[] = [];
    let next: string | undefined = from;
    while (next !== undefined && found.length < limit) {
      try {
        const message: APIMessage = await api.message(channel, next, signal);
        found.push(message);
        next =
          message.type === MessageType.Reply ? message.message_reference?.message_id : undefined;
      } catch (error) {
        // A message further up may be gone.
        if (found.length === 0) throw error;
        break;
      }
    }
    return found;
  }

  function readable(found: readonly APIMessage[], { asker }: ReadLimits) {
    const said = found.filter(({ type }) => SAID.has(type));
    const seen = said.filter((message) => message.author.id === botId() || !isHidden(message));
    const hidden = said.length - seen.length;
    return {
      messages: seen.map((message) => writtenOf(message, botId())),
      asker: said.find(({ author }) => author.id === asker)?.author,
      ...(hidden > 0 && { problem: CONTENT_HIDDEN }),
    };
  }

  return async (
    channel: string,
    { thread, question, repliesTo }: Around,
    limits: ReadLimits,
  ): Promise<ReadMessages | undefined> => {
    try {
      if (thread !== undefined) {
        const { found, older } = await inThread(thread, question, limits);
        // Discord gives nothing where it does not let the bot read.
        const lack = found.length === 0 ? missingPermissions(thread) : undefined;
        if (lack !== undefined) throw new DeliveryError(lack, { permanent: true });
        const { asker, ...read } = readable(found, limits);
        return { ...read, older, asker: asker && shownName(asker) };
      }
      if (repliesTo === undefined) return undefined;
      const [first, ...more] = await chain(channel, repliesTo, limits);
      const { messages, problem } = readable(first ? [first] : [], limits);
      if (problem !== undefined) return { messages: [], older: 0, problem };
      return { messages: [...messages, ...readable(more, limits).messages], older: 0 };
    } catch (error) {
      if (error instanceof DeliveryError) throw error;
      const reason = reasonOf(error, missingPermissions(thread ?? channel));
      throw new DeliveryError(reason, { permanent: isRefusal(error), cause: error });
    }
  };
}

/** True if Discord sent nothing of a message. */
const isHidden = (message: APIMessage) =>
  message.content === '' &&
  message.attachments.length === 0 &&
  message.embeds.length === 0 &&
  (message.components ?? []).length === 0 &&
  (message.sticker_items ?? []).length === 0 &&
  (message.message_snapshots ?? []).length === 0 &&
  message.poll === undefined;

const shownName = ({
  global_name,
  username,
}: Pick<APIMessage['author'], 'global_name' | 'username'>) => global_name ?? username;

export function writtenOf(message: APIMessage, botId: string): WrittenMessage {
  const { id, author, timestamp } = message;
  const files = filesOf(message);
  return {
    id,
    author: shownName(author),
    text: textOf(message),
    atMs: Date.parse(timestamp) || 0,
    ...(files.length > 0 && { files }),
    ...(author.id === botId && { isOwn: true }),
  };
}

/** Includes files of forwarded messages. */
const filesOf = ({ id, channel_id: channelId, attachments, message_snapshots }: APIMessage) =>
  [...attachments, ...(message_snapshots ?? []).flatMap(({ message }) => message.attachments)]
    .slice(0, MAX_PARTS)
    .map(({ filename: name, content_type: contentType = null, ...one }) =>
      attachedFile({ ...one, name, contentType }, { id, channelId }),
    );

/** `undefined` if Discord hides the message. */
export const readableOf = (message: APIMessage, botId: string) =>
  message.author.id !== botId && isHidden(message) ? undefined : writtenOf(message, botId);

/** The common fields of messages from REST and from interactions. */
interface MessageText {
  content: string;
  embeds: Array<Pick<APIEmbed, 'title' | 'description' | 'fields'>>;
  attachments: Array<{ filename: string }>;
  mentions: Array<Pick<APIMessage['author'], 'id' | 'username' | 'global_name'>>;
  message_snapshots?: Array<{ message: Pick<MessageText, 'content' | 'attachments'> }>;
}

/** The text of a message, or of forwarded messages and embeds, and the names of its files. */
export function textOf({
  content,
  embeds,
  attachments,
  mentions,
  message_snapshots = [],
}: MessageText): string {
  const read = (text: string) =>
    readableText(text, (part) =>
      part.replace(/<@!?(\d{17,20})>/g, (mention, id: string) => {
        const named = mentions.find((user) => user.id === id);
        return named ? `@${shownName(named)}` : mention;
      }),
    );
  const own = read(content).trim();
  const others = [
    ...message_snapshots.slice(0, MAX_PARTS).map(({ message }) => message.content),
    ...embeds
      .slice(0, MAX_PARTS)
      .flatMap(({ title, description, fields = [] }) => [
        title,
        description,
        ...fields.map(({ name, value }) => `${name}: ${value}`),
      ]),
  ];
  const beside = own === '' ? read(others.filter(Boolean).join('\n')) : '';
  const files = [
    ...attachments,
    ...message_snapshots.flatMap(({ message }) => message.attachments),
  ].slice(0, MAX_PARTS);
  const named = files.map(({ filename }) => fileLine(filename));
  return [own, beside, ...named].filter(Boolean).join('\n');
}
