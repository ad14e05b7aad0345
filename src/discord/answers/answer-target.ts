import {
  type APIMessage,
  type ButtonInteraction,
  type ChatInputCommandInteraction,
  MessageFlags,
  type ModalSubmitInteraction,
  Routes,
} from 'discord.js';
import type { ChannelApi } from '../api/channel-api.ts';
import { type TextFile, withFile } from '../api/channel-api.ts';
import type { renderButtons } from '../render/render.ts';

/** One message of an answer; an edit without buttons takes away those it had. */
export interface AnswerMessage {
  content: string;
  components: ReturnType<typeof renderButtons>;
  file?: TextFile;
}

/** Where the messages of one answer go. Pages linked in an answer are not previewed. */
export interface AnswerTarget {
  /** Posts the next message and gives its id; trying again with the same nonce does not post twice where Discord can tell. */
  send(message: AnswerMessage, nonce: string): Promise<string>;
  edit(id: string, message: AnswerMessage): Promise<void>;
  /** Shows that something is coming; absent where Discord shows it by itself. */
  typing?: () => Promise<void>;
  /** The channel or thread its messages are in. */
  channel: string;
  /** The token of the interaction they belong to, where they do. */
  token?: string;
  /** When Discord takes no more for this answer, Unix time in milliseconds. */
  untilMs?: number;
}

/** Regular messages of the bot in a channel, thread or direct conversation; the first one replies to `replyTo`. */
export function channelTarget(api: ChannelApi, channel: string, replyTo?: string): AnswerTarget {
  let first = true;
  return {
    channel,
    async send({ file, ...message }, nonce) {
      const body = { ...message, nonce, flags: MessageFlags.SuppressEmbeds };
      const { id } =
        replyTo !== undefined && first
          ? await api.reply(channel, replyTo, body, file)
          : await api.send(channel, body, { file });
      first = false;
      return id;
    },
    async edit(id, { file, ...message }) {
      await api.edit(channel, id, { ...message, flags: MessageFlags.SuppressEmbeds }, file);
    },
    typing: () => api.typing(channel),
  };
}

/**
 * Messages that belong to a slash command or a press: shown only to whose it was when `ephemeral`, else where the bot may not post by
 * itself. With `fillsReply` the first one takes the place of "thinking…".
 */
export function interactionTarget(
  interaction: ChatInputCommandInteraction | ButtonInteraction | ModalSubmitInteraction,
  options: { ephemeral: boolean; fillsReply: boolean; tokenLifeMs: number },
): AnswerTarget {
  let replyIsFree = options.fillsReply;
  const { rest } = interaction.client;
  const { applicationId, token } = interaction;
  const bodyOf = ({ file: _, ...message }: AnswerMessage, flags: MessageFlags) => ({
    ...message,
    flags,
    allowed_mentions: { parse: [] },
  });
  const quiet = MessageFlags.SuppressEmbeds;

  async function sendFile(message: AnswerMessage, file: TextFile): Promise<string> {
    const flags = options.ephemeral ? quiet | MessageFlags.Ephemeral : quiet;
    const query = new URLSearchParams({ wait: 'true' });
    const request = { auth: false, query, ...withFile(bodyOf(message, flags), file) };
    return ((await rest.post(Routes.webhook(applicationId, token), request)) as APIMessage).id;
  }

  async function editFile(id: string, message: AnswerMessage, file: TextFile) {
    const request = { auth: false, ...withFile(bodyOf(message, quiet), file) };
    return (await rest.patch(
      Routes.webhookMessage(applicationId, token, id),
      request,
    )) as APIMessage;
  }

  return {
    channel: interaction.channelId ?? '',
    token,
    untilMs: interaction.createdTimestamp + options.tokenLifeMs,
    async send({ file, ...message }) {
      if (file && !replyIsFree) return await sendFile(message, file);
      if (file) {
        const { id } = await editFile('@original', message, file);
        replyIsFree = false;
        return id;
      }
      if (replyIsFree) {
        const { id } = await interaction.editReply({
          ...message,
          flags: MessageFlags.SuppressEmbeds,
        });
        replyIsFree = false;
        return id;
      }
      const { id } = await interaction.followUp({
        ...message,
        flags: options.ephemeral
          ? [MessageFlags.SuppressEmbeds, MessageFlags.Ephemeral]
          : MessageFlags.SuppressEmbeds,
      });
      return id;
    },
    async edit(id, { file, ...message }) {
      if (file) {
        await editFile(id, message, file);
        return;
      }
      await interaction.editReply({ ...message, message: id, flags: MessageFlags.SuppressEmbeds });
    },
  };
}
